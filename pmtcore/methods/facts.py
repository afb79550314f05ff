"""Public figures of a plan, known before a private row is read, with a type where code reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pmtcore.base.exports import plain_json


@dataclass(frozen=True, kw_only=True)
class Passes:
    """A plan in two passes: shares of mu^2, and the clipping bound expected from public rows."""

    passes: int = 2
    pilot_share: float
    counting_share: float
    expected_clipping_bound: float
    gradient_noise_sd: float

    @property
    def gradient_share(self) -> float:
        """Return the share of mu^2 of the gradient, ``1 - pilot_share - counting_share``."""
        return 1 - self.pilot_share - self.counting_share


@dataclass(frozen=True, kw_only=True)
class Regressions:
    """Expected errors of random regressions from one release, in standard errors of the non-private coefficients.

    Attributes:
        one_sided_error_in_standard_errors: the largest if truncation shifts all have one sign, as with codes for
            missing values.
    """

    typical_error_in_standard_errors: float
    nine_in_ten_errors_in_standard_errors: float
    worst_error_in_standard_errors: float
    public_error_in_standard_errors: float
    one_sided_error_in_standard_errors: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Public figures of a plan; ``None`` where a method has none.

    Attributes:
        radius: where rows are truncated, in the method's coordinates.
        noise_sd: noise on each entry of the main statistic, as a mean over rows.
        noise_over_signal: norm of the noise relative to the whitened moment, whose eigenvalues are about 1.
        predicted_truncation_rate: share of rows expected beyond the radius or bound, from public rows.
        penalty: the problem's own ridge, where one was chosen.
        prior_sd: standard deviation of an effect, where the penalty is the default one.
        pure_epsilon: epsilon of a purely private release.
        retrieved_epsilon: epsilon that a perturbed objective does not need.
        passes: figures of a plan in two passes.
        regressions: figures of a plan for many regressions.
        more: further figures and words by name, printed and not used by code.
    """

    radius: float | None = None
    noise_sd: float | None = None
    noise_over_signal: float | None = None
    predicted_truncation_rate: float | None = None
    penalty: float | None = None
    prior_sd: float | None = None
    pure_epsilon: float | None = None
    retrieved_epsilon: float | None = None
    passes: Passes | None = None
    regressions: Regressions | None = None
    more: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name not in _GROUPS:
                plain_json(value, name)

    @property
    def noise_dominates(self) -> bool:
        """Return whether the noise is about as large as the statistic, so that public rows dominate the result."""
        return (self.noise_over_signal or 0.0) > _SWAMPING_NOISE

    def as_dict(self) -> dict[str, Any]:
        """Return the figures that there are as one flat mapping, as records have it."""
        own = {name: value for name, value in vars(self).items() if name not in (*_GROUPS, "more")}
        groups = [asdict(group) for group in (self.passes, self.regressions) if group is not None]
        figures = {**own, **{name: value for group in groups for name, value in group.items()}, **self.more}
        return {name: value for name, value in figures.items() if value is not None}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Facts:
        """Return the figures from :meth:`as_dict`."""
        rest = dict(record)
        passes = regressions = None
        if "passes" in rest:
            passes = Passes(**{item.name: rest.pop(item.name) for item in fields(Passes)})
        if "typical_error_in_standard_errors" in rest:
            names = [item.name for item in fields(Regressions) if item.name in rest]
            regressions = Regressions(**{name: rest.pop(name) for name in names})
        own = {item.name: rest.pop(item.name) for item in fields(cls) if item.name in rest}
        return cls(**own, passes=passes, regressions=regressions, more=rest)


_SWAMPING_NOISE = 0.5  # noise of half the signal's size: the moment is about to lose its sign
_GROUPS = ("passes", "regressions")  # figures that belong together
