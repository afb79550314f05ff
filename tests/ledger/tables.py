"""The ledger's tables for SQLAlchemy, with which tests write and read independently of the program's own SQL."""

from __future__ import annotations

import sqlalchemy as sql

from pmtcore.ledger.database import STEPS
from pmtcore.ledger.engines import ServerConnection

_META = sql.MetaData()
EVENTS = sql.Table(
    "pmt_events",
    _META,
    sql.Column("seq", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("at", sql.String(40), nullable=False),
    sql.Column("dataset", sql.String(200), nullable=False, index=True),
    sql.Column("kind", sql.String(16), nullable=False),
    sql.Column("key", sql.String(200), nullable=False),
    sql.Column("payload", sql.Text, nullable=False),
    sql.Column("previous", sql.String(64), nullable=False),
    sql.Column("hash", sql.String(64), nullable=False),
    sql.Column("seal", sql.String(64)),
    sql.UniqueConstraint("key", "kind", name="pmt_once"),
)
VERSION = sql.Table("pmt_schema", _META, sql.Column("version", sql.Integer, nullable=False))


def take_steps(connection: sql.Connection, to: int) -> None:
    """Migrate an empty database to an earlier version."""
    for step in STEPS[:to]:
        step(ServerConnection(connection))
