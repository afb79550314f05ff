"""Tables that are opened by name: one of each for all sessions, and nothing of anybody's own beside them."""

from __future__ import annotations

import gc
import os
import weakref
from pathlib import Path

import pytest

from pmtcore.base.messages import InputError
from pmtcore.tables.choices import Choices
from pmtcore.tables.named import _split, entry, load
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_path, read_table, split

ROWS = "a,b,class\n" + "".join(f"{k % 7},{k % 5}.5,{k % 3 % 2}\n" for k in range(400))


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a published table in a folder of its own."""
    monkeypatch.setenv("PMT_DATA_DIR", str(tmp_path))
    _split.cache_clear()
    place = tmp_path / "banknote.csv.gz"
    place.write_text(ROWS)
    return place


def test_a_published_table_is_read_once_and_anew_when_its_file_changes(published: Path):
    """Two sessions hold the same rows; another seed, or another file of that name, is another table."""
    first, again = load("banknote"), load("banknote")
    assert first[0] is again[0] and first[1] is again[1]
    assert load("banknote", seed=1)[0].sha256 != first[0].sha256
    published.write_text(ROWS + "1,2,1\n")
    os.utime(published, ns=(1, 1))
    assert load("banknote")[0].n == first[0].n + 1


@pytest.mark.slow
def test_nothing_of_own_tables_is_kept(published: Path):
    """Own tables go with their last holder, also the published file itself as an upload; no name leads to a file."""
    load("banknote")
    before = _split.cache_info()
    own = published.with_name("own.csv")
    own.write_text(ROWS)
    for place in (str(own), "own.csv", "../own.csv", str(published), "banknote.csv.gz"):
        with pytest.raises(InputError):
            load(place)
    uploaded, opened = read_table(ROWS.encode(), "banknote.csv.gz", "private"), read_path(published, "public")
    parts = split(opened, 100, 0)
    problem = prepare(*parts, Choices(target="b"))
    marks = [weakref.ref(one) for one in (uploaded, opened, *parts, problem.private, problem.public)]
    del uploaded, opened, parts, problem
    gc.collect()
    assert [mark() for mark in marks] == [None] * len(marks)
    assert _split.cache_info()[2:] == before[2:], "nothing was added"
    remaining = weakref.ref(load("banknote")[0])
    gc.collect()
    assert remaining() is not None, "the published table is there all the same: the marks above can tell"


def test_large_published_tables_go_with_their_session(published: Path, monkeypatch: pytest.MonkeyPatch):
    """What takes much memory is handed back when the session ends."""
    monkeypatch.setattr("pmtcore.tables.named._MOST_KEPT", 1000)
    assert load("banknote")[0] is not load("banknote")[0]
    assert _split.cache_info().currsize == 0


def test_a_survey_weight_is_no_feature_at_first():
    """Adult's own weight says how many people a row stands for, nothing of this one."""
    features = entry("adult").choices.features
    assert features is not None and "fnlwgt" not in features and len(features) == 13
