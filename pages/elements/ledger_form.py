"""The ledger in the app: the data set that a spend counts against, and the spend itself."""

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from pages.elements.actors import actor, has_single_user, require
from pages.elements.controls import control
from pages.elements.session import current_problem, session
from pages.elements.widgets import amount, errors_shown, show_error
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.messages import InputError, PageWords, number_between
from pmtcore.base.numbers import rounded, unbroken
from pmtcore.base.roles import Action
from pmtcore.ledger.account import CAP_RANGE, START_CAP, Account
from pmtcore.ledger.agreements import PendingRequest
from pmtcore.ledger.fingerprint import LEAST_RECOGNISED
from pmtcore.ledger.log import Ledger, default_url
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.releases import register
from pmtcore.releases.outcome import before_spend
from pmtcore.releases.progress import Progress
from pmtcore.releases.record import Release
from pmtcore.releases.register import Tables, ask
from pmtcore.releases.release import Request, recorded_release, refuse_known_public_rows, release
from pmtcore.report.ledger_words import balance
from pmtcore.report.names import suggested_name
from pmtcore.report.strength import strength
from pmtcore.tables.fingerprint import hash_cells
from pmtcore.tables.problem import Problem
from pmtcore.tables.table import Table


def server_ledger(*, make: bool = True) -> Ledger:
    """Return the ledger of this server.

    Args:
        make: whether it is created where there is none.

    Raises:
        InputError: it cannot be used, or there is none.
    """
    return Ledger(default_url(), make=make)


@dataclass(frozen=True)
class SpendPlan:
    """Where a spend is entered.

    Attributes:
        dataset: whose cap it counts against; empty: it is not in the ledger, and the result is a lab figure.
        purpose: of the release.
        cap: to set with the first spend; ``None``: there is one.
        second: whether a second person has to agree.
        place: of the ledger, for its user; empty where the spend is in none.
    """

    dataset: str = ""
    purpose: str = ""
    cap: float | None = None
    second: bool = False
    place: str = ""

    def release(self, problem: Problem, request: Request, source: NoiseSource, key: str) -> Release:
        """Make the release, with its spend in the ledger if there is a data set.

        Raises:
            InputError: the ledger refuses the spend; then nothing was released.
        """
        return self.ready(problem, request, source, key)(None)

    def ready(
        self, problem: Problem, request: Request, source: NoiseSource, key: str
    ) -> Callable[[Progress | None], Release]:
        """Check the role, set the cap, and return the function that makes the release, for any thread."""
        exact_figures_shown = session().exact_figures_shown
        if not self.dataset:
            return lambda progress: release(problem, request, source, progress, exact_figures_shown=exact_figures_shown)
        require(Action.RELEASE)
        ledger = server_ledger()
        if self.cap is not None and ledger.account(self.dataset).cap is None:
            register.cap(actor(), ledger, self.dataset, self.cap)
        spend = {"dataset": self.dataset, "key": key, "purpose": self.purpose, "by": actor().name}

        def run(progress: Progress | None) -> Release:
            # A ledger of its own, since a connection belongs to its thread.
            recorded = recorded_release(
                problem,
                request,
                source,
                server_ledger(),
                progress=progress,
                exact_figures_shown=exact_figures_shown,
                **spend,
            )
            return recorded.release

        return run

    def ask(self, problem: Problem, request: Request, key: str) -> PendingRequest:
        """Ask a second person to agree to a release.

        Raises:
            InputError: the ledger refuses the request; nothing is spent in any case.
        """
        return ask(actor(), problem, request, server_ledger(), dataset=self.dataset, key=key, purpose=self.purpose)


def spend_form(mu: float) -> SpendPlan | None:
    """Draw the form of data set, purpose and cap; return the plan, or ``None`` where the spend is not possible."""
    with errors_shown():
        return _spend_plan(mu)
    return None


def _spend_plan(mu: float) -> SpendPlan | None:
    tables = session().tables
    if tables is None:
        return None
    if tables.may_be_studied and not st.toggle(
        **control("ledger-study", value=False), help=PageWords.LEDGER_OF_A_STUDY.sentence()
    ):
        return SpendPlan()
    with before_spend():
        ledger = server_ledger()
    events = ledger.verify()["events"]
    refuse_swapped(ledger, tables, events)
    recognised = recognised_data_sets(ledger, tables, events)
    # The data set whose rows these are, if the ledger recognises exactly one.
    suggestion = min(recognised) if len(recognised) == 1 else suggested_name(tables.title)
    # The fields are below each other, so that long names are not cut.
    name = tables.registered or st.text_input(
        **control("ledger-name", _key_suffix(tables), value=session().dataset or suggestion)
    )
    purpose = st.text_input(**control("ledger-purpose", _key_suffix(tables)))
    if not name.strip():
        raise InputError("Name the data set: a release that may leave has its spend in the ledger.")
    account = ledger.account(name, recognised - {name.strip()})
    try:
        check_cap(account, mu)
    except InputError as error:
        show_error(error)
        st.page_link("pages/work/budget.py", label="Caps and spends on Budget", icon=":material/account_balance:")
        return None
    if account.together:
        st.info(plain(PageWords.SPEND_TOGETHER.sentence(datasets=account.together)), icon=":material/link:")
    if not tables.registered and not recognised and has_other_rows(ledger, name.strip(), tables):
        other_rows(ledger, name.strip(), tables)
    if account.cap is None:
        cap = amount("ledger-cap", START_CAP, f"-{name}")
        number_between("cap", cap, *CAP_RANGE)
        if cap < mu:
            raise InputError(f"A release of mu = {rounded(mu)} is beyond this cap. Lower the budget, or raise the cap.")
        return SpendPlan(name, purpose, cap, account.second, displayed_place(ledger))
    st.caption(plain(balance(account)))
    if account.spent:
        total = account.total_with(mu)
        words = f"With the releases before it mu = {rounded(total)} in all. {strength(total).sentence}"
        st.markdown(plain(unbroken(words)))
    return SpendPlan(name, purpose, second=account.second, place=displayed_place(ledger))


