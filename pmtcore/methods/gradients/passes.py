"""One pass after another at released points: bound, gradient, curvature, what they say together (maths.md, 16).

State after each pass: points (t, d) and what they are still to be doubted by, (t, d, d), both from public and released
figures. With the Hessian H, the penalized clipped gradient e and its noise D,

    S = H V H + D,   K = V H S^{-1},   point + K e,   V - K H V.

D has the noise, the doubt about what clipping took (public rows say what that is, and it is added back), and the doubt
about H along V. Where ``e'S^{-1}e/d`` is beyond what chance allows V is widened by that ratio: rows that are not alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from pmtcore.mechanisms.passes import CURVATURE_SENSITIVITY, GRADIENT_SENSITIVITY
from pmtcore.mechanisms.truncation import length_weights
from pmtcore.methods.gradients.frame import Cut, Frame
from pmtcore.public.radius import ABSOLUTE_SHARE
from pmtcore.public.sizes import beyond

_HELD = 0.02  # of the mean eigenvalue: no direction of a public Hessian is without curvature
_LEAST, _FAR = 0.02, 3.0  # least eigenvalue of a Hessian, and how far a step may go, in units of the prior
_BALLS = (0.5, 4.0, 12)  # of the median and of the longest public curvature, candidates


@final
@dataclass(frozen=True)
class Curvature:
    """Hessians without the penalty (t, d, d), and the variance (t,) of their entries."""

    hessian: np.ndarray
    variance: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class State:
    """Where t trials stand.

    Attributes:
        points: (t, d) in whitened coordinates.
        doubt: covariance (t, d, d) of the distance to the fit of the private rows.
        turned: released curvature (t, d, d) in units of the public one, its entries' variance (t,); ``None`` before.
    """

    points: np.ndarray
    doubt: np.ndarray
    turned: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def first(cls, frame: Frame, trials: int) -> State:
        """The public prior."""
        centre, covariance = frame.start
        return cls(np.tile(centre, (trials, 1)), np.tile(covariance, (trials, 1, 1)))


@final
@dataclass(frozen=True, eq=False)
class Bounded:
    """What is chosen before a clipped gradient: what is cut off, curvature, noise (t,) on each coordinate."""

    cut: Cut
    curvature: Curvature
    noise: np.ndarray


def curvature_at(frame: Frame, state: State) -> Curvature:
    """The public Hessian at the points, turned by the released one where there is one."""
    slopes = frame.slopes(state.points)
    public = frame.hessians(slopes)
    if state.turned is None:
        return Curvature(public, frame.roughness(slopes))
    root = np.linalg.cholesky(_held(public))
    return Curvature(root @ state.turned[0] @ np.swapaxes(root, 1, 2), state.turned[1])


def choose_bounds(frame: Frame, state: State, mu: float) -> Bounded:
    """For each trial the clipping bound that is predicted to leave the least doubt, from public rows.

    All candidates are priced in one eigenbasis, what clipping makes doubtful spread evenly.
    """
    curvature = curvature_at(frame, state)
    slope = curvature.hessian + frame.penalty
    residuals = frame.residuals(state.points)
    along = state.doubt @ slope
    values, vectors = np.linalg.eigh(slope @ along + _rough(state.doubt, curvature.variance))
    gained = np.sum((along @ vectors) ** 2, axis=1)  # (t, d)
    bounds, lost = frame.candidates(residuals)
    unit = GRADIENT_SENSITIVITY / (mu * frame.n)
    each = (lost + (unit * bounds) ** 2)[:, :, None]  # (t, K, 1)
    gain = np.sum(gained[:, None] / np.maximum(values[:, None] + each, 1e-300), axis=2)
    best = np.take_along_axis(bounds, np.argmax(gain, axis=1)[:, None], axis=1)[:, 0]
    return Bounded(frame.cut(residuals, best), curvature, unit * best)


def advance(frame: Frame, state: State, chosen: Bounded, gradients: np.ndarray) -> tuple[State, np.ndarray]:
    """After clipped gradients (t, d) at the points: new state, and the widening (t,) that each release asked for."""
    d = gradients.shape[1]
    slope = chosen.curvature.hessian + frame.penalty
    left = gradients + chosen.cut.mean - state.points @ frame.penalty
    own = (chosen.noise**2)[:, None, None] * np.eye(d) + chosen.cut.doubt

    def total(doubt: np.ndarray) -> np.ndarray:
        return slope @ doubt @ slope + own + _rough(doubt, chosen.curvature.variance)

    size = np.einsum("ti,ti->t", left, np.linalg.solve(total(state.doubt), left[..., None])[..., 0]) / d
    wider = np.where(size > 1 + _FAR * math.sqrt(2 / d), size, 1.0)
    doubt = state.doubt * wider[:, None, None]
    gain = np.swapaxes(np.linalg.solve(total(doubt), slope @ doubt), 1, 2)
    step = np.einsum("tij,tj->ti", gain, left)
    share = _damping(frame, step)
    rest = doubt - gain @ slope @ doubt + ((1 - share) ** 2)[:, None, None] * step[:, :, None] * step[:, None, :]
    points = state.points + share[:, None] * step
    return replace(state, points=points, doubt=(rest + np.swapaxes(rest, 1, 2)) / 2), wider


def _damping(frame: Frame, step: np.ndarray) -> np.ndarray:
    """Share (t,) of steps (t, d) that is gone: ``log(1 + a)/a`` where a public prediction would move by a > 1."""
    if frame.public.family.id == "gaussian":
        return np.ones(len(step))
    move = np.max(np.abs(frame.left_out @ step.T), axis=0)
    return np.where(move > 1, np.log1p(move) / np.maximum(move, 1e-12), 1.0)


def _rough(doubt: np.ndarray, variance: np.ndarray | float) -> np.ndarray:
    """Covariance (..., d, d) of what a Hessian with entries of this variance does to a step of covariance ``doubt``."""
    size = np.trace(doubt, axis1=-2, axis2=-1)[..., None, None] * np.eye(doubt.shape[-1])
    return np.asarray(np.asarray(variance)[..., None, None] * (size + doubt))


def ball_bounds(frame: Frame, state: State, mu: float) -> np.ndarray:
    """Where curvatures ``b'' xx'`` are truncated (t,): least squared error by public rows and their tail."""
    d, (low, high, count) = frame.public.d, _BALLS
    lengths = np.sort(np.sqrt(frame.slopes(state.points).T) * frame.norms, axis=1)  # (t, m)
    first = np.maximum(low * np.median(lengths, axis=1), 1e-9)
    radii = np.geomspace(first, np.maximum(high * lengths[:, -1], 2 * first), count, axis=1)
    noise = (CURVATURE_SENSITIVITY * radii**2 / (mu * frame.n)) ** 2 * d * (d + 1) / 2
    apart, alike = beyond(lengths**2, radii**2)
    price = apart / frame.m + ABSOLUTE_SHARE * alike**2 + noise
    return np.asarray(np.take_along_axis(radii, np.argmin(price, axis=1)[:, None], axis=1)[:, 0])


