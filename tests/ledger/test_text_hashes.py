"""Hashes of texts are those that ledgers hold already; rows are hashed once they are chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pmtcore.ledger import fingerprint
from pmtcore.ledger.fingerprint import hashed_texts, keyed_hashes

KEY = b"0123456789abcdef"
# Texts of every length around a word's end, of one, two and four bytes a letter, and of nothing.
TEXTS = ["x" * length for length in range(27)] + ["é" * length for length in range(1, 9)] + ["𝛽", "a\x00b", "\x00"]


@pytest.mark.parametrize("key", [KEY, bytes(16), b"\xff" * 8 + b"z" * 8], ids=["text", "zeros", "high"])
def test_hashes_of_texts_are_those_of_earlier_versions(key):
    """A ledger of an earlier version recognizes a table with text columns: pandas hashed its texts."""
    if key.isascii():
        theirs = pd.util.hash_array(np.array(TEXTS, dtype=object), hash_key=key.decode(), categorize=False)
        np.testing.assert_array_equal(hashed_texts(TEXTS, key), theirs)
    assert len(np.unique(hashed_texts(TEXTS, key))) == len(TEXTS)


def test_a_long_text_is_hashed_by_itself(monkeypatch):
    """The same hash, and not word by word: a cell of a megabyte took seven CPU seconds where a release takes one."""
    longest, siphash = [], fingerprint._siphash
    monkeypatch.setattr(fingerprint, "_siphash", lambda words, key: longest.append(len(words)) or siphash(words, key))
    texts = ["x" * length for length in (1, 247, 248, 255, 256, 257, 2**20)]
    theirs = pd.util.hash_array(np.array(texts, dtype=object), hash_key=KEY.decode(), categorize=False)
    np.testing.assert_array_equal(hashed_texts(texts, KEY), theirs)
    assert max(longest) == 32


def test_a_word_is_hashed_as_a_text_of_eight_bytes():
    """The two hashes are of one function: the published test vector of SipHash-2-4 for eight bytes."""
    key, message = bytes(range(16)), bytes(range(8))
    words = np.frombuffer(message, dtype="<u8")
    assert keyed_hashes(words, key)[0] == 0x93F5F5799A932462


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (8191, 1), (3, 8192), (5, 4000)])
def test_words_are_hashed_one_by_one(shape):
    """However many are hashed at a time."""
    words = np.random.default_rng(0).integers(0, 2**64, shape, dtype=np.uint64)
    alone = [keyed_hashes(words.reshape(-1)[at : at + 1], KEY)[0] for at in range(0, words.size, 997)]
    np.testing.assert_array_equal(keyed_hashes(words, KEY).reshape(-1)[::997], np.array(alone, dtype=np.uint64))
    assert keyed_hashes(words, KEY).shape == shape
