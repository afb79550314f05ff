"""Whole studies: the curator's bits, what leaves a site, who drops out when, and each site's ledger."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Unit
from pmtcore.base.messages import Party, ReleaseMessage, StudyError, StudyFault
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from pmtcore.releases import release as module
from pmtcore.releases.release import admit, release
from pmtcore.sites import parties, seals, sharing
from pmtcore.sites.boards import BoardMessage, FolderBoard, HttpBoard, MemoryBoard, serve_board
from pmtcore.sites.noise_shares import NoiseShares, share_scale
from pmtcore.sites.parties import Coordinator, join
from pmtcore.sites.rounds import Openings, Replay, SharedNoise
from pmtcore.sites.study import Site, Study, StudyContext, knowledge
from pmtcore.sites.transcript import OpenedPass, Transcript
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_path, table_from
from tests.sites.conftest import draw

pytestmark = pytest.mark.slow

SECOND = {"private": "-", "public": "-", "unit": Unit(1).as_dict(), "second": True, "schema": {}}
PATIENCE = 4.0  # seconds of the shared clock without a message until a site is lost


class Killed(BaseException):
    """The process ends here: no clean-up, no last word."""


class Dies:
    """A board at whose first message of a kind and pass the site is killed before it is sent."""

    def __init__(self, board, kind, step):
        self.board, self.kind, self.step = board, kind, step
        self.messages = board.messages

    def post(self, message):
        if message.kind == self.kind and message.step == self.step:
            raise Killed
        self.board.post(message)

    def read(self, after, reader):
        return self.board.read(after, reader)


class Shares(SeededNoise.__mro__[1]):
    """One curator's noise that is the sum of what sites would draw."""

    secure = False

    def __init__(self, sources):
        self.sources = sources

    def integers(self, sigma, trials, size):
        return sum(source.integers(sigma / np.sqrt(len(self.sources)), trials, size) for source in self.sources)

    def normal(self, trials, size):
        raise AssertionError

    spherical = words = normal


def curator(setup, names, source):
    """Return the release of the stacked table by one curator, with the noise that these sites add up to."""
    study = setup.context.study
    stacked = pd.concat([setup.frames[study.names.index(name)] for name in names])
    problem = prepare(table_from(stacked, "private", "private"), setup.context.table, study.choices)
    return release(problem, study.request_of(names), source)


def assert_same_bits(record, result):
    coefficients = result.as_dict()["coefficients"]
    assert record["coefficients"] == coefficients
    assert record["bands"] == result.as_dict()["bands"]
    assert record["n"] == result.n


@pytest.mark.parametrize(
    "method, family, colluders",
    [
        ("joint-pmt", "gaussian", 0),
        ("joint-pmt", "gaussian", 1),
        ("joint-moment", "gaussian", 1),
        ("pmt-gradients", "logistic", 0),
    ],
)
def test_a_study_has_the_bits_of_the_curator(study, method, family, colluders):
    """For the same noise: coordinator, sites and one curator of the stacked table; bands included."""
    setup = study(method=method, family=family, colluders=colluders)
    answers = setup.run()
    figures = curator(setup, setup.context.study.names, Shares([SeededNoise(1, at) for at in range(3)]))
    for record in answers.values():
        assert not isinstance(record, BaseException), record
        assert_same_bits(record, figures)
        assert record["guarantee"]["mu"] == 1.0
        if method == "joint-moment":
            assert record["released"]["joint_moment"]["guarantee"]["mu"] == 1.0
    assert answers[""]["study"]["noise_mu"] == pytest.approx(np.sqrt((3 - colluders) / 3))


def test_each_party_makes_one_plan(study, monkeypatch):
    """What a site spends and what it computes come from one plan: planning is most of the work for few rows."""
    setup, plans, planned = study(), [], module._planned
    monkeypatch.setattr(module, "_planned", lambda *arguments: plans.append(1) or planned(*arguments))
    assert not isinstance(setup.run()[""], BaseException)
    assert len(plans) == 3 + 1


def test_a_person_with_several_rows_spends_for_each(study):
    """Where a column says whose a row is, a site agrees to and spends the budget of one row for each of a person's."""
    setup = study(rows=(300, 200), person_rows=2)
    answers = setup.run()
    assert not isinstance(answers[""], BaseException), answers
    for name in setup.context.study.names:
        entry = setup.ledger(name).entry(setup.context.study.key(name))
        assert entry.mu == pytest.approx(2.0)
        assert answers[name]["guarantee"] == answers[""]["guarantee"]


