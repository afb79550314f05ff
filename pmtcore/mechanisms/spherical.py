"""Spherical noise of density proportional to ``exp(-|b|/scale)``, rounded to integers exactly.

Proof: proofs/minimizer.md, 21.

The real vector is a function of uniform random numbers whose bits are drawn as they are needed. Interval arithmetic
(mpmath) encloses it; where the enclosure holds more than one integer vector, more bits are drawn. The result is the
rounding of a real vector of that density, however long it may be.
"""

import secrets
from typing import Any

import numpy as np

from pmtcore.mechanisms.discrete_gaussian import LEAST_LARGE

# Initial random bits, and further bits at each retry: the initial ones fail once in 2^60 cases for scales of 2^60.
_FIRST_BITS, _MORE_BITS = 192, 128


def spherical_integers(scale: float, size: int) -> np.ndarray:
    """Draw the rounding (size,) of a real vector with density proportional to ``exp(-|b|/scale)``.

    Integers of 64 bits, or Python integers if one is too large for a sum in 64 bits.
    """
    from mpmath.ctx_iv import MPIntervalContext  # noqa: PLC0415  # only real releases need it

    pairs = (size + 1) // 2
    words, bits = [secrets.randbits(_FIRST_BITS) for _ in range(size + 2 * pairs)], _FIRST_BITS
    while True:
        context = MPIntervalContext()
        context.prec = bits + 32
        unit = [context.mpf([word, word + 1]) / 2**bits for word in words]
        turned = [2 * value - 1 for value in unit[size:]]
        outside = [k for k in range(pairs) if not _inside(turned[2 * k], turned[2 * k + 1])]
        if outside:  # a pair outside the unit disc, or on its edge as far as these bits tell
            for k in outside:
                words[size + 2 * k : size + 2 * k + 2] = [secrets.randbits(bits), secrets.randbits(bits)]
            continue
        rounded = _rounded(context, unit[:size], turned, scale)
        if rounded is not None:
            return np.asarray(rounded, dtype=np.int64 if max(map(abs, rounded)) < LEAST_LARGE else object)
        words = [word << _MORE_BITS | secrets.randbits(_MORE_BITS) for word in words]
        bits += _MORE_BITS


def _inside(a: Any, b: Any) -> bool:
    return bool((a * a + b * b).b < 1)


def _rounded(context: Any, lengths: list[Any], pairs: list[Any], scale: float) -> list[int] | None:
    """Return the integer vector that these intervals enclose, or None where they enclose more than one.

    Length: a sum of ``-log U``, which is Gamma(size). Direction: normal numbers by the polar method, over their length.
    """
    size = len(lengths)
    if any(not value.a > 0 for value in lengths):
        return None
    length = -sum((context.log(value) for value in lengths), context.mpf(0))
    normal = []
    for a, b in zip(pairs[::2], pairs[1::2], strict=True):
        square = a * a + b * b
        if not square.a > 0:
            return None
        by = context.sqrt(-2 * context.log(square) / square)
        normal += [a * by, b * by]
    norm = context.sqrt(sum((value**2 for value in normal[:size]), context.mpf(0)))
    if not norm.a > 0:
        return None
    integers = []
    for value in normal[:size]:
        real = context.mpf(scale) * length * value / norm + 0.5
        low, high = _floor(real.a), _floor(real.b)
        if low != high:
            return None
        integers.append(low)
    return integers


def _floor(end: Any) -> int:
    """Return the floor of an interval's end, which is a binary fraction, computed in integers."""
    sign, mantissa, exponent, _ = end._mpi_[0]
    integer = int(mantissa) << exponent if exponent >= 0 else int(mantissa)
    integer = -integer if sign else integer
    return integer if exponent >= 0 else integer >> -exponent
