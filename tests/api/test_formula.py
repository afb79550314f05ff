"""Formulas: the state is public, and each private row is expanded by itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pmtcore as pc
from pmtcore.api.frames import table
from pmtcore.base.messages import InputError, LedgerMessage, TableMessage
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.formula import Expansion, target_of
from pmtcore.tables.schema import Column, Schema
from tests.api.conftest import frame
from tests.helpers import refused

FORMULA = "y ~ income + poly(age, 2) + C(sex) + scale(age):sex + log(abs(income)) + center(income)"
CELLS = st.one_of(
    st.floats(),
    st.integers(-(10**30), 10**30),
    st.text(max_size=4),
    st.none(),
    st.booleans(),
    st.sampled_from(["f", "m"]),
)


def expansion(formula: str = FORMULA) -> Expansion:
    return Expansion.from_public(formula, table(frame(300, 2), "public"))


def applied(made: Expansion, rows: pd.DataFrame) -> np.ndarray:
    """All columns made from private rows, as a fit would read them."""
    source = made.table(table(rows, "private")).source
    blocks = source.blocks(made.names, Dialect())
    return np.vstack([np.column_stack([block.columns[name] for name in made.names]) for block in blocks])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["age", "income", "sex"]), CELLS, min_size=1), st.integers(0, 19))
def test_a_row_is_expanded_by_itself(cells, at):
    """Whatever is in one private row, the others' columns stay bit for bit, and nothing is raised or warned."""
    rows = frame(20, 3).astype(object)
    before = applied(expansion(), rows)
    other = rows.copy()
    for name, value in cells.items():
        other.at[at, name] = value
    after = applied(expansion(), other)
    assert np.array_equal(np.delete(after, at, 0), np.delete(before, at, 0), equal_nan=True)


def test_state_is_learned_from_public_rows():
    """Centre, scale and levels of private rows are those of the public ones; an unknown category counts as missing."""
    made = expansion("y ~ center(age) + C(sex)")
    rows = frame(50, 4).assign(age=1000.0)
    centred = applied(made, rows)[:, made.names.index("center(age)")]
    assert np.allclose(centred, 1000 - frame(300, 2)["age"].mean())
    assert np.isnan(applied(made, rows.assign(sex="other"))).all()


def test_decimal_commas(private, public, tmp_path):
    """Files with decimal commas are read by their own marks, the target too."""
    private.to_csv(tmp_path / "p.csv", sep=";", decimal=",", index=False)
    public.to_csv(tmp_path / "b.csv", sep=";", decimal=",", index=False)
    asked = {"seed": 1, "quiet": True}
    read = pc.PrivateRegressor(mu=1.0, formula="y ~ age + C(sex)").fit(tmp_path / "p.csv", tmp_path / "b.csv", **asked)
    record = pc.PrivateRegressor(mu=1.0, formula="y ~ age + C(sex)").fit(private, public, **asked)
    assert np.allclose(read.coef_, record.coef_)


