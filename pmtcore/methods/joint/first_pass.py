"""The first pass of ``joint-pmt``: the joint whitened moment, released once; alone, or as the pilot of two passes.

Algorithm 1 of A on the joint row ``z = (x, y)``: with the public joint moment ``L L'`` the whitened response
is the residual of the public fit, so the private rows only have to correct it. With
``w = min(1, R^2/||(x~, c r~)||^2)``:

    M = (1/n) sum w (x~, c r~)(x~, c r~)' + G,   G isometric, sigma = sqrt(2) R^2 / (mu n)

Neighbours: replace-one. Public: the public data, n, R and c chosen from them. Proofs: proofs/sensitivity.md, 3, 5
and 14.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Spend
from pmtcore.base.private_rows import Private, PrivateRows, RowCache
from pmtcore.mechanisms.grid import MomentSum, from_words, release_integer_moment
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.quantized_rows import QuantizedRows, Quantizer
from pmtcore.mechanisms.truncation import moment_sensitivity
from pmtcore.mechanisms.whitening import Whitening
from pmtcore.public.moments import PublicData, back_transform
from pmtcore.public.radius import Ball, truncation_variance


@dataclass(frozen=True, eq=False)
class _Moment:
    """Moment of pieces in their first pass, before any of them is kept."""

    statistic: MomentSum

    def __call__(self, pieces: Iterable[QuantizedRows]) -> np.ndarray:
        return self.statistic.of(piece.block for piece in pieces)


@dataclass(frozen=True)
class FirstPass:
    """The joint moment with radius and noise fixed; ``mu`` is its own share of the budget."""

    public: PublicData
    n: int
    mu: float
    ball: Ball

    @property
    def sigma(self) -> float:
        """Return the noise scale: tight replace-one sensitivity of the joint moment over mu."""
        return sigma_for(moment_sensitivity(self.ball.radius, self.n), self.mu)

    @cached_property
    def statistic(self) -> MomentSum:
        """Return the statistic that is summed over blocks of rows."""
        wanted = np.append(np.ones(self.public.d), self.ball.response_scale)
        whitening = Whitening(self.public.factor, self.public.has_intercept)
        return MomentSum(whitening.through(np.diag(wanted), len(wanted)), self.ball.radius)

    def pieces(self, rows: PrivateRows, most: int | None = None) -> RowCache[QuantizedRows]:
        """Return whitened rows for this pass and those after it; at most ``most`` bytes are kept between them."""
        return Quantizer(self.statistic.product, self.public.d, self.ball.response_scale).pieces(rows, most)

    def measure(self, pieces: RowCache[QuantizedRows]) -> Private[np.ndarray]:
        """Return ``sum w z~ z~'`` (D, D) in integers of ``(R/2^15)^2``, private; the first look at the pieces."""
        return pieces.sum(_Moment(self.statistic)).map(from_words)

    def release(self, total: Private[np.ndarray], source: NoiseSource, trials: int) -> np.ndarray:
        """Return the joint moments (trials, D, D).

        Guarantee: mu-GDP under replace-one, for the bits that leave: one Gaussian mechanism on a statistic of Frobenius
        sensitivity ``sqrt(2) R^2/n`` (proofs/sensitivity.md, 3.1 and 14).
        """
        return release_integer_moment(total, self.mu, self.n, self.ball.radius, source=source, trials=trials)

    def part(self) -> Spend:
        """Return the spend."""
        return Spend.gaussian("joint moment", moment_sensitivity(self.ball.radius, self.n), self.sigma)

    @property
    def unit(self) -> np.ndarray:
        """Return the factors (d,) from standard errors of whitened coefficients to units of the table."""
        public = self.public
        known = public.m is None or public.around is not None
        freedom = 1.0 if known or public.m is None else (public.m - public.d) / public.m
        lengths = np.linalg.norm(back_transform(public.feature_root, np.eye(public.d)), axis=0)
        return np.asarray(public.residual_scale / np.sqrt(freedom) * lengths)

    @cached_property
    def public_weights(self) -> np.ndarray:
        """Return weights (m,) of the public rows, whitened as if left out; empty where only a moment is known."""
        return self.ball.public_weights(self.public)

    @cached_property
    def truncation_variance(self) -> float:
        """Return the predicted squared shift of ``q`` by truncation, per coordinate; 0 where only a moment is known."""
        return truncation_variance(self.public, self.ball)
