"""What Conditioning predicts from public rows, beside what private rows of the same population have."""

from __future__ import annotations

import numpy as np

from pmtcore.auditing.diagnostics import exact, expected_after, predicted
from pmtcore.tables.problem import default_choices, prepare
from pmtcore.tables.table import read_table
from tests.helpers import TEST


def _table(rows: int, seed: int, levels: int) -> bytes:
    """Return a CSV file with a category whose levels have shares that fall from a half to a hundredth."""
    rng = np.random.default_rng(seed)
    shares = np.geomspace(0.5, 0.01, levels)
    kinds = rng.choice(levels, rows, p=shares / shares.sum())
    numbers = rng.standard_normal(rows)
    lines = [f"{x:.6f},k{kind},{y:.6f}" for x, kind, y in zip(numbers, kinds, rng.standard_normal(rows), strict=True)]
    return "\n".join(["x,kind,y", *lines]).encode()


def test_levels_with_few_public_rows_are_not_taken_for_gaussian_rows() -> None:
    """The predicted condition number promises less than that of Gaussian rows, whose worst case is far too small."""
    ratios = []
    for seed in range(6):
        private = read_table(_table(20_000, 100 + seed, 20), "private.csv", "private")
        public = read_table(_table(150, seed, 20), "public.csv", "public")
        problem = prepare(private, public, default_choices(private, public))
        found = predicted(problem.public, problem.private.n, 0.05).after
        gaussian = expected_after(problem.public.d, problem.public.m or 0).kappa
        truth = exact(problem, 0.05).reveal(TEST).after
        ratios.append(np.log([truth.kappa / found.kappa, truth.kappa / gaussian]))
    assert np.all(np.max(ratios, axis=0) < (np.log(2.6), np.inf)) and np.max(ratios, axis=0)[1] > np.log(3.5), ratios
    assert np.median(ratios, axis=0)[0] < 0.05 < np.median(ratios, axis=0)[1], ratios


def test_gaussian_rows_are_predicted_as_before() -> None:
    """Where rows are Gaussian, random weights of them say what a Wishart matrix does, to a quarter."""
    rng = np.random.default_rng(1)
    lines = [",".join(f"{value:.6f}" for value in row) for row in rng.standard_normal((200, 6))]
    text = "\n".join(["a,b,c,d,e,y", *lines]).encode()
    private, public = read_table(text + b"\n", "a.csv", "private"), read_table(text, "b.csv", "public")
    problem = prepare(private, public, default_choices(private, public))
    found = predicted(problem.public, 10_000, 0.05).after
    assert 0.8 < found.kappa / expected_after(6, 200).kappa < 1.25
