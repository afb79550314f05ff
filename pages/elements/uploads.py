"""Uploads of own tables on the Data page."""

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
from pmtcore.tables.findings import successive_repairs
from pmtcore.tables.limits import MAX_UPLOAD_MB, in_words
from pmtcore.tables.problem import common_columns
from pmtcore.tables.table import MomentTable, Table, read_as, read_moment, read_table

_TYPES = ["csv", "tsv", "txt", "parquet", "gz"]


def open_title() -> str:
    """Return the title of the open tables, as markdown."""
    tables = state.session().tables
    return plain(tables.title) if tables else "nothing"


def own_tables() -> bool:
    """Draw both uploaders and open the two tables; return whether each chosen file could be read."""
    require(Action.OPEN_TABLES)
    # After an exchange the uploaders are new ones, because the old ones would show the file names in the wrong roles.
    exchanges = st.session_state.get("uploads-made", 0)
    at = f"-{exchanges}" if exchanges else ""
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
        public_rows = 0
        if kind == "moment matrix":
            public_rows = number(st, "upload-behind", 0, 10**9, start=0)
    if private is None or public is None:
        until = (
            f"Until then {open_title()} is open on the other pages."
            if readable
            else "Replace the one that was refused."
        )
        missing = " and ".join([*["the private table"] * (private is None), *[f"public {kind}"] * (public is None)])
        st.info(f"Still needed: {missing}. {until}", icon=":material/upload:")
        return False
    mark = repr((private[0], public[0], kind, public_rows))
    if st.session_state.get("opened") != mark:
        with st.spinner("Looking at both tables", show_time=True):
            _open_own(private[1], public[1], int(public_rows) or None)
        st.session_state["opened"] = mark
    if isinstance(public[1], Table) and st.button(**control("upload-exchange")):
        exchange_roles(private, (public[0], public[1]))
        st.session_state["uploads-made"] = exchanges + 1
        st.rerun()
    return True


def exchange_roles(private: tuple[str, Table], public: tuple[str, Table]) -> None:
    """Give two files the role of each other; they are read anew, since public rows are read further than private ones.

    Args:
        private: id and table of the file that was private.
        public: of the file that was public.

    Raises:
        InputError: one of them cannot be read in its new role; then nothing is exchanged.
    """
    tables = st.session_state["own-tables"]
    tables["private"], tables["public rows"] = (
        (public[0], read_as(public[1], "private")),
        (private[0], read_as(private[1], "public")),
    )


def _remembered(role: str, file: UploadedFile | None, read: Callable[[bytes, str], Any]) -> tuple[str, Any] | None:
    """Return id and table of this file, or of the one chosen before, which an uploader forgets when pages change.

    The error of a file that cannot be read is drawn under its own uploader.
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
    """Open own tables; the choices for earlier own tables stay where they fit.

    Features stay only if a fit was made with them: otherwise a repair may have left columns out.
    """
    current = state.session()
    earlier = current.choices if current.tables is not None and not current.tables.may_be_studied else None
    fitted_features = None if earlier is None or current.problem is None else earlier.features
    tables = Tables(uuid4().hex, f"{private.name}, {public.name}", private, public, (), rows)
    current.open(tables)
    try:
        names, default = common_columns(private, public), tables.first
        if earlier is not None and earlier.target in names:
            default = replace(earlier, features=fitted_features if set(fitted_features or ()) <= set(names) else None)
        current.set_choices(with_recommended_repairs(tables, default))
    except InputError:
        return  # the choice of columns shows the reason


def with_recommended_repairs(tables: Tables, first: Choices) -> Choices:
    """Return the choices after the recommended repairs of findings that stop; the tables note repairs of features."""
    current = first
    for finding, choices in successive_repairs(tables.private, tables.public, first):
        if choices.features != current.features:
            tables.repaired = (f"{finding.sentence} Done already: {finding.repairs[0].label}.", choices.features)
        current = choices
    return current
