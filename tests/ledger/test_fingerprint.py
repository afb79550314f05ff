"""A table is known again by what it holds: files, orders, names and encodings do not give it a fresh cap."""

from __future__ import annotations

import base64
import gzip
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import LedgerMessage, ReleaseMessage
from pmtcore.cli.main import main
from pmtcore.ledger import fingerprint as fingerprints
from pmtcore.ledger import log
from pmtcore.ledger.fingerprint import (
    MOST_HASHED,
    SAMPLE,
    THRESHOLD,
    HashedCells,
    Sketch,
    has_grown,
    has_unchanged_rows,
    is_recognised,
    recognition_evidence,
    sampled_overlap,
    sketch,
    unchanged_rows_evidence,
)
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.release import Request, admit, recorded_release
from pmtcore.tables import fingerprint
from pmtcore.tables.choices import Choices
from pmtcore.tables.fingerprint import hash_cells
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import query_table, read_table
from tests.helpers import refused

N, KEY = 800, bytes(range(32))


def people(seed: int, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"height": rng.normal(170, 9, n), "age": rng.integers(18, 90, n)})
    frame["town"] = rng.choice(["north", "süd", "west"], n)
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["weight"] = 0.9 * frame["height"] - 80 + rng.normal(0, 5, n)
    return frame


def csv(frame: pd.DataFrame, **more) -> bytes:
    return frame.to_csv(index=False, **more).encode()


def parquet(frame: pd.DataFrame) -> bytes:
    return frame.to_parquet()


def noisy(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(extra=np.random.default_rng(9).normal(size=len(frame)))


VARIANTS = {
    "gzip": lambda f: gzip.compress(csv(f)),
    "tabs": lambda f: csv(f, sep="\t"),
    "semicolons": lambda f: csv(f, sep=";"),
    "decimal comma": lambda f: csv(f, sep=";", decimal=","),
    "parquet": parquet,
    "parquet, single precision": lambda f: parquet(f.astype({"height": "float32", "weight": "float32"})),
    "parquet, categories": lambda f: parquet(f.astype({"town": "category", "sex": "category"})),
    "shuffled": lambda f: csv(f.sample(frac=1, random_state=2)),
    "sorted": lambda f: csv(f.sort_values("weight")),
    "columns reversed": lambda f: csv(f[f.columns[::-1]]),
    "a column less": lambda f: csv(f.drop(columns="height")),
    "three columns less": lambda f: csv(f[["age", "weight"]]),
    "a column more": lambda f: csv(noisy(f)),
    "a row more": lambda f: csv(pd.concat([f, f.head(1)])),
    "a row less": lambda f: csv(f.iloc[1:]),
    "half of the rows": lambda f: csv(f.iloc[::2]),
    "an eighth of the rows": lambda f: csv(f.iloc[::8]),
    "twice": lambda f: csv(pd.concat([f, f])),
    "among others": lambda f: csv(pd.concat([people(5, 3000), f])),
    "columns renamed": lambda f: csv(f.set_axis(list("vwxyz"), axis=1)),
    "names exchanged": lambda f: csv(f.set_axis(["weight", "sex", "age", "town", "height"], axis=1)),
    "six digits": lambda f: csv(f, float_format="%.6g"),
    "two decimals": lambda f: csv(f.round(2)),
    "exponents": lambda f: csv(f, float_format="%.9e"),
    "quoted": lambda f: csv(f, quoting=1),
    "line ends": lambda f: csv(f).replace(b"\n", b"\r\n"),
    "latin-1": lambda f: csv(f).decode().encode("latin-1"),
    "byte-order mark": lambda f: b"\xef\xbb\xbf" + csv(f),
    "capitals": lambda f: csv(f.assign(town=f["town"].str.upper())),
    "one column in other units": lambda f: csv(f.assign(height=f["height"] / 2.54)),
    "cells edited": lambda f: csv(f.assign(weight=f["weight"].where(np.arange(len(f)) % 3 > 0, 0))),
}


def cells(data: bytes, key: bytes = KEY):
    return hash_cells(read_table(data, "t", "private"), key)


@pytest.fixture(scope="module")
def known() -> Sketch:
    return Sketch.from_text(sketch(cells(csv(people(1)))).as_text(KEY), KEY)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_copy_is_known_again(known, name):
    """Thirty-one ways to save the same rows, or some of them."""
    assert sampled_overlap(cells(VARIANTS[name](people(1))), known) >= 0.06


LARGE = 24_000
KNOWN_AGAIN = (
    *("gzip", "parquet", "parquet, single precision", "shuffled", "sorted", "columns reversed", "a column less"),
    *(
        "a column more",
        "a row more",
        "a row less",
        "half of the rows",
        "an eighth of the rows",
        "twice",
        "among others",
    ),
    *("columns renamed", "names exchanged", "six digits", "exponents", "capitals", "one column in other units"),
)


@pytest.fixture(scope="module")
def large() -> Sketch:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "MOST_CELLS", 20_000)
        return sketch(cells(csv(people(1, LARGE))))


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN_AGAIN)
def test_a_copy_of_a_large_table_is_known_again_by_some_of_its_rows(large, name, monkeypatch):
    """A sixth of the rows are kept, chosen by what is in them: the same ones, whatever the order and the file."""
    monkeypatch.setattr(fingerprint, "MOST_CELLS", 20_000)
    result = cells(VARIANTS[name](people(1, LARGE)))
    assert len(result.hashes) <= 4000 and sampled_overlap(result, large) >= 0.06


