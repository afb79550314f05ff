"""One self-contained HTML file for stakeholders: works offline, prints well, holds public and released figures only.

Made from the plain record of a release (what ``release --json`` prints and the ledger keeps), so it can be made
again from the ledger. A lab release says so at the top.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import attacker_power
from pmtcore.base.records import plain
from pmtcore.methods.registry import method

_STYLE = """
:root{color-scheme:light}
body{font:16px/1.5 system-ui,sans-serif;color:#1a1d21;background:#fff;max-width:52rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.7rem;margin:0 0 .3rem}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid #b8bec6}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;color:#444a52;padding:.2rem 0}
th,td{padding:.25rem .5rem;text-align:right;border-bottom:1px solid #d5d9de}
th:first-child,td:first-child{text-align:left}
.note{color:#444a52}.lab{background:#7a1f1f;color:#fff;padding:.6rem .8rem;border-radius:.3rem}
.ok{background:#0b4f3a;color:#fff;padding:.6rem .8rem;border-radius:.3rem}
code,pre{font-size:.85rem}pre{background:#f3f4f6;padding:.7rem;white-space:pre-wrap;overflow-wrap:anywhere}
svg{width:100%;height:auto}svg.small{max-width:24rem;display:block}svg text{font:13px system-ui,sans-serif;fill:#1a1d21}
@media print{body{margin:0;max-width:none}h2{break-after:avoid}table,svg{break-inside:avoid}}
"""


def report(record: Mapping[str, Any], account: Mapping[str, Any] | None = None, head: str | None = None) -> str:
    """The report of one release.

    Args:
        record: a release in plain fields.
        account: the data set's account in the ledger, in plain fields.
        head: of the ledger's chain, so that cut-off events can be noticed.

    Raises:
        TypeError: a private figure is among the fields.
    """
    found = plain(dict(record))
    parts = [_summary(found), _data(found), _method(found), _guarantee(found), _coefficients(found)]
    parts.append(_ledger(plain(dict(account)), head) if account is not None else "")
    parts.append(_reproduce(found))
    title = f"Private regression of {escape(str(found['target']))}"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def _summary(found: Mapping[str, Any]) -> str:
    if found["standing"] == "sound":
        box = '<p class="ok">Every figure here is public or was released by a sound mechanism: it may leave.</p>'
    else:
        reasons = escape("; ".join(found["standing_reasons"]))
        box = f'<p class="lab">Lab figure, not a release: {reasons}.</p>'
    return f'<p class="note">How {escape(found["target"])} depends on {_features(found)}.</p>\n{box}'


def _features(found: Mapping[str, Any]) -> str:
    names = [name for name in found["coefficients"] if name != "(intercept)"]
    return escape(", ".join(names)) or "nothing"


def _data(found: Mapping[str, Any]) -> str:
    rows = "unknown" if found["public_rows"] is None else f"{found['public_rows']:,}"
    facts = [("Private rows (public number)", f"{found['n']:,}"), ("Public rows", rows)]
    facts += [
        (escape(k.replace("_", " ")), _number(v)) for k, v in found["public"].items() if isinstance(v, int | float)
    ]
    return "<h2>Data</h2>\n" + _table("Public facts", ("fact", "value"), facts)


def _method(found: Mapping[str, Any]) -> str:
    entry = method(found["method"])
    errata = f" Published errata repaired here: {', '.join(entry.errata)}." if entry.errata else ""
    return (
        f"<h2>Method</h2>\n<p>{escape(entry.title)} (<code>{escape(entry.id)}</code>), {escape(entry.source)}. "
        f"{escape(entry.summary)} Standing: {escape(entry.standing.value)}, {escape(entry.standing_reason)}."
        f"{escape(errata)}</p>"
    )


def _guarantee(found: Mapping[str, Any]) -> str:
    g = found["guarantee"]
    facts = [
        ("mu (Gaussian differential privacy)", _number(g["mu"])),
        ("rho (zero-concentrated)", _number(g["rho"])),
        (f"epsilon at delta = {g['delta']:g}", _number(g["epsilon"])),
        ("neighbours", escape(g["neighbours"])),
    ]
    assumptions = (
        "The number of rows is public; public data are independent of the private rows; each person is in one row; "
        "the noise was drawn from the operating system's entropy."
    )
    if found["seed"] is not None:
        assumptions = "The noise came from a seed that can be repeated: whoever knows it can remove the noise."
    return (
        f'<h2>What was promised</h2>\n<p>{escape(found["guarantee_in_words"])}</p>\n<p class="note">{assumptions}</p>\n'
        + _table("The guarantee in three units", ("unit", "value"), facts)
        + _curve(float(g["mu"]))
    )


def _curve(mu: float) -> str:
    """The attacker's detections against false alarms, as a drawing."""
    if mu == 0:
        return ""
    alarms = np.linspace(0.0, 1.0, 101)[1:-1]
    found = attacker_power(mu, alarms)
    points = " ".join(f"{40 + 300 * a:.1f},{230 - 200 * b:.1f}" for a, b in zip(alarms, found, strict=True))
    at = float(attacker_power(mu, 0.05))
    return (
        '<svg class="small" viewBox="0 0 420 270" role="img" '
        'aria-label="Detections against false alarms of the best attacker: '
        f'{100 * at:.1f} per cent at 5 per cent false alarms">'
        '<rect x="40" y="30" width="300" height="200" fill="none" stroke="#6b727b"/>'
        '<line x1="40" y1="230" x2="340" y2="30" stroke="#6b727b" stroke-dasharray="4 4"/>'
        f'<polyline points="{points}" fill="none" stroke="#0072B2" stroke-width="2.5"/>'
        '<text x="40" y="250">0</text><text x="330" y="250">1</text><text x="120" y="262">false alarms</text>'
        '<text x="40" y="22">detections (dashed: guessing)</text></svg>'
    )


def _coefficients(found: Mapping[str, Any]) -> str:
    bands = found["bands"]
    rows = []
    for name, value in found["coefficients"].items():
        band = bands.get(name)
        more = [_number(band[part]) for part in ("privacy", "sampling")] if band else ["", ""]
        limits = f"{_number(band['low'])} to {_number(band['high'])}" if band else ""
        rows.append((escape(name), _number(value), *more, limits))
    if not rows:
        return "<h2>Released</h2>\n<pre>" + escape(json.dumps(found["released"], indent=1)[:20_000]) + "</pre>"
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in found["notes"])
    extra = [
        (escape(k.replace("_", " ")), _number(v)) for k, v in found["released"].items() if isinstance(v, int | float)
    ]
    return (
        "<h2>Coefficients</h2>\n"
        + _forest(found)
        + _table(
            "Standard errors from privacy noise and from sampling apart, 95 % limits of both together",
            ("coefficient", "value", "privacy sd", "sampling sd", "95 % limits"),
            rows,
        )
        + notes
        + (_table("Released beside them, at no further cost", ("figure", "value"), extra) if extra else "")
    )


def _forest(found: Mapping[str, Any]) -> str:
    """Coefficients times the public spread of their feature, with 95 % limits, as a drawing."""
    spread = dict(zip(found["coefficients"], found["public"].get("spread", []), strict=False))
    shown = [n for n in found["coefficients"] if n in found["bands"] and n != "(intercept)" and spread.get(n)]
    if not shown or len(shown) > 60:
        return ""
    ends = [spread[n] * found["bands"][n][side] for n in shown for side in ("low", "high")] + [0.0]
    low, high = min(ends), max(ends)
    width = (high - low) or 1.0

    def x(value: float) -> float:
        return 180 + 400 * (value - low) / width

    lines = [f'<line x1="{x(0):.1f}" y1="10" x2="{x(0):.1f}" y2="{26 * len(shown) + 16}" stroke="#6b727b"/>']
    for at, name in enumerate(shown):
        y, band = 26 * at + 26, found["bands"][name]
        a, b, c = (x(spread[name] * v) for v in (band["low"], band["high"], found["coefficients"][name]))
        lines.append(f'<text x="170" y="{y + 4}" text-anchor="end">{escape(name[:24])}</text>')
        lines.append(f'<line x1="{a:.1f}" y1="{y}" x2="{b:.1f}" y2="{y}" stroke="#0072B2" stroke-width="3"/>')
        lines.append(f'<circle cx="{c:.1f}" cy="{y}" r="5" fill="#0072B2"/>')
    height = 26 * len(shown) + 44
    lines.append(f'<text x="180" y="{height - 6}">{_number(low)}</text>')
    lines.append(f'<text x="580" y="{height - 6}" text-anchor="end">{_number(high)}</text>')
    label = "Coefficients per standard deviation of the feature with 95 % limits; the figures are in the table below"
    return f'<svg viewBox="0 0 600 {height}" role="img" aria-label="{label}">{"".join(lines)}</svg>'


def _ledger(account: Mapping[str, Any], head: str | None) -> str:
    rows = [
        (escape(e["at"][:19]), escape(e["method"]), _number(e["mu"]), escape(e["state"]), escape(e["purpose"]))
        for e in account["entries"]
    ]
    spent, cap = account["spent"], account["cap"]
    words = (
        f"Data set {escape(account['dataset'])}: spent in all mu = {_number(spent['mu'])} "
        f"(epsilon = {_number(spent['epsilon'])} at delta = {spent['delta']:g}), "
        + ("no cap." if cap is None else f"cap {_number(cap)}, left for one more release: {_number(account['left'])}.")
    )
    mark = f'<p class="note">Head of the ledger: <code>{escape(head)}</code></p>' if head else ""
    return (
        f"<h2>Ledger</h2>\n<p>{words}</p>\n"
        + _table("Spends", ("time (UTC)", "method", "mu", "state", "purpose"), rows)
        + mark
    )


def _reproduce(found: Mapping[str, Any]) -> str:
    configuration = {
        "method": found["method"],
        "mu": found["guarantee"]["mu"],
        "parameters": found["parameters"],
        "delta": found["guarantee"]["delta"],
    }
    return (
        '<h2>How to ask for the same again</h2>\n<p class="note">A repetition draws new noise and spends again.</p>\n'
        "<pre>python -m pmtcore release --private FILE --public FILE "
        f"--target {escape(found['target'])} --family {escape(str(found['public'].get('family', 'gaussian')))} "
        "--config configuration.json</pre>\n"
        f"<pre>{escape(json.dumps(configuration, indent=1))}</pre>"
    )


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are escaped already."""
    top = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "\n".join(
        "<tr>" + f'<th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return f"<table><caption>{caption}</caption><thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table>\n"


def _scalars(fields: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(k, v) for k, v in fields.items() if isinstance(v, int | float)]


def _number(value: Any) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return escape(str(value))
    return f"{value:.4g}" if math.isfinite(value) else "unknown"
