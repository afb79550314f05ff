"""The joint whitened moment, released once: ``joint-pmt`` in one pass, the pilot of two; everything after is free.

Algorithm 1 of A on the joint row ``z = (x, y)``: with the public joint moment ``L L'`` the whitened response
is the residual of the public fit, so the private rows only have to correct it. Released once, with
``w = min(1, R^2/||(x~, c r~)||^2)``:

    M = (1/n) sum w (x~, c r~)(x~, c r~)' + G,   G isometric, sigma = sqrt(2) R^2 / (mu n)
    delta = P^{-1} q,   beta = beta_B + s_B L_x^{-T} delta,   M = [[P, c q], [c q', c^2 t]]

Neighbours: replace-one. Public: the public data, n, R and c chosen from them. Proofs: maths.md, 5 to 7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import chi2
from scipy.stats import f as f_distribution

from pmtcore.accounting.spends import Spend
from pmtcore.base.records import Bands, Private, PrivateRows
from pmtcore.mechanisms.grid import integer_moment, release_integer_moment, whiten_exactly
from pmtcore.mechanisms.noise import NoiseSource, release_symmetric, sigma_for
from pmtcore.mechanisms.truncation import moment_sensitivity
from pmtcore.methods.facts import Facts
from pmtcore.methods.joint.parameters import JointParameters
from pmtcore.methods.registry import Outcome, Plan, Prediction
from pmtcore.public.bands import Part, limits, robust_part, unless_far
from pmtcore.public.moments import PublicData, back_transform, conditioning, joint, whiten
from pmtcore.public.radius import Ball, cut_off, truncation_variance

_PATH_POINTS = 31
_DECIDES = 0.5  # leverage of a public row
_FLOOR = 0.05  # smallest eigenvalue left to the released Gram matrix, relative to whitened units


@dataclass(frozen=True)
class JointPlan(Plan):
    """``joint-pmt`` with radius and noise fixed."""

    public: PublicData
    n: int
    mu: float
    ball: Ball
    parameters: JointParameters

    @property
    def sigma(self) -> float:
        """Noise scale: tight replace-one sensitivity of the joint moment over mu."""
        return self.sigma_at(self.mu)

    def sigma_at(self, mu: float) -> float:
        """Noise scale of the moment at a budget of its own."""
        return sigma_for(moment_sensitivity(self.ball.radius, self.n), mu)

    @property
    def unit(self) -> np.ndarray:
        """A whitened coefficient's standard deviation of 1, in coefficients of the table (d,)."""
        public = self.public
        freedom = 1.0 if public.m is None else (public.m - public.d) / public.m
        lengths = np.linalg.norm(back_transform(public.feature_root, np.eye(public.d)), axis=0)
        return np.asarray(public.residual_scale / np.sqrt(freedom) * lengths)

    @cached_property
    def public_weights(self) -> np.ndarray:
        """Weights (m,) of the public rows, whitened as if left out; empty where only a moment is known."""
        rows = self.public.whitened
        return np.empty(0) if rows is None else self.ball.weights(rows)

    @cached_property
    def truncation_variance(self) -> float:
        """What truncation is predicted to move ``q`` by, squared, per coordinate; 0 where only a moment is known."""
        return truncation_variance(self.public, self.ball)

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """The truncated joint moment ``(1/n) sum w z~ z~'`` (D, D), private."""

        def block(features: np.ndarray, response: np.ndarray) -> np.ndarray:
            z = whiten(self.public.factor, joint(features, response))
            weights = self.ball.weights(z)
            z[:, -1] *= self.ball.response_scale
            return np.asarray(z.T @ (weights[:, None] * z))

        return rows.sum(block).map(lambda total: total / self.n)

    def perturb(self, statistic: Private[np.ndarray], source: NoiseSource, trials: int) -> JointOutcome:
        """The release.

        Guarantee: mu-GDP under replace-one: one Gaussian mechanism on a statistic of Frobenius sensitivity
        ``sqrt(2) R^2/n`` (maths.md, 3.1); all else is post-processing.
        """
        return JointOutcome(self, release_symmetric(statistic, self.sigma, source, trials, "isometric"))

    def run(self, rows: PrivateRows, source: NoiseSource, trials: int) -> JointOutcome:
        """One release on the integer grid; repeated trials in the lab are in floating point.

        Guarantee: ``mu^2/2``-zCDP under replace-one for the bits that leave (maths.md, 14).
        """
        if trials != 1:
            return self.perturb(self.measure(rows), source, trials)
        return JointOutcome(self, self.exact_moment(rows, self.mu, source))

    def exact_moment(self, rows: PrivateRows, mu: float, source: NoiseSource) -> np.ndarray:
        """The joint moment (1, D, D) with integer noise at this budget."""
        total = integer_moment(rows, self._scaled, self.ball.radius)
        return release_integer_moment(total, mu, self.n, self.ball.radius, source)

    def _scaled(self, features: np.ndarray, response: np.ndarray) -> np.ndarray:
        z = whiten_exactly(self.public.factor, joint(features, response))
        z[:, -1] *= self.ball.response_scale
        return z

    def predicted(self) -> Prediction | None:
        """Privacy sd ``s_B sigma/(sqrt(2) c) sqrt((S_xx^{-1})_jj)``, sampling sd of least squares at n rows."""
        return Prediction(self.unit * self.sigma / np.sqrt(2) / self.ball.response_scale, self.unit / np.sqrt(self.n))

    def parts(self) -> tuple[Spend, ...]:
        """The joint moment."""
        return (Spend.gaussian("joint moment", moment_sensitivity(self.ball.radius, self.n), self.sigma),)

    def facts(self) -> Facts:
        """Radius, scale, noise, and the share of rows that the public rows lead one to expect outside."""
        beyond = None if self.public.whitened is None else float(np.mean(self.public_weights < 1))
        return Facts(
            radius=self.ball.radius,
            noise_sd=self.sigma,
            noise_over_signal=self.sigma * math.sqrt(2 * (self.public.d + 1)),
            predicted_truncation_rate=beyond,
            more={"response_scale": self.ball.response_scale},
        )