@pytest.mark.parametrize("settings", [{}, {"method": "joint-moment", "site_effects": True}], ids=["rows", "effects"])
def test_a_site_whose_ledger_knows_the_public_rows_spends_nothing(study, settings):
    """It tells the coordinator, who does not wait for it."""
    setup = study(patience=600.0, **settings)
    public, others = setup.folder / "public.csv", setup.folder / "others.csv"
    draw(100, 55).to_csv(others, index=False)
    ledger = setup.ledger("s1")
    ledger.cap("survey", 3.0)
    admit(prepare(read_path(public, "private"), read_path(others, "public"), Choices(target="y")), ledger, "survey")
    began = setup.clock.monotonic()
    answers = setup.run()
    assert setup.clock.monotonic() - began < 600, "nobody waited for a site that had failed"
    assert answers["s1"].kind is ReleaseMessage.PUBLIC_ROWS_ARE_PRIVATE
    assert answers[""].kind is StudyFault.TOO_FEW_SITES
    assert setup.ledger("s1").account("s1").left == pytest.approx(3.0)


def test_ten_sites_of_which_one_is_killed(study):
    """The nine others' release, exactly."""
    setup = study(rows=(60, 50, 40, 70, 80, 90, 45, 55, 65, 75), least=5, colluders=3, patience=PATIENCE)
    setup.sources = {name: ZeroNoise() for name in setup.sources}
    answers = setup.run({"s4": Dies(setup.board, "share", 0)})
    rest = tuple(name for name in setup.context.study.names if name != "s4")
    assert_same_bits(answers[""], curator(setup, rest, ZeroNoise()))
    assert answers[""]["study"]["noise_mu"] == pytest.approx(np.sqrt(6 / 9))


class Leaves(FolderBoard):
    """A folder's board under which the coordinator is killed: at its own message, or when it reads a site's.

    A message of its own is written before it is killed where ``after`` says so.
    """

    def __init__(self, folder, kind, step=0, after=False):
        super().__init__(folder)
        self.kind, self.step, self.after = kind, step, after

    def post(self, message):
        if message.kind != self.kind or self.after:
            super().post(message)
        if message.kind == self.kind:
            raise Killed

    def read(self, after, reader):
        fields = super().read(after, reader)
        if any(message.sender and (message.kind, message.step) == (self.kind, self.step) for message in fields[0]):
            raise Killed
        return fields


@pytest.mark.parametrize(
    "phase",
    [
        ("here",),
        ("begin",),
        ("begin", 0, True),
        ("share",),
        ("ready",),
        ("sum",),
        ("share", 1),
        ("sum", 2),
        ("done",),
        ("stop",),
        ("stop", 0, True),
    ],
    ids=lambda phase: "-".join(map(str, phase)),
)
def test_a_coordinator_that_was_killed_goes_on_from_its_folder(study, phase):
    """In every phase: another one, with nothing but the study and the messages, leads to the curator's bits."""
    setup, answers = study(), {}
    folder = setup.folder / "board"
    folder.mkdir()

    def take_part(name):
        answers[name] = setup.site(name).run(FolderBoard(folder))

    with setup.clock.party():
        threads = [setup.clock.thread(take_part, name) for name in setup.context.study.names]
        for thread in threads:
            thread.start()
        with pytest.raises(Killed):
            Coordinator(setup.context, Leaves(folder, *phase)).run()
        context = StudyContext.of(setup.context.study, str(setup.folder))
        answers[""] = Coordinator(context, FolderBoard(folder)).run()
    for thread in threads:
        thread.join()
    figures = curator(setup, setup.context.study.names, Shares([SeededNoise(1, at) for at in range(3)]))
    assert set(answers) == {"", *setup.context.study.names}
    for name, record in answers.items():
        assert_same_bits(record, figures)
        if name:
            entry = setup.ledger(name).entry(setup.context.study.key(name))
            assert (entry.mu, entry.state) == (1.0, "released")
    begun = [message for message in FolderBoard(folder).read(0, "")[0] if message.kind == "begin"]
    assert len(begun) == 1, "it goes on with the attempt that was begun"


