"""Whether private rows look like public ones, copies among public rows, two estimates combined by precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from pmtcore.base.messages import ReleaseNote, kind_of
from pmtcore.base.private_rows import Curator
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.registry import method
from pmtcore.public.clipping import Ball
from pmtcore.public.deduplicate import one_copy
from pmtcore.public.gaussian_update import gaussian_update
from pmtcore.public.homogeneity import FALSE_ALARMS, FALSE_ALARMS_OF_FEW, Alarm, BootstrapNull, bootstrap_null
from pmtcore.public.moments import public_from_rows
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_table
from tests.helpers import names

TEST = Curator("a test on synthetic rows")

N, BALL = 5000, Ball(12.0, 1.0)


def rows_of(count, rng, d=6):
    x = rng.standard_t(6, (count, d)) @ np.linalg.cholesky(0.4 ** np.abs(np.subtract.outer(range(d), range(d)))).T
    return np.column_stack([x, x.sum(axis=1) + rng.standard_normal(count)])


def p_value(null, gram, noise):
    """Return the p-value of a released Gram matrix: a test with any rate of false alarms has it in its finding."""
    alarm = replace(null, false_alarms=2.0).alarm(gram, noise)
    return 1.0 if alarm is None else alarm.chance


def chance(public, private, noise, seed):
    """Return the test's p-value for a released Gram matrix of these private rows."""
    z = np.linalg.solve(public.factor, private.T).T
    x = z[:, : public.d]
    own = SeededNoise(seed).normal(1, public.d**2).reshape(public.d, public.d)
    gram = x.T @ (BALL.weights(z)[:, None] * x) / len(x) + np.sqrt(noise) * (own + own.T) / np.sqrt(2)
    return p_value(bootstrap_null(public, BALL, N), gram, noise)


def chances(m, change, noise, draws=40):
    collected = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        table = rows_of(m, rng)
        public = public_from_rows(table[:, :-1], table[:, -1], names(6), "y")
        collected.append(chance(public, change(rows_of(N, rng)), noise, seed))
    return np.array(collected)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1e-6, 0.01, 1.0])
@pytest.mark.parametrize("m", [8, 12, 14, 100, 1000, 1001, 2000, 4000, 20_000])
def test_alike_samples_raise_no_alarm(m, noise):
    """Forty tables: no more alarms than one release in twenty explains, from m = d + 2 to four times n."""
    alarms = int(np.sum(chances(m, lambda z: z, noise) < FALSE_ALARMS))
    assert binom.sf(alarms - 1, 40, 0.05) > 1e-3


@pytest.mark.slow
def test_many_columns_are_no_rows_of_zeros():
    """An intercept among 151 columns, a fifth of the public rows: rows left out of the whitening are longer in every
    coordinate but that of the constant, whose moment then shows no rows of zeros."""
    ball, n, alarms = Ball(1e3, 1.0), 20_000, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, new = (np.column_stack([np.ones(k), rng.standard_normal((k, 150))]) for k in (750, n))
        public = public_from_rows(x, rng.standard_normal(750), ("(intercept)", *names(150)), "y")
        null = bootstrap_null(public, ball, n)
        assert np.allclose(null.moments[:, 0].mean(), 1.0, atol=0.03)
        z = np.linalg.solve(public.feature_root, new.T).T
        gram = z.T @ z / n
        assert null._per_row(gram[np.triu_indices(151)], 1e-6)[0] is null, "no share of other rows is taken"
        alarms += null.alarm(gram, 1e-6) is not None
    assert binom.sf(alarms - 1, 6, 0.05) > 1e-3