class JointOutcome(Outcome):
    """Post-processing of released joint moments (trials, D, D)."""

    def __init__(self, plan: JointPlan, moment: np.ndarray) -> None:
        c, d = plan.ball.response_scale, plan.public.d
        self.plan = plan
        self.gram = moment[:, :d, :d]  # P (trials, d, d)
        self.cross = moment[:, :d, d] / c  # q (trials, d)
        self.power = moment[:, d, d] / c**2  # t (trials,)
        self.v = plan.sigma**2 / 2  # noise variance of an off-diagonal entry
        self.v_cross = self.v / c**2
        # variance of an entry of q - P delta, delta of the size that the public fit's error has
        self.cross_noise = self.v_cross + self.v * d * plan.public.fit_variance

    def seen(self) -> np.ndarray:
        """The released moment (trials, (D + 1) D / 2)."""
        rows, columns = np.triu_indices(self.plan.public.d)
        return np.column_stack([self.gram[:, rows, columns], self.cross, self.power])

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients (trials, d) at the plan's ridge penalty."""
        return self.ridge(self.plan.parameters.lam)

    def ridge(self, lam: float) -> np.ndarray:
        """Coefficients (trials, d) at any ridge penalty, the intercept unpenalized: post-processing, free."""
        public, root = self.plan.public, self.plan.public.feature_root
        if lam == 0:
            return public.fit + public.residual_scale * back_transform(root, self.correction)
        level = public.factor[-1, : public.d] + public.residual_scale * self.correction
        right = np.einsum("tij,tj->ti", self.stable_gram, level)
        return back_transform(
            root, np.linalg.solve(self.stable_gram + lam * public.unit_penalty, right[..., None])[..., 0]
        )

    @cached_property
    def _expected_gram(self) -> np.ndarray:
        """What the public rows lead one to expect of P: the centre it is shrunk towards.

        Private rows are new rows to the public whitening, as public rows left out of it are: about ``m/(m - d - 1) I``.
        """
        public, rows = self.plan.public, self.plan.public.whitened
        if rows is None:
            return np.eye(public.d) * (1.0 if public.m is None else public.m / max(public.m - public.d - 1, 1))
        features = rows[:, :-1]
        return np.asarray(features.T @ (self.plan.public_weights[:, None] * features) / len(rows))

    @cached_property
    def _gram_precision(self) -> np.ndarray:
        """Weight (trials,) of the released Gram matrix against the expected one, ``v0/(v0 + sigma^2/2)``.

        ``v0 = 1/m + 1/n`` where public and private rows are alike; where it lies further off, what the distance says.
        """
        if self.plan.parameters.shrinkage == "none":
            return np.ones(len(self.gram))
        alike = 1 / self.plan.n + (1 / self.plan.public.m if self.plan.public.m else 0.25)
        entries = self.plan.public.d * (self.plan.public.d + 1) // 2
        distance = np.sum((self.gram - self._expected_gram) ** 2, axis=(1, 2)) / (2 * entries)
        v0 = unless_far(alike, distance, self.v, entries)
        return np.asarray(v0 / (v0 + self.v))

    @cached_property
    def doubt(self) -> np.ndarray:
        """Covariance (trials, d, d) of the error of the correction: noise, truncation, what is shrunk (maths.md, 6)."""
        noise = self.cross_noise + self.plan.truncation_variance
        return np.linalg.inv(
            self.stable_gram @ self.stable_gram / noise + np.eye(self.plan.public.d) / self._prior(noise)
        )

    def _prior(self, noise: float) -> np.ndarray:
        """Prior variance (trials, 1, 1) of a coordinate of the correction."""
        size = np.mean(self.cross**2, axis=1)
        return unless_far(self.plan.public.fit_variance, size, noise, self.plan.public.d)[:, None, None]

    @cached_property
    def stable_gram(self) -> np.ndarray:
        """Precision-weighted Gram matrix, eigenvalues floored: positive definite whatever the noise."""
        if self.plan.parameters.shrinkage == "none":
            return self.gram
        weight = self._gram_precision[:, None, None]
        values, vectors = np.linalg.eigh(self._expected_gram + weight * (self.gram - self._expected_gram))
        floor = np.minimum(_FLOOR, 4 * np.sqrt(self.v * self.plan.public.d))
        return np.asarray((vectors * np.maximum(values, floor)[:, None, :]) @ np.swapaxes(vectors, 1, 2))

    @cached_property
    def unshrunk(self) -> np.ndarray:
        """``P^{-1} q`` (trials, d), unbiased whatever the public fit: what the bands stand on."""
        return np.asarray(np.linalg.solve(self.stable_gram, self.cross[..., None])[..., 0])

    @cached_property
    def correction(self) -> np.ndarray:
        """Correction to the public fit in whitened units (trials, d), shrunk where noise dominates it.

        Empirical Bayes where the noise is above a tenth of the public fit's own variance, else James-Stein.
        """
        public = self.plan.public
        if self.plan.parameters.shrinkage == "none":
            return self.unshrunk
        if public.m is not None:
            noise = self.cross_noise
            if noise > public.fit_variance / 10:
                gram = self.stable_gram
                left = gram @ gram / noise + np.eye(public.d) / self._prior(noise)
                right = np.einsum("tij,tj->ti", gram, self.cross) / noise
                return np.asarray(np.linalg.solve(left, right[..., None])[..., 0])
        squared = np.sum(self.cross**2, axis=1)
        keep = np.maximum(1 - max(public.d - 2, 0) * self.v_cross / np.maximum(squared, 1e-300), 0.0)
        return self.unshrunk * keep[:, None]

    def noise_covariance(self, penalized: np.ndarray) -> np.ndarray:
        """``C`` (d, d) of the first trial: covariance from the noise of the equation that is solved (maths.md, 7).

        Args:
            penalized: the correction to the public fit that the solution is (d,); delta itself without a penalty.
        """
        return np.asarray(self.v_cross * np.eye(len(penalized)) + self.gram_doubt(penalized[None])[0])

    def gram_doubt(self, step: np.ndarray) -> np.ndarray:
        """Covariances (t, d, d) of ``(P - E P) step`` in the first t trials, P combined with the public moment."""
        v = (self.v * self._gram_precision[: len(step)])[:, None, None]  # posterior variance of an entry of P
        size = np.sum(step**2, axis=1)[:, None, None]
        return np.asarray(v * (size * np.eye(step.shape[1]) + step[:, :, None] * step[:, None, :]))

    @cached_property
    def whole(self) -> np.ndarray:
        """Share (trials,) of P that the equation that is solved has as its slope."""
        return np.ones(len(self.gram))

    @property
    def clip_weights(self) -> np.ndarray:
        """Weights (m,) of public rows in what the fit solves; empty where only a moment is known."""
        return self.plan.public_weights

    @cached_property
    def residual_variance(self) -> float:
        """Residual variance relative to ``s_B^2``, of the first trial, combined with the public one."""
        public, delta = self.plan.public, self.unshrunk[0]
        inverse = np.linalg.inv(self.stable_gram[0])
        raw = self.power[0] - self.cross[0] @ delta + np.trace(inverse @ self.noise_covariance(delta))
        noise = (2 * self.v) * (1 / self.plan.ball.response_scale**2 + delta @ delta) ** 2
        if public.rows is None or public.m is None:
            return float(max(raw, 0.05))
        z = public.whitened_in_sample[:, -1] ** 2 * self.plan.public_weights
        expected = np.mean(z) * public.m / (public.m - public.d)
        spread = np.var(z) / public.m
        return float(max(expected + spread / (spread + noise) * (raw - expected), 0.05 * expected))

    def _sampling_part(self, inverse: np.ndarray, away: np.ndarray) -> Part:
        """``inverse Omega inverse'/n``, ``Omega = E[w^2 r^2 x x']``: shape from public rows, size released.

        Where one public row decides a direction its own residual says nothing, and equal variances are assumed there.

        Args:
            away: from the penalized correction to the one without a penalty (d,); it adds to every residual.
        """
        public, n = self.plan.public, self.plan.n
        equal = np.diag(inverse @ (self.stable_gram[0] * self.residual_variance) @ inverse.T) / n
        if public.rows is None or public.m is None:
            return Part(equal)
        x = public.whitened_in_sample[:, :-1]
        weights, residual = self.clip_weights, public.left_out_residual
        scale = self.residual_variance / np.mean(weights * residual**2)
        rows = x * (weights * (residual + x @ away / math.sqrt(scale)))[:, None]
        found = robust_part((rows - rows.mean(axis=0)) @ inverse.T if np.any(away) else rows @ inverse.T, scale, n)
        if np.max(np.sum(x**2, axis=1)) / len(x) < _DECIDES:
            return found
        return Part(np.maximum(found.variance, equal), found.freedom)

    def truncation_part(self, inverse: np.ndarray) -> Part | None:
        """What truncation moves the fit by on public rows: its mean squared, and the doubt about that mean."""
        public = self.plan.public
        if public.whitened is None or public.m is None:
            return None
        moves = cut_off(public.whitened, self.clip_weights) @ inverse.T
        return Part(np.mean(moves, axis=0) ** 2 + np.var(moves, axis=0, ddof=1) / public.m)

    def bands(self) -> Bands:
        """Privacy, sampling and truncation parts, apart, and 95 % limits of all together (maths.md, 7).

        The limits stand on the unshrunk fit, so they do not assume that the public fit is right; where the
        shrunk coefficient falls outside, they are widened to contain it.
        """
        public, lam = self.plan.public, self.plan.parameters.lam
        penalized = self.whole[0] * (self.stable_gram[0] + lam * self.plan.public.unit_penalty)
        inverse = public.residual_scale * back_transform(public.feature_root, np.linalg.inv(penalized)).T
        away = self.unshrunk[0] - self._penalized(lam)
        privacy = np.einsum("ij,jk,ik->i", inverse, self.noise_covariance(self._penalized(lam)), inverse)
        estimate = centre = self.coefficients[0]
        if lam == 0:
            centre = public.fit + public.residual_scale * back_transform(public.feature_root, self.unshrunk[0])
        return limits(
            estimate, centre, Part(privacy), self._sampling_part(inverse, away), self.truncation_part(inverse)
        )

    def _penalized(self, lam: float) -> np.ndarray:
        """The first trial's correction to the public fit at a ridge penalty, in whitened units (d,)."""
        if lam == 0:
            return self.unshrunk[0]
        public = self.plan.public
        away = public.feature_root.T @ self.ridge(lam)[0] - public.factor[-1, : public.d]
        return np.asarray(away / public.residual_scale)

    def _looks_shifted(self) -> bool:
        """Whether the correction is far larger than alike samples give: at most about one false alarm in 500.

        ``|delta|^2 (m - d)/d`` is F-distributed for Gaussian errors, since ``delta`` is the error of the public
        fit in its own units; noise and private sampling come on top.
        """
        public, delta = self.plan.public, self.unshrunk[0]
        if public.m is None:
            return False
        rest = public.m - public.d
        own = public.d / rest * f_distribution.isf(1e-3, public.d, rest)
        inverse = np.linalg.inv(self.whole[0] * self.stable_gram[0])
        noise = float(np.linalg.eigvalsh(inverse @ self.noise_covariance(delta) @ inverse)[-1])
        return bool(delta @ delta > own + (noise + 1 / self.plan.n) * chi2.isf(1e-3, public.d))

    def joint_moment(self) -> np.ndarray:
        """Released joint second moment (D, D) in the units of the table, first trial."""
        public, d = self.plan.public, self.plan.public.d
        whitened = np.empty((d + 1, d + 1))
        whitened[:d, :d] = self.stable_gram[0]
        whitened[:d, d] = whitened[d, :d] = self.stable_gram[0] @ self.correction[0]
        whitened[d, d] = self.residual_variance + self.correction[0] @ whitened[:d, d]
        return np.asarray(public.factor @ whitened @ public.factor.T)

    def released(self) -> Mapping[str, Any]:
        """Residual variance, R^2, ridge path, condition numbers: all from the one released moment."""
        public = self.plan.public
        moment = self.joint_moment()
        variance = self.residual_variance * public.residual_scale**2
        total = moment[-1, -1] - (moment[0, -1] ** 2 / moment[0, 0] if public.has_intercept else 0.0)
        spectrum = conditioning(self.gram[0])
        ends = np.linalg.svd(public.feature_root, compute_uv=False)[[-1, 0]] ** 2  # public eigenvalues
        path = np.geomspace(ends[0] / 100, ends[1] * 10, _PATH_POINTS)  # from no effect to nothing left
        return {
            "residual_variance": variance,
            "residual_sd": float(np.sqrt(variance)),
            "r_squared": float(1 - variance / total) if total > 0 else None,
            "after_whitening": spectrum.as_dict() if spectrum.lambda_min > 0 else {"lambda_min": spectrum.lambda_min},
            "ridge_path": {
                "lam": path.tolist(),
                "coefficients": [self.ridge(float(lam))[0].tolist() for lam in path],
            },
        }

    def notes(self) -> tuple[str, ...]:
        """What the noise did to this release."""
        found = []
        if conditioning(self.gram[0]).lambda_min <= 0:
            found.append(
                "The noise made the released moment indefinite; it was combined with the public one by precision."
            )
        if self._looks_shifted():
            found.append(
                "The private rows do not look like the public ones: the correction to the public fit is larger than "
                "its sampling error and the noise explain. Truncation may then bias the fit beyond its bands."
            )
        if self._gram_precision[0] < 0.5:
            found.append("At this budget the released moment weighs less than the public one.")
        return tuple(found)
