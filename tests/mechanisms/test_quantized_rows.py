"""Rows as directions and lengths: never too long, close to the rows, the same kept or made anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms import passes
from pmtcore.mechanisms.grid import FINE, join_words, split_into_words
from pmtcore.mechanisms.passes import LengthCounts
from pmtcore.mechanisms.quantized_rows import STEPS, QuantizedRows, Quantizer, in_steps
from tests.helpers import TEST, names


def gathered(pieces):
    """Directions, lengths and responses of all rows, side by side."""
    collected = []

    def look(parts):
        for piece in parts:
            r = piece.rows
            rows = piece.directions[:, :r], piece.lengths[:r], piece.response[:r]
            collected.append(np.vstack(rows))
        return np.zeros(1)

    pieces.sum(look)
    return np.hstack(collected)


@given(st.integers(1, 6), st.integers(0, 10**6), st.floats(-290, 290))
@settings(max_examples=150, deadline=None)
def test_directions_are_no_longer_than_one_and_lengths_are_those_of_the_rows(d, seed, size):
    """Rows of any size, far out ones, zeros and no numbers among them: in exact integers."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, d)) * np.exp(rng.uniform(-8, 8, (40, 1)))
    x[0], x[1, 0], x[2, 0] = 0.0, np.inf, np.nan
    x[3] *= 10.0 ** min(size, 140)
    y = rng.standard_normal(40)
    root = np.tril(rng.uniform(0.5, 2.0, (d, d)))
    rows = PrivateRows.from_arrays(x, y, names(d), block_rows=7)
    result = gathered(Quantizer.features_only(root, False).pieces(rows, 0))
    complete = np.array(result[:d], dtype=np.int64).astype(object)
    assert np.all((complete**2).sum(axis=0) <= STEPS**2)
    assert not np.any(result[: d + 1, :3]) and np.array_equal(result[d + 1], y)
    with np.errstate(all="ignore"):
        expected = np.linalg.solve(root, x[3:].T)
    length = np.linalg.norm(expected, axis=0)
    near = length > 1e-2
    assert np.allclose(result[d, 3:][near], length[near], rtol=1e-2)
    turned = result[:d, 3:] / STEPS * result[d, 3:]
    assert np.allclose(turned[:, near], expected[:, near], atol=1e-3 * np.max(np.abs(expected[:, near]), axis=0) + 1e-3)


@pytest.mark.parametrize("most", [0, 9000, 10**9])
def test_what_is_kept_is_what_is_made(most, seed):
    """Any look after the first: every row once, the same bits; and the source is not read where all is kept."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((1000, 4)), rng.standard_normal(1000)
    read = []

    def blocks():
        for start in range(0, 1000, 130):
            read.append(start)
            yield x[start : start + 130], y[start : start + 130]

    pieces = Quantizer.features_only(np.eye(4), False).pieces(PrivateRows(blocks, 1000, names(4)), most)
    looks = [gathered(pieces) for _ in range(3)]
    assert looks[0].shape == (6, 1000) and all(np.array_equal(looks[0], other) for other in looks[1:])
    assert len(read) == (8 if most == 10**9 else 24)


def test_a_look_that_breaks_off_keeps_whole_blocks_only(seed):
    """Stopped in the middle of the first look, a second one sees every row once."""
    rng = np.random.default_rng(seed)
    rows = PrivateRows.from_arrays(rng.standard_normal((500, 3)), np.ones(500), names(3), block_rows=90)
    pieces, looked = Quantizer.features_only(np.eye(3), False).pieces(rows), []

    def breaks(parts):
        for piece in parts:
            looked.append(piece.rows)
            if len(looked) == 3:
                raise KeyboardInterrupt
        return np.zeros(1)

    with pytest.raises(KeyboardInterrupt):
        pieces.sum(breaks)
    counted = pieces.sum(lambda parts: split_into_words(np.array([sum(p.rows for p in parts)], dtype=np.int64)))
    assert counted.map(join_words).reveal(TEST).tolist() == [500]


def test_a_product_with_a_point_is_exact(seed):
    """The same bits for a row alone and among others, and for one point and many."""
    rng = np.random.default_rng(seed)
    x, points = rng.standard_normal((700, 5)) * 100, rng.standard_normal((3, 5)) * [[1e-9], [1.0], [1e9]]
    rows = PrivateRows.from_arrays(x, np.zeros(700), names(5))
    collected = []

    def look(parts):
        for piece in parts:
            along = piece.projections(piece.directions, in_steps(points))
            collected.append(along[:, : piece.rows])
            alone = QuantizedRows(
                64, piece.lengths[:64], piece.response[:64], stored_directions=piece.directions[:, :64].astype(np.int32)
            )
            assert np.array_equal(alone.projections(alone.directions, in_steps(points[1:2]))[0], along[1, :64])
        return np.zeros(1)

    Quantizer.features_only(np.eye(5), False).pieces(rows, 0).sum(look)
    exact = (x @ points.T).T
    assert np.allclose(np.hstack(collected), exact, atol=1e-2 * np.linalg.norm(points, axis=1)[:, None])


@pytest.mark.parametrize("trials", [1, 3, 50])
@pytest.mark.parametrize("at_once", [1, 2**12, 2**19])
def test_a_histogram_counts_each_row_in_its_bin(trials, at_once, seed, monkeypatch):
    """As a search for each length does: on an edge, beyond the last, of length 0 (in no bin), and of no number."""
    monkeypatch.setattr(passes, "_NUMBERS_AT_ONCE", at_once)
    rng = np.random.default_rng(seed)
    edges = np.concatenate([[0.0], 1.25 ** np.arange(-30.0, 2.0)])
    lengths = np.exp(rng.uniform(-8, 2, 1000))
    lengths[:400:4], lengths[1:100:7] = np.repeat(edges[1:-1], 4)[:100], 0.0
    response = np.where(rng.random(1000) < 0.02, np.nan, rng.choice([-1.0, 1.0], 1000))
    padded = np.zeros((2, 1024))
    padded[:, :1000] = lengths, response
    piece = QuantizedRows(1000, *padded, stored_directions=np.zeros((2, 1024), dtype=np.int32))
    count = LengthCounts(GAUSSIAN, np.ones((trials, 2)), edges)([piece])
    usable = lengths[lengths > 0]
    bins = np.searchsorted(edges[1:-1], np.where(np.isnan(response[lengths > 0]), np.inf, usable), side="right")
    expected = np.bincount(bins, minlength=len(edges) - 1)
    assert join_words(count).tolist() == [(expected * FINE).tolist()] * trials
