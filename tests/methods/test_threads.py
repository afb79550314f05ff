"""Threads and cuts change no bit of any method, whatever order blocks are done in; memory grows by a block each."""

from __future__ import annotations

import pickle
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base import memory, private_rows, threads
from pmtcore.base.block_sums import block_sum
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.memory import LEAST_KEPT
from pmtcore.base.messages import InputError
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import LOGISTIC, family
from pmtcore.glm.rows import Rows
from pmtcore.mechanisms import randomizers, whitening
from pmtcore.mechanisms.minimizer import derivative_sums, row_pieces
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.mechanisms.quantized_rows import Quantizer, bytes_kept
from pmtcore.methods.registry import make_parameters, method, methods
from pmtcore.public.moments import INTERCEPT, public_from_rows
from pmtcore.tables import lines
from pmtcore.tables.choices import Choices
from pmtcore.tables.fingerprint import hash_cells
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_table, table_from
from tests.helpers import TEST, refused

ROWS, PUBLIC = 900, 80
NAMES = (INTERCEPT, "a", "b")
SOUND = [entry for entry in methods() if entry.standing is ReleaseStatus.SOUND]
# These whiten by products of integers, or not at all: the same bits for a row at any place of any block.
EXACT_PRODUCTS = {"joint-pmt", "joint-moment", "pmt-gradients", "response-moment", "ada-ssp"}


@pytest.fixture(autouse=True)
def _shared_however_few_the_rows(monkeypatch):
    monkeypatch.setattr(threads, "_FEWEST_NUMBERS", 0)
    yield
    threads.set_threads(None)


def rows(chosen):
    """Features and responses that suit a family, with an intercept where the method's task has one."""
    rng = np.random.default_rng(5)
    x = np.column_stack([np.ones(ROWS), rng.normal(size=ROWS), 3 + 2 * rng.normal(size=ROWS)])
    y = x @ [0.2, 1.0, -0.4] + 0.5 * rng.normal(size=ROWS)
    return x, (y > np.median(y)).astype(float) if family(chosen).binary else y


def cut(x, y, size, names):
    """Return the same rows in blocks of a size; each block is slower than the one after it."""
    return PrivateRows(lambda: ((x[at : at + size], y[at : at + size]) for at in range(0, len(y), size)), len(y), names)


def released(entry, many, size, keeps=LEAST_KEPT, **values):
    """Return the coefficients at one seed, with so many threads and blocks of a size."""
    x, y = rows(entry.families[0])
    first = 1 if entry.task == "nonlinear" else 0  # of these a link takes the place of the intercept
    x, names = x[:, first:], NAMES[first:]
    public = public_from_rows(x[:PUBLIC] + 0.01, y[:PUBLIC], names, "y", family=family(entry.families[0]))
    threads.set_threads(many)
    plan = entry.plan(public, ROWS, Budget(1.0), make_parameters(entry, values))
    table = cut(x, y, size, names)
    table._keeps = keeps
    return np.asarray(plan.run(table, SeededNoise(3), 2).coefficients)


@pytest.mark.parametrize("entry", methods(), ids=lambda entry: entry.id)
def test_threads_change_no_bit(entry):
    """Of every method of the registry: one, two, three and seven threads; a method that refuses refuses with each."""
    try:
        expected = released(entry, 1, 100)
    except InputError as refusal:
        for many in (2, 3, 7):
            with refused(refusal.message, type(refusal), **refusal.facts):
                released(entry, many, 100)
        return
    for many in (2, 3, 7):
        np.testing.assert_array_equal(released(entry, many, 100), expected)


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        *((entry, {"steps": 10} if entry.id == "dp-gd" else {}) for entry in SOUND),
        (method("ldp-whitened"), {"randomizer": "privunit"}),
    ],
    ids=lambda given: getattr(given, "id", ""),
)
def test_cuts_and_what_is_kept_change_no_bit(entry, values, monkeypatch):
    """Blocks of other sizes, whitened in one piece or in many; all or none kept; any threads.

    Of a method that goes through blocks of a public size there are seven of these.
    """
    monkeypatch.setattr(private_rows, "_NUMBERS_OF_A_BLOCK", 1)
    monkeypatch.setattr(private_rows, "_ROWS_OF_A_PART", 128)
    monkeypatch.setattr(randomizers, "_CHUNK", 2**13)
    expected = released(entry, 1, ROWS, **values)
    monkeypatch.setattr(whitening, "_FEWEST", 64)
    monkeypatch.setattr(whitening, "MOST_COLUMNS", 64)
    some = 200 * 28
    for many, size, keeps in (
        (1, 7, 0),
        (2, 100, some),
        (3, ROWS, some),
        (7, 13, LEAST_KEPT),
        (2, 13, 0),
        (1, 100, LEAST_KEPT),
    ):
        np.testing.assert_array_equal(released(entry, many, size, keeps, **values), expected)