@pytest.mark.slow
def test_a_large_table_among_many_others_is_known_and_others_are_not(large, monkeypatch):
    """Eight times as many other rows around it; and other people alone."""
    monkeypatch.setattr(fingerprint, "MOST_CELLS", 20_000)
    around = pd.concat([people(5, 7 * LARGE), people(1, LARGE)])
    assert sampled_overlap(cells(csv(around)), large) >= 0.06
    for draw in (2, 3):
        assert sampled_overlap(cells(csv(people(draw, draw * LARGE))), large) == 0


VARIANTS_OF_MANY_ROWS = ("shuffled", "half of the rows", "columns renamed", "a column less")


@pytest.mark.slow
def test_a_ledger_hashes_few_rows_of_a_large_table(tmp_path):
    """The ledger says how many rows; by so many any copy is known again, and other people are not."""
    book, n = Ledger(str(tmp_path / "l.db")), 40_000
    most, key = book.most_rows_hashed, book.fingerprint_key
    assert most == MOST_HASHED
    rows = people(1, n)
    survey = hash_cells(read_table(csv(rows), "t", "private"), key, most_rows=most)
    assert MOST_HASHED / 2 - 600 <= len(survey.hashes) <= MOST_HASHED
    book.enter_table("survey", survey)
    assert book.most_rows_hashed == most, "one table of many rows changes nothing"
    for name in VARIANTS_OF_MANY_ROWS:
        copy = hash_cells(read_table(VARIANTS[name](rows), "t", "private"), key, most_rows=most)
        assert book.recognised(copy) == ("survey",), name
    other = hash_cells(read_table(csv(people(2, n)), "t", "private"), key, most_rows=most)
    assert book.recognised(other) == ()


@pytest.mark.parametrize("step", [1, 2])
def test_a_table_that_an_earlier_version_kept_is_compared_by_as_many_rows(step, tmp_path, monkeypatch):
    """Its sample is of all rows that were hashed then: of a twelfth of them a twelfth of it would be found again."""
    monkeypatch.setattr(log, "MOST_HASHED", 2_000)
    book = Ledger(str(tmp_path / "l.db"))
    key = book.fingerprint_key
    survey = hash_cells(read_table(csv(people(1, 24_000)), "t", "private"), key)
    book.enter_table("survey", survey)
    part = read_table(csv(people(1, 24_000).iloc[::step]), "t", "private")
    assert book.recognised(hash_cells(part, key, most_rows=book.most_rows_hashed)) == ("survey",)
    few = recognition_evidence(hash_cells(part, key, most_rows=2_000), sketch(survey))
    # The noise of the threshold is another with each ledger's key: what it is added to is asked here.
    assert (
        few
        < 0.2 * SAMPLE
        < 0.4 * SAMPLE
        < recognition_evidence(hash_cells(part, key, most_rows=book.most_rows_hashed), sketch(survey))
    )


@pytest.mark.parametrize("least", ["1e-310", "-4.9e-324", "0", "-0.0"])
def test_a_denormal_number_is_zero_and_warns_of_nothing(least, recwarn):
    """Its power of ten is no number; what one cell is may show in no warning."""
    cells, zero = (
        hash_cells(read_table(f"a,b\n1.5,2\n{cell},3\n2.5,4\n".encode(), "private", "private"), bytes(32))
        for cell in (least, 0)
    )
    assert np.array_equal(cells.hashes, zero.hashes)
    assert not recwarn


