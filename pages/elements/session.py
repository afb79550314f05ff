"""What one browser session holds. Private rows live here and nowhere else: never in a shared cache."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import uuid4

import streamlit as st
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.elements.actors import actor, require
from pmtcore.auditing.comparison import Comparison
from pmtcore.base.memory import asked, release_memory
from pmtcore.base.messages import InputError
from pmtcore.base.roles import Action
from pmtcore.public.moments import PublicData
from pmtcore.releases.job import Job
from pmtcore.releases.planning import Curves
from pmtcore.releases.record import Release
from pmtcore.releases.register import Tables
from pmtcore.releases.release import Preview, Request, preview
from pmtcore.report.first_look import QuickComparison, first_look, is_quick, remember
from pmtcore.tables import named
from pmtcore.tables.choices import Choices
from pmtcore.tables.findings import Finding, findings
from pmtcore.tables.problem import Problem
from pmtcore.tables.schema import Schema

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_KEY = "second_moment"
# Keys of what was planned, and of the method and budget on Release.
_PLANS = ("plan", "release-method-", "release-unit", "release-mu", "release-rho", "release-epsilon", "release-delta")
_PREVIEWS = 30  # kept: each is some vectors of the number of columns
# Of tables opened by name, kept between sessions: public sides of some megabytes each, previews of some kilobytes.
_MOST_PUBLIC_SIDES, _MOST_PREVIEWS = 8, 100
_public_sides: OrderedDict[tuple[str, str], PublicData] = OrderedDict()
_known_previews: OrderedDict[tuple[str, str, str], Preview] = OrderedDict()


@dataclass(slots=True)
class Session:
    """Everything a session keeps between reruns; one object under one key.

    ``releases`` is keyed by request id, made when the confirmation is shown: a second click, a rerun or a
    page change finds the id already there and spends nothing.
    """

    tables: Tables | None = None
    choices: Choices | None = None
    problem: Problem | None = None
    releases: dict[str, Release] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)  # request id: digest of the private table it was spent on
    titles: dict[str, str] = field(default_factory=dict)  # request id: of which table, and when
    datasets: dict[str, str] = field(default_factory=dict)  # request id: the data set in the ledger, where it is there
    chosen: dict[str, Choices] = field(default_factory=dict)  # request id: what was fitted
    next_request: str = field(default_factory=lambda: uuid4().hex)
    comparison: Comparison | None = None
    curves: Curves | None = None
    findings: tuple[tuple[str, ...], tuple[Finding, ...]] | None = None  # with what they were looked for in
    # Choices and request: what it would cost on the open tables, where somebody brought them.
    previews: OrderedDict[tuple[str, str], Preview] = field(default_factory=OrderedDict)
    job: Job | None = None  # the release that is under way
    looked_at: set[str] = field(default_factory=set)  # digests of private tables with exact figures switched on

    @property
    def studied(self) -> bool:
        """Return whether tables are open that anybody may study."""
        return self.tables is not None and self.tables.may_be_studied

    @property
    def exact_figures_shown(self) -> bool | None:
        """Return whether exact figures of the open private table were switched on; None where anybody may study it."""
        if self.tables is None or self.studied:
            return None
        return self.tables.private.sha256 in self.looked_at

    @property
    def spent(self) -> list[Release]:
        """Return releases that cost something on the private table that is open, oldest first."""
        if self.tables is None:
            return []
        return [self.releases[id] for id in self.released if self.releases[id].guarantee.mu > 0]

    @property
    def released(self) -> list[str]:
        """Return the ids of the releases from the private table that is open, oldest first."""
        here = "" if self.tables is None else self.tables.private.sha256
        return [id for id in self.releases if self.sources[id] == here]

    @property
    def dataset(self) -> str:
        """Return the data set in the ledger that the open private table was last released under; empty without one."""
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
        """File a release under the request id that was confirmed; the Release page's own where none is given.

        Args:
            request: what was asked for.
            release: what came of it.
            id: of the request.
            source: digest of the private table; the open one's where none is given.
            choices: what was fitted, where the Release page should know when that is no longer chosen.
            dataset: the data set in the ledger that it was counted against; empty where it is in none.
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
        """Give the next request on Release a key of its own."""
        self.next_request = uuid4().hex

    def begin_request(self) -> None:
        """Ask anew on Release: a release that stands there is among the earlier ones from then on."""
        if self.next_request in self.releases:
            self.renew_request()
            # The form is another page than the release was: it begins at its top.
            st.session_state["page-open"] = ""

    def _ask_of_open_table(self) -> None:
        """Show the last release from the open table on Release, or a form: never the release from another table."""
        own = [id for id in self.released if id in self.chosen]  # Explore shows its own
        if own:
            self.next_request = own[-1]
        else:
            self.begin_request()

    def open(self, tables: Tables) -> None:
        """Take up new tables; what was computed from the old ones is dropped.

        Raises:
            Forbidden: private tables of one's own are for curators.
        """
        if not tables.may_be_studied:
            require(Action.USE_REGISTERED if tables.registered else Action.OPEN_TABLES)
        self.tables, self.choices, self.problem = tables, None, None
        self._drop()
        if self.job is None:
            self._ask_of_open_table()
        # A plan is for the tables that it was made for: others begin with their own method and budget.
        for key in [key for key in st.session_state if str(key).startswith(_PLANS)]:
            del st.session_state[key]

    def _drop(self) -> None:
        """Drop what was computed from tables or choices before these."""
        self.comparison = self.curves = None
        self.previews.clear()

    def declare(self, schema: Schema | None) -> None:
        """Take a declared schema for the open tables; what was computed with another one is dropped."""
        if self.tables is not None and self.tables.schema != schema:
            self.tables.schema, self.problem = schema, None
            self._drop()

    def take(self, choices: Choices) -> None:
        """Go on with these choices; what was prepared with others is dropped.

        Nobody else writes ``choices``: :meth:`choose` prepares anew only where they differ from the last ones.
        """
        self.choices, self.problem = choices, None
        self._drop()

    def choose(self, choices: Choices) -> Problem:
        """Return the problem for these choices, prepared once.

        Raises:
            InputError: the tables do not fit the choices.
        """
        if self.tables is None:
            raise InputError("No tables are open; choose them on the Data page.")
        if self.problem is None or choices != self.choices:
            self.take(choices)
            self.problem = prepared(self.tables, choices)
        return self.problem