def displayed_place(ledger: Ledger) -> str:
    """Return where the ledger is, for its user; without a path where the server has several users."""
    return ledger.place if has_single_user() else "the ledger on this server"


def _key_suffix(tables: Tables) -> str:
    """Return the end of the key of the control with the name of the data set."""
    return f"-{tables.key[:12]}"


def data_set(tables: Tables) -> str:
    """Return the data set that a release from the open tables counts against; empty where it is not in the ledger."""
    if tables.may_be_studied and not st.session_state.get("ledger-study"):
        return ""
    typed = str(st.session_state.get(f"ledger-name{_key_suffix(tables)}", "")).strip()
    return tables.registered or typed or session().dataset or suggested_name(tables.title)


def current_account() -> Account | None:
    """Return the account that a release from the open tables counts against; ``None`` without a data set.

    Data sets with the same rows are part of it once the form of Release has looked for them.
    """
    tables = session().tables
    name = "" if tables is None else data_set(tables)
    if tables is None or not name:
        return None
    looked_up = st.session_state.get("ledger-known", {})
    recognised: set[str] = next((names for (key, _), names in looked_up.items() if key == tables.key), set())
    with suppress(InputError):
        return server_ledger(make=False).account(name, recognised - {name})
    return Account(name, None, ())


def has_other_rows(ledger: Ledger, name: str, tables: Tables) -> bool:
    """Return whether the ledger has tables of this data set, and the open one has enough rows to be recognised.

    The answer reveals no more than :func:`recognised_data_sets`, which compares with noise (decision 226).

    Args:
        ledger: ledger that does not recognise the table under any name.
        name: of the data set.
        tables: that are open.
    """
    return tables.private.n >= LEAST_RECOGNISED and name in ledger.datasets_with_tables()


def other_rows(ledger: Ledger, name: str, tables: Tables) -> None:
    """Draw a note that the data set has other rows, and a button that gives the open ones another name."""
    names = {account.dataset for account in ledger.accounts()}
    free_name = next(other for number in itertools.count(2) if (other := f"{name} ({number})") not in names)
    st.warning(plain(PageWords.OTHER_TABLE.sentence(dataset=name)), icon=":material/difference:")
    key = f"ledger-name{_key_suffix(tables)}"
    label = f"Name it '{plain(free_name)}'"
    st.button(**control("ledger-rename"), label=label, on_click=lambda: st.session_state.update({key: free_name}))


def recognised_data_sets(ledger: Ledger, tables: Tables, events: int) -> set[str]:
    """Return the data sets whose rows the open table has, computed once for each table and length of the ledger.

    Args:
        ledger: ledger that may know the rows.
        tables: that are open.
        events: of the ledger.
    """
    recognised = st.session_state.setdefault("ledger-known", {})
    mark = (tables.key, events)
    if mark not in recognised:
        recognised.clear()
        dialect = tables.public.dialect if isinstance(tables.public, Table) else None
        cells = hash_cells(tables.private, ledger.fingerprint_key, dialect, most_rows=ledger.most_rows_hashed)
        recognised[mark] = set(ledger.recognised(cells))
    return set(recognised[mark])


def refuse_swapped(ledger: Ledger, tables: Tables, events: int) -> None:
    """Check that the open public rows are not private rows in the ledger; as :func:`recognised_data_sets`.

    Args:
        ledger: ledger that may know the rows.
        tables: that are open.
        events: of the ledger.

    Raises:
        InputError: they are; it names the data sets.
    """
    problem = current_problem()
    checked = st.session_state.setdefault("ledger-public", set())
    mark = (tables.key, events, problem.choices.overlap)
    if mark not in checked:
        refuse_known_public_rows(problem, ledger)
        checked.add(mark)


def check_cap(account: Account, mu: float) -> None:
    """Check, before the release, that one more spend of ``mu`` stays within the cap, as the ledger does at the spend.

    Raises:
        InputError: it does not, or the data set is retired.
    """
    if account.retired:
        raise InputError(f"This data set is retired ({account.retired}); nothing more is released from it.")
    if not account.fits(mu):
        raise InputError(f"This release would pass the cap. {balance(account)}")
