"""The unit of protection: k rows per person declared, or an identifier with k rows of each person, or their mean."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pmtcore.accounting.budgets import (
    FIRST,
    MEAN,
    PERSON,
    Budget,
    Guarantee,
    Neighbours,
    Unit,
    attacker_power,
    of_person,
    unit_of,
)
from pmtcore.api.loading import in_words, results_of
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, LedgerMessage, TableMessage
from pmtcore.base.numbers import UNBREAKABLE, rounded
from pmtcore.cli.main import main
from pmtcore.explore.moment import Moment
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.methods.joint_moment.record import Record, _digest
from pmtcore.methods.registry import make_parameters, method
from pmtcore.releases.release import Request, preview, recorded_release, release
from pmtcore.report import deployment
from pmtcore.report.checklist import checklist
from pmtcore.report.figures import explore as explore_figures
from pmtcore.report.html import report
from pmtcore.tables.choices import Choices
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.persons import MOST_CHARACTERS, canonical_identifier, identifiers
from pmtcore.tables.problem import prepare, prepare_public
from pmtcore.tables.sources import Cells
from pmtcore.tables.table import Table, query_table, read_table, table_from
from tests.helpers import TEST, refused

CHOICES = Choices(target="y", features=("a", "b"), missing="empty-row")


def frame(n: int, seed: int, who: np.ndarray | None = None) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"a": rng.standard_normal(n), "b": rng.standard_normal(n)})
    made["y"] = made["a"] - made["b"] + rng.standard_normal(n)
    return made if who is None else made.assign(who=who)


def problem_of(private: pd.DataFrame, rows: int | None, rule: str = FIRST):
    public = read_table(frame(60, 9).to_csv(index=False).encode(), "b.csv", "public")
    choices = CHOICES if rows is None else CHOICES.of_person(Unit(rows, "who", rule))
    return prepare(read_table(private.to_csv(index=False).encode(), "p.csv", "private"), public, choices)


def moved(one, other) -> float:
    """Return how far a sum of vectors of length at most 1, one for each row, moves between two tables."""

    def unit(x, y):
        z = np.column_stack([x, y])
        return (z / np.maximum(1.0, np.linalg.norm(z, axis=1))[:, None]).sum(axis=0)

    return float(np.linalg.norm(one.private.sum(unit).reveal(TEST) - other.private.sum(unit).reveal(TEST)))


def exchanged(have: int, instead: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two tables of the same people, one of whom has other rows, as far off as rows can be, and another number."""
    rng = np.random.default_rng(seed)
    rest = frame(200, 2, np.array([f"p{i}" for i in range(200)]))
    tables = []
    for count, far, name in ((have, 1e6, "x"), (instead, -1e6, "another")):
        theirs = pd.DataFrame({"a": [far] * count, "b": [-far] * count, "y": [far] * count, "who": name})
        both = pd.concat([rest, theirs], ignore_index=True)
        tables.append(both.iloc[rng.permutation(len(both))])
    return tables[0], tables[1]


@pytest.mark.parametrize("have", [1, 10, 1000])
@pytest.mark.parametrize("instead", [1, 10, 1000])
@pytest.mark.parametrize(("most", "rule"), [(1, FIRST), (3, FIRST), (1, MEAN)])
def test_a_person_moves_a_sum_no_more_than_their_rows_allow(have, instead, most, rule):
    """Whole persons exchanged for the worst one, with any number of rows, wherever they lie: at most 2 k."""
    one, other = exchanged(have, instead, have + instead)
    first, second = problem_of(one, most, rule), problem_of(other, most, rule)
    assert first.private.n == second.private.n == 201 * most, "how many rows somebody has is not told"
    step = moved(first, second)
    bound = min(have, most) + min(instead, most)
    assert 0.95 * bound < step <= bound * (1 + 1e-9), "the bound is reached: a looser test could not fail"
    assert max(have, instead) <= most or moved(problem_of(one, None), problem_of(other, None)) > 0.9 * (have + instead)


