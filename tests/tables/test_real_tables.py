"""On the real tables, where they are."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.auditing.comparison import Comparison, rescaled_problem
from pmtcore.tables.choices import Choices
from pmtcore.tables.named import load
from pmtcore.tables.problem import prepare
from tests.helpers import TEST


def problem(id: str, target: str):
    private, public, reasons = load(id)
    return prepare(private, public, Choices(target=target), lab_reasons=reasons)


@pytest.mark.usefixtures("real_tables")
def test_white_wine_is_the_published_table():
    """4898 wines, mean quality 5.8779."""
    private, public, _ = load("white-wine")
    quality = np.concatenate([private.frame["quality"], public.frame["quality"]])
    assert (len(quality), round(quality.mean(), 4)) == (4898, 5.8779)
    assert public.n == 249


@pytest.mark.usefixtures("real_tables")
def test_white_wine_whitened_has_the_published_condition_number():
    """B section 4.2: averaged condition number about 1.6 after whitening with 249 public rows, median of splits."""
    collected = []
    for seed in range(9):
        private, public, _ = load("white-wine", seed=seed)
        prepared = prepare(private, public, Choices(target="quality", intercept=False))
        scaled = rescaled_problem(prepared, "z")
        inverse = scaled.public.symmetric_root[1]
        rows = scaled.private.concatenate(lambda x, y: x).reveal(TEST)
        spectrum = np.linalg.eigvalsh(inverse @ (rows.T @ rows / len(rows)) @ inverse)
        collected.append(spectrum.mean() / spectrum[0])
    assert np.median(collected) == pytest.approx(1.6, abs=0.25)


@pytest.mark.usefixtures("real_tables")
@pytest.mark.parametrize(("id", "target", "scale"), [("white-wine", "quality", "max"), ("power-plant", "PE", "minmax")])
def test_joint_release_is_far_ahead_of_the_papers_ridge(id, target, scale):
    """At total mu 0.5 the joint release has at most a tenth of pmt-ridge's median error."""
    run = Comparison(
        rescaled_problem(problem(id, target), scale), ["joint-pmt", "pmt-ridge"], [0.5], trials=50, seed=1
    ).run()
    error = {s.method: s.error_median for s in run.summaries().reveal(TEST)}
    assert error["joint-pmt"] < error["pmt-ridge"] / 10
