"""``python -m pmtcore local configure | randomize | aggregate``: server, device, server."""

import argparse
import json
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pmtcore.api.local import LocalAggregator, Published, aggregate
from pmtcore.base.messages import CommandMessage, InputError
from pmtcore.cli.arguments import Answer
from pmtcore.cli.files import check_writable, read_small, write_small
from pmtcore.local.protocol import Configuration, report_lines
from pmtcore.local.reading import SCHEMA, tally_file
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import device_rows, prepare_public
from pmtcore.tables.table import read_path


def run(chosen: argparse.Namespace) -> Answer:
    """Run one of the three."""
    return {"configure": _configure, "randomize": _randomize, "aggregate": _aggregate}[chosen.step](chosen)


def _configure(chosen: argparse.Namespace) -> Answer:
    collected = LocalAggregator(
        _needed(chosen, "public"),
        target=_needed(chosen, "target"),
        epsilon=chosen.epsilon,
        mu=chosen.mu,
        family=chosen.family or "logistic",
        features=None if chosen.features is None else [name.strip() for name in chosen.features.split(",")],
        intercept=not chosen.no_intercept,
        positive=chosen.positive,
        scheme=chosen.scheme,
        people=chosen.people,
        response_bound=chosen.response_bound,
    )
    write_small(_needed(chosen, "destination"), collected.configuration() + "\n")
    made = collected.published.configuration
    return {"digest": made.digest, "dimension": made.dimension, "mu": made.mu, "epsilon": made.epsilon}, (
        f"configuration {made.digest}: each report has {made.dimension} numbers"
    )


def _randomize(chosen: argparse.Namespace) -> Answer:
    made, choices = _published(chosen)
    blocks = device_rows(read_path(_needed(chosen, "rows"), "private"), made.names, choices)
    path = Path(_needed(chosen, "destination"))
    check_writable(str(path))
    source = SecureNoise()
    with _whole_or_not_at_all(path) as unfinished:
        written = _write_reports(unfinished, (made.randomize(*block, source) for block in blocks), made.digest)
    return {"reports": written, "configuration": made.digest, "guarantee": made.guarantee}, f"{written} reports written"


@contextmanager
def _whole_or_not_at_all(path: Path) -> Iterator[Path]:
    """Yield a name beside a file to write it under; it replaces the file at the end, and is removed on failure."""
    unfinished = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_reports(path: Path, blocks: Iterable[np.ndarray], digest: str) -> int:
    """Write reports as Parquet or as lines of JSON, by the file's name; return their number."""
    written = 0
    if path.suffix == ".parquet":
        with pq.ParquetWriter(path, SCHEMA) as sink:
            for block in blocks:
                records = [json.loads(line) for line in report_lines(block, digest)]
                sink.write_table(pa.Table.from_pylist(records, schema=SCHEMA))
                written += len(block)
        return written
    with path.open("w", encoding="utf-8") as lines:
        for block in blocks:
            lines.writelines(line + "\n" for line in report_lines(block, digest))
            written += len(block)
    return written


def _aggregate(chosen: argparse.Namespace) -> Answer:
    made, choices = _published(chosen)
    tally = tally_file(Path(_needed(chosen, "reports")), made)
    public = prepare_public(read_path(_needed(chosen, "public"), "public"), choices).data
    if public.names != made.names:
        raise InputError(CommandMessage.OTHER_PUBLIC_TABLE)
    record = aggregate(public, made, tally, chosen.link)
    lines = [f"{tally.accepted} reports used"]
    rejected = {reason: count for reason, count in tally.counts.items() if count and reason != "accepted"}
    lines += [f"left out, {reason}: {count}" for reason, count in rejected.items()]
    lines += [f"{name:20} {value:12.5g}" for name, value in record["coefficients"].items()]
    lines += record["notes"]
    return record, "\n".join(lines)


def _published(chosen: argparse.Namespace) -> tuple[Configuration, Choices]:
    published = Published.from_json(read_small(_needed(chosen, "config")))
    return published.configuration, published.choices(chosen.family, chosen.positive)


def _needed(chosen: argparse.Namespace, name: str) -> str:
    value = getattr(chosen, name)
    if value is None:
        option = {"destination": "out"}.get(name, name)
        raise InputError(CommandMessage.LOCAL_STEP_NEEDS, step=chosen.step, option=option)
    return str(value)
