"""Commands of the command line that need the papers: their figures, and what paper D's procedures select."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pmtcore.base.labels import Label
from pmtcore.base.messages import CommandMessage, InputError, number_between, whole_number_between
from pmtcore.cli.arguments import Answer, problem_from
from pmtcore.cli.commands import CURATOR, PRIVATE
from pmtcore.cli.files import check_writable
from pmtcore.papers.gallery import engine
from pmtcore.papers.gallery.catalogue import figure, figures
from pmtcore.papers.gallery.selection import study_table
from pmtcore.papers.gallery.series import LAMS
from pmtcore.papers.gallery.unsettled import open_claims

_STEPS = (0.02, 0.1, 0.3, 1.0)  # of each figure's trials: every figure says something before one says all


def select(chosen: argparse.Namespace) -> Answer:
    """Say which coefficients paper D's procedures and sound ones keep, of a table of one's own."""
    epsilon = number_between("epsilon", chosen.epsilon, 1e-3, 100.0)
    lam = number_between("Lambda", chosen.target_lam, LAMS[0], LAMS[-1])
    trials = whole_number_between("trials", chosen.trials, 1, 1000)
    problem = problem_from(chosen)
    study = study_table(problem, epsilon, lam, trials, seed=chosen.seed).reveal(CURATOR)
    shares = {name: share.tolist() for name, share in study.selected.items()}
    counts = {name: count.tolist() for name, count in study.counts.items()}
    drawn = f"share of {trials} noise draws that keep a coefficient, at Lambda = {study.lam:g}"
    claim = f"pure epsilon = {epsilon:g}, add-remove-one; (lab): as published, its claim does not hold"
    lines = [f"{PRIVATE}{drawn}; {claim}"]
    for name, share in shares.items():
        lines.append(f"{name}: " + ", ".join(f"{one} {part:.0%}" for one, part in zip(study.names, share, strict=True)))
    return {
        "label": Label.PRIVATE.value,
        "epsilon": epsilon,
        "lam": study.lam,
        "trials": trials,
        "names": list(study.names),
        "kept": shares,
        "lams": list(study.lams),
        "counts": counts,
    }, "\n".join(lines)


def gallery(chosen: argparse.Namespace) -> Answer:
    """List the papers' figures, or compute one."""
    if chosen.all:
        return _all_computed(chosen)
    if chosen.open:
        return _open_listed([figure(id) for id in chosen.figure.split(",")] if chosen.figure else figures())
    check_writable(chosen.folder)
    chosen.out = chosen.folder
    if chosen.figure is None and chosen.check:
        return _all_checked()
    if chosen.figure is None:
        shown = [{"id": f.id, "title": f.title, "claim": f.claim, "trials": f.trials} for f in figures()]
        return {"figures": shown}, "\n".join(f"{f['id']:5} {f['title']}: {f['claim']}" for f in shown)
    made = figure(chosen.figure)
    if chosen.check:
        return _checked(made)
    workers = whole_number_between("workers", chosen.workers, 0, 64)
    trials = (made.quick if chosen.quick else None) if chosen.trials is None else chosen.trials
    run = engine.Computation(made, trials, workers)
    try:
        for share in run.steps():
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{share:.0%}")
    except KeyboardInterrupt:
        if not run.share:
            raise
        sys.stderr.write("pmtcore: stopped; what was done is kept.\n")
    record = run.as_dict()
    engine.store(record)
    return record, _verdicts(made, record)


def _open_listed(chosen: Sequence[engine.Figure]) -> Answer:
    """Return claims without an answer, and what would give one."""
    listed = [claim for made in chosen for claim in open_claims(made, engine.load_stored(made))]
    counts = Counter(claim.why for claim in listed)
    every = f"{len(listed)} of {sum(len(made.claims) for made in chosen)} claims are open"
    cheap = f"100 more trials in 10 processor minutes would tell: {sum(claim.cheap for claim in listed)}"
    last = "; ".join([every, *(f"{why.value}: {count}" for why, count in counts.items()), cheap])
    return {"open": [claim.as_dict() for claim in listed]}, "\n".join([*(claim.words for claim in listed), last])


def _all_computed(chosen: argparse.Namespace) -> Answer:
    """Compute every figure whose table is here with the papers' trials; progress goes to the error stream."""
    wanted = figures() if chosen.figure is None else [figure(id) for id in chosen.figure.split(",")]
    ready, missing = [], []
    for made in wanted:
        try:
            engine.needed(made)
        except InputError:
            missing.append(made.id)
        else:
            ready.append(made)
    folder = None if chosen.folder is None else Path(chosen.folder)
    trials: dict[str, int] = {}
    began, goal = time.process_time(), sum(made.trials for made in ready)
    try:
        workers = whole_number_between("workers", chosen.workers, 0, 64)
        for made, count, seconds in engine.compute_all(ready, _STEPS, workers, folder):
            trials[made.id] = count
            left = f"{sum(trials.values()) / goal:.0%} of all trials in this run"
            sys.stderr.write(f"{made.id:6} {count:5} of {made.trials} trials, {seconds:.2f} s each; {left}\n")
    except KeyboardInterrupt:
        sys.stderr.write("pmtcore: stopped; what was done is kept, and the same command goes on.\n")
    words = f"{len(trials)} of {len(ready)} figures computed further in {time.process_time() - began:.0f} CPU seconds"
    words += f"; no table here: {', '.join(missing)}" * bool(missing)
    return {"computed": trials, "missing": missing}, words


def _verdicts(made: engine.Figure, record: dict[str, Any]) -> str:
    lines = [f"{made.source}, {record['trials']} trials"]
    lines += [f"{v['answer']}: {v['claim']} ({v['figures']})" for v in record["verdict"]]
    return "\n".join(lines)


def _checked(made: engine.Figure) -> Answer:
    """Compare the stored result of a figure with what today's code gives.

    Raises:
        InputError: its table is not here, or nothing is stored of the figure as it is described.
    """
    engine.needed(made)
    record = engine.load_stored(made)
    if record is None:
        raise InputError(CommandMessage.NO_STORED_RESULT, id=made.id)
    changed = engine.stale(made, record)
    words = "as today's code gives it" if not changed else f"STALE: {', '.join(changed)} come out differently today"
    return {"id": made.id, "computed": record["computed"], "stale": list(changed)}, f"{made.id}: {words}"


def _all_checked() -> Answer:
    """Check every figure whose table is here; name those without a table or a result."""
    lines, changed, silent = [], [], []
    for made in figures():
        try:
            results, words = _checked(made)
        except InputError:
            silent.append(made.id)
            continue
        lines.append(words)
        changed += [made.id] if results["stale"] else []
    left_out = f"; no table or no result: {', '.join(silent)}" if silent else ""
    lines.append(f"{len(changed)} of {len(lines)} stale{left_out}")
    return {"stale": changed, "unchecked": silent}, "\n".join(lines)
