"""Public rows that are private rows: for the curator alone, beyond what chance explains; no standing depends on it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import pmtcore as sm
from pmtcore.accounting.budgets import Budget
from pmtcore.auditing.diagnostics import overlap_in_words, rows_in_words, unusual_rows
from pmtcore.base.private_rows import PrivateRows
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.public.moments import public_from_rows
from pmtcore.releases.release import Request, recorded_release
from pmtcore.tables.choices import Choices
from pmtcore.tables.overlap import Overlap, overlap
from pmtcore.tables.problem import Problem, prepare
from pmtcore.tables.table import table_from
from tests.helpers import TEST


def people(n: int, seed: int) -> pd.DataFrame:
    """Return a table of continuous columns: no two rows are alike."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    return made.assign(y=made["a"] - made["b"] + rng.normal(size=n))


def levels(n: int, seed: int, columns: int = 3) -> pd.DataFrame:
    """Return a table of few levels, some of them rare: most rows are among any others."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {f"c{j}": rng.choice(list("abcdef"), n, p=[0.4, 0.3, 0.2, 0.06, 0.03, 0.01]) for j in range(columns)}
    )
    return made.assign(age=rng.integers(18, 90, n), y=rng.integers(0, 4, n))


KINDS = {
    "continuous": people,
    "three columns of levels": levels,
    "one column of levels": lambda n, seed: levels(n, seed, 1),
    "many columns of levels": lambda n, seed: levels(n, seed, 9),
    "rounded": lambda n, seed: people(n, seed).round(1),
}


def problem_of(private: pd.DataFrame, public: pd.DataFrame, word: str = "") -> Problem:
    return prepare(
        table_from(private, "p", "private"), table_from(public, "b", "public"), Choices(target="y", overlap=word)
    )


def figures(private: pd.DataFrame, public: pd.DataFrame) -> Overlap:
    return Overlap.from_dict(unusual_rows(problem_of(private, public)).reveal(TEST))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [100, 600])
def test_honest_public_rows_raise_no_question(kind, m):
    """Random splits of one population, with 2 to 20 times as many private rows: chance explains what is common."""
    asked = []
    for seed in range(12):
        complete = KINDS[kind](m * (3 + seed % 3 * 9), seed)
        asked.append(figures(complete.iloc[m:], complete.iloc[:m]).excess > 0)
    assert binom.sf(sum(asked) - 1, 12, 0.02) > 1e-3


@pytest.mark.parametrize("kind", ["continuous", "many columns of levels"])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_copied_rows_are_shown_to_the_curator(kind, share):
    """Where rows tell people apart, the share of public rows that were copied is what is shown."""
    complete = KINDS[kind](2400, 1)
    private, copied = complete.iloc[600:], int(600 * share)
    result = figures(private, pd.concat([private.sample(copied, random_state=1), complete.iloc[: 600 - copied]]))
    assert result.excess == pytest.approx(share, abs=0.08)
    (line,) = overlap_in_words(result)
    assert "beyond" in line and "record" in line


def test_the_share_itself():
    """A count of different public rows among private ones, whatever the blocks; features alone where no response is."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    for response in (y[:40], None):
        public = public_from_rows(x[:40], response, ("a", "b"), "y")
        for first, share in ((0, 1.0), (20, 0.5), (30, 0.25), (40, 0.0)):
            rows = PrivateRows.from_arrays(x[first : first + 40], y[first : first + 40], ("a", "b"), block_rows=7)
            assert overlap(public, rows).reveal(TEST).share == share


def test_what_chance_explains_is_of_public_rows_alone():
    """Other private rows, as many: the same figure."""
    complete = levels(3000, 1)
    chances = {
        figures(private, complete.iloc[:500]).by_chance
        for private in (complete.iloc[500:], levels(2500, 2), people(2500, 3).assign(c0="a", c1="b", c2="c", age=30))
    }
    assert len(chances) == 1 and 0 < chances.pop() < 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["continuous", "three columns of levels"])
@pytest.mark.parametrize("id", ["joint-pmt", "public-only", "joint-moment", "ada-ssp"])
def test_the_standing_of_a_release_does_not_depend_on_private_rows(kind, id, tmp_path):
    """Public rows of which all, all but one, half or none are private rows: one standing, one reason."""
    complete, result = KINDS[kind](400, 5), []
    public, other = complete.iloc[:80], KINDS[kind](400, 6)
    for at, common in enumerate((80, 79, 41, 40, 39, 0)):
        private = pd.concat([public.iloc[:common], other.iloc[: 300 - common]])
        book = Ledger(str(tmp_path / f"{at}.db"))
        book.cap("survey", 2.0)
        problem, request = problem_of(private, public), Request(id, Budget(1.0))
        made = recorded_release(problem, request, SecureNoise(), book, dataset="survey", key="k")
        result.append((made.release.standing.value, made.release.standing_reasons, made.release.notes[:1]))
    assert len(set(result)) == 1 and result[0][0] == "sound"


def test_the_word_is_kept_on_every_face(tmp_path, capsys):
    """The command line and Python: figures before the spend, the curator's word in the record and in the ledger."""
    private, word = people(300, 1), "they agreed to be published"
    public = private.iloc[:100]
    for name, table in (("p", private), ("b", public)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    files = ["--private", str(tmp_path / "p.csv"), "--public", str(tmp_path / "b.csv"), "--target", "y"]
    assert main(["describe", *files, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["public_rows_shared"] == 1 and told["public_rows_shared_beyond_chance"] == pytest.approx(1, abs=1e-3)
    assert told["public_rows_shared_by_chance"] < 0.01
    assert main(["describe", *files]) == 0 and "are they public?" in capsys.readouterr().out
    assert "are they public?" in sm.describe(private, public, target="y").words
    assert not (tmp_path / "l.db").exists(), "nothing was spent"
    asked = ["--method", "joint-pmt", "--mu", "1", "--seed", "1", "--overlap", word, "--json"]
    assert main(["release", *files, *asked]) == 0
    records = [json.loads(capsys.readouterr().out)]
    model = sm.PrivateRegressor(mu=1.0, overlap=word).fit(
        private, public, target="y", ledger=tmp_path / "l.db", quiet=True
    )
    records.append(model.record_)
    for record in records:
        assert record["public"]["choices"]["overlap"] == word and any(word in note for note in record["notes"])
    assert records[1]["standing"] == "sound"


def test_nothing_in_common_says_nothing():
    """No sentence where no public row is a private row, and one without a question where chance explains it."""
    assert overlap_in_words(Overlap()) == []
    (line,) = overlap_in_words(Overlap(0.9, 0.95, 0.0))
    assert "?" not in line
    empty = {"empty_rows": 1, **Overlap().as_dict()}
    assert len(rows_in_words(empty, 100)) == 1
