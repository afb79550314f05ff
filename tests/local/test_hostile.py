"""The local model under strain: extreme budgets, rows no table should have, hostile reports, lost reports."""

from __future__ import annotations

import gc
import json
import math
import tracemalloc
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pmtcore.api.local import Published
from pmtcore.base.messages import InputError
from pmtcore.cli.main import main
from pmtcore.local import reading, setup
from pmtcore.local.estimators import LINKS, scale_root
from pmtcore.local.protocol import report_lines
from pmtcore.local.reading import tally_file
from pmtcore.local.tally import Tally
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise
from tests.local.test_protocol import sides

ANY = st.one_of(
    st.floats(-1e3, 1e3), st.sampled_from([0.0, 1e150, -1e160, 1e300, -1.7e308, math.inf, -math.inf, math.nan])
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(arrays(float, (2, 4), elements=ANY), st.sampled_from(["whitened", "moments", "privunit"]))
def test_every_row_gets_a_finite_report_within_its_bounds(rows, scheme):
    """Not a number, infinite or absurd: a device answers like any other, so that its silence says nothing (E5)."""
    public, *_ = sides(10, 40, 3, 1)
    if scheme == "moments":
        made = setup.moments_scheme(public, 100, 1.0, True, zeta=0.05)
    else:
        made = setup.whitened_scheme(public, 100, 1.0, "privunit" if scheme == "privunit" else "gaussian", epsilon=2.0)
    result = made.statistic(rows[:, :3], rows[:, 3])
    assert np.all(np.isfinite(result))
    a, b = result
    if scheme == "moments":
        a, b = made.integers(rows[:, :3], rows[:, 3])
        assert np.linalg.norm((a - b) / made.scales()) <= made.mu
    else:
        assert np.all(np.linalg.norm(result, axis=1) <= made.bound * (1 + 1e-9))
    assert made.possible_reports(made.randomize(rows[:, :3], rows[:, 3], SecureNoise())).all()


def reports(n=2000, seed=1):
    """Return a configuration and honest reports for it, as lines."""
    public, _, _, x, y = sides(n, 60, 3, seed)
    made = setup.whitened_scheme(public, n, 1.0, "privunit", epsilon=2.0)
    return made, list(report_lines(made.randomize(x, y, SeededNoise(seed)), made.digest))


@pytest.mark.parametrize("bad", ["{", '{"v":1}', "", "\x00", "[" * 5000, '{"v":1,"v":2}', "null", "1e999"])
def test_bad_lines_anywhere_take_only_themselves_away(tmp_path, bad):
    """One bad line at the start, in the middle, at the end: all honest reports count, as without it."""
    made, good = reports()
    clean = tally_file(write(tmp_path / "clean.jsonl", good), made)
    for at in ([0], [1000], [2000], [0, 500, 501, 2000]):
        lines = list(good)
        for k in reversed(at):
            lines.insert(k, bad)
        tally = tally_file(write(tmp_path / "r.jsonl", lines), made)
        assert tally.accepted == 2000
        assert np.allclose(tally.mean, clean.mean)
        assert tally.counts["unreadable"] == len(at) * bool(bad.strip())


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def test_one_bad_line_does_not_slow_a_block(tmp_path, monkeypatch):
    """Only the line itself is read on its own."""
    made, good = reports()
    alone = []
    original = Tally.add_lines
    monkeypatch.setattr(Tally, "add_lines", lambda self, lines: (alone.extend(lines), original(self, lines))[1])
    tally_file(write(tmp_path / "r.jsonl", [*good[:700], "{", *good[700:]]), made)
    assert [line for line in alone if line] == [b"{"]


def test_hostile_neighbours_cannot_swallow_a_report(tmp_path):
    """Lines that would be one object if read together leave the honest report between them alone."""
    made, good = reports(100)
    tally = tally_file(write(tmp_path / "r.jsonl", ['{"v":[{}', good[0], '{"v":0}]}', "[", good[1], "]"]), made)
    assert tally.accepted == 2 and tally.counts["unreadable"] == 4


def test_a_line_longer_than_a_block_counts_once(tmp_path):
    """It is dropped to its end; lines before and after count."""
    made, good = reports(100)
    path = write(tmp_path / "r.jsonl", [*good[:50], '{"v":1,"r":[' + "1," * 300_000, *good[50:]])
    with mock.patch.object(reading, "_BLOCK", 2**16):
        tally = tally_file(path, made)
    assert tally.accepted == 100 and tally.counts["unreadable"] == 1


def test_other_spellings_of_a_report_are_read_too(tmp_path):
    """Other order, spaces, capital exponents, line ends of Windows: the same report."""
    made, good = reports(100)
    one = json.loads(good[0])
    for text in (
        json.dumps(one),
        json.dumps(dict(reversed(one.items()))),
        good[0] + "\r",
        json.dumps({**one, "more": 1}),
        good[0].replace("]", "]").replace(str(one["r"][0]), f"{one['r'][0]:.17E}"),
    ):
        tally = tally_file(write(tmp_path / "r.jsonl", [text]), made)
        assert tally.accepted == 1 and np.allclose(tally.mean, one["r"])


def test_ids_are_read_the_same_way_fast_and_slow(tmp_path):
    """An id that is not 1 to 16 hexadecimal digits is unreadable on both ways, so none has two spellings."""
    made, good = reports(100)
    one = json.loads(good[0])
    for id in ("0x1", "-1", "1_0", " 1", "A", "", "1" * 17, "١"):
        path = write(tmp_path / "r.jsonl", [*good[1:], json.dumps({**one, "id": id})])
        tally = tally_file(path, made)
        assert tally.accepted == 99 and tally.counts["unreadable"] == 1


@pytest.mark.slow
def test_no_honest_report_is_lost_in_silence(seed):
    """The filter holds as many ids as it was sized for; beyond, the losses it states are the losses there are."""
    made, _ = reports(100)
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 2**63, 1_500_000, dtype=np.uint64)
    roomy = Tally(made, 1_500_000)
    remaining = sum(int(roomy._new_ids(part).sum()) for part in np.split(ids, 15))
    assert len(ids) - remaining <= 3 and roomy.lost < 1
    assert not roomy._new_ids(ids[:1000]).any(), "an id is never forgotten"
    tight = Tally(made, 1000)
    remaining = sum(int(tight._new_ids(part).sum()) for part in np.split(ids, 15))
    lost = len(ids) - remaining
    assert lost > 1000
    assert abs(tight.lost - lost) < 0.25 * lost


