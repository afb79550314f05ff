"""The record of a release of ``joint-moment`` in plain JSON, which anyone can read without the app or a private table.

The record holds public and released figures only. A record from elsewhere is checked field by field before anything
is computed from it: sizes, finite numbers, a triangular root, positive definite moments, names without markup.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import Guarantee, Neighbours, unit_of
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, RecordMessage, reraised_as
from pmtcore.base.strict_json import Json, parse_json
from pmtcore.base.symmetric import from_lower_triangle, lower_triangle, symmetric_from_lower, upper_triangle
from pmtcore.methods.joint_moment.derived import MOST_NAME, Derived, Rule
from pmtcore.methods.joint_moment.influence import GaussianInfluence, Influence, Moments, RowInfluence, unique_count
from pmtcore.methods.joint_moment.linear import DefaultFreedom, State, floor_moments
from pmtcore.public.gaussian_update import conflict_inflation
from pmtcore.public.moments import INTERCEPT

FORMAT = "second-moment/joint-moment"
VERSION = 1  # of the record; readers refuse a later one
MOST_COLUMNS = 400  # a moment of so many takes 1.3 MB as text of doubles
MOST_BYTES = 64_000_000  # far beyond the largest record that is written


@dataclass(frozen=True, eq=False)
class Record:
    """A released joint moment.

    Attributes:
        derived: names of the columns, the constant first where there is one, given before derived, with their rules.
        target: the default response.
        features: places of the default features.
        root: coordinates of the mechanism (D, D).
        noisy: the released moment (D, D) in them, exactly as it left.
        expected, prior: mean and variances (D, D) of that moment as public rows predict them.
        sigma, radius: noise scale and truncation radius.
        n, m: private rows; public rows, ``None`` if unknown.
        influence: moments of influence values for the sampling and truncation parts of intervals.
        spread: public standard deviation of each column (D,).
        guarantee: in plain fields, as records have it: with ``person`` where somebody may have several rows.
        shrunk: whether it is combined with the expected moment where the noise is large.
        labels: columns that are 0 or 1 in every public row.
        freedom: degrees of freedom of the default regression, in the order of ``features``, where the influence does
            not have all public rows: its bands are the same wherever they are computed.
    """

    derived: Derived
    target: str
    features: tuple[int, ...]
    root: np.ndarray
    noisy: np.ndarray
    expected: np.ndarray
    prior: np.ndarray
    sigma: float
    radius: float
    n: int
    m: int | None
    influence: Influence
    spread: np.ndarray
    guarantee: Mapping[str, Any]
    shrunk: bool = True
    labels: tuple[str, ...] = ()
    freedom: tuple[float, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return all D columns."""
        return self.derived.names

    def state(self) -> State:
        """Return the state of all regressions: the moment, combined with the expected one where the noise is large."""
        moment = combine_moments(self.noisy[None], self.expected, self.prior, self.sigma, shrunk=self.shrunk)
        floored_moment = floor_moments(moment.moments, self.expected, self.sigma)[0]
        relative_variance = float(moment.widened[0]) * mean_difference_variance(self.n, self.m)
        return State(
            self.root,
            floored_moment,
            moment.weights[0],
            self.sigma,
            relative_variance,
            self.expected,
            self.influence,
            self.n,
            self.m or 0,
            self.default_freedom,
        )

    @property
    def default_freedom(self) -> DefaultFreedom | None:
        """Return the degrees of freedom of the default regression by place of a column."""
        if self.freedom is None:
            return None
        return DefaultFreedom(self.names.index(self.target), dict(zip(self.features, self.freedom, strict=True)))

    def as_dict(self) -> dict[str, Json]:
        """Return plain fields, with a digest of all others."""
        fields: dict[str, Json] = {
            "format": FORMAT,
            "version": VERSION,
            "columns": list(self.derived.base),
            "derived": [rule.as_dict() for rule in self.derived.rules],
            "target": self.target,
            "features": list(self.features),
            "root": lower_triangle(self.root),
            "moment": lower_triangle(self.noisy),
            "expected": lower_triangle(self.expected),
            "prior_variance": lower_triangle(self.prior),
            "sigma": self.sigma,
            "radius": self.radius,
            "n": self.n,
            "m": self.m,
            "spread": self.spread.tolist(),
            "shrunk": self.shrunk,
            "influence": _influence_fields(self.influence),
            "guarantee": dict(self.guarantee),
            "labels": list(self.labels),
            **({"weighted": True} if self.derived.weighted else {}),
            **({} if self.freedom is None else {"freedom": [_short(value) for value in self.freedom]}),
        }
        return {**fields, "digest": _digest(fields)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Record:
        """Read and check the fields of :meth:`as_dict`, whoever wrote them.

        Raises:
            InputError: not a record of this version, or one that cannot be true.
        """
        with reraised_as(InputError(RecordMessage.UNREADABLE)):
            return _checked(fields)


def record_from_bytes(data: bytes) -> tuple[Record, bool]:
    """Return a record from a file, alone or in its release, and whether that does not say it is of the lab.

    Raises:
        InputError: too long, not JSON, or not a record.
    """
    if len(data) > MOST_BYTES:
        raise InputError(RecordMessage.TOO_LARGE, megabytes=MOST_BYTES // 1_000_000)
    with reraised_as(InputError(RecordMessage.NOT_JSON)):
        fields = parse_json(data)
    inside = fields.get("released") if isinstance(fields, dict) else None
    sound = not (isinstance(fields, dict) and fields.get("standing") == ReleaseStatus.LAB.value)
    if isinstance(inside, dict) and isinstance(inside.get("joint_moment"), dict):
        fields = inside["joint_moment"]
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise InputError(RecordMessage.NO_RECORD)
    return Record.from_dict(fields), sound


@dataclass(frozen=True)
class Combined:
    """Combined moments (T, D, D), the released one's share (T, D, D) in each, and the prior's inflation (T,)."""

    moments: np.ndarray
    weights: np.ndarray
    widened: np.ndarray


def mean_difference_variance(n: int, m: int | None) -> float:
    """Return ``1/n + 1/m``: the variance of a private minus a public mean, in units of the variance of one row."""
    return 1 / n + (1 / m if m else 0.25)  # a moment of unknown rows counts as four of them


def combine_moments(
    noisy: np.ndarray, expected: np.ndarray, prior: np.ndarray, sigma: float, *, shrunk: bool
) -> Combined:
    """Combine moments (T, D, D) with the expected one by precision, entry by entry.

    Entries of the two differ with variance ``prior`` if public and private rows are of one population; where the
    difference conflicts with that, the prior variance is inflated.
    """
    d = noisy.shape[-1]
    noise = sigma**2 / 2 * (1 + np.eye(d))
    if not shrunk:
        return Combined(noisy, np.ones(noisy.shape), np.ones(len(noisy)))
    deviation = noisy - expected
    size = np.mean(upper_triangle(deviation**2 / (prior + noise)), axis=1)
    share = float(np.mean(upper_triangle(prior / (prior + noise))))
    widened = conflict_inflation(size, np.full(len(size), share), d * (d + 1) // 2)
    wide = prior * widened[:, None, None]
    weights = wide / (wide + noise)
    return Combined(np.asarray(expected + weights * deviation), weights, widened)


def _checked(fields: Mapping[str, Any]) -> Record:
    if fields.get("format") != FORMAT or fields.get("version") != VERSION:
        raise InputError(RecordMessage.OTHER_VERSION, form=FORMAT, version=VERSION)
    if fields.get("digest") != _digest({name: value for name, value in fields.items() if name != "digest"}):
        raise InputError(RecordMessage.DIGEST_DIFFERS)
    derived = _columns(fields)
    d = len(derived.names)
    root, noisy = _triangular(fields["root"], d, "root"), _symmetric(fields["moment"], d, "moment")
    if not np.all(np.diag(root) > 0) or np.linalg.cond(root / np.linalg.norm(root, axis=1)[:, None]) > 1e12:
        raise InputError(RecordMessage.DEGENERATE)
    expected = _symmetric(fields["expected"], d, "expected")
    prior = _symmetric(fields["prior_variance"], d, "prior_variance")
    if not np.all(prior > 0) or np.linalg.eigvalsh(expected)[0] <= 0:
        raise InputError(RecordMessage.INDEFINITE)
    features = tuple(int(j) for j in fields["features"])
    if not features or any(not 0 <= j < d for j in features) or fields["target"] not in derived.names:
        raise InputError(RecordMessage.DEFAULT_COLUMNS)
    labels = tuple(fields.get("labels", ()))
    if not set(labels) <= set(derived.names):
        raise InputError(RecordMessage.LABEL_COLUMNS)
    freedom = fields.get("freedom")
    if freedom is not None:
        freedom = tuple(
            _positive(value, "freedom") for value in _numbers(freedom, (len(features),), "freedom").tolist()
        )
    m = None if fields["m"] is None else _count(fields["m"], "m")
    radius, n = _positive(fields["radius"], "radius"), _count(fields["n"], "n")
    return Record(
        derived=derived,
        target=str(fields["target"]),
        features=features,
        root=root,
        noisy=noisy,
        expected=expected,
        prior=prior,
        sigma=_positive(fields["sigma"], "sigma"),
        radius=radius,
        n=n,
        m=m,
        influence=_influence(fields["influence"], n, radius, expected, constant=derived.base[0] == INTERCEPT),
        spread=_numbers(fields["spread"], (d,), "spread"),
        guarantee=_guarantee(fields["guarantee"]),
        shrunk=bool(fields["shrunk"]),
        labels=labels,
        freedom=freedom,
    )


def _columns(fields: Mapping[str, Any]) -> Derived:
    base = tuple(fields["columns"])
    bad = [name for name in base if not isinstance(name, str) or not 0 < len(name) <= MOST_NAME]
    if bad or len(base) < 2 or len(base) + len(fields["derived"]) > MOST_COLUMNS:
        raise InputError(RecordMessage.COLUMN_NAMES, limit=MOST_COLUMNS, count=MOST_NAME)
    rules = tuple(Rule.checked(rule, base) for rule in fields["derived"])
    derived = Derived(base, rules, bool(fields.get("weighted", False)))
    if len(set(derived.names)) < len(derived.names):
        raise InputError(RecordMessage.COLUMN_TWICE)
    return derived


def _guarantee(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantee in plain fields, a person's computed from the row's where somebody may have several."""
    numbers = {name: _positive(fields[name], name) for name in ("mu", "rho", "epsilon", "delta")}
    stated = Guarantee(numbers["mu"], Neighbours.REPLACE_ONE, numbers["delta"], unit_of(fields)).as_dict()
    return {**stated, **numbers}


def _influence_fields(influence: Influence) -> dict[str, Json]:
    if isinstance(influence, RowInfluence):
        return {
            "kind": "rows",
            "rows": [[_short(v) for v in row] for row in influence.inside.tolist()],
            "factor": influence.factor.tolist(),
            **({} if influence.clusters is None else {"clusters": influence.clusters.tolist()}),
        }
    if isinstance(influence, Moments):
        return {
            "kind": "moments",
            "m": influence.m,
            "kept": lower_triangle(influence.truncated_second),
            "kept_four": influence.truncated_fourth.tolist(),
            "lost": lower_triangle(influence.residual_moment),
            "lost_four": influence.lost_fourth.tolist(),
            "far_four": influence.far_fourth.tolist(),
            "removed": lower_triangle(influence.removed_moment),
        }
    return {"kind": "none"}


def _influence(fields: Mapping[str, Any], n: int, radius: float, expected: np.ndarray, *, constant: bool) -> Influence:
    d = len(expected)
    if fields["kind"] == "rows":
        rows = np.asarray(fields["rows"], dtype=float)
        if rows.ndim != 2 or rows.shape[1] != d or not 2 <= len(rows) <= 100_000:
            raise InputError(RecordMessage.ROWS_MISFIT)
        factor = _numbers(fields["factor"], (len(rows),), "factor")
        if not np.all(factor > 0) or not np.all(np.isfinite(rows)) or np.max(np.abs(rows)) > 1e9:
            raise InputError(RecordMessage.ROWS_NOT_FINITE)
        return RowInfluence(rows, factor, radius, n, _clusters(fields.get("clusters"), len(rows)), constant)
    if fields["kind"] == "moments":
        after, lost = _symmetric(fields["kept"], d, "kept"), _symmetric(fields["lost"], d, "lost")
        many = (unique_count(d),)
        fours = [_numbers(fields[name], many, name) for name in ("kept_four", "lost_four", "far_four")]
        # Older records have no such field. The truncated moment of left-out rows is biased upwards with few public
        # rows.
        removed = _symmetric(fields["removed"], d, "removed") if "removed" in fields else lost
        return Moments(_count(fields["m"], "m"), after, fours[0], lost, fours[1], fours[2], removed)
    if fields["kind"] == "none":
        return GaussianInfluence(expected)
    raise InputError(RecordMessage.NO_INFLUENCE)


def _clusters(numbers: object, m: int) -> np.ndarray | None:
    """Return the groups (m,) of the record's public rows; ``None`` where rows are independent."""
    if numbers is None:
        return None
    groups = _numbers(numbers, (m,), "clusters")
    if np.any(groups != np.rint(groups)) or np.any(groups < 0) or np.any(groups >= m):
        raise InputError(RecordMessage.GROUPS_MISNUMBERED)
    return groups.astype(int)


def _triangular(values: object, d: int, name: str) -> np.ndarray:
    """Return the lower triangular matrix of a record's field."""
    return from_lower_triangle(_numbers(values, (d * (d + 1) // 2,), name), d)


def _symmetric(values: object, d: int, name: str) -> np.ndarray:
    """Return the symmetric matrix of a record's field."""
    return symmetric_from_lower(_triangular(values, d, name))


def _numbers(values: object, shape: tuple[int, ...], name: str) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.shape != shape or not np.all(np.isfinite(array)) or np.max(np.abs(array), initial=0.0) > 1e150:
        raise InputError(RecordMessage.NUMBERS_NEEDED, name=name, count=shape[0])
    return array


def _positive(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e150:
        raise InputError(RecordMessage.POSITIVE_NEEDED, name=name)
    return float(value)


def _count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 2 <= value <= 10**12:
        raise InputError(RecordMessage.COUNT_NEEDED, name=name)
    return value


def _short(value: float) -> float:
    """Round a public figure to nine digits: half the length as text."""
    return float(f"{value:.9g}")


def _digest(fields: Mapping[str, Json]) -> str:
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
