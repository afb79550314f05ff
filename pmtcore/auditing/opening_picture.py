"""The picture of the first page: one regression on synthetic rows at several budgets, as it is stored.

It is the same for every visitor, so its numbers come with the application, as the gallery's do.
"""

import json
from dataclasses import dataclass
from functools import cache

import numpy as np

from pmtcore.base.paths import assets_folder

STORED = assets_folder() / "opening.json"
FIRST_BUDGET = 1.0  # where the slider stands when the page opens


@dataclass(frozen=True, eq=False)
class OpeningPicture:
    """Fits of one synthetic table per standard deviation of the feature, without the intercept.

    Attributes:
        names: features (d,).
        budgets: mu of each release (b,).
        private: coefficients (d,) of the fit without privacy.
        public: coefficients (d,) of the public fit.
        released: coefficients of the releases, lower and upper limits of their 95 % bands (3, b, d).
        widths: width of the typical band of each release (b,) over that of the public fit, as Plan predicts it.
        floor: the same ratio for the fit without privacy.
    """

    names: list[str]
    budgets: list[float]
    private: np.ndarray
    public: np.ndarray
    released: np.ndarray
    widths: np.ndarray
    floor: float

    def values(self, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients, lower and upper 95 % limits (d,) at this budget."""
        coefficients, low, high = self.released[:, self.budgets.index(mu)]
        return coefficients, low, high

    def width(self, mu: float) -> float:
        """Return the width of the typical 95 % band at this budget over that of the public fit."""
        return float(self.widths[self.budgets.index(mu)])


@cache
def stored_opening() -> OpeningPicture:
    """Return the stored picture."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    private, public, released, widths = (
        np.asarray(stored[name]) for name in ("private", "public", "released", "widths")
    )
    return OpeningPicture(stored["names"], stored["budgets"], private, public, released, widths, stored["floor"])