@pytest.mark.parametrize("curious", ["s0", "s2"])
def test_nothing_unmasked_leaves_a_site(study, monkeypatch, curious):
    """All messages, opened with a curious site's key where they can be, hold no sum of another site, noisy or not."""
    private, add = [], NoiseShares.add

    def recorded(self, values, scale):
        noisy = add(self, values, scale)
        if self.source is not setup.sources[curious]:
            private.extend([*values, *noisy])
        return noisy

    monkeypatch.setattr(NoiseShares, "add", recorded)
    setup = study()
    assert not isinstance(setup.run()[""], BaseException)
    keys = seals.Keys.read(setup.folder / curious / "keys.json")
    bodies = []
    for message in setup.board.messages:
        if message.kind == "share":
            body = seals.data(message.body)
            bodies.append(keys.open(body)[32:] if message.to == curious else body)
        elif message.kind == "sum":
            bodies.append(seals.data(message.body))
        else:
            assert len(message.body) < 40
    words = {body[at : at + 16] for body in bodies for at in range(0, len(body) - 15)}
    sought = {sharing.to_bytes(sharing.encode([value])) for value in private}
    assert len(sought) > 50
    assert not words & sought
    opened = sharing.to_bytes(sharing.total(sharing.from_bytes(body) for body in bodies[-3:]))
    assert not {opened[at : at + 16] for at in range(0, len(opened), 16)} & sought


@pytest.mark.parametrize("kind", ["share", "ready"])
def test_a_site_lost_before_the_first_opening_is_done_without(study, kind):
    """The release is the one of the sites that answered; the lost site's spend stands, its rows are not in it."""
    setup = study(least=2, patience=PATIENCE)
    setup.sources = {name: ZeroNoise() for name in setup.sources}
    answers = setup.run({"s1": Dies(setup.board, kind, 0)})
    assert isinstance(answers["s1"], Killed)
    assert answers[""]["study"]["answered"] == ["s0", "s2"]
    assert_same_bits(answers[""], curator(setup, ("s0", "s2"), ZeroNoise()))
    assert_same_bits(answers["s0"], curator(setup, ("s0", "s2"), ZeroNoise()))
    key = setup.context.study.key
    assert setup.ledger("s0").entry(key("s0")).state == "released"
    assert setup.ledger("s1").entry(key("s1")).state == "reserved"


@pytest.mark.parametrize("step", [0, 2])
def test_a_site_lost_while_a_pass_is_opened_ends_the_study_without_a_release(study, step):
    """Nothing is released, at no site and by no coordinator; every ledger says so."""
    setup = study(least=2, patience=1.5)
    answers = setup.run({"s1": Dies(setup.board, "sum", step)})
    assert answers[""].kind is StudyFault.LOST
    assert isinstance(answers["s1"], Killed)
    for name in ("s0", "s2"):
        assert answers[name].kind is StudyFault.STOPPED
        assert setup.ledger(name).entry(setup.context.study.key(name)).state == "failed"
    late = [m for m in setup.board.messages if m.kind == "sum" and m.step == step]
    assert len({m.sender for m in late}) < 3


@pytest.mark.parametrize("method, family", [("joint-pmt", "gaussian"), ("pmt-gradients", "logistic")])
@pytest.mark.parametrize("kind, step, colluders", [("share", 1, 0), ("ready", 2, 1)])
def test_a_site_lost_after_the_first_opening_is_done_without(study, monkeypatch, method, family, kind, step, colluders):
    """Later totals are of the others' rows, scaled up; noise for the fewest honest of them; bands as much wider."""
    asked, summed, add = [], [], NoiseShares.add

    def recorded(self, values, scale):
        asked.append((self.planned, self.answering))
        noisy = add(self, values, scale)
        summed.extend(map(int, noisy))
        return noisy

    monkeypatch.setattr(NoiseShares, "add", recorded)
    setup = study(method=method, family=family, least=2, colluders=colluders, patience=3.0)
    setup.sources = {name: ZeroNoise() for name in setup.sources}
    answers = setup.run({"s1": Dies(setup.board, kind, step)})
    assert isinstance(answers["s1"], Killed)
    record, study_of = answers[""], setup.context.study
    assert not isinstance(record, BaseException), record
    assert record["study"]["answered"] == ["s0", "s1", "s2"]
    passes = record["study"]["passes"]
    assert passes[: step + 1] == [["s0", "s1", "s2"]] * step + [["s0", "s2"]]
    assert {tuple(names) for names in passes[step:]} == {("s0", "s2")}
    expected = 900 / 700 * np.sqrt((1 - colluders / 3) / (1 - colluders / 2))
    assert record["study"]["widening"] == pytest.approx(expected)
    assert set(asked) == {(3, 3), (3, 2)}
    for name in ("s0", "s2"):
        assert answers[name]["coefficients"] == record["coefficients"]
        assert answers[name]["bands"] == record["bands"]
        assert setup.ledger(name).account(name).spent == 1.0
    assert setup.ledger("s1").entry(study_of.key("s1")).state == "reserved"
    again = setup.site("s1").run(setup.board)
    assert again["coefficients"] == record["coefficients"]
    assert setup.ledger("s1").account("s1").spent == 1.0
    transcript = Transcript(study_of, setup.board)
    transcript.update()
    monkeypatch.setattr(Study, "widening", lambda *_: 1.0)
    names, replayed = transcript.planned, SharedNoise(study_of, Replay(transcript), None)
    plain = parties._run(study_of, names, replayed, setup.context.problem(names)).as_dict()
    for name, band in record["bands"].items():
        other = plain["bands"][name]
        assert band["high"] - band["low"] == pytest.approx(expected * (other["high"] - other["low"]))
        assert band["privacy"] == pytest.approx(expected * other["privacy"])
    mus = [each["mu"] for each in record["study"]["knowledge"]]
    assert mus[1] == pytest.approx(np.sqrt((2 - colluders) / 1))


