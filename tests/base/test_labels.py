"""A private figure cannot get out: not by conversion, copy, export or error, and few modules may open its box."""

from __future__ import annotations

import ast
import copy
import gzip
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pmtcore.accounting.budgets import Guarantee, Neighbours
from pmtcore.base.exports import PrivateFigureError, plain_json
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.private_rows import Curator, Private, PrivateRows
from pmtcore.methods.facts import Facts
from pmtcore.releases.record import PublicFacts, Release
from pmtcore.tables.choices import Choices
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_path, read_table, table_from, with_label_column, with_rows

ROOT = Path(__file__).resolve().parents[2]
SECRET = 4711.25

MAY_OPEN = {
    "pmtcore/tables/cluster.py": "a worker adds up its part of the rows; the sum goes into the box of the whole table",
    "pages/study/retrieval.py": "paper D on the open table, lab only: for the curator, or harmless",
    "pmtcore/auditing/opening.py": "the first page: the fit to synthetic rows that the demo makes itself",
    "pmtcore/tables/persons.py": "puts zeros for a person's further rows, back into the same box",
    "pmtcore/mechanisms/randomizers.py": "local randomizers: every row is randomized on its own",
    "pmtcore/mechanisms/grid.py": "mechanism: integer noise is added in the same function",
    "pmtcore/mechanisms/minimizer.py": "sums for a solver: its minimizer leaves with noise, or stays in the lab",
    "pmtcore/methods/response_moment.py": "the Gram matrix of covariates declared public; no response is in it",
    "pmtcore/methods/as_published.py": "as published: lab only, the registry refuses to release it",
    "pmtcore/mechanisms/noise.py": "mechanisms: noise is added in the same expression",
    "pmtcore/methods/baselines.py": "non-private: lab only, the registry refuses to release it",
    "pmtcore/papers/gallery/central.py": "synthetic and public tables only",
    "pmtcore/api/functions.py": "describe and compare, called by whoever holds the rows",
    "pmtcore/auditing/comparison.py": "lab: errors are boxed again before they are handed out",
    "pmtcore/cli/commands.py": "describe and compare, labelled; run by whoever holds the file",
    "pmtcore/papers/commands.py": "select, labelled; run by whoever holds the file",
    "pages/elements/table_picker.py": "empty rows and shared rows, behind the curator's switch",
    "pages/work/conditioning.py": "behind the curator's switch",
    "pages/study/local.py": "behind the curator switch, or synthetic and public tables",
    "pages/work/compare.py": "behind the curator's switch, or synthetic and public tables",
    "pmtcore/report/first_look.py": "synthetic and public tables only",
}


def attempts(box):
    """Ways out that Python offers."""
    return [
        lambda: float(box),
        lambda: int(box),
        lambda: bool(box),
        lambda: list(box),
        lambda: len(box),
        lambda: box == SECRET,
        lambda: box < 1,
        lambda: box + 1,
        lambda: np.asarray(box, dtype=float),
        lambda: pickle.dumps(box),
        lambda: copy.copy(box),
        lambda: copy.deepcopy(box),
        lambda: json.dumps(box),
        lambda: hash(box),
        lambda: plain_json(box),
        lambda: plain_json({"a": [box]}),
        lambda: box.reveal("me"),
    ]


@pytest.mark.parametrize("at", range(17))
def test_the_box_has_no_other_way_out(at):
    """Conversion, comparison, copying and serializing are refused, and the refusal does not name the value."""
    with pytest.raises(TypeError) as caught:
        attempts(Private(SECRET))[at]()
    assert "4711" not in str(caught.value)


def test_printing_shows_nothing():
    """repr, str and format of private things hold no value."""
    rows = PrivateRows.from_arrays(np.full((3, 1), SECRET), np.full(3, SECRET), ("x",))
    table = read_table(b"x,y\n4711.25,1\n2,3\n", "p.csv", "private")
    for thing in (Private(SECRET), rows, table, rows.sum(lambda x, y: x.sum(axis=0))):
        assert "4711.25" not in f"{thing!r} {thing} {thing!s}"  # an address in memory may have the four digits