@pytest.mark.parametrize("id", ["joint-pmt", "ada-ssp", "joint-moment"])
@pytest.mark.parametrize(("most", "rule"), [(1, FIRST), (3, FIRST), (1, MEAN)])
def test_a_person_with_a_thousand_rows_moves_what_is_measured_as_k_rows_would(id, most, rule):
    """The statistic that gets the noise, of the very plan that releases: exchanging a person is exchanging k rows."""
    entry = method(id)

    def measured(table: pd.DataFrame, rows: int | None, of: str) -> np.ndarray:
        result = problem_of(table, rows, of)
        plan = entry.plan(result.public, 201 * most, Budget(1.0), make_parameters(entry, {}))
        return np.concatenate([np.ravel(plan.run(result.private, ZeroNoise(), 1).transcript())])

    one, other = exchanged(1000, 10, 4)
    few = exchanged(most, most, 4)
    step = np.linalg.norm(measured(one, most, rule) - measured(other, most, rule))
    alike = np.linalg.norm(measured(few[0], most, FIRST) - measured(few[1], most, FIRST))
    assert step == pytest.approx(alike, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("draw", range(5))
def test_a_person_is_decided_by_their_own_rows(draw):
    """Other people's rows, their order and the blocks do not change what becomes of a person, to the last bit."""
    rng = np.random.default_rng(draw)
    who = rng.choice([f"p{i}" for i in range(40)], 300)
    table = frame(300, draw, who)
    for rows, rule in ((2, FIRST), (1, MEAN)):
        alone = problem_of(table[table["who"] == "p7"], rows, rule).private
        others = table[table["who"] != "p7"].sample(frac=1, random_state=draw)
        mixed = pd.concat([others.iloc[:100], table[table["who"] == "p7"], others.iloc[100:]])
        both = [
            p.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
            for p in (alone, problem_of(mixed, rows, rule).private)
        ]
        for row in both[0]:
            assert any(np.array_equal(row, record) for record in both[1])


def test_the_mean_weights_rows_to_one():
    """A person counts as the mean of their whole rows; rows with a missing value are left out; the fit is that fit."""
    table = pd.DataFrame({"a": [1.0, 3.0, None, 5.0], "b": [0.0, 2.0, 9.0, 1.0], "y": [1.0, 2.0, 3.0, 4.0]})
    table["who"] = ["u", "u", "u", "v"]
    table = pd.concat([table, frame(100, 3, np.array([f"p{i}" for i in range(100)]))], ignore_index=True)
    rows = problem_of(table, 1, MEAN).private
    z = rows.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
    assert rows.n == 102 and z[0].tolist() == [1.0, 2.0, 1.0, 1.5] and z[1].tolist() == [1.0, 5.0, 1.0, 4.0]
    table.loc[0, "a"] = table.loc[1, "a"] = 1.7e308
    z = problem_of(table, 1, MEAN).private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
    assert z[0].tolist() == [0.0] * 4, "no finite mean: a row of zeros"


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "rule"), [(1, FIRST), (5, FIRST), (1, MEAN)])
def test_bands_hold_where_people_have_many_rows(rows, rule):
    """40 rows each: bands are for people, not for rows; over many releases they hold the coefficient."""
    inside, trials = 0, 60
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        who = np.repeat(np.arange(150), 40)
        table = frame(len(who), trial, who)
        own = rng.standard_normal(150)[who]  # what a person's rows have in common
        table["y"] = (
            table["a"] - table["b"] + (own if rows == 1 and rule == FIRST else 0.0) + rng.standard_normal(len(who))
        )
        released = release(problem_of(table, rows, rule), Request("joint-pmt", Budget(1.0)), SeededNoise(trial))
        at = released.names.index("a")
        inside += released.bands.low[at] <= 1.0 <= released.bands.high[at]
    assert inside >= 0.85 * trials


def test_rows_without_an_identifier_are_one_persons():
    """Leaving the identifier empty does not give a person more rows."""
    who = np.array([f"p{i}" for i in range(300)], dtype=object)
    private = frame(300, 2, who)
    other = private.copy()
    other.loc[:99, "who"] = ""
    private.loc[:99, "who"] = "NA"
    other.loc[:99, ["a", "b", "y"]] = 1e6
    private.loc[:99, ["a", "b", "y"]] = -1e6
    assert moved(problem_of(private, 2), problem_of(other, 2)) <= 4 * (1 + 1e-9)