def test_a_draw_is_compared_with_the_other_draws():
    """A matrix that is none of 66 draws raises no more alarms than its level says, whatever the number of entries."""
    rng, d = np.random.default_rng(0), 60
    draws = 1 + 0.1 * rng.standard_normal((66, d * (d + 1) // 2))
    null = BootstrapNull(draws, np.eye(d), names(d), False, False, FALSE_ALARMS, (66, 66))
    released = np.zeros((d, d))
    alarms = 0
    for _ in range(60):
        released[np.triu_indices(d)] = 1 + 0.1 * rng.standard_normal(len(draws[0]))
        alarms += p_value(null, released + np.triu(released, 1).T, 0.0) < FALSE_ALARMS
    assert binom.sf(alarms - 1, 60, FALSE_ALARMS) > 1e-3


@pytest.mark.slow
def test_another_shape_is_found():
    """A column on another scale, rows selected by a feature: in at least nine of ten releases."""

    def scaled(z):
        return z * np.array([1.0, 2.0, 1, 1, 1, 1, 1])

    def selected(z):
        return z[z[:, 2] > 0.8]

    for change, m in ((scaled, 300), (selected, 300), (scaled, 4000), (selected, 4000)):
        assert np.mean(chances(m, change, 1e-3, 10) < FALSE_ALARMS) >= 0.9


def test_rare_rows_among_many_raise_no_alarm():
    """A level that three of 6,000 public rows have: its spread is in the law, so its count is no surprise."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = np.column_stack([rng.normal(size=6000), np.zeros((6000, 2))]), rng.normal(size=6000)
        x[:3, 1] = x[3:7, 2] = 1.0
        public = public_from_rows(x, y, names(3), "y")
        z = np.column_stack([rng.normal(size=N), rng.random(N) < 3 / 6000, rng.random(N) < 4 / 6000, np.zeros(N)])
        alarms += chance(public, z, 1e-6, seed) < FALSE_ALARMS
    assert binom.sf(alarms - 1, 20, 0.05) > 1e-3


def test_rows_beyond_all_public_ones_raise_fewer_alarms():
    """Heavy tails in a ball that truncates nothing: less than half of the alarms, and a larger column is found."""
    alike, larger, closed = [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, new = rng.standard_t(2.5, (60, 6)), rng.standard_t(2.5, (N, 6))
        public = public_from_rows(x, x.sum(axis=1) + rng.standard_normal(60), names(6), "y")
        null = bootstrap_null(public, Ball(1e4, 1.0), N)
        assert null.is_open and not bootstrap_null(public, Ball(3.0, 1.0), N).is_open
        for result, scale, law in ((alike, 1, null), (closed, 1, replace(null, is_open=False)), (larger, 2.5, null)):
            z = np.linalg.solve(public.feature_root, (new * [1, scale, 1, 1, 1, 1]).T).T
            result.append(p_value(law, z.T @ z / N, 1e-9) < FALSE_ALARMS)
    assert sum(alike) < sum(closed) / 2 and sum(larger) >= 15


def categories(rng, rows, share):
    """Rows of two columns of 40 levels, few of them frequent; the first five of each are as many times as frequent."""
    odds = 1 / np.arange(1.0, 41.0)
    odds[:5] *= share
    first, second = (rng.choice(40, rows, p=odds / odds.sum()) for _ in range(2))
    y = first % 3 + rng.standard_normal(rows)
    return pd.DataFrame({"a": [f"a{k}" for k in first], "b": [f"b{k}" for k in second], "y": y})


def alarms_on(share, splits):
    """Return how many releases say that private rows are not like the public ones."""
    alarms = 0
    for seed in range(splits):
        rng = np.random.default_rng(seed)
        private = read_table(categories(rng, 4000, share).to_csv(index=False).encode(), "p", "private")
        public = read_table(categories(rng, 250, 1.0).to_csv(index=False).encode(), "b", "public")
        problem = prepare(private, public, Choices(target="y"))
        null = bootstrap_null(problem.public, BALL, 4000)
        rows = problem.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
        z = np.linalg.solve(problem.public.factor, rows.T).T
        x = z[:, : problem.public.d]
        gram = x.T @ (BALL.weights(z)[:, None] * x) / len(x)
        alarms += p_value(null, gram, 1e-6) < FALSE_ALARMS
    return alarms


@pytest.mark.slow
def test_rare_levels_raise_no_alarm():
    """Levels that few or no public rows have, and pairs of levels that none has together, are no other population."""
    assert binom.sf(alarms_on(1.0, 12) - 1, 12, 0.05) > 1e-3


def test_other_shares_of_frequent_levels_are_found():
    """Among 60 columns too: means are tested apart."""
    assert alarms_on(12.0, 4) == 4


@pytest.mark.parametrize("m", [300, 5000])
def test_the_null_spreads_as_means_of_rows_do(m):
    """Few rows one by one, many in groups: each entry of the Gram matrix has the spread of a difference of means."""
    table = rows_of(m, np.random.default_rng(m))
    public = public_from_rows(table[:, :-1], table[:, -1], names(6), "y")
    null = bootstrap_null(public, BALL, N)
    z = public.whitened
    x, weights = z[:, :6], BALL.weights(z)
    entries = (weights[:, None, None] * x[:, :, None] * x[:, None, :])[:, *np.triu_indices(6)]
    expected = np.sqrt((1 / m + 1 / N) * np.mean(entries**2, axis=0))
    assert np.std(null.moments, axis=0) == pytest.approx(expected, rel=0.2)


def test_an_alarm_says_how_rare_it_is():
    """The rarer the more is said; of few public rows an alarm is rarer."""
    for rows, rate in ((12, FALSE_ALARMS), (11, FALSE_ALARMS_OF_FEW)):
        table = rows_of(rows, np.random.default_rng(0))
        public = public_from_rows(table[:, :-1], table[:, -1], names(6), "y")
        assert bootstrap_null(public, BALL, N).false_alarms == rate
    rarity = {0.03: "twenty", 5e-3: "a hundred", 1e-5: "a thousand", 1e-9: "a million", 0.0: "a million"}
    for chance, said in rarity.items():
        (note,) = Alarm(chance, ()).notes()
        assert kind_of(note) is ReleaseNote.MOMENT_TOO_FAR and note.facts["chance"] == f"one in {said}"


def unlike_in(change, mu, id):
    """Return the columns that an alarm names on a table changed for the private rows, and whether there is one."""
    frames = []
    for seed, rows in ((1, 4000), (2, 300)):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"age": rng.integers(18, 90, rows), "height": rng.normal(170, 9, rows)})
        frame["income"] = np.exp(rng.normal(10, 1, rows))
        frame["region"] = rng.choice(list("NSEW"), rows, p=[0.5, 0.3, 0.15, 0.05])
        frame["bp"] = 100 + 0.4 * frame.age + 5 * (frame.region == "N") + rng.normal(0, 8, rows)
        frames.append(change(frame) if seed == 1 else frame)
    private, public = (
        read_table(frame.to_csv(index=False).encode(), role[0], role)
        for frame, role in zip(frames, ("private", "public"), strict=True)
    )
    problem = prepare(private, public, Choices(target="bp"))
    plan = method(id).planned(problem.public, problem.private.n, mu)
    outcome = plan.run(problem.private, SeededNoise(7), 1)
    return outcome.disagrees, outcome.released().get("columns_that_differ", [])


@pytest.mark.parametrize("id", ["joint-pmt", "joint-moment"])
@pytest.mark.parametrize("mu", [0.2, 5.0])
def test_an_alarm_names_the_column_in_other_units(id, mu):
    """Truncated rows look smaller in every other column too; none of those is named."""
    changes = {
        "height": [lambda z: z.assign(height=z.height / 2.54), lambda z: z.assign(height=z.height * 2.54)],
        "income": [lambda z: z.assign(income=z.income * 12)],
        "age": [lambda z: z.assign(age=z.age + 15)],
        "region": [lambda z: z.iloc[np.flatnonzero((z.region != "S") | (np.arange(len(z)) % 4 == 0))]],
    }
    for column, each in changes.items():
        for change in each:
            unlike, named = unlike_in(change, mu, id)
            assert unlike and named == [column], (column, named)
    assert unlike_in(lambda z: z, mu, id) == (False, [])


@pytest.mark.parametrize("id", ["joint-pmt", "joint-moment"])
@pytest.mark.parametrize("mu", [1.0, 5.0])
def test_rows_of_zeros_are_no_other_population(id, mu):
    """Gaps in a third of the rows raise no alarm; beside them, a column in other units does and is named."""

    def with_gaps(frame):
        return frame.assign(bp=frame.bp.where(np.arange(len(frame)) % 3 > 0))

    assert unlike_in(with_gaps, mu, id) == (False, [])
    assert unlike_in(lambda z: with_gaps(z.assign(height=z.height * 2.54)), mu, id) == (True, ["height"])


@pytest.mark.parametrize("id", ["joint-pmt", "joint-moment"])
@pytest.mark.parametrize("mu", [0.3, 5.0])
@pytest.mark.parametrize("each", [4, 8, 20])
def test_few_rows_beside_rows_of_zeros_are_no_other_population(id, mu, each):
    """Where one row in 4, 8 or 20 has no gap, what is released of these is that much noisier, and raises no alarm."""

    def with_gaps(frame):
        return frame.assign(bp=frame.bp.where(np.arange(len(frame)) % each == 0))

    assert unlike_in(with_gaps, mu, id) == (False, [])
    if (mu, each) == (5.0, 4):
        assert unlike_in(lambda z: with_gaps(z.assign(height=z.height * 2.54)), mu, id) == (True, ["height"])


def honest_tables(rng):
    """Tables in which rows repeat by themselves, features and labels of a few levels among them."""
    age, label = rng.integers(18, 90, 2000), rng.integers(0, 2, 2000)
    town = rng.choice(5, 300, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    levels = np.array(np.meshgrid(*[[0.0, 1.0, 2.0]] * 3)).reshape(3, -1).T
    return {
        "age and label": np.column_stack([np.ones(2000), age, label]),
        "sorted": np.sort(np.column_stack([np.ones(2000), age, label]), axis=0),
        "rounded": np.round(rng.normal(size=(3000, 2)), 1),
        "two levels": rng.integers(0, 2, (200, 4)).astype(float),
        "town": np.column_stack([np.ones(300), town == 1, town == 2]).astype(float),
        "one row very often": np.vstack([np.zeros((500, 3)), rng.normal(size=(40, 3))]),
        "a design with replicates": np.vstack([levels] * 4),
        "the same, sorted": np.repeat(levels, 4, axis=0),
        "few rows": np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
        "constant": np.ones((50, 2)),
    }


@pytest.mark.parametrize("name", honest_tables(np.random.default_rng(0)))
def test_honest_duplicates_all_count(name, seed):
    """Two people of the same age and answer are two people, however often that happens."""
    rows = honest_tables(np.random.default_rng(seed))[name]
    assert np.array_equal(one_copy(rows), np.arange(len(rows)))


@pytest.mark.parametrize("copies", [2, 3, 10])
@pytest.mark.parametrize("kind", ["continuous", "age and label"])
def test_a_pasted_table_counts_once(copies, kind, seed):
    """Below itself, each row beside its copies, shuffled, the last copy cut off: one copy, with its own duplicates."""
    rng = np.random.default_rng(seed)
    table = rows_of(90, rng) if kind == "continuous" else honest_tables(rng)[kind]
    stacked = np.vstack([table] * copies)
    assert np.array_equal(one_copy(stacked), np.arange(len(table)))
    assert np.array_equal(one_copy(np.vstack([stacked, table[:30]])), np.arange(len(table)))
    for other in (np.repeat(table, copies, axis=0), rng.permutation(stacked)):
        rows = other[one_copy(other)]
        assert sorted(map(tuple, rows)) == sorted(map(tuple, table))
    once, many = (public_from_rows(z[:, :-1], z[:, -1], names(z.shape[1] - 1), "y") for z in (table, stacked))
    assert many.m == once.m == len(table) and np.allclose(once.factor, many.factor)


def test_stray_copies_all_count(seed):
    """Some rows that are there twice make no pasted table."""
    table = rows_of(30, np.random.default_rng(seed))
    for rows in (np.vstack([table, table[:2]]), np.vstack([table, table[:29]]), np.vstack([table[:1], table])):
        assert len(one_copy(rows)) == len(rows)


def test_two_estimates_are_combined_at_their_best(seed):
    """Below both covariances; the Gauss-Markov combination by an independent formula; a far one is not believed."""
    rng = np.random.default_rng(seed)
    a, b = (z @ z.T for z in rng.standard_normal((2, 5, 5)))
    near = 0.1 * np.linalg.cholesky(a + b) @ rng.standard_normal(5)
    updated = gaussian_update(b, np.eye(5), near, a)
    total = updated.of_observation(a) + updated.of_prior(b)
    assert updated.inflation == 1.0
    assert np.allclose(total, np.linalg.inv(np.linalg.inv(a) + np.linalg.inv(b)))
    assert np.all(np.diag(total) <= np.minimum(np.diag(a), np.diag(b)) * (1 + 1e-9))
    far = gaussian_update(b, np.eye(5), 1e3 * near, a)
    assert far.inflation > 100 and np.allclose(far.gain, np.eye(5), atol=0.5)
    assert np.allclose(gaussian_update(b, np.eye(5), 1e9 * near, a).gain, np.eye(5), atol=1e-3)
