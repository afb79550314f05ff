"""Plain sentences beside the figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmtcore.lab.comparison import Summary
from pmtcore.lab.diagnostics import Diagnosis
from pmtcore.public.moments import INTERCEPT
from pmtcore.releases.record import Release


def conditioning_words(found: Diagnosis) -> str:
    """What whitening does for the inverse."""
    if found.after is None:
        return "How far whitening helps cannot be predicted without the number of rows behind the moment matrix."
    return (
        f"The longest direction is {np.sqrt(found.before.kappa):.3g} times the shortest before whitening and "
        f"{np.sqrt(found.after.kappa):.3g} times after: noise of one size then does little harm in any direction."
    )


def truncation_words(found: Diagnosis, radius: float) -> str:
    """How many rows a radius moves."""
    rate = found.rate(radius)
    if np.isnan(rate):
        return "Without public rows the truncation rate cannot be predicted."
    share = "no row" if rate == 0 else f"{100 * rate:.2g} % of the rows"
    return f"At radius {radius:.3g}, {share} would be moved inward. A smaller radius means less noise and more bias."


def coefficient_words(release: Release) -> list[str]:
    """One line for each coefficient: what the privacy noise and the sampling each do to it."""
    if release.bands is None:
        return []
    bands = release.bands
    return [
        f"{name}: the privacy noise moves it by about {bands.privacy[j]:.2g}, another sample by about "
        f"{bands.sampling[j]:.2g}" + ("." if bands.low[j] <= 0 <= bands.high[j] else "; its band excludes 0.")
        for j, name in enumerate(release.names)
        if name != INTERCEPT
    ]


def release_words(release: Release) -> str:
    """The release in one sentence."""
    if release.bands is None or release.guarantee.mu == 0:
        return release.guarantee.words
    share = float(np.median(release.bands.privacy / np.maximum(release.bands.sampling, 1e-300)))
    lost = release.bands.truncation
    if lost is not None and np.median(lost) > np.median(np.maximum(release.bands.privacy, release.bands.sampling)):
        return (
            "For the typical coefficient truncation is the largest part of the error: choose the inference radius, "
            "or a wider one." + _clipped(release)
        )
    size = "smaller than" if share < 0.7 else "about as large as" if share < 1.4 else "larger than"
    return (
        f"For the typical coefficient the privacy noise is {size} the sampling error ({share:.2g} times): "
        + ("privacy cost little here." if share < 0.7 else "a larger budget would narrow the bands.")
        + _clipped(release)
    )


def _clipped(release: Release) -> str:
    """The share of private rows that were clipped, where it was released."""
    share = release.released.get("clipped_share")
    return "" if share is None else f" About {100 * float(share):.2g} % of the private rows were clipped (released)."


def comparison_words(summaries: Sequence[Summary], axis: str = "budget") -> str:
    """Who is best in the middle of the axis, and by how much."""
    real = [s for s in summaries if s.error_median > 0]
    if not real:
        return ""
    places = sorted({s.x for s in real})
    middle = places[len(places) // 2]
    here = {s.method: s.error_median for s in real if s.x == middle}
    best = min(here, key=lambda name: here[name])
    others = [
        f"{name} is {here[name] / here[best]:.3g} times as far"
        for name in ("pmt-ridge", "pmt-logistic", "public-only")
        if name in here and name != best
    ]
    tail = f"; {', '.join(others)}" if others else ""
    where = (
        f"mu = {middle:.3g}"
        if axis == "budget"
        else f"{middle:.3g} {axis}"
        if "rows" in axis
        else f"{axis} {middle:.3g}"
    )
    return f"At {where}, {best} comes closest to the fit without privacy{tail}."
