"""``python -m pmtcore local configure | randomize | aggregate``: server, device, server."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pmtcore.base.checks import InputError, number_between, one_of
from pmtcore.cli.files import read_small, writable, write_small
from pmtcore.data.choices import Choices
from pmtcore.data.problem import device_rows, prepare_public
from pmtcore.data.tables import Table, read_path
from pmtcore.local import setup
from pmtcore.local.estimators import LINKS, Link
from pmtcore.local.protocol import Configuration, report_lines
from pmtcore.local.reading import SCHEMA, tally_file
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.methods.local.collected import LocalOutcome, LocalPlan, MomentParameters, WhitenedParameters
from pmtcore.public.moments import PublicData


def run(chosen: argparse.Namespace, source: NoiseSource) -> tuple[dict[str, Any], str]:
    """One of the three."""
    return {"configure": _configure, "randomize": _randomize, "aggregate": _aggregate}[chosen.step](chosen, source)


def _configure(chosen: argparse.Namespace, _: NoiseSource) -> tuple[dict[str, Any], str]:
    public = _public(chosen)
    one_of("scheme", chosen.scheme, ("whitened", "moments"))
    if (chosen.epsilon is None) == (chosen.mu is None):
        raise InputError("Give the budget of a report once: --epsilon E (pure), or --mu M.")
    if chosen.scheme == "moments":
        if chosen.mu is None:
            raise InputError("The scheme 'moments' has Gaussian noise; give --mu M.")
        made = setup.moments(public, chosen.people, number_between("mu", chosen.mu, 1e-6, 1e3), True, 0.05)
    elif chosen.epsilon is not None:
        epsilon = number_between("epsilon", chosen.epsilon, 1e-3, 500.0)
        made = setup.whitened(public, chosen.people, 1.0, "privunit", chosen.response_bound, epsilon)
    else:
        mu = number_between("mu", chosen.mu, 1e-6, 1e3)
        made = setup.whitened(public, chosen.people, mu, "gaussian", chosen.response_bound)
    record = {**made.as_dict(), "family": public.family.id, "positive": chosen.positive}
    write_small(_needed(chosen, "destination"), json.dumps(record) + "\n")
    return {"digest": made.digest, "dimension": made.dimension, "mu": made.mu, "epsilon": made.epsilon}, (
        f"configuration {made.digest}: each report has {made.dimension} numbers"
    )


def _randomize(chosen: argparse.Namespace, source: NoiseSource) -> tuple[dict[str, Any], str]:
    made, choices = _published(chosen)
    own = device_rows(read_path(_needed(chosen, "rows"), "private"), made.names, choices)
    path, written = Path(_needed(chosen, "destination")), 0
    writable(str(path))
    if path.suffix == ".parquet":
        with pq.ParquetWriter(path, SCHEMA) as sink:
            for block in _blocks(made, own, source):
                records = [json.loads(line) for line in report_lines(block, made.digest)]
                sink.write_table(pa.Table.from_pylist(records, schema=SCHEMA))
                written += len(block)
    else:
        with path.open("w", encoding="utf-8") as lines:
            for block in _blocks(made, own, source):
                lines.writelines(line + "\n" for line in report_lines(block, made.digest))
                written += len(block)
    guarantee = {"mu": made.mu, "epsilon": made.epsilon, "relation": "replace-one, of one's own row"}
    return {"reports": written, "configuration": made.digest, "guarantee": guarantee}, f"{written} reports written"


def _blocks(
    made: Configuration, own: Iterable[tuple[np.ndarray, np.ndarray]], source: NoiseSource
) -> Iterator[np.ndarray]:
    for features, response in own:
        yield made.randomize(features, response, source)


def _aggregate(chosen: argparse.Namespace, _: NoiseSource) -> tuple[dict[str, Any], str]:
    made, choices = _published(chosen)
    tally = tally_file(Path(_needed(chosen, "reports")), made)
    public = _public(chosen, made, choices)
    if made.randomizer == "privunit" or made.scheme == "whitened":
        parameters: Any = WhitenedParameters(randomizer=made.randomizer)
    else:
        parameters = MomentParameters()
    plan = LocalPlan(public, max(tally.accepted, 1), made.mu, made, parameters, _link(chosen, made))
    outcome = LocalOutcome(plan, tally.mean[None])
    coefficients, bands = outcome.coefficients[0], outcome.bands()
    notes = outcome.notes()
    if tally.lost > 1:
        notes += (f"About {tally.lost:.0f} reports with a fresh id were taken for duplicates: the file is that long.",)
    record: dict[str, Any] = {
        "coefficients": dict(zip(made.names, map(float, coefficients), strict=True)),
        "bands": {},
        "counts": tally.counts,
        "n": tally.accepted,
        "family": public.family.id if chosen.link is None else None,
        "link": chosen.link,
        "guarantee": {"mu": made.mu, "epsilon": made.epsilon, "neighbours": "replace-one", "trust": "local"},
        "notes": list(notes),
    }
    if bands is not None:
        record["bands"] = {
            name: {
                "privacy": float(bands.privacy[j]),
                "sampling": float(bands.sampling[j]),
                "low": float(bands.low[j]),
                "high": float(bands.high[j]),
            }
            for j, name in enumerate(made.names)
        }
    lines = [f"{tally.accepted} reports used"]
    lines += [
        f"left out, {reason}: {count}" for reason, count in tally.counts.items() if count and reason != "accepted"
    ]
    lines += [f"{name:20} {value:12.5g}" for name, value in record["coefficients"].items()]
    lines += notes
    return record, "\n".join(lines)


def _link(chosen: argparse.Namespace, made: Configuration) -> Link | None:
    if chosen.link is None:
        return None
    link = LINKS[one_of("link", chosen.link, LINKS)]
    if made.scheme != "moments" or made.names[0] == "(intercept)":
        raise InputError("--link needs reports of the scheme 'moments', configured with --no-intercept.")
    return link


def _published(chosen: argparse.Namespace) -> tuple[Configuration, Choices]:
    data = read_small(_needed(chosen, "config"))
    try:
        fields = json.loads(data)
        family, positive = fields.pop("family", "logistic"), fields.pop("positive", None)
        data = json.dumps(fields).encode()
    except (ValueError, AttributeError, TypeError):
        family, positive = "logistic", None
    made = Configuration.from_json(data)
    features = tuple(name for name in made.names if name != "(intercept)")
    family = chosen.family or family
    choices = Choices(
        target=made.target,
        features=features,
        intercept=made.names[0] == "(intercept)",
        family=family,
        positive=chosen.positive or positive,
        missing="empty-row",  # a device with a missing value answers too (E5)
    )
    return made, choices


def _public(
    chosen: argparse.Namespace, made: Configuration | None = None, choices: Choices | None = None
) -> PublicData:
    table: Table = read_path(_needed(chosen, "public"), "public")
    if made is None or choices is None:
        features = None if chosen.features is None else tuple(name.strip() for name in chosen.features.split(","))
        choices = Choices(
            target=_needed(chosen, "target"),
            features=features,
            intercept=not chosen.no_intercept,
            family=chosen.family or "logistic",
            positive=chosen.positive,
        )
    public = prepare_public(table, choices)
    if made is not None and public.names != made.names:
        raise InputError(
            "The public table does not have the columns of the configuration; use the table it was made from."
        )
    return public


def _needed(chosen: argparse.Namespace, name: str) -> str:
    value = getattr(chosen, name)
    if value is None:
        option = {"destination": "out"}.get(name, name)
        raise InputError(f"'local {chosen.step}' needs --{option}.")
    return str(value)
