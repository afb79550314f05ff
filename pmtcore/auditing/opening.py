"""The opening picture: one regression on synthetic rows, released at several budgets, for the lab."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from pmtcore.accounting.budgets import Budget
from pmtcore.base.private_rows import Curator
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import recommended
from pmtcore.public.bands import Z95
from pmtcore.public.moments import INTERCEPT
from pmtcore.releases.planning import public_alone, sampling_alone, typical_ratio
from pmtcore.releases.record import Release
from pmtcore.releases.release import Request, release
from pmtcore.tables import named
from pmtcore.tables.problem import prepare

# From where the noise swamps the private rows to where it cannot be seen beside sampling.
BUDGETS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
# The same draw of the noise at every budget, so that only its size changes as the slider moves.
_SEED = 11
_STUDY = Curator("synthetic rows, shown on the first page")


@dataclass(frozen=True, eq=False)
class OpeningPicture:
    """Fits of one synthetic table per standard deviation of the feature, without the intercept.

    Attributes:
        names: features (d,).
        private: coefficients (d,) of the fit without privacy.
        public: coefficients (d,) of the public fit.
        releases: one lab release for each budget.
        scale: standard deviations (d,) of the features.
        public_width: widths (d,) of the public fit's 95 % bands, in the units of the table.
        floor: width of the typical band of the fit without privacy over that of the public fit.
    """

    names: tuple[str, ...]
    private: np.ndarray
    public: np.ndarray
    releases: dict[float, Release]
    scale: np.ndarray
    public_width: np.ndarray
    floor: float

    @property
    def budgets(self) -> list[float]:
        """Return the budgets of the slider."""
        return list(self.releases)

    def values(self, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients, lower and upper 95 % limits (d,) at this budget."""
        one = self.releases[mu]
        at = [one.names.index(name) for name in self.names]
        if one.bands is None:
            raise ValueError("the opening's method has no bands")
        return one.coefficients[at] * self.scale, one.bands.low[at] * self.scale, one.bands.high[at] * self.scale

    def width(self, mu: float) -> float:
        """Return the width of the typical 95 % band at this budget over that of the public fit, as Plan predicts it."""
        _, low, high = self.values(mu)
        return typical_ratio((high - low) / self.scale, self.public_width)


@cache
def opening() -> OpeningPicture:
    """Compute the opening picture of the synthetic demo: some tenths of a second, once in a process."""
    private, public_rows, reasons = named.load("demo")
    problem = prepare(private, public_rows, named.entry("demo").choices, lab_reasons=reasons)
    id = recommended(problem.public).id
    made = {mu: release(problem, Request(id, Budget(mu)), SeededNoise(_SEED)) for mu in BUDGETS}
    exact = exact_fit(problem.public, problem.private).reveal(_STUDY)
    features = tuple(name for name in problem.public.names if name != INTERCEPT)
    at = [problem.public.names.index(name) for name in features]
    scale, alone = problem.public.spread[at], public_alone(problem.public)
    sampling = sampling_alone(problem.public, problem.private.n)
    if alone is None or sampling is None:
        raise ValueError("the opening's public rows have no target")
    return OpeningPicture(
        features,
        exact[at] * scale,
        problem.public.coefficients[at] * scale,
        made,
        scale,
        2 * Z95 * alone.total[at],
        typical_ratio(sampling[at], alone.total[at]),
    )
