"""What ``joint-pmt`` gives back of its released figures: coefficients at any penalty, bands, moments, notes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from pmtcore.base.bands import Bands
from pmtcore.base.strict_json import Json
from pmtcore.methods.joint.bands import alone, bands, looks_shifted
from pmtcore.methods.joint.fit import FirstFit
from pmtcore.methods.joint.refined import Fit
from pmtcore.methods.registry import Outcome
from pmtcore.public.homogeneity import bootstrap_null, words
from pmtcore.public.moments import back_transform, conditioning, ridge_from_least_squares

_PATH_POINTS = 31  # of the ridge path: three a decade over ten decades


class JointOutcome(Outcome):
    """Post-processing of released joint moments (trials, D, D), and of gradients (trials, d) at what they say.

    Args:
        pilot: what the moments say.
        fit: what all passes say together; the same where there is no other pass.
        lam: the ridge penalty asked for.
    """

    def __init__(self, pilot: FirstFit, fit: Fit, lam: float) -> None:
        self.pilot, self.fit, self.lam = pilot, fit, lam

    def transcript(self) -> np.ndarray:
        """Return everything that was released (trials, k)."""
        return self.fit.transcript()

    @property
    def coefficients(self) -> np.ndarray:
        """Return coefficients (trials, d) at the plan's ridge penalty."""
        return self.ridge(self.lam)

    def ridge(self, lam: float) -> np.ndarray:
        """Return coefficients (trials, d) at any ridge penalty, the intercept unpenalized: post-processing, free."""
        public, root = self.pilot.public, self.pilot.public.feature_root
        fit = public.fit + public.residual_scale * back_transform(root, self.fit.correction)
        if lam == 0:
            return fit
        return ridge_from_least_squares(fit, self._feature_moment, lam * public.penalized)

    @cached_property
    def _feature_moment(self) -> np.ndarray:
        """Return the released second moment of the features (trials, d, d) in the units of the table."""
        root = self.pilot.public.feature_root
        return np.asarray(root @ self.pilot.stable_gram @ root.T)

    def bands(self) -> Bands:
        """Return privacy, sampling and truncation parts, and 95 % limits of all together (proofs/bands.md, 7)."""
        return bands(self.pilot, self.fit, self.coefficients[0], self.lam)

    def joint_moment(self) -> np.ndarray:
        """Return the released joint second moment (D, D) in the units of the table, first trial."""
        public, d, gram = self.pilot.public, self.pilot.public.d, self.pilot.stable_gram[0]
        whitened = np.empty((d + 1, d + 1))
        whitened[:d, :d] = gram
        whitened[:d, d] = whitened[d, :d] = gram @ self.fit.correction[0]
        whitened[d, d] = self.pilot.residual_variance + self.fit.correction[0] @ whitened[:d, d]
        return np.asarray(public.factor @ whitened @ public.factor.T)

    def released(self) -> Mapping[str, Json]:
        """Return residual variance, R^2, ridge path, condition numbers and the second pass's bound: all free."""
        public = self.pilot.public
        moment = self.joint_moment()
        variance = self.pilot.residual_variance * public.residual_scale**2
        total = moment[-1, -1] - (moment[0, -1] ** 2 / moment[0, 0] if public.has_intercept else 0.0)
        spectrum = conditioning(self.pilot.gram[0])
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
            "alone": alone(self.pilot, self.fit),
            **self.fit.released(),
        }

    @property
    def disagrees(self) -> bool:
        """Return whether a note says that the samples do not look alike."""
        return self._looks_shifted or bool(self._likeness)

    @cached_property
    def _looks_shifted(self) -> bool:
        """Return whether the correction is larger than alike samples give."""
        return looks_shifted(self.pilot, self.fit)

    @cached_property
    def _likeness(self) -> list[str]:
        """Return what the released Gram matrix says of the two samples, where there are public rows."""
        first = self.pilot.first
        if first.public.rows is None:
            return []
        chance = bootstrap_null(first.public, first.ball, first.n).test(self.pilot.gram[0], self.pilot.v)
        return [said] if (said := words(chance, first.public)) else []

    def notes(self) -> tuple[str, ...]:
        """Return the notes: what the noise did to this release."""
        notes = []
        if conditioning(self.pilot.gram[0]).lambda_min <= 0:
            notes.append(
                "The noise made the released moment indefinite; it was combined with the public one by precision."
            )
        if self._looks_shifted:
            notes.append(
                "The private rows do not look like the public ones: the correction to the public fit is larger than "
                "its sampling error and the noise explain. Truncation may then bias the fit beyond its bands."
            )
        notes += self._likeness
        if self.fit.truncates_heavily:
            notes.append(
                "What was released shows that far more of the private rows was truncated than the public rows foresee: "
                "more than half of their spread in some direction, or rows beyond every bound that was tried. The fit "
                "may depend on few private rows far out; the bands allow for what they say, as far as it is known."
            )
        if self.pilot.gram_precision[0] < 0.5:
            notes.append("At this budget the released moment weighs less than the public one.")
        return tuple(notes)