def test_a_later_total_is_scaled_up_to_the_planned_rows(study):
    """Rows 300 and 400 of 900: times 9/7, to the nearest integer, of any size and sign."""

    class Opens:
        def total(self, step, values):
            names = ("s0", "s1", "s2") if step == 0 else ("s0", "s2")
            return OpenedPass(names, (7, -7, 10**30))

    source = SharedNoise(study().context.study, Opens(), None)
    zeros = np.zeros((1, 3), dtype=np.int64)
    for expected in ([7, -7, 10**30], [9, -9, (10**30 * 18 + 7) // 14]):
        assert list(source.noisy([(zeros, 1.0)], 1)[0][0]) == expected


@pytest.mark.parametrize("count, colluders", [(120, 0), (120, 45), (101, 39)])
def test_a_ring_of_masks_holds_together_without_the_colluders(study, count, colluders):
    """Masks go both ways; whichever sites collude, cut out in a row or at random, the others are linked."""
    changed = dataclasses.replace(
        study().context.study,
        sites=tuple(Site(f"s{at}", 1) for at in range(count)),
        least=count,
        colluders=colluders,
    )
    near = {name: set(changed.neighbours(changed.names, name)) for name in changed.names}
    assert all(name in near[other] for name in near for other in near[name])
    assert {len(others) for others in near.values()} == {2 * ((max(40, colluders + 1) + 1) // 2)}
    half = (colluders + 1) // 2
    cut = [*range(half), *range(count // 2, count // 2 + colluders - half)]
    for gone in (cut, *(np.random.default_rng(at).choice(count, colluders, replace=False) for at in range(20))):
        left = set(changed.names) - {changed.names[at] for at in gone}
        reached, front = set(), {min(left)}
        while front:
            reached |= front
            front = {other for name in front for other in near[name] & left} - reached
        assert reached == left


@pytest.mark.parametrize("planned, answering, colluders", [(3, 3, 1), (5, 3, 2), (10, 4, 0), (7, 2, 1)])
def test_the_fewest_honest_shares_of_a_later_pass_keep_its_budget(planned, answering, colluders):
    """Whoever is left: honest shares have the variance that one curator needs, by an independent formula."""
    needed = 2.0**40  # one curator's scale at the budget
    total = needed * np.sqrt(planned / (planned - colluders))  # what the method plans with
    share = share_scale(total, planned, answering, colluders)
    assert (answering - colluders) * share**2 == pytest.approx(needed**2)


def test_a_sum_that_was_written_down_is_published_when_the_site_runs_again(study):
    """Killed between disk and board: the same message, no second one, and the release of all."""
    setup = study(least=2, patience=20.0)
    setup.sources = {name: ZeroNoise() for name in setup.sources}
    again = {}

    def come_back():
        while not list((setup.folder / "s1").glob("*-opened-1")):
            setup.clock.sleep(0.02)
        setup.clock.sleep(0.5)
        again["s1"] = setup.site("s1").run(setup.board)

    thread = setup.clock.thread(come_back)
    thread.start()
    answers = setup.run({"s1": Dies(setup.board, "sum", 1)})
    thread.join()
    figures = curator(setup, setup.context.study.names, ZeroNoise())
    for record in (answers[""], answers["s0"], again["s1"]):
        assert_same_bits(record, figures)
    assert len([m for m in setup.board.messages if (m.sender, m.kind, m.step) == ("s1", "sum", 1)]) == 1
    assert setup.ledger("s1").account("s1").spent == 1.0


@pytest.mark.parametrize("kind, step", [("share", 0), ("ready", 1), ("share", 2)])
def test_a_site_that_comes_back_costs_a_try_and_no_budget(study, kind, step):
    """Killed before an opening and started again: the release of all rows, and one spend in its ledger."""
    setup = study(least=2, patience=20.0)
    setup.sources = {name: ZeroNoise() for name in setup.sources}
    again = {}

    def come_back():
        while not any(m.step == step and m.kind == "share" for m in setup.board.messages):
            setup.clock.sleep(0.02)
        setup.clock.sleep(0.5)
        again["s1"] = setup.site("s1").run(setup.board)

    thread = setup.clock.thread(come_back)
    thread.start()
    answers = setup.run({"s1": Dies(setup.board, kind, step)})
    thread.join()
    figures = curator(setup, setup.context.study.names, ZeroNoise())
    for record in (answers[""], answers["s0"], again["s1"]):
        assert_same_bits(record, figures)
    ledger = setup.ledger("s1")
    assert ledger.account("s1").spent == 1.0
    assert ledger.entry(setup.context.study.key("s1")).state == "released"


def test_a_site_over_its_cap_refuses_and_the_others_go_on(study):
    """Its cap was lowered after it agreed: no spend, no message of its rows, the study goes on as declared."""
    setup = study(least=2)
    setup.ledger("s1").cap("s1", 0.5)
    answers = setup.run()
    assert isinstance(answers["s1"], LedgerError)
    assert setup.ledger("s1").entry(setup.context.study.key("s1")) is None
    assert answers[""]["study"]["answered"] == ["s0", "s2"]
    assert {m.kind for m in setup.board.messages if m.sender == "s1"} == {"failed"}


def test_too_few_sites_stop_the_study_before_anything_is_opened(study):
    """A declined agreement is a veto; with it fewer answer than the study asks for."""
    setup = study(least=3)
    setup.ledger("s1").agreements.answer(setup.context.study.key("s1"), False, "somebody else", "not for this purpose")
    answers = setup.run()
    assert answers[""].kind is StudyFault.TOO_FEW_SITES
    assert not [m for m in setup.board.messages if m.kind in ("share", "sum")]


@pytest.mark.parametrize("person_rows", [None, 3], ids=["a row each", "three rows each"])
@pytest.mark.parametrize("colluders", [0, 1, 2])
def test_rows_at_two_sites_are_as_open_as_to_whoever_learns_most(study, colluders, person_rows):
    """A site that takes its own noise off sees both shifts through less noise: never less than twice any figure."""
    asked = study(rows=(300, 200, 400, 100), colluders=colluders, person_rows=person_rows).context.study
    *single, person = knowledge(asked, 4)
    assert person.party is Party.PERSON_IN_TWO_SITES
    assert person.mu == 2 * (person_rows or 1) * max(one.mu for one in single)
    assert person.mu >= 2 * asked.mu_against(1, 4)


@pytest.mark.slow
@pytest.mark.parametrize("agreed", ["this table", "another table", "nobody"])
def test_a_data_set_of_a_second_person_is_released_only_as_they_agreed(study, agreed):
    """The agreement holds a digest of one table; without it, or of another table, nothing is spent."""
    setup = study(least=2)
    ledger, context = setup.ledger("s1"), setup.context
    ledger.cap("guarded", 3.0)
    ledger.note("guarded", "register", SECOND)
    folder, key = setup.folder / "again", context.study.key("s1")
    with pytest.raises(StudyError) as error:
        join(context, "s1", folder, ledger, dataset="guarded", by="curator")
    assert error.value.kind is StudyFault.NEEDS_TABLE
    assert not folder.exists()
    asks = Ledger(str(setup.folder / "second.db"))
    asks.cap("guarded", 3.0)
    asks.note("guarded", "register", SECOND)
    table = setup.table("s1") if agreed != "another table" else setup.table("s0")
    joined = join(context, "s1", folder, asks, dataset="guarded", by="curator", table=table)
    context = StudyContext(context.study.with_keys([joined]), context.table, context.side)
    if agreed != "nobody":
        asks.agreements.answer(key, True, "a second person")
    site = dataclasses.replace(setup.site("s1"), context=context, folder=folder, ledger=asks, dataset="guarded")
    site = dataclasses.replace(site, by="curator")
    if agreed == "this table":
        assert site._spend() is None
        assert asks.account("guarded").spent == 1.0
    else:
        with pytest.raises(LedgerError):
            site._spend()
        assert asks.account("guarded").spent == 0.0


def test_the_spend_is_in_the_ledger_before_a_row_is_summed(study, monkeypatch):
    """Whenever a site adds noise to a sum, its ledger has the spend already."""
    setup, states, add = study(), [], NoiseShares.add

    def asked(self, values, scale):
        name = next(name for name, source in setup.sources.items() if source is self.source)
        states.append(setup.ledger(name).entry(setup.context.study.key(name)).state)
        return add(self, values, scale)

    monkeypatch.setattr(NoiseShares, "add", asked)
    setup.run()
    assert states
    assert set(states) == {"reserved"}


def test_a_cap_that_the_plan_would_pass_is_a_veto_at_once(study):
    """A site cannot agree to what its cap does not allow."""
    with pytest.raises(LedgerError):
        study(cap={"s1": 0.5})


def test_a_pass_is_opened_once_and_under_one_plan(study, tmp_path):
    """Whatever a coordinator says, a site publishes its sum of a pass once, and later passes are of the same plan."""
    openings = Openings(tmp_path, study().context.study)
    openings.require_plan(("s0", "s1"))
    first = BoardMessage("study", "s0", "sum", 1, 0, body="one")
    openings.record(first, ("s0", "s1"))
    with pytest.raises(StudyError) as error:
        openings.record(dataclasses.replace(first, attempt=2), ("s0",))
    assert error.value.kind is StudyFault.OPENED_BEFORE
    openings.require_plan(("s0", "s1"))
    for other in (("s0",), ("s0", "s1", "s2")):
        with pytest.raises(StudyError) as error:
            openings.require_plan(other)
        assert error.value.kind is StudyFault.SITES_CHANGED


@pytest.mark.parametrize("change", [{"body": "other"}, {"sender": "s1"}, {"step": 4}, {"signature": ""}, {"study": ""}])
def test_what_a_site_did_not_sign_counts_as_not_sent(study, change):
    """A changed body, sender, pass, study or signature: the message is passed over."""
    setup = study()
    keys = seals.Keys.read(setup.folder / "s0" / "keys.json")
    plain = BoardMessage(setup.context.study.digest, "s0", "ready", 1, 0, "", "text")
    good = dataclasses.replace(plain, signature=keys.sign(plain.signed_bytes))
    for message, counts in ((good, 1), (dataclasses.replace(good, **change), 0)):
        board = MemoryBoard()
        board.post(message)
        transcript = Transcript(setup.context.study, board)
        transcript.update()
        assert sum(len(transcript.sent("ready", 1, step)) for step in range(5)) == counts


def test_boards_in_a_folder_and_over_http_keep_messages_in_order(study, tmp_path):
    """What one party posts the others read, once each, and a stranger's message is refused."""
    setup, folder = study(), tmp_path / "board"
    folder.mkdir()
    a_study = setup.context.study
    keys = seals.Keys.read(setup.folder / "s0" / "keys.json")
    board = FolderBoard(folder)
    with serve_board(board, a_study, "127.0.0.1", 0) as address:
        client = HttpBoard(address)
        for step in range(3):
            message = BoardMessage(a_study.digest, "s0", "ready", 1, step)
            client.post(dataclasses.replace(message, signature=keys.sign(message.signed_bytes)))
        messages, until = client.read(0, "s1")
        assert [message.step for message in messages] == [0, 1, 2]
        assert client.read(until, "s1") == ([], until)
        for stranger in (BoardMessage(a_study.digest, "s0", "ready"), BoardMessage(a_study.digest, "", "begin", 1)):
            with pytest.raises(StudyError) as error:
                client.post(stranger)
            assert error.value.kind is StudyFault.UNREACHABLE
    assert len(list(folder.iterdir())) == 3


def test_a_study_file_reads_back_and_names_what_was_agreed_to(study):
    """Same digest after reading; another budget, site or public file is another study."""
    a_study = study().context.study
    assert Study.from_json(a_study.as_json().encode()).digest == a_study.digest
    other = dataclasses.replace(a_study, colluders=1)
    assert other.plan_digest != a_study.plan_digest
    with pytest.raises(StudyError) as error:
        other.with_keys([{"site": "s0", "plan": a_study.plan_digest, "seal": "", "verify": ""}])
    assert error.value.kind is StudyFault.OTHER_STUDY
