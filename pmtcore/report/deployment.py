"""A draft entry for a public registry of deployments of differential privacy, in the YAML of its records (tier 3).

The registry is OpenDP's (deployments-registry-data); fields as its records of 2025 have them. What only the publisher
knows is marked TODO; nothing is sent anywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pmtcore.accounting.budgets import of_person, only_responses, unit_of
from pmtcore.base.escaping import one_line
from pmtcore.methods.registry import method
from pmtcore.report.names import source

_TODO = "TODO"


def entry(record: Mapping[str, Any], date: str = "", purpose: str = "") -> str:
    """Return the draft as YAML text; strings are quoted as JSON, which YAML reads."""
    method_entry, promise = method(record["method"]), record["guarantee"]
    unit, responses = unit_of(promise), only_responses(promise)
    level = "Row-level" if unit.rows == 1 and not unit.column else "Person-level"
    described = f"Neighbouring tables: {promise['neighbours']}. {unit.words} {responses}".strip()
    names = [name for name in record["coefficients"] if name != "(intercept)"]
    tree: dict[str, Any] = {
        "url_slug": re.sub("[^a-z0-9]+", "-", f"private regression of {record['target']}".lower()).strip("-"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "product": {
                "name": f"Private regression of {record['target']}",
                "data_curators": [_TODO],
                "intended_use": purpose or _TODO,
                "data_product_type": "Summary statistics",
                "data_product_region": _TODO,
                "description": f"Coefficients of {record['target']} on {', '.join(names) or 'a released moment'}.",
                "publication_date": date[:10] or _TODO,
            },
            "dp_flavor": {
                "name": "Gaussian DP",
                "data_domain": f"{record['n']} rows; columns: {', '.join([*names, str(record['target'])])}",
                "unprotected_quantities": "number of rows, names of columns, everything computed from public rows"
                + (", all columns of the private rows but the target" if responses else ""),
            },
            "privacy_loss": {
                "privacy_unit": f"{level}, responses only" if responses else level,
                "privacy_unit_description": described,
                "privacy_parameters": {name: of_person(promise)[name] for name in ("mu", "rho", "epsilon", "delta")},
                "privacy_parameters_description": record["guarantee_in_words"],
            },
            "model": {
                "model_name": "Local" if method_entry.local else "Central",
                "release_type": "One release",
                "release_type_description": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "All after the noisy statistics: inverse, combination with the public fit, bands.",
                "composition": "Ledger of the data set, squares of mu added."
                if "ledger" in record
                else "This release alone; in no ledger.",
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": _TODO,
                "mechanisms": f"{method_entry.title} ({method_entry.id}), {source(method_entry.id)}; "
                f"noise: {record['public'].get('noise', '')}",
                "justification": method_entry.claim.reason,
            },
            "resources": {"sources": _TODO, "registry_authors": [_TODO]},
        },
    }
    return "\n".join(["# A draft: fill in every TODO before it is submitted.", *_yaml(tree, 0), ""])


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