def test_private_holders_refuse_to_be_pickled():
    """Rows, tables and problems cannot enter a cache that pickles, nor another process."""
    public = read_table(b"x,y\n1,1\n2,3\n3,3.5\n5,1\n", "b.csv", "public")
    table = read_table(b"x,y\n4711.25,1\n2,3\n", "p.csv", "private")
    problem = prepare(table, public, Choices(target="y"))
    for thing in (table, problem, problem.private):
        with pytest.raises(TypeError):
            pickle.dumps(thing)
        with pytest.raises(TypeError):
            copy.deepcopy(thing)


FRAME = pd.DataFrame({"x": [4711.25, 2.0], "y": [1.0, 3.0]})
IN_MEMORY = {
    "text": FRAME.to_csv(index=False).encode(),
    "gzip'ed text": gzip.compress(FRAME.to_csv(index=False).encode()),
    "Parquet": FRAME.to_parquet(),
    "pandas": FRAME,
    "objects": FRAME.astype(object),
    "Arrow": pa.Table.from_pandas(FRAME),
}


@pytest.mark.parametrize("form", IN_MEMORY)
def test_what_a_table_in_memory_is_read_from_is_not_pickled(form):
    """The table refused, and what it was read from did not; a file is told to workers by its name."""
    given = IN_MEMORY[form]
    table = read_table(given, "p", "private") if isinstance(given, bytes) else table_from(given, "p", "private")
    declared, labelled_rows = with_rows(table, 5), with_label_column(table, "who", ["a"])
    for source in (table.source, declared.source, labelled_rows.source):
        with pytest.raises(TypeError):
            pickle.dumps(source)


def test_a_file_is_told_by_its_name(tmp_path):
    """As workers of a cluster need it: no cell is in what they are sent."""
    FRAME.to_csv(tmp_path / "p.csv", index=False)
    FRAME.to_parquet(tmp_path / "p.parquet")
    for path in tmp_path.iterdir():
        sent = pickle.dumps(read_path(path, "private").source)
        assert b"4711.25" not in sent and np.float64(4711.25).tobytes() not in sent
        assert pickle.loads(sent).rows(Dialect()) == 2


@pytest.mark.parametrize("place", ["released", "parameters"])
def test_a_release_refuses_private_figures(place):
    """A private figure in any free field of a release is refused when the release is made."""
    fields = {
        "method": "m",
        "title": "t",
        "standing": ReleaseStatus.SOUND,
        "standing_reasons": (),
        "target": "y",
        "names": ("x",),
        "coefficients": np.ones(1),
        "bands": None,
        "guarantee": Guarantee(1.0, Neighbours.REPLACE_ONE, 1e-6),
        "parameters": {},
        "n": 3,
        "public_rows": 2,
        "seed": None,
        "public": PublicFacts("gaussian", np.ones(1), "exact"),
    }
    assert json.dumps(Release(**fields).as_dict())
    with pytest.raises(PrivateFigureError):
        Release(**{**fields, place: {"rate": {"deep": [Private(SECRET)]}}})
    with pytest.raises(PrivateFigureError):
        Facts(more={"rate": {"deep": [Private(SECRET)]}})
    with pytest.raises(PrivateFigureError):
        Facts(radius=Private(SECRET))


def test_computing_on_stays_private():
    """map and sum give boxes; only a curator opens them."""
    box = Private(2.0).map(lambda v: v + 1).zip(Private(4.0))
    assert isinstance(box, Private)
    assert box.reveal(Curator("test")) == (3.0, 4.0)


@pytest.mark.slow
def test_only_listed_modules_open_the_box():
    """Modules that call reveal or make a Curator are exactly those on the list, each with its reason."""
    names = set()
    for path in [*ROOT.glob("pmtcore/**/*.py"), *ROOT.glob("pages/**/*.py"), ROOT / "app.py"]:
        name = str(path.relative_to(ROOT))
        if name in {"pmtcore/base/private_rows.py"}:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            calls = isinstance(node, ast.Attribute) and node.attr in {"reveal", "_value", "_blocks"}
            makes = isinstance(node, ast.Name) and node.id == "Curator"
            if calls or makes:
                names.add(name)
    assert names == set(MAY_OPEN)


def test_no_page_uses_a_shared_cache():
    """st.cache_data and st.cache_resource are shared between sessions: no page and no helper uses them."""
    for path in [*ROOT.glob("pages/**/*.py"), ROOT / "app.py"]:
        assert "cache_data" not in path.read_text()
        assert "cache_resource" not in path.read_text()
