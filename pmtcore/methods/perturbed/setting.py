"""Common parts of the methods on a perturbed objective: coordinates, bound on rows, loss, and the public fit.

Everything is computed from public data and declared bounds. Coefficients of the table are ``A theta``, rows enter as
``A' x``. *Scaled*: features divided by their public root mean square. *Whitened*: the public moment is the identity, in
the directions in which the problem's own penalty is diagonal; norms and spherical noise do not depend on that choice.
"""

import math
from dataclasses import dataclass

import numpy as np

from pmtcore.base.messages import InputError, MethodMessage, one_of
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm import losses
from pmtcore.glm.losses import Loss
from pmtcore.mechanisms.minimizer import LossSums, bytes_kept
from pmtcore.mechanisms.whitening import row_products
from pmtcore.methods.parameters import parameter, unset
from pmtcore.methods.registry import IterativePlan
from pmtcore.public.clipping import moment_only_ball
from pmtcore.public.moments import PublicData
from pmtcore.public.penalized import PublicFit, public_fit

COORDINATES = ("scaled", "whitened")
PLAIN = "plain"  # untransformed features, as in the published experiments
LOSSES = ("family", "hinge")
_RESIDUAL_SDS = 1.5  # residuals, in public residual sds, beyond which the squared loss is continued linearly
_COUNT_FACTOR = 1.5  # bound on counts over the largest public count
_RESPONSE_FACTOR = 10.0  # bound on responses, which a solver needs, over the largest public response


def loss_field() -> str:
    """Return the field of the loss of a perturbed objective."""
    return parameter(LOSSES[0], "Loss", "The family's own, or for labels the smoothed hinge.", choices=LOSSES)


def bound_field(help: str) -> float:
    """Return the field of the bound on residuals (linear) or counts (Poisson)."""
    return unset("Bound (0: automatic)", help, automatic="")


@dataclass(frozen=True)
class Setting:
    """Public coordinates, loss and bounds of a fit.

    Attributes:
        back: A (d, d).
        radius: rows are clipped to it, in these coordinates; the longest public row.
        penalty: the problem's own ridge per row in these coordinates (d,).
        labelled: whether public responses are known.
    """

    public: PublicData
    loss: Loss
    back: np.ndarray
    radius: float
    penalty: np.ndarray

    def rows(self, x: np.ndarray) -> np.ndarray:
        """Return rows (k, d) in these coordinates; overflow is left to the clipping."""
        return row_products(x, self.back)

    def clipped(self, rows: PrivateRows) -> LossSums[Loss]:
        """Return the sums of losses of private rows, clipped in these coordinates, with responses in their range."""
        return LossSums.clipped(rows, self.loss, self.radius, self.rows)

    def table(self, theta: np.ndarray) -> np.ndarray:
        """Return coefficients (t, d) in the units of the table."""
        return np.asarray(theta @ self.back.T)

    def fit(self) -> PublicFit:
        """Return the public fit with its covariance.

        Raises:
            InputError: a family other than the linear one without labelled public rows.
        """
        public = self.public
        if public.rows is not None and public.labelled:
            penalty = self.penalty if public.own_lam == public.lam else self.penalty * (public.own_lam / public.lam)
            return public_fit(self.loss, self.rows(public.rows[:, :-1]), public.rows[:, -1], penalty)
        if public.family.id != "gaussian" or not public.labelled:
            raise InputError(MethodMessage.PUBLIC_FIT_NEEDED, method="napp-public")
        hessian = self.back.T @ public.moment[: public.d, : public.d] @ self.back
        m = public.m or 2 * (public.d + 1)
        spread = public.residual_scale**2 * m / max(m - public.d, 1)
        theta = np.linalg.solve(self.back, public.coefficients)
        return PublicFit(theta, hessian, spread / m * np.linalg.inv(hessian), m)

    def lasso_weights(self, lasso: float) -> np.ndarray:
        """Return lasso weights (d,), none on the intercept.

        Raises:
            InputError: a lasso in whitened coordinates, where it selects no column.
        """
        if lasso > 0 and not np.allclose(self.back, np.diag(np.diag(self.back))):
            raise InputError(MethodMessage.LASSO_WHITENED)
        return lasso * self.public.penalized


@dataclass(frozen=True)
class PerturbedPlan(IterativePlan[LossSums[Loss]]):
    """A plan on the sums of losses of rows that are clipped in the coordinates of its setting."""

    setting: Setting

    def bytes_kept(self, d: int) -> int:
        """See :class:`Plan`."""
        return bytes_kept(d)

    def prepared(self, rows: PrivateRows) -> LossSums[Loss]:
        """Return the sums of losses of clipped rows."""
        return self.setting.clipped(rows)


def setting(
    public: PublicData, coordinates: str, loss: str = "family", bound: float = 0.0, *, centred: bool = False
) -> Setting:
    """Return coordinates, loss and bounds for these public data.

    Args:
        public: the public data.
        coordinates: ``scaled``, ``whitened`` or ``plain``.
        loss: ``family`` or ``hinge``.
        bound: of residuals (linear) or counts (Poisson); 0: from public responses. Labels need none.
        centred: whether fits start from the public fit, so that residuals are those of it.

    Raises:
        InputError: a smoothed hinge without labels, or no bound where none can be had.
    """
    one_of("coordinates", coordinates, (*COORDINATES, PLAIN))
    d = public.d
    if coordinates == PLAIN:
        back, penalty = np.eye(d), public.lam * public.penalty_shape
    elif coordinates == "scaled":
        scale = np.sqrt(np.maximum(np.diag(public.moment)[:d], 1e-300))
        back, penalty = np.diag(1 / scale), public.lam * public.penalty_shape / scale**2
    else:
        values, turn = np.linalg.eigh(public.unit_penalty)
        back, penalty = np.linalg.solve(public.feature_root.T, turn), public.lam * np.maximum(values, 0.0)
    radius = moment_only_ball(d).radius
    if public.rows is not None:
        radius = float(np.max(np.linalg.norm(public.rows[:, :-1] @ back, axis=1)))
    return Setting(public, chosen_loss(public, loss, bound, centred), back, radius, penalty)


def chosen_loss(public: PublicData, loss: str, bound: float, centred: bool) -> Loss:
    """Return the family's loss with its bounds, or the smoothed hinge.

    Raises:
        InputError: a smoothed hinge without labels, or no bound where none can be had.
    """
    one_of("loss", loss, LOSSES)
    family = public.family
    if loss == "hinge":
        if not family.binary:
            raise InputError(MethodMessage.HINGE_NEEDS_LABELS, family=family.title)
        return losses.HINGE
    if family.binary:
        return losses.LABEL_LOSSES[family.id]
    if not bound and not public.labelled:
        raise InputError(MethodMessage.BOUND_NEEDED)
    if family.id == "poisson":
        most = bound or (1.0 if public.rows is None else _COUNT_FACTOR * max(float(np.max(public.rows[:, -1])), 1.0))
        return losses.poisson(most, math.log(most))
    m = public.m or 2 * public.d
    residual = _RESIDUAL_SDS * public.residual_scale * math.sqrt(m / max(m - public.d, 1))
    automatic = residual if centred else public.response_scale
    largest = public.response_scale if public.rows is None else float(np.max(np.abs(public.rows[:, -1])))
    far = _RESPONSE_FACTOR * max(largest, public.response_scale, 1e-9)
    return losses.linear(bound or max(automatic, 1e-6 * public.response_scale, 1e-9), far)