WRITTEN = {
    "numbers": ["7", "7.0", "07", "7e0", "7.", "+7", "0.7e1", "70E-1", " 7 ", "\uff17", "007.000"],
    "long numbers": ["12345678901234567890", "012345678901234567890.0", "1234567890123456789e1"],
    "fractions": ["0.5", ".5", "5e-1", "0.50"],
    "zero": ["0", "00", "0.0", "-0", "0e9"],
    "letters": ["Ann", "ann", "ANN", "Ann ", "\uff21nn"],
    "composed": ["Zo\u00eb", "Zoe\u0308", "zo\u00eb", "ZO\u00cb"],
    "sharp s": ["stra\u00dfe", "STRASSE", "Strasse"],
    "not seen": ["p1", "p\u200b1", "\ufeffp1", "p1\u200d", "p\u00ad1", "p\ufe0f1", "p1\u2060", "\u202ep1", "p\x071"],
    "blanks": ["de la Cruz", "de\u00a0la  Cruz", "de la\tCruz"],
    "nobody": ["", "NA", "\u200b", "\u200bNA", "n/a", "?"],
}
APART = [
    "7",
    "8",
    "-7",
    "0.7",
    "70",
    "0",
    "",
    "p1",
    "p2",
    "p01",
    "12345678901234567890",
    "12345678901234567891",
    "1e99",
    "ann",
]
APART += ["anna", "e", ".", "7a", "0x7", "7,5", "7-5", "e7", "Zoe", "1e9999999999", "2e9999999999", "inf", "Infinity"]


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_person_is_one_however_they_are_written(kind):
    """One canonical form; rows under all of them together are at most k."""
    assert len({canonical_identifier(text) for text in WRITTEN[kind]}) == 1
    assert all(canonical_identifier(canonical_identifier(text)) == canonical_identifier(text) for text in WRITTEN[kind])
    rest = frame(50, 2, np.array([f"q{i}" for i in range(50)]))
    theirs = pd.DataFrame({"a": 1e6, "b": -1e6, "y": 1e6, "who": WRITTEN[kind] * 3})
    rows = problem_of(pd.concat([rest, theirs], ignore_index=True), 2).private
    assert rows.n == 2 * 51
    assert rows.sum(lambda x, y: np.array(np.sum(y == 1e6))).reveal(TEST) == 2


@pytest.mark.parametrize(
    "convert",
    [lambda v: pa.array(v), lambda v: pa.array(v, pa.float64()), lambda v: pa.array(map(str, v))],
    ids=["integers", "floats", "words"],
)
def test_identifiers_do_not_depend_on_their_type(convert):
    """Integers, floats and text of one number, in any mixture of neighbours."""
    assert identifiers(convert([7, 8, 7])).tolist() == ["7", "8", "7"]


def test_other_persons_stay_apart():
    """What differs in a letter, a digit or a sign is somebody else."""
    assert len({canonical_identifier(text) for text in APART}) == len(APART) - 1, "'' and '.' are nobody, both"


def test_a_long_identifier_is_cut_and_no_longer_afterwards():
    """One letter may become eighteen, and 350,000 took seconds. Long identifiers that begin alike are one person."""
    long = "\ufdfa" * 350_000
    assert len(canonical_identifier(long)) == MOST_CHARACTERS and canonical_identifier(long) == canonical_identifier(
        long[:-1]
    ) == canonical_identifier(canonical_identifier(long))
    assert (
        canonical_identifier("a" * 5000) == canonical_identifier("a" * 4999 + "b") != canonical_identifier("a" * 4095)
    )