def test_row_numbers_twice_do_not_make_two_tables_one(tmp_path):
    """A file saved with its row numbers beside identifiers from 1 on, and another such file of other people."""
    collected = []
    for draw, n in ((1, 600), (2, 900)):
        frame = people(draw, n)
        frame = frame.assign(row=np.arange(1, n + 1), id=np.arange(1, n + 1), rank=np.arange(1, n + 1))
        collected.append(hash_cells(read_table(csv(frame.sample(frac=1, random_state=0)), "t", "private"), KEY))
    assert (
        recognition_evidence(collected[0], sketch(collected[1])) < THRESHOLD / 2
        and recognition_evidence(collected[1], sketch(collected[0])) < THRESHOLD / 2
    )
    assert recognition_evidence(collected[0], sketch(collected[0])) > SAMPLE / 2


def test_rows_that_tell_nobody_apart_are_counted_all():
    """A few yes-no columns: however few rows are hashed of other tables, of this one all are."""
    rng = np.random.default_rng(3)
    first, other = (pd.DataFrame({c: rng.choice(["a", "b"], 20_000) for c in "pqrs"}) for _ in range(2))
    tables = [read_table(csv(frame), "t", "private") for frame in (first, first.sample(frac=1), other)]
    known, same, another = (hash_cells(table, KEY, most_rows=2_000) for table in tables)
    assert len(known.hashes) == 20_000
    assert recognition_evidence(same, sketch(known)) >= THRESHOLD and sampled_overlap(another, sketch(known)) == 0


@pytest.mark.slow
def test_rows_of_a_large_table_that_tell_nobody_apart(monkeypatch):
    """A few yes-no columns in a large table: known by the counts of the rows that are chosen all together."""
    monkeypatch.setattr(fingerprint, "MOST_CELLS", 400_000)
    rng = np.random.default_rng(3)
    first, other = (
        pd.DataFrame({c: rng.choice(["a", "b", "c"], 150_000, p=[0.3, 0.3, 0.4]) for c in "pqrs"}) for _ in range(2)
    )
    sketched = sketch(cells(csv(first)))
    assert recognition_evidence(cells(csv(first.sample(frac=1, random_state=1))), sketched) >= THRESHOLD
    assert sampled_overlap(cells(csv(other)), sketched) == 0


def rows_of_kinds(counts: np.ndarray) -> HashedCells:
    """Return a table of rows of a few kinds, of each as many as stated."""
    kinds = fingerprints.keyed_hashes(np.arange(len(counts), dtype=np.uint64), KEY)
    return HashedCells(("kind",), np.repeat(kinds, counts)[:, None], None, int(counts.sum()))


KINDS = {
    "one yes-no column": [0.5, 0.5],
    "one rare level": [0.97, 0.03],
    "two yes-no columns": [0.25] * 4,
    "two rare levels": [0.9, 0.05, 0.03, 0.02],
    "three yes-no columns": [0.125] * 8,
    "twelve kinds": [1 / 12] * 12,
    "sixty kinds": [1 / 60] * 60,
}


@pytest.mark.slow
@pytest.mark.parametrize("known_again", [has_unchanged_rows, is_recognised])
@pytest.mark.parametrize("n", [100, 2000, 8000])
@pytest.mark.parametrize("kinds", KINDS)
def test_two_honest_tables_of_one_size_are_seldom_one(kinds, n, known_again):
    """Counts of few kinds agree by chance: in at most about one of a hundred pairs two tables are taken for one."""
    rng = np.random.default_rng(n)
    pairs = [rng.multinomial(n, KINDS[kinds], size=2) for _ in range(300)]
    taken = [known_again(rows_of_kinds(here), sketch(rows_of_kinds(there)), KEY) for here, there in pairs]
    assert sum(taken) <= 9, "one in a hundred is three of them"


@pytest.mark.parametrize("n", [4000, 20_000])
@pytest.mark.parametrize("kinds", ["two yes-no columns", "three yes-no columns", "twelve kinds", "sixty kinds"])
def test_few_kinds_are_known_again_where_equal_counts_say_so(kinds, n):
    """A copy, and a copy that has one row less, of what independent tables would not agree in."""
    counts = np.random.default_rng(n).multinomial(n, KINDS[kinds])
    less = counts - np.eye(len(counts), dtype=int)[0]
    for key in (bytes([at]) * 32 for at in range(20)):
        again = [is_recognised(rows_of_kinds(here), sketch(rows_of_kinds(counts)), key) for here in (counts, less)]
        assert again == [True, True] or kinds == "two yes-no columns"
        assert recognition_evidence(rows_of_kinds(counts), sketch(rows_of_kinds(counts))) > THRESHOLD


