"""Conditioning and row norms: exact (private, for the curator) and predicted from public figures.

The exact figures are computed from private rows without noise, so they come in a :class:`Private` box; the
predictions may be shown to anyone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pmtcore.base.computed_once import computed_once
from pmtcore.base.labels import Label
from pmtcore.base.messages import CuratorNote
from pmtcore.base.private_rows import Private
from pmtcore.base.symmetric import eigenvector_root
from pmtcore.mechanisms.truncation import papers_radius, truncate
from pmtcore.public.moments import Conditioning, PublicData, conditioning, joint_rows, whiten
from pmtcore.tables.formula import category
from pmtcore.tables.overlap import Overlap, overlap
from pmtcore.tables.problem import Problem

QUANTILES = np.linspace(0.0, 1.0, 2001)
# Share of a direction's squared length that the named columns have together, and the most columns that are named.
NAMED_SHARE, MOST_NAMED_COLUMNS = 0.8, 3
# Draws of a spectrum: the standard error of its median is about a tenth of the spread. Fewer for very many columns.
_DRAWS, _FEWEST_DRAWS = 200, 5
_OPERATIONS = 2e9  # about a second


@dataclass(frozen=True)
class Diagnosis:
    """Conditioning of the features before and after whitening, and the norms of whitened rows.

    Attributes:
        label: exact figures are private, predictions public.
        before, after: spectra of the second moment of the features; ``after`` includes truncation.
        norms: quantiles (at :data:`QUANTILES`) of ``||x~||``; empty where only a moment is known.
        radius: the papers' radius at n rows.
    """

    label: Label
    before: Conditioning
    after: Conditioning | None
    norms: np.ndarray
    radius: float

    def rate(self, radius: float) -> float:
        """Return the share of rows that a radius truncates; NaN where the norms are unknown."""
        if not len(self.norms):
            return math.nan
        return float(1 - np.interp(radius, self.norms, QUANTILES))

    def radius_outside(self, share: float) -> float:
        """Return the radius outside of which this share of the rows lies; the papers' where the norms are unknown."""
        return float(np.interp(1 - share, QUANTILES, self.norms)) if len(self.norms) else self.radius

    def as_dict(self) -> dict[str, Any]:
        """Return the keys of the ``describe`` command."""
        return {
            "before": self.before.as_dict(),
            "after": self.after.as_dict() if self.after else {},
            "radius": self.radius,
            "truncation_rate": self.rate(self.radius),
        }


def exact_diagnosis(problem: Problem, eta: float) -> Private[Diagnosis]:
    """Compute the diagnosis of the private rows: for the curator."""
    public, rows, n = problem.public, problem.private, problem.private.n
    radius = papers_radius(public.d, n, eta)
    root = public.feature_root

    def norms(features: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(whiten(root, features), axis=1))

    def moments(features: np.ndarray, _: np.ndarray) -> np.ndarray:
        x = whiten(root, features)
        short = truncate(x, radius)
        return np.stack([x.T @ x, short.T @ short])

    def diagnosis(figures: tuple[np.ndarray, np.ndarray]) -> Diagnosis:
        (moment, short), lengths = figures[0] / n, figures[1]
        quantiles = np.quantile(lengths, QUANTILES)
        return Diagnosis(Label.PRIVATE, _spectrum_in_units(root, moment), conditioning(short), quantiles, radius)

    sums, lengths = rows.sum(moments), rows.concatenate(norms, 1)
    return sums.zip(lengths).map(diagnosis)


@computed_once(most=100)
def predicted_diagnosis(public: PublicData, n: int, eta: float) -> Diagnosis:
    """Predict the diagnosis from public figures: at no privacy cost, for anyone.

    The share of rows outside a radius is that of public rows, each whitened by the moment of the other ones.
    """
    norms, radius = np.empty(0), papers_radius(public.d, n, eta)
    after = None if public.m is None else expected_after(public.d, public.m)
    if after is not None and public.whitened is not None:
        features = public.whitened[:, :-1]
        norms = np.quantile(np.linalg.norm(features, axis=1), QUANTILES)
        after = max(after, bootstrapped_after(truncate(features, radius)), key=lambda each: each.kappa)
    return Diagnosis(Label.PUBLIC, _spectrum_in_units(public.feature_root, np.eye(public.d)), after, norms, radius)


def _spectrum_in_units(root: np.ndarray, whitened: np.ndarray) -> Conditioning:
    """Return the spectrum of ``L M L'`` from singular values of ``L M^{1/2}``, which preserves small eigenvalues."""
    return Conditioning(np.sort(np.linalg.svd(root @ eigenvector_root(whitened), compute_uv=False) ** 2))


