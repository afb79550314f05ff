"""Dask with real worker processes: the same bits, whatever is lost on the way, and no private value in an error."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import traceback
from functools import partial, reduce

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, TableMessage
from pmtcore.mechanisms.grid import join_words
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.registry import methods
from pmtcore.releases.release import Request, release
from pmtcore.tables import fingerprint
from pmtcore.tables.choices import Choices
from pmtcore.tables.cluster import Cluster, _runs_of_groups, on_worker, part_sum, table_parts
from pmtcore.tables.fingerprint import hash_cells
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_path, read_table
from tests.helpers import TEST, plan, refused

pytest.importorskip("distributed")
N = 4000
SOUND = [entry for entry in methods() if entry.standing is ReleaseStatus.SOUND]


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of this machine."""
    result = Cluster()
    yield result
    result.close()


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """One table in several forms: Parquet of 40 row groups, a folder of files in another order; and public rows."""
    home = tmp_path_factory.mktemp("cluster")
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((N + 80, 3)), columns=["a", "b", "c"])
    frame["y"] = frame @ [1.0, -2.0, 0.5] + rng.standard_normal(N + 80)
    frame.iloc[:80].to_csv(home / "public.csv", index=False)
    private = frame.iloc[80:]
    pq.write_table(pa.Table.from_pandas(private, preserve_index=False), home / "p.parquet", row_group_size=100)
    (home / "many").mkdir()
    for at, start in enumerate((2500, 0, 700)):
        stop = {2500: N, 0: 700, 700: 2500}[start]
        table = pa.Table.from_pandas(private.iloc[start:stop], preserve_index=False)
        pq.write_table(table, home / "many" / f"{at}.parquet", row_group_size=333)
    return home


def problem(places, name, cluster=None):
    private = read_path(str(places / name), "private")
    return prepare(private, read_path(str(places / "public.csv"), "public"), Choices(target="y"), cluster=cluster)


def released(result):
    return plan("joint-pmt", result.public, N, 1.0).run(result.private, SeededNoise(7), 2).coefficients


@pytest.mark.slow
def test_the_same_bits_on_a_cluster_whatever_the_parts(places, cluster):
    """Forty row groups, or eight files' in another order: one release for one seed."""
    here = released(problem(places, "p.parquet"))
    assert len(table_parts(read_path(str(places / "p.parquet"), "private").source)) == 40
    for name in ("p.parquet", "many"):
        assert np.array_equal(released(problem(places, name, cluster)), here), name


@pytest.mark.slow
@pytest.mark.parametrize("id", ["dp-erm", "napp-public", "dp-gd", "pmt-glm"])
def test_methods_that_go_through_rows_many_times_have_the_same_bits_with_a_cluster(places, cluster, id):
    """Their blocks are read where the release is made, whatever parts the workers have."""

    def coefficients(result):
        return plan(id, result.public, N, 1.0).run(result.private, SeededNoise(7), 2).coefficients

    assert np.array_equal(
        coefficients(problem(places, "p.parquet", cluster)), coefficients(problem(places, "p.parquet"))
    )


SIZES = {
    "small": ([100] * 40, [1] * 40),
    "uneven": ([700, 1, 1, 1] * 10, [1] + [3, 1] * 9 + [3]),
    "large": ([2**20] * 3, [1] * 3),
    "many small": ([2**14] * 4096, [16] * 256),
    "many large": ([2**20] * 2048, [2] * 1024),
    "empty": ([], [0]),
}


@pytest.mark.parametrize(("rows", "groups"), SIZES.values(), ids=SIZES)
def test_parts_are_runs_of_row_groups(rows, groups):
    """Each group is in one part, in its order: many parts of a small file, none so small in a large one."""
    runs = _runs_of_groups(rows)
    assert [group for run in runs for group in run] == list(range(len(rows)))
    assert [len(run) for run in runs] == groups


