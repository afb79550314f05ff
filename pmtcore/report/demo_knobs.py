"""The knobs of the synthetic demo: labels, places and help, on pages and in links."""

import tomllib
from pathlib import Path
from typing import Any

from pmtcore.report.glossary import term

_TEXT = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
KNOBS: dict[str, dict[str, Any]] = tomllib.loads(_TEXT.replace("{kappa_bar}", term("kappa_bar").words))
