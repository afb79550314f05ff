"""One language on every face: what may be chosen about tables, each face takes and gives back the same."""

from __future__ import annotations

import json
import shlex
from dataclasses import fields, replace

import pytest

import pmtcore as pc
from pmtcore.accounting.budgets import Unit
from pmtcore.api.functions import model
from pmtcore.cli.arguments import choices_from
from pmtcore.cli.parser import parser
from pmtcore.report import link, reproduce
from pmtcore.tables.choices import Choices

_PLAIN = Choices(
    target="y",
    features=("a", "b"),
    intercept=False,
    missing="public-median",
    levels={"b": ("u", "v")},
    public_ridge=0.5,
    family="logistic",
    lam=0.2,
    positive="yes",
    kinds={"a": "number"},
    collinear="refuse",
    overlap="all of them agreed",
    person="id",
    person_rows=3,
    weights="w",
    cluster="school",
)
_STRICT = Choices(target="y", unseen="refuse", features=("a",))
_MEAN = Choices(target="y", person="id", person_rule="mean")
_RESPONSES = Choices(target="y", features=("a",), covariates="public")
_FORMULA = Choices(target="y", formula="y ~ a + C(b)", family="poisson", weights="w", exposure="days")
CHOSEN = {"columns": _PLAIN, "strict": _STRICT, "mean": _MEAN, "formula": _FORMULA, "responses": _RESPONSES}


def record_of(choices: Choices) -> dict:
    """Return the parts of a record that a reproduced command is made from."""
    rows = choices.person_rows if choices.person else 1
    return {
        "target": choices.target,
        "method": "pmt-gradients",
        "parameters": {},
        "seed": 1,
        "guarantee": {"mu": 1.0, "delta": 1e-6, "rows_per_person": rows},
        "public": {"family": choices.family, "choices": json.loads(json.dumps(choices.as_dict()))},
    }


def test_every_choice_is_tried_here():
    """Each field differs from its default in one of the cases, so that a new one cannot be forgotten."""
    default = Choices(target="y")
    tried = {f.name for f in fields(Choices) for c in CHOSEN.values() if getattr(c, f.name) != getattr(default, f.name)}
    assert tried == {f.name for f in fields(Choices)} - {"target"}


def test_python_and_the_command_line_name_every_choice():
    """The estimator's arguments and the options of a release have one name for each; the schema stands beside them."""
    names = {"person_rows": "rows_per_person"}
    chosen = {names.get(field.name, field.name) for field in fields(Choices)} - {"target"}
    assert chosen | {"schema"} <= set(pc.PrivateRegressor._parameter_names())
    (commands,) = (a for a in parser()._actions if a.dest == "command")
    options = {action.dest for action in commands.choices["release"]._actions}
    ours = {"intercept": "no_intercept", "kinds": "kind"}
    assert {ours.get(name, name) for name in chosen} | {"schema", "target"} <= options


@pytest.mark.parametrize("choices", CHOSEN.values(), ids=CHOSEN)
def test_a_reproduced_command_asks_for_the_same(choices):
    """The command that a report prints becomes the choices that the release was made with."""
    words = shlex.split(reproduce.command(record_of(choices)))
    chosen = parser().parse_args(words[3:])
    again = choices_from(chosen)
    if chosen.person:
        rows = reproduce.configuration(record_of(choices)).get("rows_per_person", 1)
        again = again.of_person(Unit(rows, chosen.person, chosen.person_rule))
    assert again == choices


@pytest.mark.parametrize("choices", CHOSEN.values(), ids=CHOSEN)
def test_a_reproduced_script_asks_for_the_same(choices):
    """The arguments of the script become the choices that the release was made with."""
    given = dict(reproduce._tables(choices.as_dict()))
    made = model(given.pop("family"), **{k: v for k, v in given.items() if k != "target"})
    assert made._inputs(given.get("target")).choices == choices


@pytest.mark.parametrize("choices", CHOSEN.values(), ids=CHOSEN)
def test_a_link_restores_the_same(choices):
    """What an address holds becomes the choices that it was made from."""
    first = Choices(target="a")
    asked = link.fields_of(choices, first)
    assert link.choices_of(asked, first, ["y", "a", "b", "id", "w", "school", "days"]) == choices


def test_an_address_without_features_means_those_of_the_table():
    """Also with another target; all columns are said where the table starts with fewer."""
    first, names = Choices(target="a", features=("b", "c")), ["a", "b", "c", "w"]
    assert link.choices_of({}, first, names) == first and not {"features"} & set(link.fields_of(first, first))
    assert link.choices_of({"target": "b"}, first, names).features == ("c",)
    every = replace(first, features=None)
    assert link.choices_of(link.fields_of(every, first), first, names) == every


def test_a_script_protects_people_as_the_release_did():
    """Rows of a person that no column names are stated in the script too."""
    record = record_of(Choices(target="y"))
    record["guarantee"]["rows_per_person"] = 4
    assert "rows_per_person=4," in reproduce.script(record)


def test_the_schema_has_no_link():
    """A declared schema is a text of any length: it is on the other faces, and in no address."""
    assert not any("schema" in name for name in link.fields_of(replace(_PLAIN, features=None), Choices(target="a")))
