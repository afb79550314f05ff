"""Bad input gets one clear sentence: never a traceback, never a private value."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmtcore.accounting.budgets import Budget, Guarantee, Neighbours
from pmtcore.base.messages import InputError, PublicMessage, TableMessage
from pmtcore.cli.main import main
from pmtcore.methods.registry import make_parameters, method
from pmtcore.releases.release import request_from_json
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_moment, read_table
from tests.helpers import TEST, refused

ROOT = Path(__file__).resolve().parents[2]
MARK = "4711.625"
RNG = np.random.default_rng(0)
PUBLIC = pd.DataFrame({"a": RNG.normal(size=40), "b": RNG.normal(size=40), "y": RNG.normal(size=40)})
PRIVATE = pd.DataFrame({"a": RNG.normal(size=50), "b": RNG.normal(size=50), "y": RNG.normal(size=50)})
PRIVATE.loc[0, "a"] = float(MARK)


def csv(frame: pd.DataFrame, **options) -> bytes:
    return frame.to_csv(index=False, **options).encode()


def parquet(frame: pd.DataFrame) -> bytes:
    return frame.to_parquet()


def wide(n: int) -> bytes:
    return (",".join(f"c{j}" for j in range(n)) + "\n" + ",".join(["1"] * n) + "\n").encode()


BOMB = gzip.compress(b"a,y\n" + b"1,2\n" * 3_000_000)
LEVELS = pd.DataFrame({"k": [f"id{j}" for j in range(60)], "y": range(60)})
T = PRIVATE.assign
STRICT = {"collinear": "refuse"}

# name: (private bytes, public bytes, choices, words that the sentence must have)
CASES: dict[str, tuple[bytes, bytes, dict, str]] = {
    "ragged public rows": (csv(PRIVATE), csv(PUBLIC) + b"1,2,3,4\n", {}, "number of cells"),
    "open quote, public": (csv(PRIVATE), csv(PUBLIC) + b'"1,2,3\n', {}, "open quote"),
    "byte-order mark alone": (b"\xef\xbb\xbf", csv(PUBLIC), {}, "is empty"),
    "byte-order mark alone, public": (csv(PRIVATE), b"\xef\xbb\xbf", {}, "is empty"),
    "bytes after gzip": (gzip.compress(csv(PRIVATE)) + b"1,2,3\n", csv(PUBLIC), {}, "other bytes after its end"),
    "empty private file": (b"", csv(PUBLIC), {}, "is empty"),
    "blank private file": (b" \n \n", csv(PUBLIC), {}, "is empty"),
    "header only": (b"a,b,y\n", csv(PUBLIC), {}, "no rows"),
    "header only public": (csv(PRIVATE), b"a,b,y\n", {}, "no rows"),
    "wrong separator": (csv(PRIVATE, sep="~"), csv(PUBLIC), {}, "single column"),
    "binary junk": (bytes(range(256)) * 20, csv(PUBLIC), {}, "not a table"),
    "10,000 columns": (wide(10_000), csv(PUBLIC), {}, "10000 columns"),
    "no header": (csv(PRIVATE, header=False), csv(PUBLIC), {}, "no header row"),
    "duplicated names, private": (b"a,a,y\n4711.625,2,3\n", csv(PUBLIC), {}, "columns '1', '2' the same name"),
    "duplicated names, public": (csv(PRIVATE), b"a,a,y\n1,2,3\n", {}, "'a' more than once"),
    "title line": (b"Health survey;;\n;;\na;b;y\n4711.625;2;3\n", csv(PUBLIC), {}, "as a title has"),
    "unnamed column": (b"a,,y\n4711.625,2,3\n", csv(PUBLIC), {}, "without a name"),
    "cut gzip": (gzip.compress(csv(PRIVATE))[:-20], csv(PUBLIC), {}, "cut short"),
    "damaged gzip": (b"\x1f\x8b" + bytes(60), csv(PUBLIC), {}, "damaged"),
    "gzip twice": (gzip.compress(gzip.compress(csv(PRIVATE))), csv(PUBLIC), {}, "twice"),
    "gzip of nothing": (gzip.compress(b""), csv(PUBLIC), {}, "is empty"),
    "false parquet": (b"PAR1" + bytes(200) + b"PAR1", csv(PUBLIC), {}, "cannot be read"),
    "cut parquet": (parquet(PRIVATE)[:-40], csv(PUBLIC), {}, "cannot be read"),
    "no common column": (csv(PRIVATE.rename(columns=lambda c: f"{c}4711.625")), csv(PUBLIC), {}, "no column in common"),
    "target not in public": (csv(PRIVATE), csv(PUBLIC), {"target": "pay"}, "no column 'pay'"),
    "target not in private": (csv(PRIVATE.drop(columns="y")), csv(PUBLIC), {}, "private table has no column 'y'"),
    "feature not in private": (csv(PRIVATE.drop(columns="b")), csv(PUBLIC), {"features": ("b",)}, "no column 'b'"),
    "feature not there": (csv(PRIVATE), csv(PUBLIC), {"features": ("q",)}, "no column 'q'"),
    "target among features": (csv(PRIVATE), csv(PUBLIC), {"features": ("a", "y")}, "also among the features"),
    "feature twice": (csv(PRIVATE), csv(PUBLIC), {"features": ("a", "a")}, "named twice"),
    "nothing but the target": (csv(PRIVATE[["y"]].assign(q=1)), csv(PUBLIC), {}, "no column in common but"),
    "text target in both": (csv(T(y=["low"] * 50)), csv(PUBLIC.assign(y=["low"] * 40)), {}, "'y' must be numeric"),
    "one public row": (csv(PRIVATE), csv(PUBLIC[:1]), {}, "1 usable row"),
    "fewer public rows than features": (csv(PRIVATE), csv(PUBLIC[:3]), {}, "3 usable rows"),
    "constant public column": (csv(PRIVATE), csv(PUBLIC.assign(b=7.0)), STRICT, "'b' is constant"),
    "zero public column": (csv(PRIVATE), csv(PUBLIC.assign(b=0.0)), {"intercept": False, **STRICT}, "zero in"),
    "collinear public columns": (csv(PRIVATE), csv(PUBLIC.assign(b=2 * PUBLIC.a + 1)), STRICT, "collinear"),
    "target repeated": (csv(PRIVATE), csv(PUBLIC.assign(b=PUBLIC.y)), {}, "exactly"),
    "public is private": (csv(PRIVATE), csv(PRIVATE), {}, "same file"),
    "too many categories": (csv(LEVELS.assign(k="z")), csv(LEVELS), {"features": ("k",)}, "60 different texts"),
    "one category": (csv(T(b="z")), csv(PUBLIC.assign(b="only")), {"features": ("b",)}, "fewer than two categ"),
    "unknown policy": (csv(PRIVATE), csv(PUBLIC), {"missing": "guess"}, "must be one of"),
    "bad public ridge": (csv(PRIVATE), csv(PUBLIC), {"public_ridge": float("nan")}, "public ridge"),
}


# name: the first private rows as text; each is one row that says nothing, and no other row changes
UNREADABLE = {
    "null byte": b"1,\x00,2\n",
    "too long": b"1,2,3,4,4711.625\n",
    "too short": b"4711.625,2\n",
    "blank": b"\n",
    "open quote": b'"4711.625,2,3\n',
    "lone quote": b'1,",3\n',
    "text after a quote": b'1,"2"4711.625,3\n',
    "not UTF-8": b"1,\xff,3\n",
    "carriage return": b"1,2\r3,4\n",
    "text": b"1,4711.625x,3\n",
    "comma": b'1,"4,5",3\n',
    "missing": b"1,,3\n",
    "missing target": b"1,2,NA\n",
    "infinite": b"1,inf,3\n",
    "minus infinity": b"1,-Infinity,3\n",
    "1e308": b"1,1e308,3\n",
    "400 digits": b"1," + b"9" * 400 + b",3\n",
    "beyond all floats": b"1,1e999999,3\n",
    "a very long line": b"1," + b"9" * 3_000_000 + b",3\n",
}


def design(private: bytes, **choices) -> np.ndarray:
    table, public = read_table(private, "p.csv", "private"), read_table(csv(PUBLIC), "b.csv", "public")
    result = prepare(table, public, Choices(target="y", **choices)).private
    return result.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)


@pytest.mark.parametrize(
    "row", ["1,2", "a,a", "y,y", ",", "x" * 400 + ",1", "1,2,3", "\x00", '1,"\n"', "\x85\x1b" * 99, "é,\udcff", "<html"]
)
def test_lone_carriage_returns_are_one_sentence_whatever_the_rows(row):
    """All rows are in the first line then: which sentence is said must not depend on one."""
    lines = ["x,y", *(f"{at},{'long ' * 60}" for at in range(9)), row]
    with refused(TableMessage.CARRIAGE_RETURNS):
        read_table("\r".join(lines).encode(errors="surrogateescape"), "p", "private")


OF_ANOTHER_PROGRAM = {
    "UTF-16, little end first": (lambda text: text.encode("utf-16-le"), TableMessage.UTF16),
    "UTF-16, big end first": (lambda text: text.encode("utf-16-be"), TableMessage.UTF16),
    "UTF-16 with a mark": (lambda text: text.encode("utf-16"), TableMessage.UTF16),
    "UTF-32, little end first": (lambda text: text.encode("utf-32-le"), TableMessage.UTF32),
    "UTF-32, big end first": (lambda text: text.encode("utf-32-be"), TableMessage.UTF32),
    "UTF-32 with a mark": (lambda text: text.encode("utf-32"), TableMessage.UTF32),
    "UTF-32, big end first, with a mark": (lambda text: f"\ufeff{text}".encode("utf-32-be"), TableMessage.UTF32),
    **{
        note: (lambda text, note=note: f"{note}{text}".encode(), TableMessage.SEPARATOR_NOTE)
        for note in ("sep=,\n", "sep=;\r\n", "SEP=\t\n", '"sep=|"\n', "\ufeffsep=,\n")
    },
    "carriage returns": (lambda text: text.replace("\n", "\r").encode(), TableMessage.CARRIAGE_RETURNS),
    "one carriage return": (lambda text: text.replace("\n", "\r", 1).encode(), TableMessage.CARRIAGE_RETURNS),
}


@pytest.mark.parametrize("packing", ["plain", "gzip"])
@pytest.mark.parametrize("role", ["private", "public"])
@pytest.mark.parametrize("form", OF_ANOTHER_PROGRAM)
def test_a_text_of_another_program_is_refused_for_its_own_cause(form, role, packing):
    """They were no table, or had a column without a name."""
    write, message = OF_ANOTHER_PROGRAM[form]
    data = write("x,y\n1,2\n3,4\n")
    with refused(message):
        read_table(gzip.compress(data) if packing == "gzip" else data, "p", role)


@pytest.mark.parametrize("row", [{"x": 1, "y": 2}, {"x": 1, "y": "x"}, {"x": 1}, {"x": "long " * 90, "y": 1}])
@pytest.mark.parametrize("orient", ["records", "columns", "values", "split", "lines", "html"])
def test_other_forms_are_one_sentence_whatever_the_rows(orient, row):
    """JSON and HTML may have all rows in the first line; names in brackets are names."""
    frame = pd.DataFrame([{"x": 0, "y": 1}, row, {"x": 2, "y": 3}])
    lines = orient == "lines"
    data = frame.to_html() if orient == "html" else frame.to_json(orient="records" if lines else orient, lines=lines)
    with refused(TableMessage.NOT_A_TABLE):
        read_table(data.encode(), "p", "private")
    assert read_table(b"[x],<y>\n1,2\n", "p", "private").columns == ("[x]", "<y>")


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_private_row_that_cannot_be_read_is_a_row_of_zeros(name):
    """Whatever one private row holds, nothing is refused, n stays, and every other row is what it was."""
    head, rest = csv(PRIVATE).split(b"\n", 1)
    for at in (0, 20, 50):
        lines = rest.splitlines(keepends=True)
        features = design(head + b"\n" + b"".join([*lines[:at], UNREADABLE[name], *lines[at:]]))
        assert len(features) == 51 and not np.any(features[at])
        assert np.array_equal(np.delete(features, at, axis=0), design(csv(PRIVATE)))


@pytest.mark.parametrize("policy", ["missing", "unseen"])
def test_a_strict_policy_refuses_and_says_what_that_means(policy):
    """The strict policies answer about private rows, in one sentence, and a problem made under them says so."""
    with_text = csv(PRIVATE.assign(b=["z" + MARK, *["u", "v"] * 24, ""]))
    public = read_table(csv(PUBLIC.assign(b=["u", "v"] * 20)), "b.csv", "public")
    kinds = {"unseen": TableMessage.UNKNOWN_LEVELS, "missing": TableMessage.MISSING_VALUES}
    with refused(kinds[policy], columns=["b"]) as caught:
        prepare(read_table(with_text, "p.csv", "private"), public, Choices(target="y", **{policy: "refuse"}))
    one_sentence(str(caught.value))
    fine = read_table(csv(PRIVATE.assign(b=["u", "v"] * 25)), "p.csv", "private")
    notes = prepare(fine, public, Choices(target="y", **{policy: "refuse"})).notes
    assert "the guarantee does not cover" in " ".join(notes)


def one_sentence(text: str) -> None:
    assert text.endswith(".") and "\n" not in text and 20 < len(text) < 400
    assert "Traceback" not in text and "Error" not in text
    assert MARK not in text and "4711" not in text


@pytest.mark.parametrize("name", CASES)
def test_bad_tables(name):
    """Each malformed or hostile pair of tables gets one sentence with what, where and what to do."""
    private, public, changes, words = CASES[name]
    with pytest.raises(InputError) as caught:
        choices = Choices(**{"target": "y", **changes})
        prepare(read_table(private, "p.csv", "private"), read_table(public, "b.csv", "public"), choices)
    one_sentence(str(caught.value))
    assert words in str(caught.value)


def test_one_private_row_is_enough_to_be_asked():
    """A single private row is odd, but not an error: the noise protects it like any other."""
    private = read_table(csv(PRIVATE[:1]), "p", "private")
    assert prepare(private, read_table(csv(PUBLIC), "b", "public"), Choices(target="y")).private.n == 1


def test_a_gzip_bomb_is_stopped_at_the_limit():
    """Unpacking stops at the limit, in a stream."""
    assert len(BOMB) < 100_000
    with refused(TableMessage.TOO_LARGE_UNPACKED):
        read_table(BOMB, "bomb.csv.gz", "private", limit=1_000_000)


MOMENTS = {
    "not square": (b"a,b,y\n1,0,0\n0,1,0\n", TableMessage.MOMENT_NOT_SQUARE),
    "text": (b"a,y\n1,x\n0,1\n", TableMessage.MOMENT_NOT_FINITE),
    "not symmetric": (b"a,y\n1,0.5\n0.1,1\n", PublicMessage.MOMENT_NOT_SYMMETRIC),
    "indefinite": (b"a,y\n1,2\n2,1\n", PublicMessage.MOMENT_COLLINEAR),
    "no diagonal": (b"a,y\n0,0\n0,1\n", PublicMessage.MOMENT_NOT_POSITIVE),
    "other row names": (b"name,a,y\nb,1,0\ny,0,1\n", TableMessage.MOMENT_NAMES_DIFFER),
    "no intercept": (b"a,y\n1,0.1\n0.1,1\n", TableMessage.NO_INTERCEPT_ROW),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_bad_moment_matrices(name):
    """Each gets one sentence."""
    data, kind = MOMENTS[name]
    with refused(kind) as caught:
        choices = Choices(target="y", intercept=name == "no intercept")
        prepare(read_table(csv(PRIVATE), "p", "private"), read_moment(data, "m.csv"), choices)
    one_sentence(str(caught.value))


NAN = float("nan")
PARAMETERS = {
    "mu 0": lambda: Budget(0),
    "mu -1": lambda: Budget(-1),
    "mu nan": lambda: Budget(NAN),
    "mu 1e308": lambda: Budget(1e308),
    "mu inf": lambda: Budget(float("inf")),
    "mu text": lambda: Budget("much"),
    "rho 0": lambda: Budget.from_rho(0),
    "rho -1": lambda: Budget.from_rho(-1),
    "rho nan": lambda: Budget.from_rho(NAN),
    "epsilon -1": lambda: Budget.from_epsilon(-1, 1e-6),
    "epsilon nan": lambda: Budget.from_epsilon(NAN, 1e-6),
    "epsilon 1e308": lambda: Budget.from_epsilon(1e308, 1e-6),
    "epsilon 0, tiny delta": lambda: Budget.from_epsilon(0, 1e-300),
    "delta 0": lambda: Budget.from_epsilon(1, 0),
    "delta 1": lambda: Budget.from_epsilon(1, 1),
    "delta 2": lambda: Budget.from_epsilon(1, 2),
    "delta nan": lambda: Guarantee(1.0, Neighbours.REPLACE_ONE, NAN),
    "unknown method": lambda: method("magic"),
    "unknown parameter": lambda: make_parameters(method("pmt-ridge"), {"lamda": 1}),
    "eta 0": lambda: make_parameters(method("pmt-ridge"), {"eta": 0}),
    "eta 2": lambda: make_parameters(method("pmt-ridge"), {"eta": 2}),
    "eta nan": lambda: make_parameters(method("pmt-ridge"), {"eta": NAN}),
    "eta text": lambda: make_parameters(method("pmt-ridge"), {"eta": "small"}),
    "lam -1": lambda: make_parameters(method("pmt-ridge"), {"lam": -1}),
    "radius mode": lambda: make_parameters(method("joint-pmt"), {"radius_mode": "best"}),
    "configuration not JSON": lambda: request_from_json(b"mu=1"),
    "configuration a list": lambda: request_from_json(b"[1]"),
    "configuration without a budget": lambda: request_from_json(b'{"method": "joint-pmt"}'),
    "configuration too deep": lambda: request_from_json(b"[" * 100_000),
    "configuration with mu true": lambda: request_from_json(b'{"method": "joint-pmt", "mu": true}'),
    "configuration with a bad delta": lambda: request_from_json(b'{"method": "joint-pmt", "mu": 1, "delta": "x"}'),
    "configuration with more": lambda: request_from_json(b'{"method": "joint-pmt", "mu": 1, "path": "x"}'),
    "configuration with a bad budget": lambda: request_from_json(b'{"method": "joint-pmt", "mu": "x"}'),
    "configuration with bad parameters": lambda: request_from_json(
        b'{"method": "joint-pmt", "mu": 1, "parameters": 3}'
    ),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_bad_parameters(name):
    """Each gets one sentence; not-a-number never passes a range."""
    with pytest.raises(InputError) as caught:
        PARAMETERS[name]()
    one_sentence(str(caught.value))


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=300), st.text(alphabet='a,b;\t\n"1.5eNn|\r ', max_size=80).map(str.encode)))
def test_any_bytes_are_a_table_or_a_sentence(data):
    """Whatever the bytes, reading them gives a table or a sentence, nothing else."""
    for packed in (data, gzip.compress(data)):
        try:
            table = read_table(packed, "t.csv", "private")
            prepare(table, read_table(csv(PUBLIC), "b", "public"), Choices(target="y"))
        except InputError as error:
            one_sentence(str(error))


TABLES = ["--private", "{p}", "--public", "{b}", "--target", "y"]
COMMANDS = [
    ["release"],
    ["nonsense"],
    ["convert"],
    ["convert", "--mu", "1", "--rho", "1"],
    ["convert", "--mu", "nan"],
    ["convert", "--mu", "x"],
    ["convert", "--epsilon", "1"],
    ["convert", "--mu", "1", "--delta", "2"],
    ["release", *TABLES, "--method", "dp-ridge", "--mu", "1"],
    ["release", *TABLES, "--method", "joint-pmt", "--mu", "0"],
    ["release", *TABLES, "--method", "joint-pmt", "--mu", "1", "--set", "x"],
    ["release", *TABLES, "--method", "pmt-ols", "--mu", "1", "--set", "eta=9"],
    ["release", *TABLES, "--method", "joint-pmt", "--mu", "1", "--seed", "-1"],
    ["release", "--private", "none.csv", "--public", "{b}", "--target", "y", "--method", "joint-pmt", "--mu", "1"],
    ["release", "--private", "{p}", "--target", "y", "--method", "joint-pmt", "--mu", "1"],
    ["compare", *TABLES, "--methods", "pmt-moment", "--mu", "1"],
    ["compare", *TABLES, "--methods", "joint-pmt", "--mu", "1,x"],
    ["compare", *TABLES, "--methods", "", "--mu", "1"],
    ["compare", *TABLES, "--methods", "joint-pmt", "--mu", "1", "--trials", "0"],
    ["compare", *TABLES, "--methods", "joint-pmt", "--mu", "1", "--scale", "q"],
    ["describe", *TABLES, "--eta", "0"],
    ["describe", *TABLES, "--family", "poissonn"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: " ".join(c)[-60:])
def test_the_command_line_exits_with_2_and_one_line(command, tmp_path, capsys):
    """Bad input on the command line: exit status 2, one line on standard error, nothing on standard output."""
    (tmp_path / "p.csv").write_bytes(csv(PRIVATE))
    (tmp_path / "b.csv").write_bytes(csv(PUBLIC))
    places = {"p": str(tmp_path / "p.csv"), "b": str(tmp_path / "b.csv")}
    assert main([part.format(**places) for part in command]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pmtcore: ") and captured.err.count("\n") == 1
    assert "4711" not in captured.err and "Traceback" not in captured.err


@pytest.mark.slow
def test_a_real_process_prints_no_traceback(tmp_path):
    """The same through a shell: status 2, one line."""
    (tmp_path / "p.csv").write_bytes(b"a,b,b\n" + MARK.encode() + b",x,1\n")
    (tmp_path / "b.csv").write_bytes(csv(PUBLIC))
    command = [sys.executable, "-m", "pmtcore", "release", "--private", str(tmp_path / "p.csv"), "--public"]
    command += [str(tmp_path / "b.csv"), "--target", "y", "--method", "joint-pmt", "--mu", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "4711" not in done.stderr + done.stdout