class Slowly:
    """A summand that takes its time, so that a worker can be lost in the middle."""

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, x, y):
        time.sleep(0.05)
        return self.inner(x, y)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_no_bit(places, cluster):
    """Its parts are computed again, by the other or by one that takes its place."""
    here, there = problem(places, "p.parquet"), problem(places, "p.parquet", cluster)
    statistic = plan("joint-pmt", here.public, N, 1.0).first.statistic
    victim = next(iter(cluster.client.run(os.getpid).values()))
    killer = threading.Timer(0.4, os.kill, (victim, signal.SIGKILL))
    killer.start()
    result = there.private.sum(Slowly(statistic)).map(join_words).reveal(TEST)
    killer.join()
    assert victim not in cluster.client.run(os.getpid).values(), "it was alive to the end"
    assert np.array_equal(result, here.private.sum(statistic).map(join_words).reveal(TEST))


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_release_changes_no_bit_of_it(places, cluster, monkeypatch):
    """A whole release, its looks and its record: through the same door as any other, the noise drawn once."""
    request = Request("joint-pmt", Budget(1.0))
    here = release(problem(places, "p.parquet"), request, SeededNoise(7))
    result, looks = problem(places, "p.parquet", cluster), []
    adder = result.private._adder

    def slowly(function):
        looks.append(function)
        if len(looks) == 2:  # the look at the first gradient
            victim = next(iter(cluster.client.run(os.getpid).values()))
            killer = threading.Timer(0.4, os.kill, (victim, signal.SIGKILL))
            killer.start()
            total = adder(Slowly(function))
            killer.join()
            assert victim not in cluster.client.run(os.getpid).values(), "it was alive to the end"
            return total
        return adder(function)

    monkeypatch.setattr(result.private, "_adder", slowly)
    there = release(result, request, SeededNoise(7))
    assert len(looks) > 2 and np.array_equal(there.coefficients, here.coefficients)
    assert there.as_dict() == here.as_dict()


def of_family(places, entry, cluster=None):
    """Return the table with the response that a method's first family has: labels for a logistic one."""
    private, public = pd.read_parquet(places / "p.parquet"), pd.read_csv(places / "public.csv")
    if entry.families[0] == "logistic":
        private["y"], public["y"] = (private["y"] > 0).astype(int), (public["y"] > 0).astype(int)
    home = places / f"{entry.id}-{cluster is None}"
    home.mkdir()
    private.to_parquet(home / "private.parquet", row_group_size=100)
    public.to_csv(home / "public.csv", index=False)
    tables = (read_path(str(home / name), name.split(".")[0]) for name in ("private.parquet", "public.csv"))
    covariates = "public" if entry.id == "response-moment" else "private"
    choices = Choices(target="y", family=entry.families[0], intercept=entry.task != "nonlinear", covariates=covariates)
    return prepare(*tables, choices, cluster=cluster)


@pytest.mark.slow
@pytest.mark.parametrize("entry", SOUND, ids=lambda entry: entry.id)
def test_a_worker_killed_changes_no_bit_of_any_method(places, entry):
    """One of two workers dies as the passes begin: every sound method of the registry gives the same release."""

    def coefficients(problem):
        method_plan = plan(entry.id, problem.public, N, 1.0)
        return method_plan.run(problem.private, SeededNoise(7), 2).coefficients

    here = coefficients(of_family(places, entry))
    cluster = Cluster()
    try:
        there = of_family(places, entry, cluster)
        os.kill(next(iter(cluster.client.run(os.getpid).values())), signal.SIGKILL)
        assert np.array_equal(coefficients(there), here, equal_nan=True)  # local trials may have no root
    finally:
        cluster.close()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_bits_on_one_worker_and_on_two(places, cluster, workers):
    """By a scheduler's address, as the command line has it."""
    distributed = pytest.importorskip("distributed")
    here = released(problem(places, "p.parquet"))
    if workers == 2:
        other = Cluster(cluster.client.scheduler_info()["address"])
        assert np.array_equal(released(problem(places, "many", other)), here)
        other.close()
        return
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as one:
        other = Cluster(one.scheduler_address)
        assert np.array_equal(released(problem(places, "p.parquet", other)), here)
        other.close()


def broken(x, y):
    raise ValueError(f"the row says {x[0, 1]!r}")


def test_a_part_that_fails_says_nothing_of_a_row(places):
    """What a worker runs, here: the kind of the error, and no more."""
    prepared = problem(places, "p.parquet")
    with pytest.raises(InputError) as caught:
        task = partial(part_sum, coder=prepared.coder, dialect=prepared.dialect, function=broken)
        on_worker(task, table_parts(prepared.table.source)[0])
    assert str(caught.value) == TableMessage.WORKER_FAILED.sentence(reason="ValueError")
    assert "row says" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.slow
