"""Discrete Gaussian integers, drawn exactly from the operating system's entropy. Proof: proofs/noise.md, 14.

Rejection sampling: a candidate from a geometric mixture of uniform laws is accepted with the probability that makes its
law the discrete Gaussian. The probability is computed in floating point and compared with a uniform number; where they
agree to seven digits, interval arithmetic and further random bits decide. So the law is exact in spite of rounding, and
a million integers take as long as a few passes over an array.
"""

import math
import os
import secrets

import numpy as np

# Largest scale: candidates of segments below 64 are less than 64 times the power of two above it, and fit into 63 bits.
LARGEST_DRAWN = 2.0**57
# From this size on integers are Python's: a sum with private integers, which are smaller where they have 64 bits, must
# not wrap for one table only.
LEAST_LARGE = 2**62
# Relative difference from which on floating point decides, which has fifteen digits.
_MARGIN = 2.0**-26
# Random bits of the first exact decision, and further bits of each next one.
_BITS, _MORE_BITS = 64, 128
# Candidates at a time: 3 MB of words and numbers.
_CANDIDATES = 1 << 15
# Candidates for an integer, with a few to spare: between .26 and .52 of them are accepted.
_CANDIDATES_PER_INTEGER = 4


def discrete_gaussian(sigma: float, count: int) -> np.ndarray:
    """Draw independent integers (count,) with chances proportional to ``exp(-x^2/(2 sigma^2))``.

    Args:
        sigma: scale, positive and at most :data:`LARGEST_DRAWN`.
        count: how many.

    Returns:
        64-bit integers; Python integers if one is too large for a sum in 64 bits (probability below 1e-220).

    Raises:
        ValueError: the scale is outside its range; nothing is drawn without noise.
    """
    if not 0 < sigma <= LARGEST_DRAWN:
        raise ValueError(f"a scale between 0 and 2^57 is needed, not {sigma}")
    drawn, missing = [np.empty(0, dtype=np.int64)], count
    while missing:
        candidates = min(_CANDIDATES_PER_INTEGER * missing + 16, _CANDIDATES)
        words = np.frombuffer(os.urandom(24 * candidates), dtype=np.uint64).reshape(3, candidates)
        drawn.append(integers_from_uniform(words, sigma)[:missing])
        missing -= len(drawn[-1])
    integers = np.concatenate(drawn)
    return integers.astype(object if np.any(np.abs(integers) >= LEAST_LARGE) else np.int64, copy=False)


def integers_from_uniform(words: np.ndarray, sigma: float) -> np.ndarray:
    """Return the integers that three uniform words (3, k) each make, in order, without those that are refused.

    A candidate is ``segment 2^bits + offset`` with a sign, ``2^bits >= sigma``. Its segment is the number of ones that
    end the first word, with further bits after a word of 64 ones, so k has the chance ``2^-(k + 1)``; offset and sign
    are the ends of the second. It is accepted if the uniform number of the third is below
    ``2^(segment - 1) exp(1/2 - x^2/(2 sigma^2))``.
    """
    bits = (math.ceil(sigma) - 1).bit_length()
    first_zero = ~words[0] & (words[0] + np.uint64(1))  # 2^segment, or 0 where all 64 are ones
    segment = np.frexp(first_zero.astype(float))[1] - 1
    offset = (words[1] & np.uint64((1 << bits) - 1)).astype(np.int64)
    length = (segment.astype(np.int64) << bits) + offset
    negative = words[1] >> np.uint64(63) == 1
    with np.errstate(over="ignore", under="ignore"):
        chance = 0.5 * first_zero * np.exp(0.5 - 0.5 * (length / sigma) ** 2)
    above = chance - words[2] / 2.0**64
    accepted = above > _MARGIN
    for at in np.flatnonzero((np.abs(above) <= _MARGIN) & (first_zero > 0)):
        accepted[at] = _is_accepted(int(words[2, at]), int(segment[at]), int(length[at]), sigma)
    accepted &= ~(negative & (length == 0))  # zero has one sign
    integers = np.where(negative, -length, length)
    # Integers of any size have to be possible: otherwise one far out would tell tables apart for certain.
    for at in np.flatnonzero(first_zero == 0):
        beyond = 64 + _further_ones()
        far = (beyond << bits) + int(offset[at])
        accepted[at] = _is_accepted(int(words[2, at]), beyond, far, sigma)
        if accepted[at]:
            integers = integers.astype(object)
            integers[at] = -far if negative[at] else far
    return integers[accepted]


def _further_ones() -> int:
    """Count ones up to the first zero among further random bits."""
    ones = 0
    while secrets.randbits(1):
        ones += 1
    return ones


def _is_accepted(word: int, segment: int, length: int, sigma: float) -> bool:
    """Decide exactly whether a uniform number that begins with this word is below a candidate's chance."""
    from fractions import Fraction  # noqa: PLC0415  # once in ten million integers, as intervals are

    from mpmath.ctx_iv import MPIntervalContext  # noqa: PLC0415

    exponent = Fraction(1, 2) - Fraction(length) ** 2 / (2 * Fraction(sigma) ** 2)
    bits = _BITS
    while True:
        context = MPIntervalContext()
        context.prec = bits + 32
        chance = context.exp(context.mpf(exponent.numerator) / exponent.denominator) * context.mpf(2) ** (segment - 1)
        uniform = context.mpf([word, word + 1]) / 2**bits
        if uniform.b <= chance.a:
            return True
        if uniform.a >= chance.b:
            return False
        word = word << _MORE_BITS | secrets.randbits(_MORE_BITS)
        bits += _MORE_BITS
