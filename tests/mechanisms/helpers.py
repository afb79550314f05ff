"""OpenDP's sampler of the discrete Gaussian, for comparison."""

from __future__ import annotations


def opendps_gaussian(sigma: float):
    """Return OpenDP's discrete Gaussian measurement on vectors of integers."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), sigma)