@dataclass(frozen=True)
class Direction:
    """Columns with the largest shares of a direction.

    Attributes:
        shares: share of its squared length, by column of the table, largest first; small shares are omitted.
        columns: number of columns that have :data:`NAMED_SHARE` of its squared length together.
    """

    shares: Mapping[str, float]
    columns: int


def extreme_directions(public: PublicData) -> tuple[Direction, Direction]:
    """Return the longest and the shortest direction of the public second moment of the features, in table units.

    They decide the condition number: a column in large numbers is long; a rare level, a column in small numbers, or a
    combination of columns that nearly cancel is short. Public figures.
    """
    directions = np.linalg.svd(public.feature_root)[0]
    return _direction(public.names, directions[:, 0]), _direction(public.names, directions[:, -1])


def scaled_condition_number(public: PublicData) -> float:
    """Return the condition number of the public second moment after every column is scaled to mean square 1.

    This scaling is within a factor d of the best one (van der Sluis 1969), so the rest is not due to the units. A
    column of zeros is left as it is.
    """
    lengths = np.linalg.norm(public.feature_root, axis=1)
    singular = np.linalg.svd(public.feature_root / np.where(lengths > 0, lengths, 1.0)[:, None], compute_uv=False)
    return math.inf if singular[-1] == 0 else float((singular[0] / singular[-1]) ** 2)


def _direction(names: Sequence[str], vector: np.ndarray) -> Direction:
    """Return the shares of the table's columns in a vector (d,) of length 1, each with all its levels."""
    shares: dict[str, float] = {}
    for name, share in zip(names, vector**2, strict=True):
        column = category(name) or name
        shares[column] = shares.get(column, 0.0) + float(share)
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    many = int(np.searchsorted(np.cumsum([share for _, share in ordered]), NAMED_SHARE) + 1)
    return Direction(dict(ordered[: min(many, MOST_NAMED_COLUMNS)]), many)


def expected_after(d: int, m: int) -> Conditioning:
    """Return the median spectrum of the inverse moment of m Gaussian rows: the spectrum after whitening, for large n.

    The moment is Wishart, drawn by its Bartlett factor, so that m may be large.
    """
    rng, draws = np.random.default_rng(0), _draws(d**3)  # a fixed public constant: nothing here is a release
    factor = np.tril(rng.standard_normal((draws, d, d)), -1)
    factor[:, np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(m - np.arange(d), (draws, d)))
    singular = np.linalg.svd(factor, compute_uv=False)
    return Conditioning(np.sort(np.median(m / singular**2, axis=0)))


def bootstrapped_after(rows: np.ndarray) -> Conditioning:
    """Return the median spectrum of the second moment of the population, by the Bayesian bootstrap of public rows.

    The rows have exponential weights. Where few rows have a category, its frequency in the population is uncertain,
    which the Gaussian law of :func:`expected_after` does not allow for.

    Args:
        rows: public features (m, d), each whitened by the moment of the other rows, and truncated.
    """
    m, d = rows.shape
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=(_draws(m * d**2), m))
    weights /= np.sum(weights, axis=1, keepdims=True)
    spectra = [np.linalg.eigvalsh((rows * each[:, None]).T @ rows) for each in weights]
    return Conditioning(np.median(spectra, axis=0))


def _draws(operations: int) -> int:
    """Return the number of draws, of so many operations each, that take about a second."""
    return int(min(max(_OPERATIONS / operations, _FEWEST_DRAWS), _DRAWS))


def unusual_rows(problem: Problem) -> Private[dict[str, float]]:
    """Count the private rows that became rows of zeros, and the share of public rows that are private ones; private.

    The first figure may show the curator that a file was read with wrong settings. The second, beside the share
    expected by chance, may show that the public rows are not public.
    """
    rows = problem.private
    empty = rows.sum(lambda x, y: np.array(np.sum(~joint_rows(x, y).any(axis=1))))
    pair = empty.zip(overlap(problem.public, rows))
    return pair.map(lambda both: {"empty_rows": int(both[0]), **both[1].as_dict()})


def rows_in_words(unusual: Mapping[str, float], n: int) -> list[str]:
    """Return the figures of :func:`unusual_rows` in sentences."""
    empty = int(unusual["empty_rows"])
    lines = [CuratorNote.EMPTY_ROWS.sentence(count=empty, rows=n)]
    if empty > n / 2:
        lines.append(CuratorNote.MOSTLY_EMPTY.sentence())
    return lines + overlap_in_words(Overlap.from_dict(unusual))


def overlap_in_words(shared_rows: Overlap) -> list[str]:
    """Return the curator's sentences on public rows that are private rows too; none where there are none."""
    if shared_rows.share == 0:
        return []
    kind = CuratorNote.SHARED_BY_CHANCE if shared_rows.excess == 0 else CuratorNote.SHARED_BEYOND_CHANCE
    return [kind.sentence(**vars(shared_rows))]
