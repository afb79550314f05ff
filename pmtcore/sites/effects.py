"""A fixed effect for each site, and whether the sites are alike, from the one moment that is released anyway.

Each site's rows have a column with its name, and the public rows are dealt out to the sites in proportion to their
rows: that fixes the units of the new columns and says nothing of the response, on which ``joint-moment`` does not lean.
Sites are alike where all effects are zero: a Wald test on the released coefficients and their covariance, noise
included (docs/proofs/sites.md, 6).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pmtcore.base.messages import StudyError, StudyFault
from pmtcore.base.results import Results
from pmtcore.releases.record import Release

COLUMN = "site"
METHOD = "joint-moment"
_LEAST = 2  # public rows of each site: with one, no spread of its column is known


def assigned_sites(names: Sequence[str], rows: Sequence[int], public_rows: int) -> list[str]:
    """Return a site's name for each public row, in proportion to the sites' rows and evenly mixed.

    Args:
        names: of the sites.
        rows: of each site.
        public_rows: how many there are to deal out.

    Raises:
        StudyError: too few for all sites.
    """
    share = np.asarray(rows, dtype=float) / sum(rows)
    counts = np.maximum(np.floor(share * public_rows).astype(int), _LEAST)
    if sum(counts) > public_rows + len(names) * _LEAST or public_rows < _LEAST * len(names):
        raise StudyError(StudyFault.FEW_PUBLIC_ROWS, *names)
    # The i-th of a site's c rows comes at (i + 1/2)/c of the way, so that no stretch of the file belongs to one site.
    places = [((at + 0.5) / count, name) for name, count in zip(names, counts, strict=True) for at in range(count)]
    dealt_out = [name for _, name in sorted(places)]
    return (dealt_out + dealt_out[: public_rows - len(dealt_out)])[:public_rows]


def effects(release: Release) -> tuple[str, ...]:
    """Return the names of the sites' coefficients: each against the site that has none, which has most rows."""
    return tuple(name for name in release.names if name.startswith(f"{COLUMN}="))


def homogeneity(release: Release) -> Mapping[str, Any] | None:
    """Return the test that all sites have the same level, and each site's effect with its limits; free.

    Returns:
        Plain fields; ``None`` where the release has no covariance to test with.
    """
    names, bands = effects(release), release.bands
    if not names or bands is None or bands.covariance is None or bands.centre is None or bands.freedom is None:
        return None
    errors = {part: np.sqrt(np.maximum(np.diag(matrix), 0.0)) for part, matrix in bands.covariance.items()}
    results = Results(release.names, release.coefficients, bands.centre, errors, bands.freedom, bands.covariance)
    test = results.wald_test(list(names))
    places = [release.names.index(name) for name in names]
    return {
        "statistic": test.statistic,
        "p": test.pvalue,
        "restrictions": len(names),
        "effects": {release.names[j]: [float(bands.low[j]), float(bands.high[j])] for j in places},
    }
