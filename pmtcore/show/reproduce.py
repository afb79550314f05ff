"""How to ask for a release again: the command, a script, a notebook; made from the record alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pmtcore.base.foreign import markdown, one_line, shell

_DEFAULTS = {"missing": "empty-row", "unseen": "other", "public_ridge": 0.0, "lam": None, "positive": None}


def configuration(record: Mapping[str, Any]) -> dict[str, Any]:
    """The request in the fields that ``--config`` reads."""
    return {
        "method": record["method"],
        "mu": record["guarantee"]["mu"],
        "parameters": record["parameters"],
        "delta": record["guarantee"]["delta"],
    }


def command(record: Mapping[str, Any]) -> str:
    """The command that asks for the same with the same choices; the files are the reader's own."""
    choices = _choices(record)
    words = ["python", "-m", "pmtcore", "release", "--private", "private.csv", "--public", "public.csv"]
    words += ["--target", choices["target"], "--family", choices["family"]]
    if choices.get("features"):
        words += ["--features", ",".join(choices["features"])]
    if not choices.get("intercept", True):
        words.append("--no-intercept")
    for name, usual in _DEFAULTS.items():
        value = choices.get(name, usual)
        if value not in (usual, None):
            words += [f"--{name.replace('_', '-')}", str(value)]
    for column, levels in choices.get("levels", {}).items():
        words += ["--levels", f"{column}={'|'.join(levels)}"]
    if record.get("seed") is not None:
        words += ["--seed", str(record["seed"])]
    else:
        words += ["--ledger", "LEDGER", "--dataset", str(record.get("ledger", {}).get("dataset", "NAME"))]
    return " ".join(map(shell, [*words, "--config", "request.json"]))


def script(record: Mapping[str, Any]) -> str:
    """A Python script that asks for the same through the package's face."""
    return "\n".join([f'"""{_title(record)}"""', "", *_imports(), "", *_call(record), "", "print(result)", ""])


def notebook(record: Mapping[str, Any]) -> str:
    """The same as a notebook, in the format that Jupyter reads (nbformat 4)."""
    heading = f"# {markdown(_title(record))}\n\nRunning this draws new noise and spends again; the ledger counts it."
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "metadata": {}, "source": heading, "id": "about"}]
    for at, lines in enumerate((_imports(), _call(record), ["result"])):
        code: dict[str, Any] = {
            "cell_type": "code",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "id": f"code-{at}",
        }
        cells.append({**code, "source": "\n".join(lines)})
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _choices(record: Mapping[str, Any]) -> dict[str, Any]:
    """The choices about the tables; what older records have of them."""
    found = dict(record["public"].get("choices") or {})
    return {"target": record["target"], "family": record["public"].get("family", "gaussian"), **found}


def _title(record: Mapping[str, Any]) -> str:
    target = one_line(str(record["target"])).replace("\\", " ").replace('"', " ")
    return f"Private regression of {target} by {record['method']} at mu = {record['guarantee']['mu']:.4g}."


def _imports() -> list[str]:
    return ["import pmtcore as sm", "", 'private, public = "private.csv", "public.csv"  # your own files']


def _call(record: Mapping[str, Any]) -> list[str]:
    choices, promise = _choices(record), record["guarantee"]
    given: dict[str, Any] = {"family": choices["family"], "target": choices["target"], "method": record["method"]}
    given |= {"mu": promise["mu"], "delta": promise["delta"]}
    if choices.get("features"):
        given["features"] = list(choices["features"])
    if not choices.get("intercept", True):
        given["intercept"] = False
    for name, usual in {**_DEFAULTS, "levels": {}}.items():
        value = choices.get(name, usual)
        if value not in (usual, None):
            given[name] = value
    given["settings"] = dict(record["parameters"])
    if "ledger" in record:
        given["dataset"] = record["ledger"]["dataset"]
    if record.get("seed") is not None:
        given["seed"] = record["seed"]
        given["lab"] = True
    lines = [f"    {name}={value!r}," for name, value in given.items()]
    return ["result = sm.release(", "    private,", "    public,", *lines, ")"]