@pytest.mark.slow
def test_aggregation_holds_no_report(tmp_path):
    """Ten times the reports take the same memory: peak allocations of Python and numpy, blocks made small."""
    made, good = reports(4000)
    peaks = []
    for times in (1, 10):
        path = write(tmp_path / f"{times}.jsonl", good * times)  # repeated ids: read, then left out
        gc.collect()
        tracemalloc.start()
        with mock.patch.object(reading, "_BLOCK", 2**17):
            tally_file(path, made)
        peaks.append(tracemalloc.get_traced_memory()[1] - (1 << 20))
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 2**20


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e3, 1e7, 1e20])
@pytest.mark.parametrize("id", ["cubic", "softplus", "sigmoid"])
def test_a_root_is_a_root_whatever_the_scores(id, size, seed):
    """Scores of any size: what is returned solves the equation, or it is no number at all."""
    scores = size * np.random.default_rng(seed).standard_normal(500)
    c = scale_root(LINKS[id], scores)
    if not np.isnan(c):
        assert c * np.mean(LINKS[id].curve(c * scores)) == pytest.approx(1.0, rel=1e-6)
    if id == "cubic" and 1e-3 < size < 1e20:
        assert c == pytest.approx(np.mean(scores**2) ** (-1 / 3), rel=1e-6)