def test_a_formula_fits(private, public):
    """The model finds the coefficients that made the rows, and predicts from the raw columns."""
    model = pc.PrivateRegressor(mu=2.0, formula="y ~ age + C(sex) + income")
    model.fit(private, public, lab=True, quiet=True)
    result = dict(zip(model.coef_names_, model.coef_, strict=True))
    assert result["income"] == pytest.approx(2, abs=0.2) and result["C(sex)[T.m]"] == pytest.approx(1, abs=0.4)
    assert list(model.feature_names_in_) == ["age", "income", "sex"]
    assert np.std(model.predict(private.drop(columns="y")) - private["y"]) < 1.2
    bare = pc.PrivateRegressor(mu=2.0, formula="y ~ 0 + age + income").fit(private, public, lab=True, quiet=True)
    assert list(bare.coef_names_) == ["age", "income"] and bare.intercept_ == 0


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ {age - age.mean()}",
        "y ~ np.mean(age)",
        "y ~ bs(age, df=4)",
        "y ~ age.rank()",
        "y ~ __import__('os').getcwd()",
        "y ~ eval('1')",
        "y ~ (lambda: 1)()",
        "y ~ lag(age)",
        "y ~ open(age)",
        "y ~ nope",
        "y age",
        "y ~ age ~ sex",
        "log(y) ~ age",
        "y ~ age +",
        "y ~ age + C(age)",
        "y ~ C(sex, contr.sum)",
        # a sum over the private rows, in every row
        "y ~ {age @ age}",
        "y ~ age:{income @ age}",
        "y ~ exp(age @ income)",
        "y ~ center(age) + I((age @ age) % 7)",
        # another column's rows by their place, memory that nobody wrote, and errors in the middle of a spend
        "y ~ scale(age, center=income)",
        "y ~ scale(age, income)",
        "y ~ C(sex, levels=age)",
        "y ~ poly(age, degree=2, raw=income)",
        "y ~ log(age, where=[False])",
        "y ~ exp(age, out=income)",
        "y ~ exp(age, income)",
        "y ~ {age + [1.0] * 300}",
        "y ~ {[age]}",
        "y ~ {(age, age)}",
        # hours or gigabytes
        "y ~ I(9**9**9**9)",
        "y ~ I(age * 9**9**9)",
        "y ~ I('a' * 10**9)",
        "y ~ I([0] * 10**9)",
        "y ~ I(1 << 10**9)",
        "y ~ poly(age, 10**8)",
        "y ~ I(1 / 0)",
        "y ~ I((-8) ** (1 / 3))",
        "y ~ " + "*".join(f"C(sex, levels=['{at}'])" for at in range(40)),
        "y ~ (" + " + ".join(f"I(age + {at})" for at in range(40)) + ") ** 9",
        "y ~ .**40",
        "y ~ age ** 99999999",
        "y ~ age ^ " + "9" * 5000,
        "y ~ I(" + "-" * 9000 + "age)",
    ],
)
def test_what_could_see_other_rows_is_refused(formula, public):
    """Anything but columns, arithmetic and listed functions: one printable sentence."""
    with pytest.raises(InputError) as caught:
        pc.PrivateRegressor(mu=1.0, formula=formula).plan(public, n=100)
    assert str(caught.value).isprintable()


def test_arithmetic_of_one_row_is_let_through(public):
    """Fractions in exponents, constants of constants, functions of functions, settings that are written out."""
    right = "I(abs(age) ** (1 / 3)) + I(-age // 2 % 7) + {2 ** -1 * income} + poly(log(abs(age)), degree=2, raw=True)"
    made = expansion(f"y ~ {right} + C(sex, levels=['m', 'f']) + (age + income):sex")
    rows = frame(20, 3)
    column = made.names.index("I(abs(age) ** (1 / 3))")
    assert np.allclose(applied(made, rows)[:, column], np.abs(rows["age"]) ** (1 / 3))


def test_a_declared_schema_is_read_by_a_formula_too():
    """Levels that no public row has, a code that is missing; before, a formula read what the public table suggests."""
    public = table(frame(300, 2), "public")
    columns = (Column("age", "coded", ("40",)), Column("sex", "level", ("m", "f", "x")), Column("y"))
    rows = frame(50, 4).assign(sex="x")
    rows["age"] = rows["age"].round()
    rows.loc[0, "age"] = 40.0
    made = Expansion.from_public("y ~ age + C(sex)", public, Schema(columns))
    read = applied(made, rows)
    assert np.all(read[1:, made.names.index("C(sex)[T.x]")][rows["age"][1:] != 40] == 1) and np.isnan(read[0]).all()
    assert Expansion.from_dict(made.as_dict()).names == made.names


def test_without_formulaic_it_says_what_to_install(monkeypatch, public):
    """Formulas need formulaic."""
    monkeypatch.setitem(__import__("sys").modules, "formulaic", None)
    with refused(TableMessage.NO_FORMULAIC):
        pc.PrivateRegressor(mu=1.0, formula="y ~ age").plan(public, n=100)


def test_targets():
    """A name, in backticks where it has blanks."""
    assert target_of("`my y` ~ x") == "my y"
    assert applied(expansion("y ~ age"), frame(3, 1)).shape == (3, 1)


def test_a_formula_does_not_hide_the_table(private, public, tmp_path):
    """The ledger knows the rows again whatever formula is asked of them, and under another name."""
    book = pc.Ledger(str(tmp_path / "l.db"))
    book.cap("one", 1.2)
    book.cap("two", 1.2)
    pc.PrivateRegressor(mu=1.0, formula="y ~ age").fit(private, public, ledger=book, dataset="one", quiet=True)
    with refused(LedgerMessage.BEYOND_CAP_TOGETHER):
        asked = pc.PrivateRegressor(mu=1.0, formula="y ~ log(abs(income)) + C(sex)")
        asked.fit(private, public, ledger=book, dataset="two", quiet=True)