@pytest.mark.parametrize(
    "entry", [m for m in SOUND if not m.local and m.id not in EXACT_PRODUCTS], ids=lambda entry: entry.id
)
def test_a_product_in_floating_point_sees_blocks_of_a_public_size(entry, monkeypatch):
    """Last bits of a product may depend on a row's place in its block, so a table's own cuts must not decide it.

    Devices of the local model whiten a row of their own.
    """
    lengths = []

    def spied(blocks, function, *more):
        given = list(blocks)
        lengths[-1].append([len(response) for _, response in given])
        return block_sum(given, function, *more)

    monkeypatch.setattr(private_rows, "block_sum", spied)
    for size in (7, 100):
        lengths.append([])
        released(entry, 1, size)
    assert lengths[0] == lengths[1]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("cut", [1, 50, 128, 300, 1000])
def test_blocks_of_a_public_size_hold_the_rows_in_order(weighted, cut, monkeypatch):
    """Whatever the source's blocks are, in memory row by row; rows of zeros stand for those that are not there."""
    monkeypatch.setattr(private_rows, "_NUMBERS_OF_A_BLOCK", 1)
    monkeypatch.setattr(private_rows, "_ROWS_OF_A_PART", 128)
    rng = np.random.default_rng(1)
    x, y = np.asfortranarray(rng.standard_normal((700, 3))), rng.standard_normal((700, 2) if weighted else 700)
    source = ((x[at : at + cut], y[at : at + cut]) for at in range(0, 700, cut))
    table = PrivateRows(lambda: source, 900, NAMES, weighted=weighted).in_equal_blocks()
    blocks = list(table._blocks())
    assert [len(response) for _, response in blocks] == [128] * 7 + [4]
    assert all(features.flags.c_contiguous for features, _ in blocks)
    features, response = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    np.testing.assert_array_equal(features, np.concatenate([x, np.zeros((200, 3))]))
    np.testing.assert_array_equal(response, np.concatenate([y, np.zeros((200, *y.shape[1:]))]))


def test_rows_summed_elsewhere_are_read_here_where_blocks_have_a_public_size():
    """A cluster cuts a table by its parts; a solver's sums may not depend on that."""
    block = (np.ones((5, 3)), np.ones(5))
    table = PrivateRows(lambda: iter([block]), 5, NAMES, adder=lambda _: pytest.fail("summed elsewhere"))
    assert table.in_equal_blocks().sum(lambda x, y: y.sum()).reveal(TEST) == 5


def test_of_rows_kept_for_a_solver_nothing_else_stays(monkeypatch):
    """Products of columns for many fits at once would take more memory than the rows."""
    monkeypatch.setattr(private_rows, "_NUMBERS_OF_A_BLOCK", 1)
    monkeypatch.setattr(private_rows, "_ROWS_OF_A_PART", 128)
    rng = np.random.default_rng(2)
    table = PrivateRows.from_arrays(rng.standard_normal((500, 3)), np.ones(500), NAMES)
    pieces = row_pieces(table, lambda x, y: Rows(x, y, np.ones(len(y))))
    first = derivative_sums(pieces, LOGISTIC, np.zeros((20, 3)))
    again = derivative_sums(pieces, LOGISTIC, np.zeros((20, 3)))
    assert all(set(vars(piece)) == {"features", "response", "weights"} for block in pieces._pieces for piece in block)
    assert len(pieces._pieces) == 4 and all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_a_large_block_is_kept_in_parts(monkeypatch):
    """A wide table in memory is one block: threads share it, and each part is kept for the next pass."""
    monkeypatch.setattr(private_rows, "_NUMBERS_OF_A_PIECE", 400)
    x = np.random.default_rng(3).standard_normal((700, 3))
    table = PrivateRows.from_arrays(x, x[:, 0], NAMES)
    pieces = table.pieces(Quantizer.features_only(np.eye(3), intercept=False), bytes_kept(3), 700 * bytes_kept(3))
    cut = []
    total = pieces.sum(lambda block: sum(cut.append(piece.rows) or piece.lengths for piece in block)[:1])
    assert cut == [100] * 7 and len(pieces._pieces) == 7 and total.reveal(TEST).shape == (1,)


