"""A release in words and in a table: as text, and as HTML where a notebook shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from pmtcore.accounting.budgets import of_person, person_note
from pmtcore.base.escaping import html as escape
from pmtcore.base.escaping import one_line, terminal

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("coefficient", "privacy sd", "sampling sd", "low", "high")
_CELL = "padding:2px 10px;text-align:right"
_COLOURS = {"sound": "#1a7f37", "lab": "#9a6700"}  # the word stands beside it: never colour alone


@final
@dataclass(frozen=True)
class Summary:
    """What may be read off one release; every figure in it is public or released, or stands under the word *lab*.

    Attributes:
        record: the release in plain fields, as :meth:`pmtcore.releases.record.Release.as_dict` gives them.
        spent: what it did to the budget, one sentence.
    """

    record: Mapping[str, Any]
    spent: str = ""

    def frame(self) -> pd.DataFrame:
        """Coefficients with their standard errors and 95 % limits; NaN where a method gives no bands."""
        import pandas as pd  # noqa: PLC0415  # the command line prints without it

        bands = self.record["bands"]
        rows = [
            [value, *(bands.get(name, {}).get(part) for part in ("privacy", "sampling", "low", "high"))]
            for name, value in self.record["coefficients"].items()
        ]
        return pd.DataFrame(rows, index=list(self.record["coefficients"]), columns=list(_COLUMNS), dtype=float)

    def __str__(self) -> str:
        return terminal(text(self.record) + (f"\n\n{self.spent}" if self.spent else ""))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        record, guarantee = self.record, of_person(self.record["guarantee"])
        note = person_note(self.record["guarantee"])
        standing = record["standing"]
        badge = f'<b style="color:{_COLOURS.get(standing, "#555")}">{escape(standing)}</b>'
        reasons = "" if standing == "sound" else f": {escape('; '.join(record['standing_reasons']))}"
        head = "".join(f'<th style="{_CELL}">{name}</th>' for name in ("", *_COLUMNS))
        rows = "".join(
            f'<tr><th style="{_CELL}">{escape(str(name))}</th>'
            + "".join(f'<td style="{_CELL}">{"" if value != value else f"{value:.4g}"}</td>' for value in row)
            + "</tr>"
            for name, row in zip(self.frame().index, self.frame().to_numpy().tolist(), strict=True)
        )
        words = [record["guarantee_in_words"], self.spent, *record["notes"]]
        return (
            '<div class="tex2jax_ignore mathjax_ignore">'
            f"<p><b>{escape(record['title'])}</b> of {escape(record['target'])}, {badge}{reasons}<br>"
            f"n = {record['n']}, public rows = {record['public_rows']}, mu = {guarantee['mu']:.4g}, rho = "
            f"{guarantee['rho']:.4g}, epsilon = {guarantee['epsilon']:.4g} at delta = {guarantee['delta']:g}, "
            f"{escape(guarantee['neighbours'])}{f' ({escape(note)})' if note else ''}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            + "".join(f"<p>{escape(line)}</p>" for line in words if line)
            + "<p>low and high: 95 % limits, all parts of the error together.</p></div>"
        )


def text(record: Mapping[str, Any]) -> str:
    """A release for a terminal."""
    guarantee, note = of_person(record["guarantee"]), person_note(record["guarantee"])
    lines = [
        f"{record['title']} ({record['method']}), standing: {record['standing']}"
        + ("" if record["standing"] == "sound" else f": {'; '.join(record['standing_reasons'])}"),
        f"n = {record['n']}, public rows = {record['public_rows']}",
        f"mu = {guarantee['mu']:.4g}, rho = {guarantee['rho']:.4g}, epsilon = {guarantee['epsilon']:.4g} "
        f"at delta = {guarantee['delta']:g} ({guarantee['neighbours']}{f'; {note}' if note else ''})",
        record["guarantee_in_words"],
        "",
    ]
    width = max([len(one_line(name)) for name in record["coefficients"]], default=10)
    if record["coefficients"]:
        lines.append(f"{'':{width}} {'coefficient':>12} {'privacy sd':>11} {'sampling sd':>11}   95 % band")
    for name, value in record["coefficients"].items():
        band = record["bands"].get(name)
        tail = (
            f"{band['privacy']:11.4g} {band['sampling']:11.4g}   [{band['low']:.4g}, {band['high']:.4g}]"
            if band
            else ""
        )
        lines.append(f"{one_line(name):{width}} {value:12.5g} {tail}")
    return "\n".join([*lines, *record["notes"]]).rstrip()


@final
@dataclass(frozen=True)
class Needed:
    """What a wanted half-width takes; ``None`` where nothing is enough.

    Attributes:
        mu: total budget, with the rows there are.
        rows: private rows, at the model's budget.
    """

    mu: float | None
    rows: int | None


@final
@dataclass(frozen=True)
class Expectation:
    """What a budget is expected to buy, from public rows and n alone.

    Attributes:
        rows: one record for each method, budget and coefficient.
        verdicts: whether the private rows can help, a sentence for each budget.
    """

    rows: tuple[Mapping[str, Any], ...]
    verdicts: tuple[str, ...]
    n: int

    def frame(self) -> pd.DataFrame:
        """The rows as a frame: privacy, sampling and truncation standard errors, and the 95 % half-width."""
        import pandas as pd  # noqa: PLC0415  # as above

        return pd.DataFrame([dict(row) for row in self.rows])

    def __str__(self) -> str:
        lines = [f"Expected from public rows and n = {self.n} alone; free."]
        lines.append(
            f"{'method':16} {'mu':>8} {'coefficient':20} {'privacy sd':>11} {'sampling sd':>11} {'95 % half':>11}"
        )
        lines += [
            f"{row['method']:16} {row['mu']:8.4g} {row['coefficient']:20} {row['privacy_sd']:11.4g} "
            f"{row['sampling_sd']:11.4g} {row['half_width']:11.4g}"
            for row in self.rows
        ]
        return terminal("\n".join([*lines, *self.verdicts]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        words = "".join(f"<p>{escape(line)}</p>" for line in self.verdicts)
        shown = self.frame().assign(coefficient=lambda rows: rows["coefficient"].map(one_line))
        shown = shown.set_index(["method", "mu", "coefficient"])
        return f"{shown.to_html(float_format='{:.4g}'.format, escape=True)}{words}"
