"""Keyed digests of what a release is made from, for agreements; only one ledger's key gives the same digest again.

A plain digest of private rows would let anybody who sees it test a guess at them. Under the ledger's key it tells only
whether the tables are those that were agreed to.
"""

import hashlib
import hmac

import pyarrow as pa

from pmtcore.public.moments import PublicData
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.table import Table


def content_digest(table: Table, key: bytes, dialect: Dialect | None = None) -> str:
    """Return the digest of all cells of a table, in one look at its rows, whatever the table is read from.

    Args:
        table: whose cells are read.
        key: of the ledger, under which the digest says nothing to others.
        dialect: how the table is written; ``None``: in the usual way.
    """
    digest = hmac.new(key, repr(table.columns).encode(), hashlib.sha256)
    for block in table.source.blocks(table.columns, dialect or Dialect()):
        sink = pa.BufferOutputStream()
        cells = pa.table({str(at): block.columns[name] for at, name in enumerate(table.columns)})
        with pa.ipc.new_stream(sink, cells.schema) as stream:
            stream.write_table(cells)
        digest.update(sink.getvalue())
    return digest.hexdigest()


def public_digest(public: PublicData, key: bytes) -> str:
    """Return the digest of public rows as they enter a release, or of the public moment in their place."""
    digest = hmac.new(key, repr((public.names, public.target, public.m)).encode(), hashlib.sha256)
    digest.update((public.factor if public.rows is None else public.rows).tobytes())
    return digest.hexdigest()
