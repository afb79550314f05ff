"""A draft entry for a public registry of deployments of differential privacy, in the YAML of its records (tier 3).

The registry is OpenDP's (deployments-registry-data); fields as its records of 2025 have them. What only the publisher
knows is marked TODO; nothing is sent anywhere.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pmtcore.accounting.budgets import of_person, only_responses, unit_of
from pmtcore.base.escaping import one_line
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.methods.registry import method
from pmtcore.report.names import source

_TODO = "TODO"
_RECORD = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def entry(record: ReleaseRecord, date: str = "", purpose: str = "") -> str:
    """Return the draft as YAML text; strings are quoted as JSON, which YAML reads."""
    method_entry, promise, target = method(record["method"]), record["guarantee"], record["target"]
    unit, responses = unit_of(promise), only_responses(promise)
    level = "Row-level" if unit.rows == 1 and not unit.column else "Person-level"
    names = [name for name in record["coefficients"] if name != "(intercept)"]
    in_ledger = "Ledger of the data set, squares of mu added."
    facts = {
        "slug": re.sub("[^a-z0-9]+", "-", f"private regression of {target}".lower()).strip("-"),
        "target": target,
        "purpose": purpose or _TODO,
        "features": ", ".join(names) or "a released moment",
        "date": date[:10] or _TODO,
        "n": record["n"],
        "columns": ", ".join([*names, str(target)]),
        "unprotected": ", all columns of the private rows but the target" if responses else "",
        "unit": f"{level}, responses only" if responses else level,
        "described": f"Neighbouring tables: {promise['neighbours']}. {unit.words} {responses}".strip(),
        "guarantee": record["guarantee_in_words"],
        "model": "Local" if method_entry.local else "Central",
        "composition": in_ledger if "ledger" in record else "This release alone; in no ledger.",
        "method": f"{method_entry.title} ({method_entry.id})",
        "source": source(method_entry.id),
        "noise": record["public"].get("noise", ""),
        "reason": method_entry.claim.reason,
    }
    tree = _filled(_RECORD, facts)
    figures = {name: of_person(promise)[name] for name in ("mu", "rho", "epsilon", "delta")}
    tree["deployment"]["privacy_loss"]["privacy_parameters"] = figures
    return "\n".join(["# A draft: fill in every TODO before it is submitted.", *_yaml(tree, 0), ""])


def _filled(tree: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tree with facts in its texts."""
    return {
        key: _filled(item, facts)
        if isinstance(item, Mapping)
        else item.format_map(facts)
        if isinstance(item, str)
        else item
        for key, item in tree.items()
    }


def _yaml(value: Mapping[str, Any], depth: int) -> list[str]:
    """Write mappings, lists of scalars and scalars as lines."""
    lines: list[str] = []
    pad = "  " * depth
    for key, item in value.items():
        if isinstance(item, Mapping):
            lines += [f"{pad}{key}:", *_yaml(item, depth + 1)]
        elif isinstance(item, list):
            lines += [f"{pad}{key}:", *(f"{pad}  - {_scalar(one)}" for one in item)]
        else:
            lines.append(f"{pad}{key}: {_scalar(item)}")
    return lines


def _scalar(value: object) -> str:
    return json.dumps(one_line(value) if isinstance(value, str) else value, ensure_ascii=False)