@pytest.mark.parametrize("rows", [1, 2, 10])
def test_the_guarantee_is_for_a_person(rows, tmp_path):
    """mu times k in the words, in the record and in the ledger; the cap is held against it."""
    request = Request("joint-pmt", Budget(0.2), rows_per_person=rows)
    assert Request.from_dict(request.as_dict()).rows_per_person == rows
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("survey", 2.0)
    released = recorded_release(
        problem_of(frame(400, 1), None), request, SecureNoise(), ledger, dataset="survey", key="k"
    ).release
    assert released.guarantee.mu == 0.2 and released.guarantee.person.mu == pytest.approx(0.2 * rows)
    assert ledger.account("survey").spent == pytest.approx(0.2 * rows)
    percent = f"{np.ceil(1000 * attacker_power(0.2 * rows, 0.05)) / 10:g} %"
    assert percent in released.guarantee.words and (rows == 1 or f"at most {rows}" in released.guarantee.words)
    again = type(released).from_dict(released.as_dict())
    assert again.guarantee == released.guarantee and released.standing is ReleaseStatus.SOUND
    with refused(LedgerMessage.BEYOND_CAP, LedgerError):
        more = Request("joint-pmt", Budget(2.0), rows_per_person=rows)
        recorded_release(problem_of(frame(400, 1), None), more, SecureNoise(), ledger, dataset="survey", key="l")


