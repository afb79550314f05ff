"""Text and HTML of the errors predicted at a budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pmtcore.base.escaping import html as escape
from pmtcore.base.escaping import one_line, terminal
from pmtcore.base.messages import ReleaseNote
from pmtcore.releases.planning import PlanRow, interval_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RequiredBudget:
    """Budget and rows for a wanted half-width; ``None`` where nothing is enough.

    Attributes:
        mu: total budget, with the rows there are.
        rows: private rows, at the model's budget.
    """

    mu: float | None
    rows: int | None


@dataclass(frozen=True)
class Expectation:
    """Errors expected of each budget, from public rows and n alone.

    Attributes:
        rows: one record for each method, budget and coefficient.
        verdicts: whether the private rows can help, a sentence for each budget.
        notes: on the public columns: which are dropped, and which may be read otherwise than meant.
    """

    rows: tuple[PlanRow, ...]
    verdicts: tuple[str, ...]
    n: int
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return the rows as a frame: privacy, sampling and truncation standard errors, the 95 % half-width.

        ``half_width`` is what a release is expected to state, ``half_width_median`` the median according to the
        distances of calibrated releases from the non-private fit, with ``half_width_low`` and ``half_width_high`` as
        the ends of its 80 % interval.
        """
        import pandas as pd  # noqa: PLC0415  # as above

        return pd.DataFrame([dict(row) for row in self.rows])

    def __str__(self) -> str:
        first = ReleaseNote.EXPECTED.sentence(rows=self.n)
        return terminal("\n".join([first, *table_lines(self.rows), *self.verdicts, *self.notes]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        words = "".join(f"<p>{escape(line)}</p>" for line in (*self.verdicts, *self.notes))
        shown = self.frame().assign(coefficient=lambda rows: rows["coefficient"].map(one_line))
        shown = shown.set_index(["method", "mu", "coefficient"])
        return f"{shown.to_html(float_format='{:.4g}'.format, escape=True)}{words}"


def table_lines(rows: Iterable[PlanRow]) -> list[str]:
    """Return predicted errors as the lines of a table: its head, then one for each method, budget and coefficient."""
    head = f"{'method':16} {'mu':>8} {'coefficient':20} {'privacy sd':>11} {'sampling sd':>11}"
    return [
        f"{head} {'truncation sd':>13} {'95 % half':>11} {'80 % of outcomes':>22}",
        *(
            f"{row['method']:16} {row['mu']:8.4g} {row['coefficient']:20} {row['privacy_sd']:11.4g} "
            f"{row['sampling_sd']:11.4g} {row['truncation_sd']:13.4g} {row['half_width']:11.4g} "
            f"{interval_text(row):>22}"
            for row in rows
        ),
    ]
