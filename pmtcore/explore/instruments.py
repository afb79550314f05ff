"""Two-stage least squares from a released moment (proofs/results.md, 2): post-processing, free.

With features X, instruments Z (the exogenous features among them) and response y, all columns of the moment S:
``Pi = S_ZZ^{-1} S_ZX``, ``beta = (Pi' S_ZX)^{-1} Pi' S_Zy``. To first order ``d beta_i = a_i' dM b`` as for least
squares, with ``a = (Pi' S_ZX)^{-1} Pi' root_Z`` and ``b = root'(e_y - X beta)``, the over-identifying moments taken as
zero, as textbooks do; so bands, tests and predictions are those of a regression with other rows a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pmtcore.base.messages import ExploreMessage, Refusal, RefusedError
from pmtcore.explore.regression import NestedTest, Regression
from pmtcore.methods.joint_moment.linear import Fit, State, combined_residual_variance

_WEAK = 10.0  # Staiger and Stock (1997): below, limits are too narrow and the estimate leans towards least squares


@dataclass(frozen=True, eq=False)
class InstrumentalFit:
    """A regression with instruments.

    Attributes:
        regression: coefficients, limits, tests and predictions of the second stage.
        first_stage: of each endogenous feature, the test that the excluded instruments say nothing of it.
    """

    regression: Regression
    first_stage: dict[str, NestedTest]

    @property
    def weak(self) -> tuple[str, ...]:
        """Return the endogenous features whose first-stage F is below ten: their limits cannot be relied on."""
        return tuple(name for name, test in self.first_stage.items() if not test.textbook_f >= _WEAK)

    def __repr__(self) -> str:
        strength = ", ".join(
            f"first-stage F of {name} {test.textbook_f:.3g}" for name, test in self.first_stage.items()
        )
        return f"<InstrumentalFit {self.regression.formula[:80]}; {strength}>"


def two_stage(state: State, response: int, features: Sequence[int], instruments: Sequence[int]) -> Fit:
    """Return two-stage least squares of one column on others.

    Args:
        state: the released moment with its errors.
        response: place of the response.
        features: places of the columns that it is regressed on.
        instruments: places of all of Z: the exogenous features and the excluded instruments.

    Raises:
        InputError: fewer instruments than features.
    """
    if len(instruments) < len(features):
        raise RefusedError(Refusal.INSTRUMENTS, ExploreMessage.TOO_FEW_INSTRUMENTS)
    root_x, root_z = state.root[list(features)], state.root[list(instruments)]
    # Columns in units of their own root mean squares, so that the solves are as good as the moment is.
    scale_x = np.linalg.norm(root_x @ state.cholesky_factor, axis=1)
    scale_z = np.linalg.norm(root_z @ state.cholesky_factor, axis=1)
    x, z = root_x / scale_x[:, None], root_z / scale_z[:, None]
    s_zx, s_zz = z @ state.moment @ x.T, z @ state.moment @ z.T
    stage = np.linalg.solve(s_zz, s_zx)  # (l, q)
    rows = np.linalg.solve(stage.T @ s_zx, stage.T @ z)  # (q, D)
    beta = rows @ state.moment @ state.root[response]
    coefficients, a = beta / scale_x, rows / scale_x[:, None]
    b = state.root[response] - coefficients @ root_x
    # Not a minimum, so noise takes nothing off it.
    residual = combined_residual_variance(state, b, float(b @ state.moment @ b))
    return Fit(state, response, tuple(features), coefficients, a, b, residual)


def checked_roles(
    features: Sequence[str], endogenous: Sequence[str], instruments: Sequence[str], response: str
) -> None:
    """Raise unless the roles of columns fit together.

    Raises:
        InputError: an endogenous column that is no feature, an instrument that is one, or too few instruments.
    """
    stray = [name for name in endogenous if name not in features]
    if stray or not endogenous:
        raise RefusedError(Refusal.INSTRUMENTS, ExploreMessage.STRAY_ENDOGENOUS, columns=stray)
    both = [name for name in instruments if name in features or name == response]
    if both:
        raise RefusedError(Refusal.INSTRUMENTS, ExploreMessage.INSTRUMENT_IN_FORMULA, columns=both)
    if len(set(instruments)) < len(endogenous):
        raise RefusedError(
            Refusal.INSTRUMENTS, ExploreMessage.INSTRUMENT_COUNT, limit=len(endogenous), count=len(set(instruments))
        )
