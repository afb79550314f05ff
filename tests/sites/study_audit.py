"""Audit of the view of a coordinator with colluding sites against the claim of a study, with planted faults.

The arithmetic is that of the protocol: noise shares, splitting, sums of shares. In two passes, a row at an honest site
changes the sums in opposite directions. The coalition sees the total of each pass without its own part, and what each
honest site published, less what the coalition sent to it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from pmtcore.auditing.faults import UnderscaledNoise
from pmtcore.auditing.lower_bound import Audit, audit_of
from pmtcore.mechanisms.grid import FINE, integer_sd
from pmtcore.mechanisms.noise import NoiseSource, SeededNoise, ZeroNoise
from pmtcore.sites import sharing
from pmtcore.sites.noise_shares import NoiseShares

_PASSES = 2  # the fewest in which masks can be used again
_UPPER = 2.0**64  # what the upper word counts
Draw = Callable[[int], np.ndarray]


def _honest_noise(site: int, source: NoiseSource) -> NoiseSource:
    return source


def _fresh_masks() -> Draw:
    return sharing.uniform


@dataclass(frozen=True)
class StudySetting:
    """A study to audit: how many sites, how many of them collude, and what is at fault.

    Attributes:
        noise: of a site, given its number and an honest source.
        masks: of a site, made once for all passes.
    """

    sites: int = 3
    colluders: int = 1
    noise: Callable[[int, NoiseSource], NoiseSource] = _honest_noise
    masks: Callable[[], Draw] = _fresh_masks

    def view(self, mu: float, which: int, trials: int, stream: int) -> np.ndarray:
        """Return what the coalition sees of so many studies on table 0 or 1, (trials, columns)."""
        honest = self.sites - self.colluders
        scale = integer_sd(FINE, mu / math.sqrt(_PASSES)) * math.sqrt(self.sites / honest)
        masks = [self.masks() for _ in range(self.sites)]
        columns, before = [], None
        for step in range(_PASSES):
            row = FINE // 2 * (1 if which == 0 else -1) * (1 if step == 0 else -1)
            values = [
                self._noisy(site, row if site == 0 else 0, scale, trials, stream=stream, step=step)
                for site in range(self.sites)
            ]
            shares = [self._shares(site, each, masks[site]) for site, each in enumerate(values)]
            columns.append(_signed(sharing.total(values[:honest])))
            published = [sharing.total(shares[sender][reader] for sender in range(honest)) for reader in range(honest)]
            if before is not None:
                pairs = zip(published, before, strict=True)
                columns += [_signed(sharing.subtract(now, then)) for now, then in pairs]
            before = published
        return np.column_stack(columns)

    def _shares(self, site: int, words: np.ndarray, draw: Draw) -> list[np.ndarray]:
        """Return a site's shares by reader; as in the protocol it keeps the last one, which is no mask."""
        *theirs, mine = sharing.split(words, self.sites, draw)
        return [*theirs[:site], mine, *theirs[site:]]

    def _noisy(self, site: int, value: int, scale: float, trials: int, *, stream: int, step: int) -> np.ndarray:
        source = self.noise(site, SeededNoise(5, site, stream, step, trials, value % 2**32))
        shares = NoiseShares(source, self.sites, self.colluders)
        return sharing.encode(shares.add(np.full(trials, value, dtype=np.int64), scale))

    def audit(self, mu: float = 1.0, trials: int = 20_000, words: str = "as it is") -> Audit:
        """Return a lower bound on what the coalition learns, beside the claim."""
        return audit_of("study", mu, partial(self.view, mu), trials, pair=words)


def _signed(words: np.ndarray) -> np.ndarray:
    """Return words (k, 2) as signed numbers, rounded."""
    return words[:, 0].astype(np.int64).astype(float) * _UPPER + words[:, 1].astype(float)


def _one_draw() -> Draw:
    """Return masks that a site draws once and uses in every pass."""
    first: list[np.ndarray] = []

    def draw(count: int) -> np.ndarray:
        if not first:
            first.append(sharing.uniform(count))
        return first[0]

    return draw


FAULTS = {
    "noise-share-too-small": StudySetting(noise=lambda site, source: UnderscaledNoise(source, 0.7)),
    "site-without-noise": StudySetting(noise=lambda site, source: ZeroNoise() if site == 1 else source),
    "masks-reused": StudySetting(masks=_one_draw),
}
