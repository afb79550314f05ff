"""Additive secret sharing of integers modulo 2^128, with the system's randomness.

A site splits its integers into one share for each site. Any proper subset of the shares is uniform and independent of
the integers (docs/proofs/sites.md). Integers are stored as two words of 64 bits, (k, 2), the upper one first. 128 bits
suffice for every sum of this package: 2^40 rows of at most 2^36 each and their noise stay below 2^80.
"""

import os
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from pmtcore.base.messages import StudyError, StudyFault

WORDS = 2  # of 64 bits
BYTES = 8 * WORDS  # of one integer
_MODULUS = 2 ** (64 * WORDS)  # room for any sum of rows and its noise, see above
_WORD = 2**64 - 1  # the lower word of a residue
MOST_BITS = 100  # of an opened sum: a larger one cannot be a sum of rows and noise


def encode(values: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return integers (k,) of any sign modulo 2^128, as words (k, 2)."""
    residues = [int(value) % _MODULUS for value in values]
    return np.array([[residue >> 64, residue & _WORD] for residue in residues], dtype=np.uint64).reshape(-1, WORDS)


def decode(words: np.ndarray) -> np.ndarray:
    """Return the integers (k,) of smallest size behind words (k, 2).

    Raises:
        StudyError: an integer is larger than any sum of rows, since somebody did not follow the protocol.
    """
    residues = [(int(upper) << 64) | int(lower) for upper, lower in words]
    values = [residue - _MODULUS if residue >= _MODULUS // 2 else residue for residue in residues]
    if any(abs(value) >= 2**MOST_BITS for value in values):
        raise StudyError(StudyFault.RANGE)
    return np.array(values, dtype=object)


def add(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sum (k, 2) modulo 2^128."""
    lower = one[:, 1] + other[:, 1]
    return np.column_stack([one[:, 0] + other[:, 0] + (lower < one[:, 1]).astype(np.uint64), lower])


def subtract(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the difference (k, 2) modulo 2^128."""
    borrow = (one[:, 1] < other[:, 1]).astype(np.uint64)
    return np.column_stack([one[:, 0] - other[:, 0] - borrow, one[:, 1] - other[:, 1]])


def total(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Return the sum (k, 2) of one or more parts modulo 2^128."""
    every = iter(parts)
    result = next(every)
    for part in every:
        result = add(result, part)
    return result


def uniform(count: int) -> np.ndarray:
    """Return words (count, 2) from the operating system's randomness."""
    return from_bytes(os.urandom(count * BYTES))


def split(words: np.ndarray, sites: int, draw: Callable[[int], np.ndarray] = uniform) -> list[np.ndarray]:
    """Return one share (k, 2) for each site; they add up to the words, and all but any one are independent of them.

    Args:
        words: the secret (k, 2).
        sites: how many shares.
        draw: returns uniform words (k, 2), fresh at each call; the audit plants a faulty one.
    """
    shares = [draw(len(words)) for _ in range(sites - 1)]
    return [*shares, subtract(words, total(shares))] if shares else [words]


def to_bytes(words: np.ndarray) -> bytes:
    """Return words (k, 2) as they are sent."""
    return np.ascontiguousarray(words, dtype=">u8").tobytes()


def from_bytes(data: bytes) -> np.ndarray:
    """Return words (k, 2) as they were sent.

    Raises:
        StudyError: a broken message.
    """
    if len(data) % BYTES:
        raise StudyError(StudyFault.RANGE)
    return np.frombuffer(data, dtype=">u8").astype(np.uint64).reshape(-1, WORDS)