@pytest.mark.parametrize("declared", [900, 500], ids=["all declared", "more than declared"])
def test_all_rows_are_kept_or_none(declared):
    """A part would save little, since all rows are read for the rest; rows that nobody declared take no more memory."""
    table = PrivateRows.from_arrays(np.ones((900, 3)), np.ones(900), NAMES, block_rows=100).part_of(declared)
    quantizer = Quantizer.features_only(np.eye(3), intercept=False)
    for share, blocks in ((0.9, 0), (1.0, 9 if declared == 900 else 0), (1.8, 9)):
        pieces = table.pieces(quantizer, bytes_kept(3), int(declared * bytes_kept(3) * share))
        sums = [pieces.sum(lambda block: sum(piece.lengths.sum() for piece in block)).reveal(TEST) for _ in range(2)]
        assert len(pieces._pieces) == blocks and sums[0] == sums[1]


def test_of_rows_in_memory_as_much_is_kept_as_they_take(monkeypatch):
    """A pass over them starts from what the first one made, however many there are; rows that are read have a limit."""
    monkeypatch.setattr(memory, "LEAST_KEPT", 1000)
    monkeypatch.setattr(memory, "memory_limit", lambda: 0)
    x = np.random.default_rng(7).standard_normal((5000, 5))
    frame = pa.table(dict(zip("abcdy", x.T, strict=True)))
    text = b"a,b,c,d,y\n" + b"".join(b"%.9f,%.9f,%.9f,%.9f,%.9f\n" % row for row in map(tuple, x.tolist()))
    tables = [table_from(frame, "private", "private"), read_table(text, "private", "private")]
    public = table_from(frame[:60], "public", "public")
    made = [PrivateRows.from_arrays(x, x[:, 0], "abcde")]
    made += [prepare(table, public, Choices(target="y")).private for table in tables]
    for rows, share in zip(made, (1, 1, 0), strict=True):
        pieces = Quantizer.features_only(np.eye(5), intercept=False).pieces(rows)
        pieces.sum(lambda block: sum(piece.lengths.sum() for piece in block))
        assert sum(piece.rows for block in pieces._pieces for piece in block) == 5000 * share


CELLS = b"a,b,y\n" + b"".join(
    b"%d,%s,%.17g\n" % (at, (b"north", b"", b" south ", b"1e-400", b'"x"', b"7")[at % 6], value)
    for at, value in enumerate(np.random.default_rng(4).standard_normal(20_000))
)


@pytest.mark.parametrize("many", [2, 3, 7])
def test_cells_are_read_and_hashed_alike_by_any_number_of_threads(many, monkeypatch):
    """Unusual rows, gaps, categories and numbers among them: the same fingerprint and the same rows."""
    monkeypatch.setattr(lines, "CHUNK", 2**17)

    def read():
        public = read_table(CELLS[: CELLS.index(b"\n60,") + 1], "public", "public")
        made = prepare(read_table(CELLS, "private", "private"), public, Choices(target="y"))
        cells = hash_cells(made.table, bytes(range(32)), made.dialect, parsed=made.parsed)
        return [cells.hashes, cells.first, *(part for block in made.private._blocks() for part in block)]

    threads.set_threads(1)
    expected = read()
    threads.set_threads(many)
    shared = read()
    assert len(shared) == len(expected) > 2 + 2 * 2
    assert all(np.array_equal(one, other) for one, other in zip(shared, expected, strict=True))


def test_sums_are_added_in_the_order_of_the_blocks():
    """Also where a later block is done earlier: so sums of floating-point numbers keep their bits as well."""
    blocks = [(np.full((1, 1), value), np.zeros(1)) for value in (1e16, 1.0, -1e16, 1.0)]

    def slow_first(x, _y):
        time.sleep(0.05 if x[0, 0] == 1e16 else 0.0)
        return x[0]

    assert (
        block_sum(iter(blocks), slow_first, 4) == block_sum(iter(blocks), slow_first, 1) == ((1e16 + 1.0) - 1e16) + 1.0
    )


