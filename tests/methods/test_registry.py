"""What a registry entry says, what is derived from it, and how a field is declared."""

import dataclasses

import pytest

from pmtcore.base.messages import InputError
from pmtcore.methods.parameters import Parameters, choice, parameter, unset
from pmtcore.methods.registry import Plan, StatisticPlan, make_parameters, method, methods


class Example(Parameters):
    """One field of each kind."""

    way: str = choice("Way", short="the first", long="the second; longer")
    bound: float = unset("Bound (0: automatic)", "A bound.", high=10.0)
    steps: int = parameter(5, "Steps", "How many.", low=1, high=9)


def test_a_choice_states_each_text_once():
    """The texts to choose from, their default and the help are made from one statement."""
    field = Example.__dataclass_fields__["way"]
    assert (field.default, field.metadata["choices"]) == ("short", ("short", "long"))
    assert field.metadata["help"] == "short: the first; long: the second; longer."


@pytest.mark.parametrize(
    "values", [{"way": "other"}, {"bound": -1.0}, {"bound": "11"}, {"bound": "nan"}, {"steps": 1.5}, {"steps": 10}]
)
def test_a_value_that_its_field_does_not_take_is_refused(values):
    """Another text, a number out of range or no number, a fraction of a whole number."""
    with pytest.raises(InputError):
        Example(**values)


def test_values_take_the_type_of_their_field():
    """Words of a command line become numbers."""
    example = Example(bound="2.5", steps="7")
    assert (example.bound, example.steps) == (2.5, 7) and isinstance(example.steps, int)


@pytest.mark.parametrize("entry", methods(), ids=lambda entry: entry.id)
def test_the_planner_says_the_parameters(entry):
    """The class of the parameters is the planner's annotation: defaults can be made, unknown names are refused."""
    assert issubclass(entry.parameters, Parameters)
    assert isinstance(make_parameters(entry, {}), entry.parameters)
    with pytest.raises(InputError):
        make_parameters(entry, {"no-such-name": 1})


@pytest.mark.parametrize("entry", methods(), ids=lambda entry: entry.id)
def test_a_parameter_that_0_leaves_to_the_plan_says_so(entry):
    """The report reads the declaration, a user the label: one is there exactly where the other is."""
    for item in dataclasses.fields(entry.parameters):
        declared = item.metadata["automatic"] is not None
        assert declared == ("(0: automatic)" in item.metadata["label"]), item.name
        assert not declared or item.default == 0


def test_a_planner_without_an_annotation_is_refused():
    """Nothing is guessed where the planner does not say the class of its parameters."""

    def plan(public, n, budget, parameters):
        raise NotImplementedError

    with pytest.raises(TypeError):
        _ = dataclasses.replace(method("pmt-ols"), plan=plan).parameters


@pytest.mark.parametrize("entry", methods(), ids=lambda entry: entry.id)
def test_the_task_follows_the_families(entry):
    """A method of the linear model alone is linear; one of other families is not."""
    assert (entry.task == "linear") <= (entry.families == ("gaussian",))


def test_a_plan_promises_a_statistic_only_where_there_is_one():
    """Iterated methods run; they have nothing to measure beforehand."""
    assert not {"measure", "perturb"} & set(dir(Plan))
    assert {"measure", "perturb"} <= StatisticPlan.__abstractmethods__


def test_a_method_whose_plans_never_predict_is_known_without_a_plan():
    """So that Plan makes none of them to find out; whichever overrides the prediction is still asked."""
    silent = {entry.id for entry in methods() if not entry.predicts}
    assert {"dp-erm", "napp-public"} <= silent
    assert not silent & {"joint-pmt", "pmt-gradients", "pmt-objective", "public-only", "pmt-ols"}