def test_what_is_kept_of_a_table_does_not_grow_with_it(monkeypatch):
    """Hashes in number, whatever the rows; no more where every row is alike."""
    monkeypatch.setattr(fingerprint, "MOST_CELLS", 20_000)
    assert 1500 <= len(cells(csv(people(1, 30_000))).hashes) <= 4000
    alike = pd.DataFrame({"a": np.ones(50_000), "b": np.zeros(50_000)})
    assert 2500 <= len(cells(csv(alike)).hashes) <= 10_000


@pytest.mark.parametrize("draw", range(2, 12))
def test_other_people_are_others(known, draw):
    """The same columns, another draw: rounded to a decimal or not, more rows or fewer."""
    frame = people(draw, 200 * draw).round({"height": draw % 3, "weight": 1})
    assert sampled_overlap(cells(csv(frame)), known) == 0


def test_tables_that_tell_nobody_apart():
    """A few yes-no columns: the same where rows are as often, re-ordered or with a row less; others are others."""
    rng = np.random.default_rng(3)
    first, other = (pd.DataFrame({c: rng.choice(["a", "b"], N, p=[0.3, 0.7]) for c in "pqrs"}) for _ in range(2))
    sketched = sketch(cells(csv(first)))
    for same in (first.sample(frac=1), first.iloc[1:], first[list("sqpr")], first.set_axis(list("wxyz"), axis=1)):
        assert recognition_evidence(cells(csv(same)), sketched) >= THRESHOLD
    assert sampled_overlap(cells(csv(other)), sketched) == 0


@pytest.mark.parametrize("levels", [2, 3])
def test_a_row_less_does_not_turn_columns_of_equal_counts_around(levels):
    """Columns of the same levels that are there equally often: which row is gone does not matter."""
    rng = np.random.default_rng(levels)
    column = np.resize([f"level {j}" for j in range(levels)], 360)
    frame = pd.DataFrame({f"v{j}": rng.permutation(column) for j in range(10 - 2 * levels)})
    record = held_of(frame)
    for row in range(0, 360, 30):
        assert (
            recognition_evidence(cells(csv(frame.drop(index=row).sample(frac=1, random_state=row))), record)
            >= THRESHOLD
        )


def test_without_the_key_it_tells_nothing(known):
    """Another key gives other hashes; what is stored opens with its own key only and holds no value."""
    assert sampled_overlap(cells(csv(people(1)), bytes(32)), known) == 0
    text = known.as_text(KEY)
    with pytest.raises(ValueError):
        Sketch.from_text(text, bytes(32))
    assert known.as_text(KEY) != text, "no two alike: equal tables do not show"


@pytest.mark.slow
def test_a_renamed_copy_spends_from_the_same_cap(tmp_path, capsys):
    """Another name, another file: refused at the cap of the first; parted by a curator's word, with the reason kept."""
    public = read_table(csv(people(99, 80)), "b", "public")
    book = Ledger(str(tmp_path / "l.db"))

    def spend(data: bytes, name: str, mu: float) -> None:
        problem = prepare(read_table(data, "p", "private"), public, Choices(target="weight", features=("age",)))
        request = Request("joint-pmt", Budget(mu))
        recorded_release(problem, request, SecureNoise(), book, dataset=name, key=f"{name}-{mu}")

    book.cap("survey", 1.0)
    spend(csv(people(1)), "survey", 0.9)
    for name, variant, together in (("fresh", "gzip", ("survey",)), ("fresher", "parquet", ("fresh", "survey"))):
        book.cap(name, 3.0)
        with refused(LedgerMessage.BEYOND_CAP_TOGETHER, LedgerError, dataset=name, datasets=together):
            spend(VARIANTS[variant](people(1)), name, 0.9)
    book.cap("others", 3.0)
    spend(csv(people(2)), "others", 0.9)
    assert book.account("others").together == () and book.account("survey").together == ("fresh", "fresher")
    for other in ("survey", "fresher"):
        with refused(LedgerMessage.REASON_NEEDED, LedgerError):
            book.part("fresh", other, "")
        where = ["--ledger", str(tmp_path / "l.db"), "--dataset", "fresh"]
        assert main(["ledger", "part", *where, "--other", other, "--reason", "a made-up copy"]) == 0
    spend(VARIANTS["tabs"](people(1)), "fresh", 0.9)
    book.retire("fresh", "the study is over")
    with refused(LedgerMessage.RETIRED, LedgerError):
        spend(csv(people(1)), "fresh", 0.1)
    assert book.verify()["intact"]
    capsys.readouterr()


