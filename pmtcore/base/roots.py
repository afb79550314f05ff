"""Roots of functions of one variable, without the start-up of ``scipy.optimize`` where bisection does."""

from collections.abc import Callable


def root(
    function: Callable[[float], float], low: float, high: float, xtol: float = 2e-12, *, rtol: float = 2.0**-50
) -> float:
    """Return a root of a continuous function between two points where its signs differ (Brent's method).

    Args:
        function: the function.
        low: one end.
        high: the other end.
        xtol: absolute tolerance.
        rtol: relative tolerance.
    """
    from scipy.optimize import brentq  # noqa: PLC0415  # slow to load

    return float(brentq(function, low, high, xtol=xtol, rtol=rtol))


def first_at_most_zero(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the smallest number at which a decreasing function is at most zero, by bisection down to a last bit.

    Args:
        function: the function; positive at ``low``, at most zero at ``high``.
        low: one end.
        high: the other end.

    Returns:
        A number at which the function, as it is computed, is at most zero; at its lower neighbour it is positive. So
        the root is rounded up.
    """
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return high
