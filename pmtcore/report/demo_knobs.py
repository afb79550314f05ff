"""The knobs of the synthetic demo: labels, places and help, on pages and in links."""

from __future__ import annotations

from typing import Any

from pmtcore.report.glossary import term

KNOBS: dict[str, dict[str, Any]] = {
    "n": {
        "label": "Private rows",
        "options": [500, 1000, 2000, 5000, 10_000, 50_000],
        "value": 5000,
        "help": "More rows: less noise for each, at the same budget.",
    },
    "m": {
        "label": "Public rows",
        "options": [20, 50, 100, 200, 500, 1000],
        "value": 200,
        "help": "They cost nothing: they whiten, and are a fit to lean on.",
    },
    "d": {"label": "Features", "options": [2, 4, 8, 10, 16], "value": 8, "help": "Columns that explain the target."},
    "kappa_bar": {
        "label": "Averaged condition number",
        "options": [3, 15, 50, 200, 1000, 100_000],
        "value": 200,
        "help": term("kappa_bar").words,
    },
    "noise": {
        "label": "Noise of the response",
        "options": [0.05, 0.2, 0.5, 1.0, 2.0],
        "value": 0.5,
        "help": "Standard deviation of what the features do not explain.",
    },
}