def moment_release(rows: int, column: bool) -> dict:
    """Return a joint moment at mu = 0.5 whose persons have up to so many rows, declared or kept by a column."""
    problem = problem_of(frame(300, 1, np.arange(300) // 3), rows if column else None)
    request = Request("joint-moment", Budget(0.5), rows_per_person=1 if column else rows)
    return release(problem, request, SeededNoise(1)).as_dict()


@pytest.mark.parametrize("column", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 20])
def test_every_record_and_report_states_what_a_person_is_protected_by(rows, column, tmp_path, capsys):
    """The release, the record inside it, the record alone, explore, the summary and the reports: k mu, not mu."""
    record = moment_release(rows, column)
    inside = record["released"]["joint_moment"]
    assert inside["guarantee"] == record["guarantee"], "the record says what its release says, delta too"
    assert of_person(inside["guarantee"])["mu"] == pytest.approx(0.5 * rows)
    assert Record.from_dict(inside).as_dict() == inside
    moment, person = Moment.of(record), of_person(record["guarantee"])
    said = (rounded(person["mu"], 4), rounded(person["epsilon"], 4))
    for text in (explore_figures.record_words(moment), dict(checklist(record))["Strength"]):
        assert all(word in text for word in said)
    assert f"epsilon: {person['epsilon']!r}" in deployment.entry(record)
    assert ("Person-level" in deployment.entry(record)) == (rows > 1 or column)
    for text in (in_words(record), results_of(record)._repr_html_(), report(record, None)):
        assert f"{person['mu']:.4g}" in text and f"{person['epsilon']:.4g}" in text
        assert rows == 1 or f"up to {rows} rows; of one row mu = 0.5" in text.replace(UNBREAKABLE, " ")
    (tmp_path / "R.json").write_text(json.dumps(record))
    assert main(["explore", "--record", str(tmp_path / "R.json")]) == 0
    assert f"mu = {person['mu']:.4g}" in capsys.readouterr().out
    assert main(["explore", "--record", str(tmp_path / "R.json"), "--json"]) == 0
    assert of_person(json.loads(capsys.readouterr().out)["guarantee"])["epsilon"] == person["epsilon"]


@pytest.mark.parametrize("rows", [1, 3])
def test_the_checklist_names_the_unit_of_the_guarantee(rows):
    """Where a column says whose a row is, no answer of the report speaks of single rows as what is protected."""
    record = moment_release(rows, column=True)
    answers, unit = dict(checklist(record)), unit_of(record["guarantee"])
    assert unit == Unit(rows, "who")
    assert unit.words in answers["Unit of protection"] and repr(unit.column) in answers["Unit of protection"]
    assert unit.difference in answers["Neighbouring relation"] and unit.difference in record["guarantee_in_words"]
    by_row = dict(checklist(moment_release(1, column=False)))
    questions = {question for question, answer in answers.items() if answer != by_row[question]}
    assert {"Unit of protection", "Neighbouring relation", "Unprotected quantities"} <= questions


def test_a_record_cannot_state_less_than_its_own_rows_say():
    """A person's figures are computed from the row's and the rows, whatever a record's author wrote."""
    fields = moment_release(3, False)["released"]["joint_moment"]
    fields["guarantee"] = {**fields["guarantee"], "person": {"mu": 0.1, "epsilon": 0.1}}
    fields.pop("digest")
    again = Record.from_dict({**fields, "digest": _digest(fields)})
    assert again.guarantee["person"]["mu"] == 1.5


def test_group_privacy_is_that_of_the_trade_off_curves():
    """k mu is exact for GDP: k neighbours in a row, each mu apart, are normal means k mu apart."""
    promise = Guarantee(0.3, Neighbours.REPLACE_ONE, 1e-6, Unit(5))
    assert promise.person == Guarantee(1.5, Neighbours.REPLACE_ONE, 1e-6, PERSON)
    assert promise.as_dict()["person"]["epsilon"] == promise.person.epsilon


def test_what_cannot_be_asked():
    """No such column, the identifier among the features, no rows at all."""
    table = frame(100, 1, np.arange(100))
    private = read_table(table.to_csv(index=False).encode(), "p.csv", "private")
    public = read_table(frame(60, 9).to_csv(index=False).encode(), "b.csv", "public")
    for column, rows, rule in (
        ("nobody", 1, FIRST),
        ("a", 1, FIRST),
        ("y", 1, FIRST),
        ("who", 0, FIRST),
        ("who", 10**9, FIRST),
        ("who", 2, MEAN),
        ("", 1, MEAN),
        ("who", 1, "last"),
    ):
        with pytest.raises(InputError):
            prepare(
                private,
                public,
                Choices(target="y", features=("a", "b"), person=column, person_rows=rows, person_rule=rule)
                if column
                else CHOICES.of_person(Unit(rows, "", rule)),
            )
    with refused(TableMessage.MEAN_OF_LABELS):
        Choices(target="y", family="logistic", person="who", person_rule=MEAN)
    with refused(TableMessage.PEOPLE_REFUSE_NO_ROW):
        Choices(target="y", missing="refuse", person="who")
    with pytest.raises(InputError):
        Request("joint-pmt", Budget(1.0), rows_per_person=0)


@pytest.mark.parametrize("unit", [Unit(), Unit(7), Unit(3, "who"), Unit(1, "who"), Unit(1, "who", MEAN)])
def test_every_guarantee_says_whom_it_protects(unit):
    """In words, in the record and back; a total is about people."""
    promise = Guarantee(0.3, Neighbours.REPLACE_ONE, 1e-6, unit)
    assert ("person" in promise.words) and (str(unit.rows) in promise.words or unit.rows == 1)
    assert unit.column in promise.words and unit.column in unit.words
    assert "mean" in promise.words or unit.rule == FIRST
    fields = {**promise.as_dict(), "rows_per_person": unit.rows}
    assert Unit.from_dict(fields.get("unit") or {"rows": fields["rows_per_person"]}) == unit
    assert Unit.from_dict(unit.as_dict()) == unit
    assert "rows of one person, as many as each release counts" in promise.person.words


def test_what_the_table_keeps_goes_before_what_is_declared():
    """With an identifier column the guarantee is of its unit, whatever the request says, in preview and record."""
    problem = problem_of(frame(300, 1, np.arange(300) // 3), 3)
    for rows in (1, 9):
        request = Request("joint-pmt", Budget(0.2), rows_per_person=rows)
        assert preview(problem, request).guarantee.unit == Unit(3, "who")
        released = release(problem, request, SeededNoise(1))
        assert released.guarantee.unit == Unit(3, "who")
        assert type(released).from_dict(released.as_dict()).guarantee == released.guarantee


class _Turned:
    """A source whose passes come in different orders, as those of a database may."""

    in_memory, separator, names, sha256 = False, None, ("who", "x", "y"), "0"

    def __init__(self, cells: pa.Table) -> None:
        self._cells, self._passes = cells, 0

    def rows(self, dialect: Dialect) -> int:
        return len(self._cells)

    def blocks(self, names, dialect):
        self._passes += 1
        order = np.roll(np.arange(len(self._cells)), 211 * self._passes)[:: (-1) ** self._passes]
        turned = self._cells.select(list(names)).take(pa.array(order))
        for batch in turned.to_batches(max_chunksize=300):
            yield Cells(batch.num_rows, dict(zip(names, batch.columns, strict=True)))


@pytest.mark.parametrize("form", ["turned", "index"])
@pytest.mark.parametrize(("rule", "k"), [("first", 2), ("mean", 1)])
def test_whose_a_row_is_comes_with_the_row(form, rule, k, tmp_path):
    """Passes over a query have any order: with an index on the identifiers SQLite reads them sorted, the rest not.

    One person with a third of the rows had hundreds among those that count.
    """
    rng, n = np.random.default_rng(0), 1200
    who = np.where(np.arange(n) % 3 == 0, 7, 100 + rng.permutation(n) // 2)
    one = np.where(who == 7, 1e3, rng.normal(size=n))
    rows = pd.DataFrame({"who": who, "x": one, "y": one, "note": "a long text that no pass needs"})
    if form == "turned":
        private = Table("t", "private", _Turned(pa.Table.from_pandas(rows[["who", "x", "y"]], preserve_index=False)))
    else:
        with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
            rows.to_sql("t", connection, index=False)
            connection.execute("CREATE INDEX i ON t (who)")
            connection.commit()
        private = query_table(f"sqlite:///{tmp_path / 't.db'}", "SELECT * FROM t")
    public = table_from(pd.DataFrame({"x": rng.normal(size=50), "y": rng.normal(size=50)}), "b", "public")
    unit = Unit(k, "who", rule)
    problem = prepare(private, public, Choices(target="y", features=("x",)).of_person(unit))
    people = len(np.unique(who))
    assert problem.private.n == k * people
    for _ in range(3):
        counted = problem.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
        assert len(counted) == k * people and int(np.sum(counted[:, -1] == 1e3)) == k


@pytest.mark.parametrize("rule", ["first", "mean"])
def test_somebody_who_was_not_counted_does_not_count(rule):
    """A table that changes between passes has no more rows of anybody, and none of a newcomer."""
    cells = pa.table({"who": [1.0, 1.0, 2.0], "x": [1.0, 1.0, 2.0], "y": [1.0, 1.0, 2.0]})
    source = _Turned(cells)
    public = table_from(pd.DataFrame({"x": np.arange(50.0) ** 1.5 % 7, "y": np.arange(50.0) % 11}), "b", "public")
    choices = Choices(target="y", features=("x",)).of_person(Unit(1, "who", rule))
    problem = prepare(Table("t", "private", source), public, choices)
    source._cells = pa.table({"who": [9.0, 2.0, 2.0, 1.0], "x": [9.0, 2.0, 2.0, 1.0], "y": [9.0, 2.0, 2.0, 1.0]})
    counted = problem.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
    assert sorted(counted[:, -1].tolist()) == [1.0, 2.0]


@pytest.mark.parametrize("formula", ["", "y ~ a + b"])
@pytest.mark.parametrize("names", ["numbers", "few texts"])
def test_a_plan_without_private_rows_clusters_by_persons_as_a_release_does(formula, names):
    """The identifier is no feature and groups the errors, with a formula and where its few values look like levels."""
    rng = np.random.default_rng(2)

    def rows(n: int, first: int) -> Table:
        persons = first + np.repeat(np.arange(n // 15), 15)
        data = {"pid": persons if names == "numbers" else [f"p{one}" for one in persons]}
        data |= {name: rng.normal(size=n) for name in "aby"}
        return read_table(pd.DataFrame(data).to_csv(index=False).encode(), "t", "public")

    public, choices = rows(300, 1000), Choices(target="y", formula=formula, person="pid", person_rows=15)
    planned, released = prepare_public(public, choices).data, prepare(rows(900, 0), public, choices).public
    assert planned.names == released.names == ("(intercept)", "a", "b")
    assert planned.clusters is not None and np.array_equal(planned.clusters, released.clusters)
