"""Opening one's own tables on the Data page."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.elements import session as state
from pages.elements.actors import require
from pages.elements.controls import control, segments
from pages.elements.widgets import number, show_error
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.messages import InputError
from pmtcore.base.roles import Action
from pmtcore.releases.register import Tables
from pmtcore.tables.choices import Choices
from pmtcore.tables.findings import repairing
from pmtcore.tables.limits import MAX_UPLOAD_MB, in_words
from pmtcore.tables.problem import common_columns
from pmtcore.tables.table import MomentTable, Table, read_as, read_moment, read_table

_TYPES = ["csv", "tsv", "txt", "parquet", "gz"]


def own_tables() -> bool:
    """Draw both uploaders and open the two tables; return whether each chosen file could be read."""
    require(Action.OPEN_TABLES)
    # Of files that were exchanged the uploaders are new ones: those before would show each under the other's name.
    made = st.session_state.get("uploads-made", 0)
    at = f"-{made}" if made else ""
    left, right = st.columns(2)
    words = f"CSV, TSV or Parquet, also gzip'ed, with a header row. {in_words()}"
    with left:
        file = st.file_uploader(**control("upload-private", at), type=_TYPES, max_upload_size=MAX_UPLOAD_MB, help=words)
        private = _remembered("private", file, lambda data, name: read_table(data, name, "private"))
        readable = file is None or private is not None
        st.caption("It stays in this session's memory.")
    with right:
        kind = segments("upload-kind", ["rows", "moment matrix"], "rows")
        file = st.file_uploader(
            **control("upload-public", f"-{kind}{at}"),
            label=f"Public {kind}",
            type=_TYPES,
            max_upload_size=MAX_UPLOAD_MB,
            help=words,
        )
        public = _remembered(
            f"public {kind}",
            file,
            (lambda data, name: read_table(data, name, "public")) if kind == "rows" else read_moment,
        )
        readable = readable and (file is None or public is not None)
        behind = 0
        if kind == "moment matrix":
            behind = number(st, "upload-behind", 0, 10**9, start=0)
    if private is None or public is None:
        tables = state.session().tables
        opened = plain(tables.title) if tables else "nothing"
        until = f"Until then {opened} is open on the other pages." if readable else "Replace the one that was refused."
        lacking = " and ".join([*["the private table"] * (private is None), *[f"public {kind}"] * (public is None)])
        st.info(f"Still needed: {lacking}. {until}", icon=":material/upload:")
        return False
    mark = repr((private[0], public[0], kind, behind))
    if st.session_state.get("opened") != mark:
        with st.spinner("Looking at both tables", show_time=True):
            _open_own(private[1], public[1], int(behind) or None)
        st.session_state["opened"] = mark
    if isinstance(public[1], Table) and st.button(**control("upload-exchange")):
        exchanged(private, (public[0], public[1]))
        st.session_state["uploads-made"] = made + 1
        st.rerun()
    return True


def exchanged(private: tuple[str, Table], public: tuple[str, Table]) -> None:
    """Take each of two files in the other's place, read anew: of public rows more is looked at.

    Args:
        private: mark and table of the file that was the private one.
        public: of the one that was public.

    Raises:
        InputError: one of them cannot be read so; then nothing is exchanged.
    """
    tables = st.session_state["own-tables"]
    tables["private"], tables["public rows"] = (
        (public[0], read_as(public[1], "private")),
        (private[0], read_as(private[1], "public")),
    )


def _remembered(role: str, file: UploadedFile | None, read: Callable[[bytes, str], Any]) -> tuple[str, Any] | None:
    """Return the table read from this file, or from the one chosen before: an uploader forgets with a page change.

    A file that cannot be read is said under its own uploader, so that the other one stays on the page.
    """
    tables: dict[str, tuple[str, Any]] = st.session_state.setdefault("own-tables", {})
    if file is not None and tables.get(role, ("",))[0] != file.file_id:
        try:
            tables[role] = (file.file_id, read(file.getvalue(), file.name))
        except InputError as error:
            show_error(error)
            return None
    if file is None and role in tables:
        st.caption(f"Open: **{plain(tables[role][1].name)}**. Choose another file to replace it.")
    return tables.get(role)


def _open_own(private: Table, public: Table | MomentTable, rows: int | None) -> None:
    """Open somebody's own tables; choices made for the ones before are kept where they still fit.

    Features are kept where a fit was made with them: else a repair of the tables before may have left columns out.
    """
    current = state.session()
    before = current.choices if current.tables is not None and not current.tables.may_be_studied else None
    chosen = None if before is None or current.problem is None else before.features
    tables = Tables(uuid4().hex, f"{private.name}, {public.name}", private, public, (), rows)
    current.open(tables)
    try:
        names, first = common_columns(private, public), tables.first
        if before is not None and before.target in names:
            first = replace(before, features=chosen if set(chosen or ()) <= set(names) else None)
        current.take(mended(tables, first))
    except InputError:
        return  # nothing to start from; the chooser says why


def mended(tables: Tables, first: Choices) -> Choices:
    """Return the choices after the recommended repairs of what stops; the tables keep which columns that left out."""
    last = first
    for one, choices in repairing(tables.private, tables.public, first):
        if choices.features != last.features:
            tables.repaired = (f"{one.sentence} Done already: {one.repairs[0].label}.", choices.features)
        last = choices
    return last