def tables(tmp_path, target="label", n=3000):
    """Own and public rows as files; the last own row has a gap."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((n + 400, 2))
    z = x @ [0.8, -0.6]
    y = (rng.random(n + 400) < 1 / (1 + np.exp(-z))).astype(int) if target == "label" else z**3 / 3
    lines = [f"{a},{b},{c}" for (a, b), c in zip(x, y, strict=True)]
    (tmp_path / "public.csv").write_text("\n".join(["a,b,y", *lines[n:]]))
    (tmp_path / "own.csv").write_text("\n".join(["a,b,y", *lines[: n - 1], f",1.0,{y[0]}"]))


def steps(tmp_path, capsys, *arguments):
    """One local command in that folder; its JSON record."""
    capsys.readouterr()
    paths = {"public": "public.csv", "config": "c.json", "reports": "r.jsonl", "rows": "own.csv"}
    given = [str(tmp_path / paths[a[1:]]) if a.startswith("@") else a for a in arguments]
    status = main(["local", *given, "--json"])
    out, err = capsys.readouterr()
    return json.loads(out) if status == 0 else err


def test_another_loss_from_the_same_reports(tmp_path, capsys):
    """Remark 16 on the command line; and a row with a gap is reported like any other."""
    tables(tmp_path)
    out = str(tmp_path / "c.json")
    steps(tmp_path, capsys, "configure", "--public", "@public", "--target", "y", "--epsilon", "8", "--out", out)
    common = ["--config", "@config"]
    reports = str(tmp_path / "r.jsonl")
    made = steps(tmp_path, capsys, "randomize", *common, "--rows", "@rows", "--out", reports)
    assert made["reports"] == 3000, "the row with a gap answers too"
    both = [common, [*common, "--family", "boosting"]]
    one, other = (
        steps(tmp_path, capsys, "aggregate", *a, "--reports", "@reports", "--public", "@public") for a in both
    )
    assert (one["family"], other["family"]) == ("logistic", "boosting") and one["n"] == other["n"] == 3000
    assert one["coefficients"] != other["coefficients"]
    assert abs(one["coefficients"]["a"] - 0.8) < 0.4
    assert one["guarantee"] == other["guarantee"]


def test_a_nonlinear_regression_on_the_command_line(tmp_path, capsys):
    """Algorithm 3 from files; a link without its scheme is a sentence."""
    tables(tmp_path, "cubic")
    where = ["--public", "@public", "--target", "y", "--family", "gaussian", "--no-intercept"]
    out = ["--out", str(tmp_path / "c.json")]
    steps(tmp_path, capsys, "configure", *where, "--scheme", "moments", "--mu", "1000", "--response-bound", "50", *out)
    steps(tmp_path, capsys, "randomize", "--config", "@config", "--rows", "@rows", "--out", str(tmp_path / "r.jsonl"))
    last = ["aggregate", "--config", "@config", "--reports", "@reports", "--public", "@public", "--link"]
    result = steps(tmp_path, capsys, *last, "cubic")
    assert abs(result["coefficients"]["a"] - 0.8) < 0.5 and result["link"] == "cubic"  # sd of the noise below 0.05
    assert "must be one of cubic" in steps(tmp_path, capsys, *last, "quartic")
    steps(tmp_path, capsys, "configure", *where, "--mu", "5", "--response-bound", "5", *out)
    steps(tmp_path, capsys, "randomize", "--config", "@config", "--rows", "@rows", "--out", str(tmp_path / "r.jsonl"))
    assert "scheme 'moments'" in steps(tmp_path, capsys, *last, "cubic")


HOSTILE = [
    None,
    True,
    False,
    0,
    -1,
    10**250,
    math.nan,
    "",
    "x",
    "1e5",
    "\x00",
    [],
    [1],
    [[1]],
    ["a", "b"],
    {},
    {"a": 1},
]
HOSTILE += [[None], [True], [[]], [{}], 1e308]


def changed(value, path, to):
    """Return a JSON value with one part changed."""
    if not path:
        return to
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], to)
    return copy


def parts(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(min(len(value), 2)):
            yield from parts(value[key], (*path, key))


@pytest.mark.parametrize("scheme", ["moments", "whitened"])
def test_a_configuration_of_any_json_types_is_used_or_refused(scheme):
    """Every part of a published file replaced by every type: a device randomizes finite reports, or a sentence."""
    public, *_ = sides(10, 40, 3, 1)
    if scheme == "moments":
        made = setup.moments_scheme(public, 100, 1.0, True, zeta=0.05)
    else:
        made = setup.whitened_scheme(public, 100, 1.0, "privunit", epsilon=2.0)
    base = json.loads(Published(made, "logistic").to_json())
    used = refused = 0
    for path in parts(base):
        for value in HOSTILE:
            try:
                result = Published.from_json(json.dumps(changed(base, path, value)))
                result.choices()
                with np.errstate(all="ignore"):
                    own = result.configuration
                    reports = own.randomize(np.ones((2, own.d)), np.ones(2), SeededNoise(1))
                assert reports.shape == (2, own.dimension) and isinstance(own.digest, str)
                used += 1
            except InputError:
                refused += 1
    assert used > 10 and refused > 300


@pytest.mark.parametrize("name", ["reports.jsonl", "reports.parquet"])
@pytest.mark.parametrize("before", [None, b"what was there"])
def test_a_refused_randomize_leaves_the_file_as_it_was(name, before, tmp_path, capsys, monkeypatch):
    """Refused at the first row or in the middle: no empty file, no half of one, and what was there stays."""
    public, *_ = sides(10, 40, 3, 1)
    made = setup.whitened_scheme(public, 100, 1.0, "gaussian")
    config, rows, out = tmp_path / "c.json", tmp_path / "own.csv", tmp_path / name
    config.write_text(Published(made, "logistic").to_json())
    if before is not None:
        out.write_bytes(before)
    there = {path.name for path in tmp_path.iterdir()} | {"own.csv"}
    ask = ["local", "randomize", "--config", str(config), "--rows", str(rows), "--out", str(out)]
    rows.write_text("other,columns\n1,2\n")
    assert main(ask) == 2
    names = [column for column in made.names if column != "(intercept)"]
    rows.write_text(",".join([*names, made.target]) + "\n" + ",".join("1" for _ in range(len(names) + 1)) + "\n")

    def stopped(*_):
        yield "{}"
        raise InputError("in the middle")

    monkeypatch.setattr("pmtcore.cli.local.report_lines", stopped)
    assert main(ask) == 2
    assert {path.name for path in tmp_path.iterdir()} == there and (before is None or out.read_bytes() == before)
    capsys.readouterr()