def test_a_workers_error_says_nothing_of_a_row(places, cluster):
    """The kind of the error, and no more."""
    there = problem(places, "p.parquet", cluster)
    with pytest.raises(InputError) as result:
        there.private.sum(broken)
    assert str(result.value) == TableMessage.WORKER_FAILED.sentence(reason="ValueError")
    assert "row says" not in "".join(traceback.format_exception(result.value))


@pytest.mark.slow
def test_what_workers_cannot_reach_is_refused(places, cluster):
    """An upload lies in this process's memory; a scheduler that is not there is a sentence."""
    table = read_table((places / "public.csv").read_bytes(), "p.csv", "private")
    with refused(TableMessage.CLUSTER_NEEDS_FILES):
        cluster.sum_function(table.source, None, None)
    with refused(TableMessage.NO_SCHEDULER):
        Cluster("nowhere://127.0.0.1:1")


class Here:
    """A cluster without workers: the same parts, joined in another tree."""

    def joined(self, table_parts, task, join):
        self.sent = pickle.dumps(task)
        return reduce(join, [on_worker(pickle.loads(self.sent), part) for part in table_parts])


KEY = bytes(range(32))
LIMITS = {"all": {}, "some cells": {"cells": 3_000}, "few rows": {"rows": 150}, "one row": {"rows": 1}}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("name", ["p.parquet", "many"])
def test_a_fingerprint_by_parts_is_that_of_one_pass(places, monkeypatch, name, limit):
    """The same rows are chosen, in the same order, whatever part they lie in; and so the ledger knows the table."""
    monkeypatch.setattr(fingerprint, "MOST_CELLS", limit.get("cells", fingerprint.MOST_CELLS))
    table = read_path(str(places / name), "private")
    here, there = (hash_cells(table, KEY, most_rows=limit.get("rows"), cluster=where) for where in (None, Here()))
    assert there.table_rows == N and there.digest == here.digest
    assert np.array_equal(there.hashes, here.hashes) and np.array_equal(there.first, here.first)


def test_of_rows_that_are_all_alike_parts_choose_as_many(tmp_path, monkeypatch):
    """No hash tells them apart, so their number is halved: by parts as in one pass, but for the last copies."""
    monkeypatch.setattr(fingerprint, "MOST_CELLS", 300)
    pq.write_table(pa.table({"a": np.ones(1000), "b": np.zeros(1000)}), tmp_path / "p.parquet", row_group_size=130)
    table = read_path(str(tmp_path / "p.parquet"), "private")
    here, there = (hash_cells(table, KEY, cluster=where) for where in (None, Here()))
    assert len(here.hashes) == 125 and abs(len(there.hashes) - 125) <= 8
    assert len(np.unique(np.vstack([here.hashes, there.hashes]), axis=0)) == 1


def test_workers_are_told_no_more_of_the_key_than_hashes_cells(places):
    """With the rest a ledger's fingerprints and its chain are sealed."""
    key, where = bytes(np.random.default_rng(5).integers(0, 256, 32, dtype=np.uint8)), Here()
    hash_cells(read_path(str(places / "p.parquet"), "private"), key, cluster=where)
    assert key[:16] in where.sent and key[16:24] not in where.sent and key[24:] not in where.sent


@pytest.mark.slow
def test_workers_take_the_fingerprint(places, cluster, monkeypatch):
    """A release on a cluster reads one block here before its spend, and its table has the fingerprint of any other."""
    prepared = problem(places, "p.parquet", cluster)
    here = hash_cells(prepared.table, KEY, prepared.dialect)
    read = []
    own = fingerprint._hashed
    monkeypatch.setattr(
        fingerprint, "_hashed", lambda block, *rest, **more: read.append(block) or own(block, *rest, **more)
    )
    there = hash_cells(prepared.table, KEY, prepared.dialect, cluster=prepared.cluster)
    assert len(read) == 1 and there.digest == here.digest and np.array_equal(there.hashes, here.hashes)


@pytest.mark.slow
def test_an_error_of_a_workers_fingerprint_says_nothing_of_a_row(places, cluster):
    """The kind of the error, and no more."""
    table = read_path(str(places / "p.parquet"), "private")
    with pytest.raises(InputError) as caught:
        cluster.joined(table_parts(table.source), raises_a_cell, max)
    assert str(caught.value) == TableMessage.WORKER_FAILED.sentence(reason="ValueError")


def raises_a_cell(part):
    raise ValueError(f"the cell is {next(iter(part.blocks(['a'], None))).columns['a'][0]}")
