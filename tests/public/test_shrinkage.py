"""What a ridge penalty does to rare categories, and the penalty that is offered in its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import TableNote, kind_of
from pmtcore.glm.families import family
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.public.moments import INTERCEPT, public_from_rows
from pmtcore.public.shrinkage import strongest_shrinkage
from pmtcore.releases.release import Request, release
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_table

N = 20_000


def rows(m: int, shares: tuple[float, ...], kind: str):
    """Independent columns of zeros and ones, of these shares, each with an effect of one."""
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(m), *((np.arange(m) < share * m).astype(float) for share in shares)])
    x[:, 1:] = rng.permuted(x[:, 1:], axis=0)
    z = x[:, 1:].sum(axis=1) - 0.5
    y = rng.poisson(np.exp(z)) if kind == "poisson" else (rng.random(m) < 1 / (1 + np.exp(-z)))
    names = (INTERCEPT, *(f"g={at}" for at in range(len(shares))))
    return public_from_rows(x, y.astype(float), names, "y", ridge=0.0, family=family(kind), lam=0.01)


@pytest.mark.parametrize("kind", ["logistic", "poisson", "boosting"])
def test_the_offered_penalty_leaves_each_effect_within_its_sampling_error(kind):
    """The pull is the ridge's own, on a Hessian of independent columns; the offer is round, and nearly the largest."""
    public = rows(2000, (0.4, 0.1, 0.004), kind)
    result = strongest_shrinkage(public, N)
    assert result is not None and result.column == "g=2"
    x, y = public.rows[:, 1:-1], public.rows[:, -1]
    h = public.family.second(np.zeros(len(y)), y).mean() * np.var(x, axis=0)
    drawn = result.penalty / (h + result.penalty)
    assert np.all(drawn <= 1 / np.sqrt(N * h)) and not np.all(3 * drawn <= 1 / np.sqrt(N * h))
    assert result.remaining == pytest.approx(h[2] / (h[2] + 0.01))
    assert strongest_shrinkage(replace(public, lam=result.penalty), N) is None


def test_nothing_is_said_where_no_penalty_decides():
    """Frequent levels, no penalty, and the linear family, whose methods have penalties of their own."""
    common = rows(2000, (0.4, 0.5), "logistic")
    rare = rows(2000, (0.4, 0.002), "logistic")
    assert strongest_shrinkage(common, N) is None
    assert strongest_shrinkage(replace(rare, lam=0.0), N) is None
    assert strongest_shrinkage(replace(rare, rows=None), N) is None
    assert strongest_shrinkage(replace(rare, family=family("gaussian"), lam=0.0), N) is None
    assert strongest_shrinkage(rare, N) is not None


def test_the_unit_of_a_number_does_not_matter():
    """A column in other units keeps its share; one of small numbers is drawn more, and that is said."""
    public = rows(2000, (0.4, 0.3), "logistic")
    scaled = public.rows.copy()
    scaled[:, 1] = np.random.default_rng(2).normal(size=2000) / 100
    result = strongest_shrinkage(replace(public, rows=scaled), N)
    assert result is not None and result.column == "g=0" and result.remaining < 0.01
    h, share = 0.25 * np.var(scaled[:, 1]), 1 / np.sqrt(N * 0.25)
    assert 0.4 <= result.penalty / (h * share / (1 - share)) <= 1


def test_a_release_says_that_the_penalty_decides():
    """In its notes, with how many coefficients are drawn; not of a small one, nor of the default."""
    public = rows(2000, (0.4, 0.1, 0.004), "logistic")
    table = np.column_stack([public.rows[:, 1:-1], public.rows[:, -1]])
    frame = pd.DataFrame(table, columns=["a", "b", "c", "y"])
    private, few = (part.to_csv(index=False).encode() for part in (pd.concat([frame] * 10), frame))
    sides = read_table(private, "p", "private"), read_table(few, "b", "public")
    told = {}
    for lam in (0.01, 1e-9, None):
        problem = prepare(*sides, Choices(target="y", family="logistic", lam=lam))
        made = release(problem, Request("public-only", Budget(1.0)), SeededNoise(1))
        told[lam] = [note for note in made.notes if kind_of(note) is TableNote.DECISIVE_PENALTY]
    assert not told[1e-9] and not told[None]
    assert told[0.01][0].facts["count"] >= 1 and told[0.01][0].facts["total"] == 3
