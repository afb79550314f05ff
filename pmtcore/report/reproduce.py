"""How to ask for a release again: the command, a script, a notebook; made from the record alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pmtcore.base.escaping import markdown, one_line, shell_word
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.ledger.account import START_CAP
from pmtcore.tables.choices import COMMON_CHOICES, Choices

# What the choices about the tables are where nobody chose: only others are written down.
_DEFAULTS = {name: getattr(Choices, name) for name in (*COMMON_CHOICES, "person", "person_rule")}


def configuration(record: ReleaseRecord) -> dict[str, Any]:
    """Return the request in the fields that ``--config`` reads."""
    promise = record["guarantee"]
    request = {"method": record["method"], "mu": promise["mu"], "parameters": record["parameters"]}
    rows = promise.get("rows_per_person", 1)
    return {**request, "delta": promise["delta"], **({"rows_per_person": rows} if rows > 1 else {})}


def command(record: ReleaseRecord) -> str:
    """Return the command that asks for the same with the same choices; the files are the reader's own."""
    choices = _choices(record)
    words = ["python", "-m", "pmtcore", "release", "--private", "private.csv", "--public", "public.csv"]
    words += [*_fitted(choices), "--family", choices["family"]]
    if not choices.get("intercept", True) and not choices.get("formula"):
        words.append("--no-intercept")
    for name, usual in _DEFAULTS.items():
        value = choices.get(name, usual)
        if value not in (usual, None):
            words += [f"--{name.replace('_', '-')}", str(value)]
    for column, levels in choices.get("levels", {}).items():
        words += ["--levels", f"{column}={'|'.join(levels)}"]
    for column, kind in choices.get("kinds", {}).items():
        words += ["--kind", f"{column}={kind}"]
    if record.get("seed") is not None:
        words += ["--seed", str(record["seed"])]
    else:
        words += ["--ledger", "LEDGER", "--dataset", str(record.get("ledger", {}).get("dataset", "NAME"))]
    return " ".join(map(shell_word, [*words, "--config", "request.json"]))


def _fitted(choices: Mapping[str, Any]) -> list[str]:
    """Return the model that is fitted: a formula, or target and features."""
    if choices.get("formula"):
        return ["--formula", choices["formula"]]
    features = ["--features", ",".join(choices["features"])] if choices.get("features") else []
    return ["--target", choices["target"], *features]


def cap_command(record: ReleaseRecord, cap: float = START_CAP) -> str:
    """Return the command that a new ledger asks for first; empty where the release is in none."""
    if record.get("seed") is not None:
        return ""
    name = str(record.get("ledger", {}).get("dataset", "NAME"))
    words = ["python", "-m", "pmtcore", "ledger", "cap", "--ledger", "LEDGER", "--dataset", name, "--mu", f"{cap:g}"]
    return " ".join(map(shell_word, words))


@dataclass(frozen=True)
class Recipe:
    """A call of the package that asks for what a page shows: as a script, and as a notebook."""

    title: str
    note: str
    call: tuple[str, ...]

    @property
    def script(self) -> str:
        """Return a Python script."""
        heading = f'"""{self.title}\n\n{self.note}\n"""'
        return "\n".join([heading, "", *_imports(), "", *self.call, "", "print(result)", ""])

    @property
    def notebook(self) -> str:
        """Return a notebook, in the format that Jupyter reads (nbformat 4)."""
        heading = f"# {markdown(self.title)}\n\n{markdown(self.note)}"
        cells: list[dict[str, Any]] = [{"cell_type": "markdown", "metadata": {}, "source": heading, "id": "about"}]
        for at, lines in enumerate((_imports(), self.call, ["result"])):
            code: dict[str, Any] = {
                "cell_type": "code",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "id": f"code-{at}",
            }
            cells.append({**code, "source": "\n".join(lines)})
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def script(record: ReleaseRecord) -> str:
    """Return a Python script that asks for the same release through the package's face."""
    return _released(record).script


def notebook(record: ReleaseRecord) -> str:
    """Return the same as a notebook."""
    return _released(record).notebook


def _released(record: ReleaseRecord) -> Recipe:
    spends = "Running this draws new noise and spends again; the ledger counts it."
    note = (
        spends if "ledger" in record else "Running this draws new noise. It gives a lab figure, which no ledger counts."
    )
    return Recipe(_title(record), note, tuple(_call(record)))


def plan_again(choices: Mapping[str, Any], n: int, method: str, mu: float) -> Recipe:
    """Return the plan of a method at a budget; it reads no private row."""
    given = {"n": n, "mu": mu, "method": method, **_tables(choices)}
    title = f"What mu = {mu:g} buys for a regression of {_plain_name(choices['target'])} by {method}."
    return Recipe(title, "Free: it reads public rows and the number of private ones.", tuple(_lines("plan", given)))


def compare_again(choices: Mapping[str, Any], **settings: object) -> Recipe:
    """Return a comparison; the same seed gives the same figures."""
    title = f"Methods compared on a regression of {_plain_name(choices['target'])}, for the lab."
    note = "Distances to the exact private fit: for the curator's eyes, or for tables that harm nobody."
    return Recipe(title, note, tuple(_lines("compare", {**_tables(choices), **settings})))


def _lines(name: str, given: Mapping[str, Any]) -> list[str]:
    tables = ["    public,"] if name == "plan" else ["    private,", "    public,"]
    return [f"result = pc.{name}(", *tables, *(f"    {key}={value!r}," for key, value in given.items()), ")"]


def _plain_name(target: object) -> str:
    """Return a column's name as it may stand inside a title."""
    return one_line(str(target)).replace("\\", " ").replace('"', " ")


def _tables(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices about the tables as arguments, without those that are defaults."""
    given: dict[str, Any] = {"family": choices["family"]}
    if choices.get("formula"):
        given["formula"] = choices["formula"]
    else:
        given["target"] = choices["target"]
        if choices.get("features"):
            given["features"] = list(choices["features"])
        if not choices.get("intercept", True):
            given["intercept"] = False
    if choices.get("person"):
        given["rows_per_person"] = choices.get("person_rows", 1)
    for name, usual in {**_DEFAULTS, "levels": {}, "kinds": {}}.items():
        value = choices.get(name, usual)
        if value not in (usual, None):
            given[name] = value
    return given


def _choices(record: ReleaseRecord) -> dict[str, Any]:
    """Return the choices about the tables; an older record may lack some."""
    choices = dict(record["public"].get("choices") or {})
    return {"target": record["target"], "family": record["public"].get("family", "gaussian"), **choices}


def _title(record: ReleaseRecord) -> str:
    target, budget = _plain_name(record["target"]), record["guarantee"]["mu"]
    return f"Private regression of {target} by {record['method']} at mu = {budget:.4g}."


def _imports() -> list[str]:
    return ["import pmtcore as pc", "", 'private, public = "private.csv", "public.csv"  # your own files']


def _call(record: ReleaseRecord) -> list[str]:
    choices, promise = _choices(record), record["guarantee"]
    given = {**_tables(choices), "method": record["method"], "mu": promise["mu"], "delta": promise["delta"]}
    if promise.get("rows_per_person", 1) > 1:
        given["rows_per_person"] = promise["rows_per_person"]
    given["settings"] = dict(record["parameters"])
    if record.get("seed") is not None:  # outside any ledger, where no data set is named
        given["seed"] = record["seed"]
        given["lab"] = True
    elif "ledger" in record:
        given["dataset"] = record["ledger"]["dataset"]
    return _lines("release", given)
