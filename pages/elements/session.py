"""State of one browser session. Private rows are here and nowhere else: never in a shared cache."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import uuid4

import streamlit as st
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.elements.actors import actor, require
from pmtcore.auditing.comparison import Comparison
from pmtcore.base.memory import release_due, release_memory
from pmtcore.base.messages import InputError
from pmtcore.base.roles import Action
from pmtcore.releases.job import Job
from pmtcore.releases.planning import Curves
from pmtcore.releases.record import Release
from pmtcore.releases.register import Tables
from pmtcore.releases.release import Preview, Request, preview
from pmtcore.report.first_look import QuickComparison, first_look, is_quick, remember
from pmtcore.tables import named
from pmtcore.tables.choices import Choices
from pmtcore.tables.findings import Finding, findings
from pmtcore.tables.problem import Problem, PublicSide, public_side
from pmtcore.tables.schema import Schema

Value = TypeVar("Value")
_KEY = "second_moment"
# Beginnings of session keys of the plan, and of method and budget on Release.
_PLANS = ("plan", "release-method-", "release-unit", "release-mu", "release-rho", "release-epsilon", "release-delta")


@dataclass(frozen=True, slots=True)
class Recent(Generic[Value]):
    """Results by key, of which the least recently used are dropped."""

    most: int
    values: OrderedDict[tuple[str, ...], Value] = field(default_factory=OrderedDict)

    def get(self, key: tuple[str, ...], make: Callable[[], Value]) -> Value:
        """Return the result of a key, or keep what ``make`` returns."""
        value = self.values.pop(key, None)
        self.values[key] = value = make() if value is None else value
        while len(self.values) > self.most:
            self.values.popitem(last=False)
        return value


@dataclass(frozen=True, slots=True)
class PublicResults:
    """What follows from a public table, the choices about it, and the names and number of private columns and rows.

    Attributes:
        sides: public sides (some megabytes each).
        findings: about the tables.
        previews: cost and predictions of requests (some kilobytes).
    """

    sides: Recent[PublicSide]
    findings: Recent[tuple[Finding, ...]]
    previews: Recent[Preview]


def _of_own_tables() -> PublicResults:
    return PublicResults(Recent(1), Recent(1), Recent(30))


# For all sessions.
_of_named_tables = PublicResults(Recent(8), Recent(8), Recent(100))


@dataclass(slots=True)
class Session:
    """State of a session between reruns.

    Releases are stored by request id, which is created when the confirmation is shown: with a second click, a rerun or
    a change of pages the release of the id exists already, and nothing is spent.

    Attributes:
        tables: the open tables.
        choices: of the user about them; ``None``: the default.
        problem: of these choices, where it was prepared.
        releases: by request id.
        requests: by request id.
        sources: digest of the private table, by request id.
        titles: table and time of the release, by request id.
        datasets: data set in the ledger, by request id, where there is one.
        chosen: choices of the fit, by request id.
        next_request: id of the next request on Release.
        comparison: on Compare.
        curves: predictions on Plan.
        own: what follows from own public tables.
        job: release that is running.
        looked_at: digests of private tables of which exact figures were switched on.
    """

    tables: Tables | None = None
    choices: Choices | None = None
    problem: Problem | None = None
    releases: dict[str, Release] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    datasets: dict[str, str] = field(default_factory=dict)
    chosen: dict[str, Choices] = field(default_factory=dict)
    next_request: str = field(default_factory=lambda: uuid4().hex)
    comparison: Comparison | None = None
    curves: Curves | None = None
    own: PublicResults = field(default_factory=_of_own_tables)
    job: Job | None = None
    looked_at: set[str] = field(default_factory=set)

    @property
    def is_study(self) -> bool:
        """Return whether the open tables are for study."""
        return self.tables is not None and self.tables.may_be_studied

    @property
    def exact_figures_shown(self) -> bool | None:
        """Return whether exact figures of the open private table were switched on; None for tables for study."""
        if self.tables is None or self.is_study:
            return None
        return self.tables.private.sha256 in self.looked_at

    @property
    def spent_releases(self) -> list[Release]:
        """Return the releases from the open private table that cost something, oldest first."""
        if self.tables is None:
            return []
        return [self.releases[id] for id in self.released if self.releases[id].guarantee.mu > 0]

    @property
    def released(self) -> list[str]:
        """Return the request ids of releases from the open private table, oldest first."""
        here = "" if self.tables is None else self.tables.private.sha256
        return [id for id in self.releases if self.sources[id] == here]

    @property
    def dataset(self) -> str:
        """Return the data set in the ledger of the last release from the open private table; empty without one."""
        return next((self.datasets[id] for id in reversed(self.released) if id in self.datasets), "")

    def keep(
        self,
        request: Request,
        release: Release,
        id: str | None = None,
        source: str | None = None,
        *,
        choices: Choices | None = None,
        dataset: str = "",
    ) -> None:
        """Store a release under the request id that was confirmed.

        Args:
            request: of the release.
            release: the release.
            id: of the request; ``None``: that of the Release page.
            source: digest of the private table; ``None``: that of the open one.
            choices: of the fit, where the Release page is to state that they were changed since.
            dataset: data set in the ledger; empty where it is in none.
        """
        if source is None:
            if self.tables is None:
                raise InputError("No tables are open; choose them on the Data page.")
            source = self.tables.private.sha256
        id = self.next_request if id is None else id
        self.requests[id], self.releases[id], self.sources[id] = request, release, source
        if choices is not None:
            self.chosen[id] = choices
        if dataset:
            self.datasets[id] = dataset
        title = dataset or ("a table" if self.tables is None else self.tables.title)
        self.titles[id] = f"{title}, released {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"

    def renew_request(self) -> None:
        """Create a new id for the next request on Release."""
        self.next_request = uuid4().hex

    def begin_request(self) -> None:
        """Let Release draw its form instead of the release it shows, which is then among the earlier ones."""
        if self.next_request in self.releases:
            self.renew_request()
            # The form begins at the top of the page.
            st.session_state["page-open"] = ""

    def _ask_of_open_table(self) -> None:
        """Let Release show the last release from the open table, or its form."""
        ids = [id for id in self.released if id in self.chosen]  # releases of Explore are shown there
        if ids:
            self.next_request = ids[-1]
        else:
            self.begin_request()

    def open(self, tables: Tables) -> None:
        """Open new tables; results from the old ones are dropped.

        Raises:
            Forbidden: the user may not open these tables.
        """
        if not tables.may_be_studied:
            require(Action.USE_REGISTERED if tables.registered else Action.OPEN_TABLES)
        self.tables, self.choices, self.problem = tables, None, None
        self._drop()
        self.own = _of_own_tables()
        if self.job is None:
            self._ask_of_open_table()
        # A plan does not apply to other tables.
        for key in [key for key in st.session_state if str(key).startswith(_PLANS)]:
            del st.session_state[key]

    def _drop(self) -> None:
        """Drop results from earlier tables or choices."""
        self.comparison = self.curves = None

    def declare(self, schema: Schema | None) -> None:
        """Set the declared schema of the open tables; results with another one are dropped."""
        if self.tables is not None and self.tables.schema != schema:
            self.tables.schema, self.problem = schema, None
            self._drop()

    def set_choices(self, choices: Choices) -> None:
        """Set the choices; what was prepared with others is dropped.

        No other method writes ``choices``, since :meth:`problem_for` prepares a problem only where they differ.
        """
        self.choices, self.problem = choices, None
        self._drop()

    def problem_for(self, choices: Choices) -> Problem:
        """Return the problem for these choices, prepared once.

        Raises:
            InputError: the tables do not fit the choices.
        """
        if self.tables is None:
            raise InputError("No tables are open; choose them on the Data page.")
        if self.problem is None or choices != self.choices:
            self.set_choices(choices)
            self.problem = prepared(self.tables, choices)
        return self.problem


def prepared(tables: Tables, choices: Choices) -> Problem:
    """Return the problem of these choices, whose public side is computed once.

    Raises:
        InputError: the tables do not fit the choices.
    """
    return tables.problem(choices, side=partial(_side, tables, choices))


def _side(tables: Tables, choices: Choices) -> PublicSide:
    """Return the public side of these choices, computed once."""
    of, rows, schema = (tables.private, tables.public, choices), tables.public_rows, tables.schema
    return _results(tables).sides.get(_key(tables, choices), lambda: public_side(*of, rows, schema=schema))


def findings_about(tables: Tables, choices: Choices) -> tuple[Finding, ...]:
    """Return all findings about tables, computed once for each choice of columns."""
    of, rows, side = (tables.private, tables.public, choices), tables.public_rows, partial(_side, tables, choices)
    make = partial(findings, *of, rows, declared=tables.schema, side=side)
    return _results(tables).findings.get(_key(tables, choices), make)


def _results(tables: Tables) -> PublicResults:
    """Return what is known of these tables: for all sessions where they were opened by name, else for this session.

    Nothing of own tables is cached for other sessions (decision 132).
    """
    return session().own if tables.named is None else _of_named_tables


def _key(tables: Tables, choices: Choices) -> tuple[str, str, str]:
    """Return the key of tables, choices and declared schema: a declaration decides nothing in other sessions."""
    return tables.key, repr(choices), repr(tables.schema)


def session() -> Session:
    """Return the state of this browser session; a new one has the demo open."""
    if begun() and not _may_stay_open(st.session_state[_KEY].tables):
        forget()
    if not begun():
        new = Session()
        new.open(demo_tables())
        st.session_state[_KEY] = new
    current: Session = st.session_state[_KEY]
    return current


def begun() -> bool:
    """Return whether this session has a state."""
    return _KEY in st.session_state


def _may_stay_open(tables: Tables | None) -> bool:
    """Return whether the user may still open these tables, since a role can be withdrawn at any time."""
    if tables is None or tables.may_be_studied:
        return True
    return actor().may(Action.USE_REGISTERED if tables.registered else Action.OPEN_TABLES)


def forget() -> None:
    """Delete all tables, uploads and results of this session, and release the memory."""
    st.session_state.clear()
    context = get_script_run_ctx()
    if context is not None:
        delete_uploads(context.session_id)
    release_memory()
    release_due.set()  # again after this run, whose own references are gone then


def delete_uploads(session_id: str) -> None:
    """Delete a session's uploads in Streamlit's storage, and the downloads made from them."""
    if not exists():
        return
    runtime = get_instance()
    runtime.uploaded_file_mgr.remove_session_files(session_id)
    runtime.media_file_mgr.clear_session_refs(session_id)
    runtime.media_file_mgr.remove_orphaned_files()


def demo_tables(**knobs: Any) -> Tables:
    """Return the synthetic demo."""
    return named_tables("demo", **knobs)


def named_tables(id: str, **knobs: Any) -> Tables:
    """Return tables by name."""
    private, public, reasons = named.load(id, **knobs)
    entry = named.entry(id)
    return Tables(private.sha256, entry.title, private, public, reasons, named=entry)


def current_problem() -> Problem:
    """Return the session's problem, with default choices where nothing was chosen.

    Raises:
        InputError: the tables do not fit together.
    """
    current = session()
    if current.tables is None:
        raise InputError("No tables are open; choose them on the Data page.")
    return current.problem_for(current.choices or current.tables.first)


def quick() -> QuickComparison | None:
    """Return the quick comparison on the open tables; ``None`` for own tables, or where it would be slow.

    Raises:
        InputError: the methods do not fit the tables.
    """
    current = session()
    problem, tables = current.problem, current.tables
    if problem is None or tables is None or not current.is_study or not is_quick(problem):
        return None
    return remember((tables.key, repr(problem.choices)), lambda: first_look(problem))


def findings_of_tables() -> tuple[Finding, ...]:
    """Return all findings about the open tables, computed once for each choice of columns."""
    current = session()
    if current.tables is None:
        return ()
    return findings_about(current.tables, current.choices or current.tables.first)


def what_stops() -> str | None:
    """Return the first finding that prevents a problem of the open tables; ``None`` without one."""
    return next((one.sentence for one in findings_of_tables() if one.stops), None)


def prediction_curves(problem: Problem) -> Curves:
    """Return the predictions of all methods on the open tables, as far as they were computed."""
    current = session()
    if current.curves is None:
        current.curves = Curves(problem.public, problem.private.n)
    return current.curves


def prospect(problem: Problem, request: Request) -> Preview:
    """Return cost and predictions of a request on the open tables, computed once.

    Raises:
        InputError: a parameter is out of range.
    """
    tables = session().tables
    if tables is None:
        return preview(problem, request)
    key = (*_key(tables, problem.choices), repr(request))
    return _results(tables).previews.get(key, lambda: preview(problem, request))


def curator() -> bool:
    """Return whether exact figures for the curator are switched on.

    The caller may show them, so releases from the open table state from then on that they were switched on.
    """
    if not st.session_state.get("curator", False) or not may_be_curator():
        return False
    current = session()
    if current.tables is not None:
        current.looked_at.add(current.tables.private.sha256)
    return True


def may_be_curator() -> bool:
    """Return whether the user may see exact figures of private rows."""
    return actor().may(Action.SEE_PRIVATE)
