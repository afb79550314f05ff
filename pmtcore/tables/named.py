"""Tables that can be opened by name: synthetic ones, and published ones.

Published tables are read from ``PMT_DATA_DIR``, or from ``../shared/data`` beside the project; they are not part of it.
The synthetic demo table of the repository is recognised by its cells: a release from it concerns no person.
"""

import hashlib
import os
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from pmtcore.base.messages import InputError, LabReason, Note, TableMessage, number_between, whole_number_between
from pmtcore.tables.cells import numbers
from pmtcore.tables.choices import Choices
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.sources import ArrowSource
from pmtcore.tables.synthetic import synthetic
from pmtcore.tables.table import Table, read_path, split

Loaded = tuple[Table, Table, tuple[str, ...]]
# The shape of assets/demo-private.csv.
DEMO_COLUMNS = ("x1", "x2", "x3", "x4", "x5", "y")
DEMO_ROWS = 2000  # of the same file
# Of assets/demo-private.csv, as :func:`_demo_digest` computes it.
_DEMO_DIGEST = "0ecf6b774aebadd3592d0c059799393f40f49234317417f7d995dec1f480617d"
# Readers of CSV differ in the last bit of a number, but not after rounding to a ten-thousandth.
_DEMO_STEPS = 1e4


def is_demo(table: Table) -> bool:
    """Return whether a private table is the demo, from a file or a frame.

    Names and the number of rows are compared first, so that the cells of other tables are not read.
    """
    if table.columns != DEMO_COLUMNS or table.source.rows(Dialect()) != DEMO_ROWS:
        return False
    return _demo_digest(table) == _DEMO_DIGEST


def _demo_digest(table: Table) -> str:
    """Return the digest of the rounded numbers, row by row."""
    digest = hashlib.sha256(repr(table.columns).encode())
    for block in table.source.blocks(DEMO_COLUMNS, Dialect()):
        values = np.column_stack([numbers(block.columns[name], None) for name in DEMO_COLUMNS])
        digest.update(np.rint(np.nan_to_num(values) * _DEMO_STEPS).astype(np.int64).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class NamedTable:
    """Table that can be opened by name."""

    id: str
    title: str
    summary: str
    target: str
    public_rows: int
    file: str | None = None  # None: synthetic
    family: str = "gaussian"
    positive: str | None = None
    features: tuple[str, ...] | None = None  # None: all others

    @property
    def choices(self) -> Choices:
        """Return the regression to fit when nothing else is chosen."""
        return Choices(target=self.target, features=self.features, family=self.family, positive=self.positive)

    @property
    def path(self) -> Path | None:
        """Return the path of the file, or None where it is missing."""
        if self.file is None:
            return None
        path = data_directory() / self.file
        return path if path.is_file() else None

    @property
    def available(self) -> bool:
        """Return whether the table can be opened on this machine."""
        return self.file is None or self.path is not None


_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_ENTRIES = {
    id: NamedTable(id, **fields | ({"features": tuple(fields["features"])} if "features" in fields else {}))
    for id, fields in _TEXTS.items()
}


_MOST_KEPT = 2**20  # bytes of a file whose rows are cached between sessions
_LABELS = {
    "n": 10_000,
    "d": 6,
    "kappa_bar": 50.0,
    "size": 0.5,
}  # with effects so small that labels vary


def data_directory() -> Path:
    """Return the folder of the real tables."""
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(os.environ.get("PMT_DATA_DIR") or default)


def names() -> list[str]:
    """Return the ids of all entries, the demo first."""
    return list(_ENTRIES)


def entry(id: str) -> NamedTable:
    """Return the entry of that id.

    Raises:
        InputError: there is no such entry.
    """
    if id not in _ENTRIES:
        raise InputError(TableMessage.NO_NAMED_TABLE, given=id, allowed=_ENTRIES)
    return _ENTRIES[id]


def load(id: str, *, seed: int = 0, **knobs: float) -> Loaded:
    """Return private table, public table, and the reasons why a release from them is a lab figure.

    Args:
        id: of the entry.
        seed: of the synthetic draw, or of the split into private and public rows.
        **knobs: of the demo: ``n``, ``m``, ``d``, ``kappa_bar``, ``noise``.

    Raises:
        InputError: unknown id, table not on this machine, or a knob out of range.
    """
    chosen = entry(id)
    if chosen.file is None:
        labels = {} if chosen.family == "gaussian" else _LABELS
        return _demo(chosen, seed=seed, **{**labels, **knobs})
    if chosen.path is None:
        raise InputError(TableMessage.TABLE_NOT_HERE, title=chosen.title, file=chosen.file)
    # Large tables are not cached: each session has its own, which are freed with it.
    file = chosen.path.stat()
    opened = _split if file.st_size <= _MOST_KEPT else _split.__wrapped__
    private, public = opened(chosen, chosen.path, file.st_mtime_ns, seed)
    return private, public, (Note(LabReason.SPLIT),)


@lru_cache(maxsize=8)
def _split(chosen: NamedTable, path: Path, changed: int, seed: int) -> tuple[Table, Table]:
    """Return private and public part of a published table, cached for all sessions of a process.

    The cache has no user's data: only entries of ``named.toml`` determine which files are read.

    Args:
        chosen: entry of the table.
        path: its file.
        changed: time of the last change of the file, so that a changed file is read again.
        seed: of the split.
    """
    return split(read_path(path, "public"), chosen.public_rows, seed)


def _demo(
    chosen: NamedTable,
    *,
    seed: int,
    n: float = 5000,
    m: float = 200,
    d: float = 8,
    kappa_bar: float = 200.0,
    noise: float = 0.5,
    size: float = 1.0,
) -> Loaded:
    rows = whole_number_between("private rows", n, 50, 200_000)
    public_rows = whole_number_between("public rows", m, 3, 20_000)
    features = whole_number_between("features", d, 1, 50)
    if public_rows < features + 3:
        raise InputError(TableMessage.DEMO_TOO_SMALL, limit=features + 3, count=features)
    bend = number_between("averaged condition number", kappa_bar, 1.0, 1e9)
    trace = 2.6 * features
    draw = synthetic(
        rows,
        public_rows,
        d=features,
        lambda_min=trace / features / bend,
        trace=trace,
        noise=number_between("noise", noise, 1e-6, 1e6),
        seed=whole_number_between("seed", seed, 0, 2**63 - 1),
        family=chosen.family,
        size=size,
    )
    columns = [f"x{j + 1}" for j in range(features)]
    stamp = hashlib.sha256(repr((chosen.id, rows, public_rows, features, bend, noise, seed)).encode()).hexdigest()
    private = _table(draw.private_x, draw.private_y, columns, "private", stamp=stamp)
    public = _table(draw.public_x, draw.public_y, columns, "public", stamp=stamp[::-1])
    return private, public, (Note(LabReason.SYNTHETIC),)


def _table(
    x: np.ndarray, y: np.ndarray, columns: list[str], role: Literal["private", "public"], *, stamp: str
) -> Table:
    cells = pa.table({**{name: x[:, j] for j, name in enumerate(columns)}, "y": y})
    return Table(f"synthetic {role} table", role, ArrowSource(cells, stamp))