def held_of(frame: pd.DataFrame) -> Sketch:
    return Sketch.from_text(sketch(cells(csv(frame))).as_text(KEY), KEY)


def wide(n: int, d: int, seed: int) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, d)), columns=[f"c{j}" for j in range(d)])


HIDDEN = {
    "64 constants in front": lambda f: pd.concat([pd.DataFrame(1, f.index, [f"k{j}" for j in range(64)]), f], axis=1),
    "200 constants in front": lambda f: pd.concat([pd.DataFrame(0, f.index, [f"k{j}" for j in range(200)]), f], axis=1),
    "64 columns made up in front": lambda f: pd.concat([wide(len(f), 64, 8).add_prefix("j"), f], axis=1),
    "64 yes-no columns in front": lambda f: pd.concat(
        [(wide(len(f), 64, 8) > 0).astype(int).add_prefix("j"), f], axis=1
    ),
    "from the 65th column on": lambda f: f.iloc[:, 64:],
    "the columns turned around": lambda f: f[f.columns[::-1]],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.parametrize("d", [5, 100])
def test_columns_in_front_give_no_fresh_cap(name, d):
    """All columns are looked at and the key chooses among those that vary: either table first in the ledger."""
    frame = wide(500, d, 1)
    other = HIDDEN[name](frame)
    if other.shape[1] == 0:
        return
    for first, second in ((frame, other), (other, frame)):
        again = held_of(first)
        assert recognition_evidence(cells(csv(second)), again) >= 2 * THRESHOLD and is_recognised(
            cells(csv(second)), again, KEY
        )


UNRELATED = {
    "two columns of zeros": lambda rng, n: {"a": np.zeros(n), "b": np.zeros(n), "x": rng.normal(size=n)},
    "constants only": lambda rng, n: {"a": np.zeros(n), "b": np.ones(n)},
    "one yes-no column": lambda rng, n: {"a": rng.integers(0, 2, n), "b": np.ones(n)},
    "yes-no columns, few rows": lambda rng, n: {c: rng.integers(0, 2, n) for c in "pqrs"},
    "age said four times": lambda rng, n: dict(
        zip("abcd", [age := rng.integers(18, 90, n), age + 1, age * 12, age // 1], strict=True)
    ),
    "age said again, and an answer": lambda rng, n: {
        "a": (age := rng.integers(18, 90, n)),
        "b": age,
        "c": age,
        "y": rng.integers(0, 5, n),
    },
    "almost all zeros": lambda rng, n: {c: (rng.random(n) < 0.02).astype(int) for c in "pqrstu"},
    "counts": lambda rng, n: {c: rng.poisson(2, n) for c in "pqr"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNRELATED)
@pytest.mark.parametrize("n", [200, 2000])
def test_tables_of_other_people_are_not_joined(name, n):
    """Constants and columns that say the same again are no evidence: ten pairs, as many rows, none is joined."""
    for draw in range(10):
        one, other = (pd.DataFrame(UNRELATED[name](np.random.default_rng([draw, side]), n)) for side in range(2))
        assert not is_recognised(cells(csv(other.add_prefix("z"))), held_of(one), KEY)
        assert not is_recognised(cells(csv(other)), held_of(one), KEY)


@pytest.mark.slow
def test_one_row_does_not_decide_whose_budget_it_is():
    """Whoever shares the ledger learns nothing of a row: tables made of it, with or without others that are known."""
    frame = people(1)
    again = held_of(frame)
    for known in (0, 3, 8):
        told = {"in": 0, "out": 0}
        for ask in range(10):
            row = frame.iloc[[ask * 7]]
            strangers = people(100 + ask, 40)
            base = pd.concat([strangers, frame.iloc[400 : 400 + known]])
            told["in"] += is_recognised(cells(csv(pd.concat([base, row]))), again, KEY)
            told["out"] += is_recognised(cells(csv(base)), again, KEY)
        assert told == {"in": 0, "out": 0}


@pytest.mark.slow
def test_a_planted_table_of_one_row_joins_nobody():
    """The other way round: copies of a row, alone or among strangers, are in the ledger before the person's table."""
    frame = people(1)
    for strangers in (0, 60):
        for copies in (1, 4, 10, 50, 300):
            for at in range(5):
                planted = held_of(pd.concat([frame.iloc[[at] * copies], people(90 + at, 60).head(strangers)]))
                assert not is_recognised(cells(csv(frame)), planted, KEY)


@pytest.mark.slow
def test_the_threshold_is_noisy():
    """Beside it, a row more changes the odds by no more than the noise allows; far from it, the answer is sure."""
    frame = people(1, 200)
    again = held_of(frame)
    odds = {}
    for common in (10, 22, 23, 24, 25, 26, 60):
        joined = [
            is_recognised(cells(csv(pd.concat([frame.iloc[:common], people(50 + ask, 150)]))), again, KEY, ask)
            for ask in range(60)
        ]
        odds[common] = np.mean(joined)
    assert odds[10] == 0 and odds[60] == 1 and all(0.05 < odds[common] < 0.95 for common in (23, 24, 25))
    same = cells(csv(frame.iloc[:24]))
    assert len({is_recognised(same, again, KEY) for _ in range(5)}) == 1, "asking again tells nothing more"


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 998, 999, 1000, 1001])
def test_base_85_is_read_as_it_is_written(size):
    """Faster than the standard library reads it, and the same."""
    for data in (np.random.default_rng(size).bytes(size), b"\xff" * size, bytes(size)):
        assert fingerprints._from_base85(base64.b85encode(data).decode()) == data


@pytest.mark.parametrize(
    "text", ["~~~~~", '"0000', "0000 ", "0000é"], ids=["too large", "a quote", "a blank", "no ASCII"]
)
def test_what_is_no_base_85_is_damaged(text):
    """Where the standard library refuses a text, so does this reader."""
    with pytest.raises(ValueError):
        fingerprints._from_base85(text)


def test_a_ledger_tells_no_share(tmp_path):
    """What is written down and answered is that two data sets are joined, never by how many rows."""
    book = Ledger(str(tmp_path / "l.db"))
    assert not book.enter_table("survey", cells(csv(people(1)), book.fingerprint_key))
    some = cells(csv(people(1).iloc[::3]), book.fingerprint_key)
    assert book.recognised(some) == ("survey",)
    assert not book.enter_table("copy", some)
    assert book.account("copy").together == ("survey",) and book.verify()["intact"]


AGES = people(1)["age"]
LATER = {
    "the same": (lambda f: f, 0),
    "a row more": (lambda f: pd.concat([f, people(5, 1)]), 0),
    "40 rows more": (lambda f: pd.concat([f, people(5, 40)]), 0),
    "a row less": (lambda f: f.iloc[1:], 0),
    "a constant that varies in one row": (lambda f: f.assign(age=[41] + [40] * (N - 1)), 0),
    "a constant that varies": (lambda f: f.assign(age=AGES), 0),
    "a quarter more": (lambda f: pd.concat([f, people(5, 200)]), 1),
    "a column more": (noisy, 1),
    "others": (lambda f: people(7), 1),
}


@pytest.mark.parametrize("name", LATER)
def test_that_a_fingerprint_was_kept_tells_of_no_row(name, tmp_path):
    """Everyone sees whether another one is kept: public columns, noise and many rows decide, no single row does."""
    change, remaining = LATER[name]
    frame = people(1).assign(age=40)
    book = Ledger(str(tmp_path / "l.db"))
    book.enter_table("survey", cells(csv(frame), book.fingerprint_key))
    for _ in range(2):
        book.enter_table("survey", cells(csv(change(frame)), book.fingerprint_key))
        assert book.verify()["events"] == 1 + remaining


def test_the_threshold_of_growth_is_noisy():
    """A tenth more is kept or not, by the key's noise; of a large table rows are counted, not those hashed of it."""
    known, more = held_of(people(1)), people(5, 200)
    odds = {}
    for rows in (20, 73, 75, 77, 140):
        here = cells(csv(pd.concat([people(1), more.iloc[:rows]])))
        odds[rows] = np.mean([has_grown(here, known, bytes([ask]) * 32) for ask in range(60)])
    assert odds[20] == 0 and odds[140] == 1 and all(0.05 < odds[rows] < 0.95 for rows in (73, 75, 77))
    hashes = np.zeros((MOST_HASHED, 1), dtype=np.uint64)
    was, now = (HashedCells(("a",), hashes, table_rows=n) for n in (10**6, 2 * 10**6))
    assert has_grown(now, sketch(was), KEY) and not has_grown(was, sketch(was), KEY)


@pytest.mark.parametrize("names", [["height", "age"], list(people(1).columns)])
def test_the_length_of_a_fingerprint_tells_nothing_of_the_rows(names):
    """Not how many there are, how many of them differ, which columns vary; and what is padded is read as it was."""
    few, many = people(1, 3), people(2, 3000)
    tables = [few, people(3, 255), many, many.assign(age=40), many.assign(height=1.5, age=1), many.head(1)]
    texts = [sketch(cells(csv(table[names]))).as_text(KEY) for table in tables]
    assert len({len(text) for text in texts}) == 1
    assert [Sketch.from_text(text, KEY).rows for text in texts] == [3, 255, 3000, 3000, 3000, 1]


def test_rows_written_since_the_last_query_are_known_again(tmp_path):
    """The same query, as many rows, in one process: what the table holds now decides whose budget is spent."""
    url, book = f"sqlite:///{tmp_path / 't.db'}", Ledger(str(tmp_path / "l.db"))
    columns = ("height", "age", "weight")
    public = read_table(csv(people(9, 60)), "b", "public")

    def spent_from(rows: pd.DataFrame, dataset: str) -> None:
        with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
            rows.to_sql("t", connection, index=False, if_exists="replace")
        private = query_table(url, "SELECT * FROM t")
        problem = prepare(private, public, Choices(target="weight", features=columns[:2]))
        admit(problem, book, dataset)

    for dataset in ("now", "before"):
        book.cap(dataset, 3.0)
    admit(
        prepare(read_table(csv(people(1)), "p", "private"), public, Choices(target="weight", features=columns[:2])),
        book,
        "before",
    )
    spent_from(people(2), "now")
    assert not book.account("now").together
    spent_from(people(1), "now")
    assert book.account("now").together == ("before",)


@pytest.mark.parametrize("rows_of_study", [people(1), people(1).sample(frac=0.7, random_state=2)], ids=["all", "most"])
def test_private_rows_are_not_taken_for_public_ones(tmp_path, rows_of_study):
    """Whoever exchanged the two tables would publish the private one; a stated overlap, and other rows, go on."""
    book, choices = Ledger(str(tmp_path / "l.db")), Choices(target="weight", features=("height", "age"))
    survey, open_rows = read_table(csv(people(1)), "p", "private"), read_table(csv(people(9, 300)), "b", "public")
    book.cap("survey", 3.0)
    book.cap("other", 3.0)
    admit(prepare(survey, open_rows, choices), book, "survey")
    exchanged = read_table(csv(people(9, 300)), "p", "private"), read_table(csv(rows_of_study), "b", "public")
    with refused(ReleaseMessage.PUBLIC_ROWS_ARE_PRIVATE, datasets=["survey"]):
        admit(prepare(*exchanged, choices), book, "other")
    assert not book.recognised(cells(csv(people(9, 300)), book.fingerprint_key)), "nothing was rows_of_study of it"
    admit(prepare(*exchanged, replace(choices, overlap="published since")), book, "other")
    others = read_table(csv(people(4)), "p", "private"), read_table(csv(people(5, 300)), "b", "public")
    admit(prepare(*others, choices), book, "other")


def panel(seed: int, persons: int = 250, years: int = 8) -> pd.DataFrame:
    """Draw rows of persons in several years: most columns of a person stay as they are."""
    rng = np.random.default_rng(seed)
    frame = people(seed, persons).loc[np.repeat(np.arange(persons), years)].reset_index(drop=True)
    frame.insert(0, "person", np.repeat(np.arange(persons), years))
    frame["year"] = np.tile(np.arange(2000, 2000 + years), persons)
    frame["weight"] += rng.normal(0, 2, len(frame))
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def levels(seed: int, n: int, kinds: int) -> pd.DataFrame:
    """Draw rows of two columns with so many combinations."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.integers(0, kinds // 10, n), "b": rng.integers(0, 10, n)})


HONEST = {
    "panel": (panel(1).iloc[:1800], panel(1).iloc[1800:]),
    "panel without a year": tuple(
        panel(1).drop(columns=["year", "weight"]).iloc[at] for at in (slice(1000), slice(1000, None))
    ),
    "two years of each": (panel(1, 2000, 2).iloc[:2000], panel(1, 2000, 2).iloc[2000:]),
    "three rows a kind": (levels(1, 3000, 1000), levels(2, 3000, 1000)),
    "four rows to three kinds": (levels(1, 1300, 1000), levels(2, 1300, 1000)),
    "a row in five kinds": (levels(1, 200, 1000), levels(2, 200, 1000)),
    "ten times as many": (levels(1, 200, 1000), levels(2, 2000, 1000)),
    "forty times as many": (levels(1, 500, 100_000), levels(2, 20_000, 100_000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_another_sample_of_the_same_people_holds_other_rows(name):
    """A panel's rows share most of their cells, those of few levels are alike: they are no private rows for that."""
    private, public = HONEST[name]
    for known, other in ((private, public), (public.iloc[: len(private)], private)):
        record, there = held_of(known), cells(csv(other))
        assert unchanged_rows_evidence(there, record) < THRESHOLD - 10
        assert unchanged_rows_evidence(cells(csv(known)), record) > THRESHOLD + 10
        assert not any(has_unchanged_rows(there, record, KEY, ask) for ask in range(20))
        assert all(has_unchanged_rows(cells(csv(known)), record, KEY, ask) for ask in range(20))


@pytest.mark.parametrize("rows", [96, 120, 200])
def test_the_rows_of_a_small_table_are_known_beside_a_new_column(rows):
    """As public rows with a column that says whose they are: counts of whole rows differ then."""
    private = people(3).iloc[:rows]
    record, there = held_of(private), cells(csv(private.assign(site=np.arange(rows) % 3)))
    assert all(has_unchanged_rows(there, record, KEY, ask) for ask in range(20))
    others = cells(csv(levels(2, rows, 10 * rows)))
    assert not any(has_unchanged_rows(others, held_of(levels(1, rows, 10 * rows)), KEY, ask) for ask in range(20))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, 9, 20, 48])