def prepared(tables: Tables, choices: Choices) -> Problem:
    """Return the problem of these choices, with the public side of earlier sessions where a table's name opened it.

    Public side alone: what was computed of it there (predictions, priors) is not computed again. Of tables that
    somebody brought nothing is kept between sessions.

    Raises:
        InputError: the tables do not fit the choices.
    """
    made = tables.problem(choices)
    if tables.named is None:
        return made
    key = tables.key, repr((made.choices, tables.schema))
    return replace(made, public=_known(_public_sides, key, lambda: made.public, _MOST_PUBLIC_SIDES))


def _known(known: OrderedDict[Key, Value], key: Key, make: Callable[[], Value], most: int) -> Value:
    """Return what earlier sessions have under a key, else what is made now; the least recently used go first."""
    value = known.pop(key, None)
    known[key] = value = make() if value is None else value
    while len(known) > most:
        known.popitem(last=False)
    return value


def session() -> Session:
    """Return this browser session's state; a new one opens on the demo."""
    if begun() and not _may_keep(st.session_state[_KEY].tables):
        forget()
    if not begun():
        made = Session()
        made.open(demo_tables())
        st.session_state[_KEY] = made
    current: Session = st.session_state[_KEY]
    return current


def begun() -> bool:
    """Return whether this session holds anything yet."""
    return _KEY in st.session_state


def _may_keep(tables: Tables | None) -> bool:
    """Return whether whoever is at the screen may still open these tables: a role may be taken back at any time."""
    if tables is None or tables.may_be_studied:
        return True
    return actor().may(Action.USE_REGISTERED if tables.registered else Action.OPEN_TABLES)


def forget() -> None:
    """Drop every table, upload and result of this session, and hand the memory back."""
    st.session_state.clear()
    context = get_script_run_ctx()
    if context is not None:
        delete_uploads(context.session_id)
    release_memory()
    asked.set()  # once more when this run is over: what carried the data here is free by then


def delete_uploads(session_id: str) -> None:
    """Delete a session's uploads where Streamlit keeps them, and the downloads made from them."""
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
    """Return the session's problem; with first guesses where nothing was chosen yet.

    Raises:
        InputError: the tables do not fit together.
    """
    current = session()
    if current.tables is None:
        raise InputError("No tables are open; choose them on the Data page.")
    return current.choose(current.choices or current.tables.first)


def quick() -> QuickComparison | None:
    """Return the quick comparison of the open tables; ``None`` for somebody's own, or where it is not quick.

    Raises:
        InputError: the methods do not fit the tables.
    """
    current = session()
    problem, tables = current.problem, current.tables
    if problem is None or tables is None or not current.studied or not is_quick(problem):
        return None
    return remember((tables.key, repr(problem.choices)), lambda: first_look(problem))


def of_open_tables() -> tuple[Finding, ...]:
    """Return all findings about the open tables, looked for once for each choice of columns."""
    current = session()
    if current.tables is None:
        return ()
    tables, chosen = current.tables, current.choices or current.tables.first
    mark = (tables.key, repr(chosen), repr(tables.schema))
    if current.findings is None or current.findings[0] != mark:
        every = findings(tables.private, tables.public, chosen, tables.public_rows, declared=tables.schema)
        current.findings = (mark, every)
    return current.findings[1]


def what_stops() -> str | None:
    """Return the first sentence that Data has about the open tables where no problem can be made of them."""
    return next((one.sentence for one in of_open_tables() if one.stops), None)


def prediction_curves(problem: Problem) -> Curves:
    """Return the predictions of all methods on the open tables, filled as far as somebody asked."""
    current = session()
    if current.curves is None:
        current.curves = Curves(problem.public, problem.private.n)
    return current.curves


def prospect(problem: Problem, request: Request) -> Preview:
    """Return the request's cost and prospects on the open tables, computed once.

    Raises:
        InputError: a parameter is out of range.
    """
    current = session()
    key = repr(problem.choices), repr(request)
    tables = current.tables
    if tables is not None and tables.named is not None:
        named_key = tables.key, repr((problem.choices, tables.schema)), repr(request)
        return _known(_known_previews, named_key, lambda: preview(problem, request), _MOST_PREVIEWS)
    return _known(current.previews, key, lambda: preview(problem, request), _PREVIEWS)


def curator() -> bool:
    """Return whether the person at the screen switched on figures for the curator's eyes.

    Whoever asks may show them, so a release from the open table says from then on that they were switched on.
    """
    if not st.session_state.get("curator", False) or not may_be_curator():
        return False
    current = session()
    if current.tables is not None:
        current.looked_at.add(current.tables.private.sha256)
    return True


def may_be_curator() -> bool:
    """Return whether the person at the screen may see exact figures of private rows."""
    return actor().may(Action.SEE_PRIVATE)
