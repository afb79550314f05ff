"""Every record that is stored by its fields comes back from them, and from records of before a field was added."""

from __future__ import annotations

import importlib
import json
import pkgutil
from dataclasses import MISSING, dataclass, fields

import numpy as np
import pytest

import pmtcore
from pmtcore.accounting.budgets import Spend
from pmtcore.base.json_fields import JsonFields
from pmtcore.base.messages import InputError
from pmtcore.explore.regression import NestedTest
from pmtcore.methods.joint_moment.derived import Rule
from pmtcore.releases.duration import Expected
from pmtcore.releases.record import PublicFacts
from pmtcore.releases.release import Request
from pmtcore.sites.study import PublicFile, Site, Study
from pmtcore.tables.choices import Choices
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.schema import Column, Schema

SITES = (Site("a", 10, "seal", "verify"), Site("b", 20))
REQUEST = Request.from_dict({"method": "joint-moment", "mu": 1.0})
SCHEMA = Schema((Column("y"), Column("g", "level", ("x", "z"))), Dialect(decimal=","))
STUDY = Study("7", "t", PublicFile("p.csv", "00"), Choices(target="y"), SCHEMA, REQUEST, SITES, 2)
RECORDS = {
    "Spend": Spend.gaussian("moment", 1.0, 2.0),
    "NestedTest": NestedTest(4.0, 0.01, 2, 1e12, 4.1, 0.009),
    "Rule": Rule("log(a)", "log", ("a",), (0.5,)),
    "Expected": Expected(1.5, 20.0),
    "PublicFacts": PublicFacts("logistic", np.ones(2), "exact", {"target": "y"}, "yes", ("sex=m",), np.zeros(2)),
    "PublicFile": PublicFile("p.csv", "00", True, 100),
    "Site": SITES[0],
    "Study": STUDY,
    "Dialect": Dialect(quoting="none", row_names=True),
    "Column": SCHEMA.columns[1],
    "Schema": SCHEMA,
}


def test_every_class_of_them_is_here():
    """A class that becomes one is tried below."""
    for module in pkgutil.walk_packages(pmtcore.__path__, "pmtcore."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert {kind.__name__ for kind in JsonFields.__subclasses__() if kind.__module__.startswith("pmtcore")} == {
        *RECORDS
    }


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_comes_back_from_its_json(name):
    """To the byte, through the text that is stored."""
    record = RECORDS[name]
    text = json.dumps(record.as_dict())
    again = type(record).from_dict(json.loads(text))
    assert json.dumps(again.as_dict()) == text and type(again) is type(record)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_before_a_field_has_its_default(name):
    """One field after another is taken away: it has its default then, and a record without one is refused."""
    record = RECORDS[name]
    for item in fields(record):
        left = {key: value for key, value in record.as_dict().items() if key != item.name}
        if item.default is MISSING and item.default_factory is MISSING:
            with pytest.raises((TypeError, KeyError, InputError)):
                type(record).from_dict(left)
        else:
            default = item.default if item.default_factory is MISSING else item.default_factory()
            try:
                value = getattr(type(record).from_dict(left), item.name)
            except InputError:  # what is left is no valid record, such as a column of levels without its kind
                continue
            assert np.array_equal(value, default)
            assert (item.name in type(record).from_dict(left).as_dict()) is (item.metadata.get("optional") is None)


def test_keys_of_stored_records_are_as_they_were():
    """Files and ledgers of earlier versions have these keys in this order."""
    keys = "version id title public choices schema request sites least colluders patience"
    assert list(STUDY.as_dict()) == keys.split()
    assert STUDY.as_dict()["public"] == {"file": "p.csv", "sha256": "00", "moment": False, "rows": None}
    assert STUDY.as_dict()["sites"][1] == {"name": "b", "rows": 20, "seal": "", "verify": ""}
    facts = RECORDS["PublicFacts"].as_dict()
    assert list(facts) == ["family", "spread", "noise", "choices", "positive", "zero_one", "public_fit"]
    assert PublicFacts().as_dict() == {"family": "gaussian", "spread": [], "noise": "floating point"}
    assert RECORDS["Rule"].as_dict() == {"name": "log(a)", "kind": "log", "of": ["a"], "constants": [0.5]}
    assert PublicFile.from_dict({"file": "../p.csv", "sha256": "00"}).file == "p.csv"


@dataclass(frozen=True)
class Example(JsonFields):
    """A record of each type."""

    text: str = ""
    number: float = 0.0
    count: int = 0
    flag: bool = False
    many: tuple[int, ...] = ()


@pytest.mark.parametrize(
    "given",
    [{"text": 1}, {"number": "1"}, {"number": True}, {"count": 1.5}, {"count": True}, {"flag": 1}, {"many": "12"}],
    ids=str,
)
def test_values_of_another_type_are_refused(given):
    """Nothing is guessed of what somebody else wrote."""
    with pytest.raises(TypeError):
        Example.from_dict(given)
    assert Example.from_dict({"number": 1, "other": 2}) == Example(number=1.0)