def test_no_table_is_too_small_for_honest_public_rows(rows):
    """Noise alone would take public rows for those of a tiny private table: one comparison in a thousand at most."""
    record, there = held_of(people(3).iloc[:rows]), cells(csv(people(4)))
    assert sum(has_unchanged_rows(there, record, KEY, ask) for ask in range(2000)) <= 6


def test_a_release_may_be_repeated_with_the_same_public_sample_of_a_panel(tmp_path):
    """The ledger knows the private rows by then; the public ones are of the same persons in other years."""
    book, choices = Ledger(str(tmp_path / "l.db")), Choices(target="weight", features=("height", "age"))
    private, public = (
        read_table(csv(panel(1).iloc[:1800]), "p", "private"),
        read_table(csv(panel(1).iloc[1800:]), "b", "public"),
    )
    book.cap("survey", 3.0)
    for _ in range(2):
        admit(prepare(private, public, choices), book, "survey")
    assert book.recognised(cells(csv(panel(1).iloc[1800:]), book.fingerprint_key)) == ("survey",), (
        "private rows would spend together"
    )


@pytest.mark.slow
@pytest.mark.parametrize("n", [400, 250, 120], ids=["beyond the sample", "all in the sample", "half a sample"])
@pytest.mark.parametrize("kinds", [400, 1000, 100_000], ids=["few", "more", "many"])
def test_a_private_row_changes_little_of_whether_rows_are_held(n, kinds):
    """The noise is for a change of one row, which may be one of two of their kind."""
    private = levels(1, n, kinds)
    there = cells(csv(pd.concat([private, levels(2, n // 10, kinds)])))
    now = unchanged_rows_evidence(there, held_of(private))
    strange = pd.DataFrame({"a": [10**6], "b": [10**6]})
    for at in range(0, n, 13):
        less = private.drop(private.index[at])
        for neighbour in (
            less,
            pd.concat([private, private.iloc[[at]]]),
            pd.concat([less, private.iloc[[at - 1]]]),
            pd.concat([less, strange]),
        ):
            far = 2.0 if len(neighbour) == n else 1.0
            assert abs(unchanged_rows_evidence(there, held_of(neighbour)) - now) <= far + 1e-9


def test_a_study_of_one_table_may_cut_it_anew(tmp_path):
    """Figures that stay in a lab protect nobody: another share of the same file as public rows is refused to nobody."""
    book, choices = Ledger(str(tmp_path / "l.db")), Choices(target="weight", features=("height", "age"))
    book.cap("study", 3.0)
    for seeds in ((1, 2), (2, 1)):
        tables = [
            read_table(csv(people(seed)), "t", role) for seed, role in zip(seeds, ("private", "public"), strict=True)
        ]
        admit(prepare(*tables, choices, lab_reasons=("for study",)), book, "study")
