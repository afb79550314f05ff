"""A fixed effect for each site, and a test of their homogeneity, from the released moment at no further cost.

Each site's rows have a column with its name, and the public rows are assigned to the sites in proportion to their
rows. This fixes the units of the new columns; it has no information on the response, and ``joint-moment`` needs none.
Homogeneity is the hypothesis that all effects are zero: a Wald test on the released coefficients and their covariance,
noise included (docs/proofs/sites.md, 6).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pmtcore.base.messages import StudyError, StudyFault
from pmtcore.base.results import Results
from pmtcore.releases.record import Release

COLUMN = "site"
METHOD = "joint-moment"
_LEAST_PUBLIC_ROWS = 2  # fewest public rows of each site: one row gives no spread of its column


def assigned_sites(names: Sequence[str], rows: Sequence[int], public_rows: int) -> list[str]:
    """Return a site's name for each public row, in proportion to the sites' rows and evenly mixed.

    Args:
        names: of the sites.
        rows: of each site.
        public_rows: number of public rows.

    Raises:
        StudyError: too few public rows for all sites.
    """
    share = np.asarray(rows, dtype=float) / sum(rows)
    counts = np.maximum(np.floor(share * public_rows).astype(int), _LEAST_PUBLIC_ROWS)
    if sum(counts) > public_rows + len(names) * _LEAST_PUBLIC_ROWS or public_rows < _LEAST_PUBLIC_ROWS * len(names):
        raise StudyError(StudyFault.FEW_PUBLIC_ROWS, *names)
    # The i-th of a site's c rows comes at (i + 1/2)/c of the way, so that no stretch of the file belongs to one site.
    places = [((at + 0.5) / count, name) for name, count in zip(names, counts, strict=True) for at in range(count)]
    dealt_out = [name for _, name in sorted(places)]
    return (dealt_out + dealt_out[: public_rows - len(dealt_out)])[:public_rows]


def effects(release: Release) -> tuple[str, ...]:
    """Return the names of the sites' coefficients; the reference site, which has most rows, has none."""
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