@pytest.mark.parametrize("many", [1, 2, 7])
def test_few_blocks_are_in_memory(many):
    """One more than there are threads, and never all of a table; as many threads run as were asked for."""
    made = done = most = 0
    running, observed, lock = set(), set(), threading.Lock()

    def tasks():
        nonlocal made, most
        for _ in range(50):
            made += 1
            most = max(most, made - done)
            yield task

    def task():
        nonlocal done
        with lock:
            running.add(threading.get_ident())
            observed.add(len(running))
        time.sleep(0.002)
        with lock:
            running.discard(threading.get_ident())
            done += 1

    assert len(list(threads.in_order(tasks(), many))) == 50
    assert most <= many + 1
    assert max(observed) == many


def test_a_thread_goes_on_while_an_earlier_block_takes_longer():
    """The first of two threads is busy until the other one has done five blocks; sums stay in order."""
    fifth = threading.Event()

    def task(at):
        if at == 5:
            fifth.set()
        return at if at or fifth.wait(10) else -1

    assert list(threads.in_order((lambda at=at: task(at) for at in range(9)), 2)) == list(range(9))


def test_a_pass_over_few_numbers_has_one_thread(monkeypatch):
    """To start others and to wait for them takes longer; the number of rows is public."""
    monkeypatch.setattr(threads, "_FEWEST_NUMBERS", 2000)
    threads.set_threads(2)
    for count, expected in ((499, 1), (500, 2)):
        table = PrivateRows.from_arrays(np.ones((count, 3)), np.ones(count), NAMES, block_rows=10)
        pieces = table.pieces(Quantizer.features_only(np.eye(3), intercept=False), bytes_kept(3))
        running = set()

        def look(block, running=running):
            running.add(threading.get_ident())
            time.sleep(0.002)
            return sum(piece.lengths.sum() for piece in block)

        pieces.sum(look)
        assert len(running) == expected and (threading.get_ident() in running) == (expected == 1)


def test_threads_share_no_buffer():
    """Each gets its own memory, the same one again; none of it is sent elsewhere."""
    buffers = threads.Buffers()
    mine = buffers.array("cells", 10)
    mine[:] = 7.0
    (others,) = threads.in_order([lambda: buffers.array("cells", 10)], 1)
    assert np.shares_memory(mine, others) and np.shares_memory(mine, buffers.array("cells", 4))
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(buffers.array("cells", 10)))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, elsewhere[0])
    assert not vars(pickle.loads(pickle.dumps(buffers))._own)


def test_a_table_of_one_block_starts_no_thread():
    """Its sum is taken where it is asked for."""
    block = (np.ones((3, 1)), np.zeros(3))
    assert block_sum([block], lambda _x, _y: np.array(threading.get_ident()), 7) == threading.get_ident()


def test_the_first_error_in_order_is_raised_and_nothing_hangs():
    """Whichever block fails first, the message is that of one thread."""

    def task(at):
        time.sleep(0.02 if at == 3 else 0.0)
        if at >= 3:
            raise ValueError(at)
        return at

    for many in (1, 2, 7):
        with pytest.raises(ValueError) as caught:
            list(threads.in_order((lambda at=at: task(at) for at in range(100)), many))
        assert caught.value.args == (3,)


@pytest.mark.parametrize("many", [1, 2])
def test_a_task_that_ends_an_iteration_does_not_end_the_pass(many):
    """A sum over some of the blocks would look like one over all."""
    with pytest.raises(RuntimeError):
        list(threads.in_order([lambda: 1, lambda: next(iter(())), lambda: 2], many))


def test_no_warning_tells_of_a_row_in_a_thread(recwarn):
    """What numpy warns of belongs to a thread: an overflow in any of them stays unsaid."""
    blocks = [(np.full((1, 1), 1e308), np.zeros(1))] * 8
    block_sum(iter(blocks), lambda x, y: x[0] * 10, 3)
    assert not recwarn.list


def test_a_number_of_threads_is_checked(monkeypatch):
    """From the environment as from an argument; one where nobody says anything."""
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    assert threads.threads_of_passes() == 1
    monkeypatch.setenv(threads.VARIABLE, "3")
    assert threads.threads_of_passes() == 3
    threads.set_threads(2)
    assert threads.threads_of_passes() == 2
    threads.set_threads(None)
    for wrong in ("0", "-1", "many", "1.5", "1000"):
        monkeypatch.setenv(threads.VARIABLE, wrong)
        with pytest.raises(InputError):
            threads.threads_of_passes()
    for wrong in (0, 257):
        with pytest.raises(InputError):
            threads.set_threads(wrong)
