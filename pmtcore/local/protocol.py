"""Configuration that a server publishes, reports that devices compute from one row each, and how reports are decoded.

A *configuration* is public JSON: columns, whitening, radius, response bounds, randomizer, epsilon. A *report*
holds a random id, the configuration's digest and the randomized vector, nothing else. Two schemes:

* ``whitened``: ``w x~ (y - centre)``, d numbers at the full budget (proofs/local.md, 12);
* ``moments``: ``x x'`` and ``x (y - offset)`` of centred, clipped rows (C, Algorithms 1 to 4), jointly at the full
  budget; with an intercept the offset is the middle of the response range, which moves the intercept only.

All noise is integer noise on a grid, or a choice among finitely many directions: the guarantee holds for the bits of a
report (proofs/local.md, 12).
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pmtcore.base.messages import FaceMessage, InputError, LocalMessage, one_of, reraised_as
from pmtcore.base.strict_json import parse_json
from pmtcore.base.symmetric import from_upper_triangle, isometric_scale, upper_triangle
from pmtcore.mechanisms.grid import FINE, SCALE, SLACK, grid_rows
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.randomizers import Gaussian, PrivUnit
from pmtcore.mechanisms.truncation import moment_and_cross_cost, squared_norms
from pmtcore.mechanisms.whitening import row_products
from pmtcore.public.moments import inverse_root
from pmtcore.public.shape import Clip

VERSION = 2  # 2: integer noise; moments send x (y - centre) where there is an intercept
_LARGEST = 1e100  # a longer row is shortened to it: far outside every radius, and its square is finite
_ROWS_AT_ONCE = 2**12  # products of 15 bits each, so many of them, stay far below 2^53, and fit into a fast cache
_TAIL = 12.0  # standard deviations beyond which a Gaussian report is impossible


@dataclass(frozen=True, eq=False)
class Configuration:
    """Everything public that a device needs.

    Attributes:
        scheme: ``whitened`` or ``moments``.
        names, target: columns of a row, in this order; the intercept first when there is one.
        shift: (d,), subtracted from the features.
        root: (d, d) lower triangular; features are whitened by it (the identity for ``moments``).
        radius: the score is at most this long in units of the response (``whitened``), or the row (``moments``).
        low, high: responses are clipped to it.
        randomizer: ``privunit`` (pure epsilon) or ``gaussian`` (mu-GDP with the mu that epsilon implies).
        offset: number subtracted from responses (``moments``): with an intercept the middle of their range, which
            changes the intercept only and halves the bound of labels.
    """

    scheme: str
    names: tuple[str, ...]
    target: str
    shift: np.ndarray
    root: np.ndarray
    radius: float
    low: float
    high: float
    randomizer: str
    mu: float
    epsilon: float | None = None
    offset: float = 0.0

    def __post_init__(self) -> None:
        one_of("scheme", self.scheme, ("whitened", "moments"))
        one_of("randomizer", self.randomizer, ("privunit", "gaussian"))
        if self.randomizer == "privunit" and (self.scheme != "whitened" or self.epsilon is None):
            raise InputError(LocalMessage.PRIVUNIT_FORM)
        if not self.low < self.high or not self.radius > 0 or not self.mu > 0:
            raise InputError(LocalMessage.CONFIGURATION_FORM)
        if not self.response_bound > 0:
            raise InputError(LocalMessage.OFFSET_FORM)

    @property
    def guarantee(self) -> dict[str, float | str | None]:
        """Return the guarantee of each report for its row."""
        return {"mu": self.mu, "epsilon": self.epsilon, "relation": "replace-one, of one's own row"}

    @property
    def d(self) -> int:
        """Return the number of features."""
        return len(self.names)

    @property
    def dimension(self) -> int:
        """Return the length of a report."""
        return self.d if self.scheme == "whitened" else self.d * (self.d + 1) // 2 + self.d

    @property
    def centre(self) -> float:
        """Return the middle of the response range."""
        return (self.low + self.high) / 2

    @property
    def bound(self) -> float:
        """Return the bound on the length of vectors before they are randomized (``whitened``)."""
        return self.radius * (self.high - self.low) / 2

    @property
    def response_bound(self) -> float:
        """Return the largest absolute response less the offset (``moments``)."""
        return max(abs(self.low - self.offset), abs(self.high - self.offset))

    @cached_property
    def unit(self) -> PrivUnit:
        """Return the PrivUnit randomizer."""
        if self.epsilon is None:
            raise InputError(LocalMessage.PRIVUNIT_NEEDS_EPSILON)
        return PrivUnit.for_epsilon(self.d, self.epsilon)

    @cached_property
    def gaussian(self) -> Gaussian:
        """Return the Gaussian randomizer of the whitened scheme."""
        return Gaussian(self.mu, self.bound)

    @cached_property
    def moment_scales(self) -> tuple[float, float]:
        """Return the noise on ``x x'`` in isometric coordinates and on ``x y``, in units of ``2^-30`` of their bounds.

        Both together are mu-GDP (E6 repaired): half of ``mu^2`` for a sensitivity of ``sqrt(2)`` and half for 2, with
        less noise because no row reaches both sensitivities at once (proofs/sensitivity.md, 3.5).
        """
        gram, cross = math.sqrt(2) * math.sqrt(2), 2 * math.sqrt(2)  # at mu = 1
        unit = (1 + SLACK) * FINE * math.sqrt(moment_and_cross_cost(1 / gram**2, 1 / cross**2)) / self.mu
        return gram * unit, cross * unit

    def scales(self) -> np.ndarray:
        """Return the scale of the integer noise on each coordinate of a report (dimension,)."""
        if self.scheme == "whitened":
            return np.full(self.d, self.gaussian.scale)
        gram, cross = self.moment_scales
        return np.concatenate([gram / isometric_scale(self.d), np.full(self.d, cross)])

    def units(self) -> np.ndarray:
        """Return the size of one integer step in the units of a report (dimension,)."""
        if self.scheme == "whitened":
            return np.full(self.d, self.bound / FINE)
        gram, cross = self.radius**2 / FINE, self.radius * self.response_bound / FINE
        return np.concatenate([gram * isometric_scale(self.d), np.full(self.d, cross)])

    @property
    def digest(self) -> str:
        """Return the digest that names the configuration in every report."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        fields = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(self).items() if k in _FIELDS}
        return {"version": VERSION, **fields, "names": list(self.names)}

    @classmethod
    def from_json(cls, data: bytes) -> Configuration:
        """Read the configuration from a published file.

        Raises:
            InputError: not such a file, or of another version.
        """
        with reraised_as(InputError(FaceMessage.NOT_A_CONFIGURATION)):
            fields = dict(parse_json(data))
            version = fields.pop("version")
            _check_types(fields)
            made = cls(
                **{
                    **fields,
                    "names": tuple(fields["names"]),
                    "shift": np.asarray(fields["shift"], dtype=float),
                    "root": np.asarray(fields["root"], dtype=float),
                }
            )
            if made.shift.shape != (made.d,) or made.root.shape != (made.d, made.d) or not np.all(np.diag(made.root)):
                raise ValueError("shapes")
        if version != VERSION:
            raise InputError(LocalMessage.OTHER_VERSION, version=version, expected=VERSION)
        return made

    def vectors(self, features: np.ndarray, response: np.ndarray) -> np.ndarray:
        """Return the ``whitened`` scores (k, d) of rows (k, d), (k,): finite, as long as the bound at most.

        A row with a missing value becomes the zero vector, which is randomized like all others, so that neither a
        report nor its absence shows that a value was missing (E5).
        """
        x, y = _without_overflow(features - self.shift, response)
        z = row_products(x, inverse_root(self.root))
        _, weights = Clip(self.radius, np.inf).factors(np.sqrt(squared_norms(z)))
        return np.asarray(z * (weights * (np.clip(y, self.low, self.high) - self.centre))[:, None])

    def integers(self, features: np.ndarray, response: np.ndarray) -> np.ndarray:
        """Return the statistics of rows before Gaussian noise, as integers (k, dimension) in steps of :meth:`units`.

        Every report is computed from them; missing values are treated as in :meth:`vectors`.
        """
        if self.scheme == "whitened":
            return self.gaussian.integers(self.vectors(features, response))
        k, level = self._moment_integers(features, response)
        upper = np.triu_indices(self.d)
        return np.column_stack([k[:, upper[0]] * k[:, upper[1]], k * level[:, None]])

    def total(self, features: np.ndarray, response: np.ndarray) -> np.ndarray:
        """Return the sum over rows of :meth:`integers` (dimension,), exact: integers below 2^53 whatever the order."""
        total = np.zeros(self.dimension, dtype=np.int64)
        for start in range(0, len(response), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            if self.scheme == "whitened":
                total += self.integers(features[part], response[part]).sum(axis=0)
                continue
            k, level = (each.astype(float) for each in self._moment_integers(features[part], response[part]))
            total += np.concatenate([upper_triangle(k.T @ k), level @ k]).astype(np.int64)
        return total

    def _moment_integers(self, features: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return clipped rows (k, d) and responses (k,) as integers in steps of their bounds over 2^15."""
        x, y = _without_overflow(features - self.shift, response)
        share = (np.clip(y, self.low, self.high) - self.offset) / self.response_bound
        return grid_rows(x, self.radius), np.trunc(np.clip(share, -1.0, 1.0) * SCALE).astype(np.int64)

    def statistic(self, features: np.ndarray, response: np.ndarray) -> np.ndarray:
        """Return the statistics of :meth:`integers` in the units of a report (k, dimension)."""
        return np.asarray(self.integers(features, response) * self.units())

    def noise_sds(self) -> np.ndarray:
        """Return the standard deviation of the noise on each coordinate of a report (dimension,)."""
        return self.scales() * self.units()

    def randomize(self, features: np.ndarray, response: np.ndarray, source: NoiseSource) -> np.ndarray:
        """Make reports (k, dimension) of rows, each on its own.

        Guarantee: each report is mu-GDP, with PrivUnit epsilon-private, in its own row, for its bits
        (proofs/local.md, 12).
        """
        if self.randomizer == "privunit":
            return self.unit.randomize(self.vectors(features, response), self.bound, source)
        integers, scales = self.integers(features, response), self.scales()
        for scale in np.unique(scales):
            at = np.flatnonzero(scales == scale)
            integers[:, at] += source.integers(float(scale), len(integers), len(at))
        return np.asarray(integers * self.units())

    def possible_reports(self, reports: np.ndarray) -> np.ndarray:
        """Return a mask (k,) of the reports (k, dimension) that :meth:`randomize` makes (except with odds of 1e-30)."""
        with np.errstate(invalid="ignore", over="ignore"):
            finite = np.isfinite(reports).all(axis=1)
            if self.randomizer == "privunit":
                longest = self.longest_report
                length = np.linalg.norm(reports, axis=1)
                least = longest * (1 - 1e-6) if self.unit.pieces == 1 else 0.0
                return np.asarray(finite & (length >= least) & (length <= longest * (1 + 1e-6)))
            return np.asarray(finite & (np.abs(reports) <= self.largest_coordinates).all(axis=1))

    @property
    def longest_report(self) -> float:
        """Return the length of the longest report that PrivUnit sends."""
        return self.bound / self.unit.shrink

    @property
    def largest_coordinates(self) -> np.ndarray:
        """Return the largest absolute coordinates of a Gaussian report that is accepted (dimension,)."""
        reach = self.bound if self.scheme == "whitened" else max(self.radius**2, self.radius * self.response_bound)
        return np.asarray(reach + _TAIL * self.noise_sds())


def _check_types(fields: dict[str, Any]) -> None:
    """Raise unless each field of a published configuration has its type: a device trusts none of them.

    Raises:
        ValueError: a name that is no text or is there twice, a number that is none, or too large to compute with.
    """
    names, texts = fields["names"], (fields["target"], fields["scheme"], fields["randomizer"])
    if not isinstance(names, list) or not names or not all(isinstance(text, str) for text in (*names, *texts)):
        raise ValueError("names")
    if len(set(names)) < len(names) or fields["target"] in names:
        raise ValueError("a name twice")
    numbers = [fields[name] for name in ("radius", "low", "high", "mu")] + [fields.get("offset", 0.0)]
    numbers += [] if fields.get("epsilon") is None else [fields["epsilon"]]
    for values in (fields["shift"], *fields["root"]):
        numbers += values
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= _LARGEST:
            raise ValueError("numbers")


_FIELDS = tuple(Configuration.__dataclass_fields__)


def _without_overflow(features: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose squares do not overflow, in the same direction; zeros where a number is missing or infinite."""
    usable = np.isfinite(features).all(axis=1) & ~np.isnan(response)
    x = np.where(usable[:, None], features, 0.0)
    return x / np.maximum(np.abs(x).max(axis=1, keepdims=True) / _LARGEST, 1.0), np.where(usable, response, 0.0)


def moments_from_reports(mean: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mean ``x x'`` (..., d, d) and mean ``x y`` (..., d) from mean reports of the ``moments`` scheme."""
    return from_upper_triangle(mean[..., :-d] / isometric_scale(d), d), mean[..., -d:]


def report_lines(reports: np.ndarray, digest: str) -> Iterator[str]:
    """Return reports as JSON lines, each with a fresh random id."""
    for row in reports.tolist():
        yield json.dumps({"v": VERSION, "c": digest, "id": secrets.token_hex(8), "r": row}, separators=(",", ":"))