def turn(frame: Frame, state: State, bounds: np.ndarray, mu: float, released: np.ndarray) -> State:
    """Released curvatures (t, d, d) combined with the public ones by precision, for all later passes."""
    d = frame.public.d
    slopes = frame.slopes(state.points)
    public, spread = frame.hessians(slopes), frame.roughness(slopes)
    weights = length_weights(frame.norms[:, None] * np.sqrt(slopes), bounds) ** 2
    away = released - frame.hessians(slopes * weights)
    noise = (CURVATURE_SENSITIVITY * bounds**2 / (mu * frame.n)) ** 2 / 2
    distance = np.sum(away**2, axis=(1, 2)) / (d * (d + 1))
    entries = d * (d + 1) / 2
    far = distance > (spread + noise) * (1 + _FAR * math.sqrt(2 / entries))
    spread = np.where(far, np.maximum(distance - noise, spread), spread)
    weight = spread / (spread + noise)
    inverse = np.linalg.inv(np.linalg.cholesky(_held(public)))
    turned = inverse @ (public + weight[:, None, None] * away) @ np.swapaxes(inverse, 1, 2)
    values, vectors = np.linalg.eigh(turned)
    turned = (vectors * np.maximum(values, _LEAST)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return replace(state, turned=(turned, weight * noise))


def _held(hessians: np.ndarray) -> np.ndarray:
    """Hessians (t, d, d) with a little of their mean eigenvalue added."""
    d = hessians.shape[-1]
    size = np.trace(hessians, axis1=1, axis2=2) / d
    return np.asarray(hessians + (_HELD * size + 1e-300)[:, None, None] * np.eye(d))
