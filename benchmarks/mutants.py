"""Plants faults one by one in a copy of the code and runs the tests that should notice: none may survive.

    python benchmarks/mutants.py --jobs 2   all of them
    python benchmarks/mutants.py --only gradient --jobs 2
    python benchmarks/mutants.py --jobs 2 --resume done.json
    python benchmarks/mutants.py --list

Each fault runs only the tests that should notice it, and stops at the first that does. With ``--resume`` what was noticed
is kept in a file, for exactly this code: a run that was interrupted goes on. A mutant whose text is no longer in the
code, or whose tests do not exist, is an error too, before the first is planted: the list follows the code. Exit 1 if one
survives.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import importlib
import io
import json
import multiprocessing
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import NoReturn

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"  # threads of a library would not live on in a forked process
sys.dont_write_bytecode = True

ROOT = Path(__file__).resolve().parents[1]
_TIMEOUT = 600  # seconds; a mutant that makes a test hang is noticed too
_OUT = "tests.out"  # what the tests of one fault say
_LOADED = ("numpy", "scipy.stats", "scipy.optimize", "pandas", "pyarrow.parquet", "pyarrow.csv", "sqlalchemy")
_LOADED += ("pytest", "_pytest.assertion.rewrite", "hypothesis", "mpmath", "narwhals")
_PARTS = ("pmtcore", "tests", "pages", "app.py", "pyproject.toml", "README.md", "docs", "assets", "benchmarks")
_PARTS += ("CONTRIBUTING.md", "SECURITY.md", "mkdocs.yml", "compose.yaml", "Dockerfile", "deploy", ".ci", ".streamlit")


@dataclass(frozen=True)
class Mutant:
    """One fault: text in a file that is replaced once, and the tests that should notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str


ARRIVES = "tests/methods/test_noise_arrives.py"
APART = f"{ARRIVES} -k further_apart"
SPIED = f"{ARRIVES} -k test_the_integers"
NOISE = "tests/mechanisms/test_noise.py"
GRID = "tests/mechanisms/test_grid.py"
TURNED = "tests/mechanisms/test_quantized_rows.py"
GRADIENTS = "tests/methods/test_gradients.py -k 'moves or reached'"
LAWS = "tests/methods/test_gradients_laws.py"
MINIMIZER = "tests/mechanisms/test_minimizer.py"
PERTURBED = "tests/mechanisms/test_perturbed.py"
LABELS = "tests/methods/test_labels_methods.py"
LINEAR = "tests/methods/test_linear.py"
LOCAL = (
    "tests/local/test_protocol.py -k 'ratio or choice or shortcut or diameter or one_row or unfolded or without_noise'"
)
BUDGETS = "tests/accounting/test_budgets.py tests/accounting/test_oracle.py"
MIXED = "tests/accounting/test_mixed.py tests/accounting/test_oracle.py"
FRESH = "tests/methods/test_fresh_noise.py"
COVERING = "tests/mechanisms/test_covering.py"
QUIET = "tests/releases/test_quiet.py"
SEALS = "tests/ledger/test_seals.py -k 'not postgres'"
AGREEMENT = "tests/releases/test_agreement.py"
OUTCOME = "tests/releases/test_outcome.py"
AGAIN = "tests/api/test_again.py"
ENDS = "tests/glm/test_ends.py"


UPDATE = "tests/public/test_gaussian_update.py"
FILTER, REFINED = "tests/methods/test_joint_filter.py", "tests/methods/test_joint_refined.py -k budget"


def every_mutant() -> list[Mutant]:
    mutants: list[Mutant] = []

    def plant(name: str, file: str, old: str, new: str, tests: str) -> None:
        mutants.append(Mutant(name, f"pmtcore/{file}", old, new, tests))

    threads, pool = "base/threads.py", "tests/methods/test_threads.py"
    plant(
        "threads: sums as they come",
        threads,
        "waiting[0].done():\n                    yield waiting.popleft()",
        "waiting[-1].done():\n                    yield waiting.pop()",
        pool,
    )
    plant(
        "a solver's blocks are the table's",
        "base/private_rows.py",
        "return resized_blocks(self._padded(), size)",
        "return self._padded()",
        f"{pool} -k cuts",
    )
    plant(
        "rows of other blocks lose their order",
        "base/block_sums.py",
        "x[start : start + part]",
        "x[:part]",
        f"{pool} -k public_size",
    )
    plant(
        "products stay with kept rows", "mechanisms/minimizer.py", "function(replace(block))", "function(block)", pool
    )
    plant(
        "PrivUnit draws as threads come",
        "mechanisms/randomizers.py",
        "sum(axis=0), in_order=True)",
        "sum(axis=0))",
        f"{pool} -k cuts",
    )
    wiped = "tests/app/test_memory.py"
    plant("memory: this thread's heap alone", "base/memory.py", "len(reached) < heaps", "len(reached) < 1", wiped)
    plant("memory: sizes that threads keep", "base/memory.py", "range(1032, 0, -16)", "range(512, 0, -16)", wiped)
    plant("memory: other heaps grow", "base/memory.py", "if known != end:", "if False:", wiped)
    plant("proofs: blocks without room", "mechanisms/whitening.py", "512, 2**15", "512, 2**18", "tests/test_proofs.py")
    plant(
        "rows of another radius pass",
        "mechanisms/perturbed.py",
        "data.radius > self.terms.radius",
        "data.radius > 1e9",
        PERTURBED,
    )
    queries = "tests/tables/test_queries.py"
    plant("a query's order is forgotten", "tables/queries.py", " or _ORDER.search(self.query)", "", queries)
    plant(
        "a query's columns change places",
        "tables/queries.py",
        "for position in positions)",
        "for position in sorted(positions))",
        queries,
    )
    plant(
        "a column's name ends a query", "tables/queries.py", """replace('"', '""')""", """replace('"', '"')""", queries
    )
    engines, lite = "ledger/engines.py", "tests/ledger/test_engines.py"
    plant("a file's transaction is not alone", engines, "BEGIN IMMEDIATE", "BEGIN", lite)
    plant("a file's end does not wait for the disk", engines, "synchronous=FULL", "synchronous=OFF", lite)
    plant("a failed transaction is kept", engines, '"ROLLBACK"', '"COMMIT"', lite)
    plant("what was read is kept open", engines, "for cursor in self._cursors:", "for cursor in ():", lite)
    called = ("tables/queries.py", "map(_GENERATED_NAME.fullmatch, self._columns)", "()")
    plant("a column called true has another name", *called, queries)
    plant("a file's name is an address", engines, '.replace("%", "%25")', "", lite)
    units = ("public/moments.py", "return np.asarray(solved / scale)", "return np.asarray(solved)")
    plant("ridge: solved in units of the diagonal and left in them", *units, "tests/public/test_moments.py")
    weak = "tests/public/test_weak_penalty.py"
    plant("weak penalty: as strong per row as in all", "public/moments.py", "EFFECT_SD**-2 / n", "EFFECT_SD**-2", weak)
    halves = ("np.where(has_two_values, high - low, self.spread)", "np.array(self.spread)")
    plant("weak penalty: rare levels count by their spread", "public/moments.py", *halves, weak)
    plant(
        "weak penalty: of the first number of rows",
        "tables/problem.py",
        "if public.lam != self.public.lam:",
        "if False:",
        weak,
    )
    prices = ("public/clipping.py", "if low[k] > _PRICE_TOLERANCE * np.min(price):", "if low[k] > 0.9 * np.min(price):")
    plant("radius: balls that may be the best are not priced", *prices, "tests/public/test_radius.py")
    limit = ("base/private_rows.py", "bytes_for_rows(features.nbytes + response.nbytes)", "bytes_for_rows()")
    plant("kept: of an array no more than of a file", *limit, pool)
    frames = ("tables/problem.py", "bytes_for_rows(in_memory)", "bytes_for_rows()")
    plant("kept: of a frame no more than of a file", *frames, pool)
    part = (
        "base/private_rows.py",
        "                self._pieces.clear()\n                yield",
        "                yield",
    )
    plant("kept: a part of the rows", *part, pool)
    made_anew = ("base/private_rows.py", "self._complete = room >= 0", "self._complete = False")
    plant("kept: made anew and kept once more", *made_anew, pool)
    shares = ("base/memory.py", "_share[:] = [_COMMAND_SHARE]", "pass")
    plant("kept: of a command no more than of a session", *shares, "tests/base/test_memory.py")
    uncut = ("base/private_rows.py", "split_blocks(self._blocks(), size)", "self._blocks()")
    plant("threads: a large block is not shared", *uncut, pool)
    denormal = (
        "tables/fingerprint.py",
        "position[magnitude < _SMALLEST_NORMAL] = _PLACE_OF_ONE",
        "position[magnitude == 0] = _PLACE_OF_ONE",
    )
    plant("fingerprint: a denormal number warns", *denormal, "tests/ledger/test_fingerprint.py")
    people = "tests/tables/test_persons.py"
    ljust, sourced = '.ljust(self.room, b"\\0")', "tests/tables/test_sources.py"
    plant("fingerprint: its length tells n", "ledger/fingerprint.py", ljust, "", "tests/ledger/test_fingerprint.py")
    nobody = "tests/methods/test_empty_rows.py -k 'without_rows and joint-pmt'"
    plant("rows: nobody raises", "base/private_rows.py", "    if empty:\n", "    if False:\n", nobody)
    counted = ("tables/table.py", "    if rows is not None:\n        return with_rows(table, rows)\n", "")
    plant("rows: counted where n is declared", *counted, nobody)
    several = ("tables/problem.py", "choices.unit is None and public.n > private.n])", "public.n > private.n])")
    plant("swapped: by the private number of rows", *several, "tests/tables/test_findings.py -k people_have")
    raising = ("tables/queries.py", "_TYPES_READ_WITHOUT_ERROR = {", '_TYPES_READ_WITHOUT_ERROR = {"json", "jsonb", ')
    plant("postgres: JSON that raises", *raising, "tests/tables/test_queries.py -k no_cell")
    growth = "tests/ledger/test_fingerprint.py -k 'kept_tells or growth'"
    noisy = "if all(has_grown(cells, earlier, key)"
    exact = "if all(earlier.table_rows < cells.table_rows"
    plant("fingerprint: a row more is kept", "ledger/log.py", noisy, exact, growth)
    varying = ("ledger/log.py", "earlier.columns == cells.columns", "earlier.names == sketch(cells).names")
    plant("fingerprint: a column that varies is kept", *varying, growth)
    noiseless = "cells.table_rows + _laplace(secret + cells.digest) >= known.table_rows + margin + _laplace(secret)"
    without = "cells.table_rows >= known.table_rows + margin"
    plant("fingerprint: growth without noise", "ledger/fingerprint.py", noiseless, without, growth)
    hashed = ("tables/fingerprint.py", "self.rows += len(quick)", "self.rows += len(quick) % 7")
    plant("fingerprint: growth of other rows", *hashed, growth)
    shares = ("releases/release.py", "problem.private.n if problem.reads_n_rows else None", "problem.private.n")
    plant("progress: shares of a private number of rows", *shares, "tests/releases/test_progress.py")
    group = (
        "tables/table.py",
        "ParquetSource(place, where, private, limit)",
        "ParquetSource(place, where, private, 1)",
    )
    plant("parquet: one long cell refuses the file", *group, f"{sourced} -k long_cell")
    plant("cells: a long one is read", "tables/cells.py", "most <= LINE:", "True:", f"{sourced} -k long_cell")
    hashless = (
        "tables/cells.py",
        "with suppress(Exception):  # such as",
        "with suppress(ValueError):  # such as",
    )
    plant("objects: a class without a hash", *hashless, f"{sourced} -k any_class")
    labels = ("api/survival.py", "iloc[np.repeat(np.arange(count), periods)]", "loc[frame.index.repeat(periods)]")
    plant("survival: rows by the labels of an index", *labels, "tests/api/test_survival.py -k index")
    json = ("tables/dialect.py", " or _OTHER_FORM.match(text) is not None", "")
    plant("header: JSON in one line", *json, "tests/tables/test_bad_input.py -k other_forms")
    met, newcomer = "counts += np.bincount(persons, minlength=people + 1)", "counts[people] = rows_per_person"
    plant("persons: counted anew in each block", "tables/persons.py", met, "pass", f"{people} -k comes_with")
    plant("persons: a newcomer counts", "tables/persons.py", newcomer, "pass", f"{people} -k not_counted")
    mean = ("tables/persons.py", " & (persons < people)", "")
    plant("persons: a newcomer has a mean", *mean, f"{people} -k not_counted")
    handed_over = ("tables/parsed.py", "self._left.pop()", "self._left[0]")
    plant("one parse: two passes share the rows", *handed_over, "tests/tables/test_parsed.py -k at_one_time")
    twice = ("tables/coder.py", "cached_blocks[:] = new_blocks", "cached_blocks.extend(new_blocks)")
    plant("rows kept by two passes count twice", *twice, "tests/tables/test_parsed.py -k at_one_time")
    queried = ("tables/sources.py", "source.in_memory or isinstance(source, ParquetSource)", "True")
    plant("fingerprint: of a query once", *queried, "tests/ledger/test_fingerprint.py -k written_since")
    plant("threads: all blocks at once", threads, "Semaphore(threads + 1)", "Semaphore(10**9)", pool)
    plant("threads: the first block is waited for", threads, "waiting and waiting[0].done()", "waiting", pool)
    plant("threads: one buffer for all", threads, "self._own = local()", "self._own = type('', (), {})()", pool)
    plant("threads: many for few numbers", threads, "if numbers >= _FEWEST_NUMBERS", "if True", pool)
    one_side = ("mechanisms/whitening.py", "cells.max() <= most and cells.min() >= -most", "cells.max() <= most")
    plant("whitening: a range on one side", *one_side, f"{GRID} -k far_cell")
    plant("whitening: squares lost", "mechanisms/whitening.py", "squares[0].copy()", "squares[0]", f"{GRID} -k go_on")
    plant("counts: an edge is below itself", "mechanisms/passes.py", "np.less(sizes", "np.less_equal(sizes", TURNED)
    plant(
        "threads: a warning in a thread",
        "base/block_sums.py",
        "return np.asarray(function(x, y))",
        "pass\n    return np.asarray(function(x, y))",
        pool,
    )
    plant(
        "epsilon is rounded down",
        "base/roots.py",
        "    return high\n",
        "    return low\n",
        "tests/base/test_distributions.py",
    )
    plant(
        "texts are hashed without their length",
        "ledger/fingerprint.py",
        "block[-1] |= sizes[places] << np.uint64(56)",
        "pass",
        "tests/ledger/test_text_hashes.py",
    )
    plant(
        "pandas is not hidden",
        "cli/startup.py",
        'if fullname == "pandas":',
        "if False:",
        "tests/cli/test_startup.py -k describe",
    )
    plant(
        "one method loads all",
        "methods/registry.py",
        "        if id in _METHODS:\n            return\n",
        "",
        "tests/cli/test_startup.py -k release-text",
    )
    deploy, roles, server = "base/deployment.py", "base/roles.py", "tests/base/test_deployment.py"
    plant("deploy: examples are taken", deploy, "if any(word in value.casefold()", "if all(word in value", server)
    plant("deploy: short secrets are taken", deploy, "elif len(value) < length:", "elif len(value) < 1:", server)
    plant("deploy: regular secrets are taken", deploy, "elif random and is_predictable(value):", "elif False:", server)
    plant("roles: any address counts", roles, 'not in (True, "true"):', "is False:", server)
    plant("roles: a sign-in never ends", roles, "<= hours * 3600:", "<= 1e12:", server)
    claims, drawn = "papers/gallery/claims.py", "tests/papers/test_gallery.py"
    plant("gallery: few trials speak", claims, "if self.count < FEWEST_TRIALS:", "if self.count < 0:", drawn)
    depends = "if Answer.FAILS in answers and answers & {Answer.HOLDS, Answer.UNSTATED}:"
    plant("gallery: no answer depends", claims, depends, "if False:", drawn)
    plant("gallery: another panel does not excuse", claims, depends, depends.replace(", Answer.UNSTATED", ""), drawn)
    below, above = "[one.values, made[name].values]", "[made[name].values, one.values]"
    plant("gallery: stored trials come last", "papers/gallery/engine.py", below, above, f"{drawn} --slow -k goes_on")
    few = "needed is not None and needed <= figure.trials"
    plant("gallery: any number is too few", "papers/gallery/unsettled.py", few, "needed is not None", drawn)
    by_number = "tests/papers/test_papers.py -k listing"
    paper = 'p in ("", paper) for paper'
    plant("methods: any paper's listing", "methods/registry.py", paper, "True for paper", by_number)
    every, any_of = "two_sided(trials) * spread < 0", "two_sided(trials, draws.shape[1]) * spread >= 0"
    plant("gallery: each x pays for all", claims, every, "two_sided(trials, draws.shape[1]) * spread < 0", drawn)
    plant("gallery: one x of many accuses", claims, any_of, "two_sided(trials) * spread >= 0", drawn)
    plant(
        "gallery: what is displayed is not recycled",
        "glm/augment.py",
        "np.where(over_all, *shares)",
        "np.where(~over_all, *shares)",
        "tests/glm/test_augment.py -k recycl",
    )
    plant(
        "gallery: fits end with other derivatives",
        "glm/solvers.py",
        "at_end[0][live], at_end[1][live] = losses",
        "pass",
        "tests/glm/test_augment.py -k derivatives",
    )
    plant(
        "gallery: a model stands for losses however far off",
        "glm/augment.py",
        "way) <= _SLIGHT_CURVATURE * tolerance)",
        "way) <= np.inf)",
        "tests/glm/test_augment.py -k model",
    )
    plant(
        "gallery: the other length is the density's",
        "papers/gallery/paper_d.py",
        '{**values, "form": "sampled"}',
        '{**values, "form": "density"}',
        "tests/papers/test_gallery.py -k samples_it",
    )
    plant(
        "gallery: as printed counts are clipped",
        "methods/local/printed.py",
        "low=-BEYOND, high=BEYOND",
        "low=made.low, high=made.high",
        "tests/local/test_printed.py",
    )
    stated = "answer is Answer.HOLDS and name.startswith(self.stated)"
    plant("gallery: a stated reading decides nothing", claims, stated, "answer is None", drawn)
    holds = "Answer.HOLDS if finding.answer is Answer.HOLDS else"
    plant("gallery: a setting taken here answers nothing", claims, holds, "", drawn)
    plant("gallery: a setting taken here refutes", claims, holds, "finding.answer or", drawn)
    nested, sums = "papers/gallery/local.py", "tests/papers/test_gallery_trials.py -k sums_over"
    plant("gallery: sums of first rows not centred", nested, "shift * total[-1]", "0 * shift", sums)
    clips = "made.radius * (1 + _ROUNDING)"
    plant(
        "gallery: rows beyond the radius are summed",
        nested,
        clips,
        "np.inf",
        "tests/papers/test_gallery_trials.py -k may_clip",
    )
    plant("gallery: spreads are halved", claims, "np.nan, np.maximum(*sides)", "np.nan, np.maximum(*sides) / 2", drawn)
    plant(
        "gallery: medians are near", claims, "if np.all(before < middle)", "if True or np.all(before < middle)", drawn
    )
    checks = "papers/gallery/checks.py"
    plant(
        "gallery: an x that does not decide is named", checks, "at = int(np.argmax(np", "at = int(np.argmin(np", drawn
    )
    plant("gallery: intervals that are none", checks, "if not np.isfinite(margin):", "if False:", drawn)
    erm, trials = "papers/gallery/erm.py", "tests/papers/test_gallery_trials.py"
    plant("gallery: noise not shared", erm, "SeededNoise(self.seed, 4)", "SeededNoise(self.seed, len(id))", trials)
    summed, protocol = "level @ k])", "tests/local/test_protocol.py"
    stack, estimators = "tests/papers/test_gallery_trials.py -k together", "local/estimators.py"
    plant(
        "gallery: every fit is recycled as often", "glm/augment.py", "(passes, (t,)) > count)", "(t, (t,)) > 0)", stack
    )
    plant(
        "gallery: one Lambda0 for a stack", "glm/augment.py", "self.floor[which], gamma", "self.floor[:1], gamma", stack
    )
    plant(
        "gallery: results are not resumed first",
        "papers/gallery/engine.py",
        "return 0.0 if record is None",
        "return 9.0 if record is None",
        f"{drawn} --slow -k goes_on_where",
    )
    plant("gallery: some x is every x", "papers/gallery/checks.py", "if mostly else 1", "if mostly else points", drawn)
    others = "drawn = [curves, *(panel() for panel in panels)]"
    plant("gallery: a panel is all panels", "papers/gallery/checks.py", others, "drawn = [curves]", drawn)
    shared = "counts / len(features)"
    plant("local: copies of rows count once", estimators, shared, "np.full(len(first), 1 / len(first))", protocol)
    plant("local: shells beyond weigh one", "local/setup.py", "shells[power, inside:]", "shells[0, inside:]", protocol)
    plant("local: a total of lengths", "local/protocol.py", summed, "abs(level) @ k])", protocol)
    hostile = "tests/local/test_hostile.py"
    plant(
        "local: types of a file are not checked", "local/protocol.py", "            _check_types(fields)\n", "", hostile
    )
    plant("local: half a file is left", "cli/local.py", "unfinished.unlink(missing_ok=True)", "pass", hostile)
    second, grid, noise = "methods/joint/passes.py", "mechanisms/grid.py", "mechanisms/noise.py"
    passes, turned = "mechanisms/passes.py", "mechanisms/quantized_rows.py"
    plant("turned: directions 2 % too long", turned, "STEPS * (1 - 2.0**-40)", "STEPS * 1.02", TURNED)
    plant(
        "turned: rows far out at their scaled length",
        turned,
        "lengths * factor, responses",
        "lengths * unit, responses",
        TURNED,
    )
    plant("passes: lengths not clipped", passes, "-1.0, 1.0, out=shares", "-9.0, 9.0, out=shares", GRADIENTS)
    filter_passes, frame = "methods/gradients/passes.py", "methods/gradients/frame.py"
    long_row = "tests/methods/test_gradients.py -k long_public"
    plant("gradients: the mean of no row", frame, "slope(self.rows @ points", "slope(self.left_out @ points", long_row)
    to_and_fro = f"{LAWS} -k 'to_and_fro or too_far'"
    plant(
        "gradients: steps to and fro", filter_passes, "points_back[:, None, None], higher", "False, higher", to_and_fro
    )
    plant(
        "gradients: any step raises",
        filter_passes,
        "after.gradients, axis=1) < 0",
        "after.gradients, axis=1) < 1e9",
        to_and_fro,
    )
    plant(
        "gradients: no tail",
        "public/clipping.py",
        "_ROWS_BEYOND = 0.5",
        "_ROWS_BEYOND = 0.0",
        f"{LAWS} -k 'price or bounds'",
    )
    plant(
        "gradients: private labels as separated as public ones",
        filter_passes,
        "frame.candidates(residuals * ratio[:, None])",
        "frame.candidates(residuals)",
        f"{LAWS} -k as_long_as_expected",
    )
    plant(
        "gradients: the fit of few labels is known",
        frame,
        "math.pi / 8 *",
        "0 * math.pi *",
        f"{LAWS} -k as_long_as_expected",
    )
    plant("gradients: no weak prior", "public/ridge.py", "COEFFICIENT_SD**2 * np.eye", "1e8 * np.eye", LAWS)
    method = "methods/gradients/method.py"
    plant("gradients: many passes, the first of them nothing", method, "growth = growth **", "_ = growth **", LAWS)
    plant(
        "gradients: few public rows scheduled as many",
        method,
        "if has_few_rows(public):",
        "if False:",
        f"{LAWS} -k precision_is_not_scarce",
    )
    plant(
        "gradients: no schedule for next to no noise",
        method,
        "return _NOISELESS_SCHEDULE_OF_FEW_ROWS",
        "return _AMPLE_SCHEDULE_OF_FEW_ROWS",
        f"{LAWS} -k few_rows_have_a_schedule",
    )
    plant(
        "gradients: a curvature that runs off", filter_passes, "is not None:\n        root", "is 0:\n        root", LAWS
    )
    plant(
        "gradients: sampling errors by a Hessian that is too small",
        frame,
        "hessian = self.hessians(self.slopes(fit[None]))[0]",
        "hessian = 0.2 * self.hessians(self.slopes(fit[None]))[0]",
        f"{LAWS} -k sampling_part",
    )
    rehearsal, foreseen = "methods/gradients/rehearsal.py", "tests/methods/test_gradients_prediction.py"
    plant("gradients: one ratio for all schedules", method, "(self.schedule, n), ", "n, ", f"{foreseen} -k schedule")
    plant(
        "gradients: a ratio for every budget",
        rehearsal,
        "not in stored:\n                stored[key",
        "is not None:\n                stored[key",
        f"{foreseen} -k curve",
    )
    plant(
        "gradients: few private rows like many",
        method,
        "for plan in (reference, self)",
        "for plan in (self, self)",
        f"{foreseen} -k near",
    )
    for name, text, fault in (
        ("one ratio for all coefficients", "sums + _COMMON_DRAWS * common", "16 * common"),
        ("a band of eight draws alone", "_COMMON_DRAWS = 8", "_COMMON_DRAWS = 0"),
        ("a far error says it of all", "_MOST_DEVIATIONS_IN_COMMON**2)", "1e12)"),
        ("simulated rows all at the public fit", "centre + spread @", "centre + 0 * spread @"),
        ("simulated rows whose fit is further", "math.sqrt(1 - m / many)", "2"),
        ("rates as labels", "poisson_counts(mean * exposure", "poisson_counts(mean"),
    ):
        plant(f"gradients: {name}", rehearsal, text, fault, f"{foreseen} -k 'runs or longer or simulated or drawn'")
    plant(
        "gradients: foreseen without process noise",
        filter_passes,
        "update.covariance + _process_noise(frame, step_moment)), errors_after",
        "update.covariance), errors_after",
        f"{foreseen} -k foreseen",
    )
    plant(
        "gradients: foreseen steps of a widened error",
        filter_passes,
        "update.of_observation(hessian @ errors @ hessian + observed)",
        "update.of_observation(hessian @ state.covariance @ hessian + observed)",
        f"{foreseen} -k foreseen",
    )
    plant(
        "gradients: ample is as usual",
        method,
        "return _AMPLE_SCHEDULE if noise",
        "return _USUAL_SCHEDULE if noise",
        f"{foreseen} -k decide_the_number",
    )
    costs = "(1 - curvature - counting) * s"
    plant("gradients: a curvature costs nothing", method, costs, "(1 - counting) * s", LAWS)
    plant("gradients: histograms cost nothing", method, costs, "(1 - curvature) * s", LAWS)
    plant("gradients: no Newton steps", method, "binary and noise <", "binary and 0 >", f"{LAWS} -k newton")
    plant("gradients: Newton steps for counts", method, "public.family.binary and noise", "noise", f"{LAWS} -k newton")
    histograms = "tests/methods/test_gradients.py -k histogram"
    half = "0.5 * HISTOGRAM_SENSITIVITY * FINE"
    plant("passes: histograms with half their noise", passes, "HISTOGRAM_SENSITIVITY * FINE", half, histograms)
    plant(
        "passes: curvatures counted by gradients",
        passes,
        "_curvature_lengths if",
        "_to_gradient_lengths if",
        histograms,
    )
    safeguards = f"{LAWS} -k 'taken_back or went_too_far'"
    plant("gradients: any step is taken back", filter_passes, "up > _STEEP_SHARE * down", "up > -1e9", safeguards)
    plant("gradients: the way back is noise", filter_passes, "(up > _SLOPE_DEVIATIONS * noise)", "True", safeguards)
    plant("gradients: long steps after one too far", filter_passes, "_REACH_AFTER_OVERSHOOT * np", "9 * np", safeguards)
    counted = f"{LAWS} -k 'counted_bounds or far_row'"
    plant("gradients: counted rows are clipped", filter_passes, "bias**2 + (unit", "0 * bias + (unit", counted)
    plant("gradients: counted bounds have no price", filter_passes, "bias**2 + (unit * edges) ** 2", "bias**2", counted)
    plant(
        "gradients: curvatures are forgotten",
        filter_passes,
        "nearer = from_last < spread",
        "nearer = from_last < 0",
        f"{LAWS} -k hardly_changed",
    )
    plant(
        "gradients: unlike rows pass",
        "methods/gradients/method.py",
        "return chance_if_alike(self.plan.frame, *self._first) < _NOMINAL_RATE",
        "return False",
        f"{LAWS} -k flipped",
    )
    plant(
        "kept: all blocks counted twice",
        "base/private_rows.py",
        "            yield from self._pieces\n            return\n",
        "            yield from self._pieces\n",
        TURNED,
    )
    plant(
        "joint: gradient noise halved",
        passes,
        "GRADIENT_SENSITIVITY * GRADIENT, mu",
        "1.0 * GRADIENT, mu",
        SPIED,
    )
    update = "public/gaussian_update.py"
    plant(
        "update: alarms three times as often",
        update,
        "FALSE_ALARMS * share, entries",
        "3 * FALSE_ALARMS * share, entries",
        UPDATE,
    )
    plant("update: the excess put down to all", update, "(ratio - (1 - share)) / share", "ratio", UPDATE)
    plant(
        "update: noise left out of the posterior",
        update,
        "gain @ noise_covariance @",
        "0 * gain @ noise_covariance @",
        UPDATE,
    )
    manners = "tests/cli/test_manners.py -k parameters_that_a_release"
    given = "parameters={first: parameters})"
    plant("plan: a plan of default parameters", "cli/audit_commands.py", given, "parameters={})", manners)
    refined, secant = "methods/joint/fit.py", "public/gaussian_update.py"
    rising = "(residual_along > deviations * np.sqrt(noise + entry_variance * length**2)) & (rises > _LEAST_RISE)"
    plant("joint: curvature lowered too", secant, rising, "np.abs(rises) > _LEAST_RISE", FILTER)
    step = "truncation.plus(ErrorPart.of(np.outer(moved, moved)))"
    floor = "np.maximum(total.variance, _least_squares_variance(first))"
    plant(
        "joint: bands of the prior alone",
        "methods/joint/outcome.py",
        floor,
        "total.variance",
        f"{FILTER} -k determine",
    )
    plant("joint: bands without the last step", "methods/joint/outcome.py", step, "truncation", FILTER)
    plant("bands: nothing has no freedom", "public/bands.py", "(total > 0) & np.isfinite", "np.isfinite", FILTER)
    plant(
        "bands: variances below zero",
        "public/bands.py",
        "np.maximum(np.diag(covariance), 0.0)",
        "np.diag(covariance)",
        FILTER,
    )
    metric, own = "methods/joint/own_metric.py", "tests/methods/test_joint_own_metric.py"
    plant(
        "joint: a moment's noise halved",
        metric,
        "radius).release(rows, self.moment_mu",
        "radius).release(rows, 2 * self.moment_mu",
        own,
    )
    plant("joint: metric passes paid in part", metric, "math.sqrt(1 - _COUNTING_SHARE)", "1.0", own)
    plant("joint: one metric for all passes", metric, "wanted[:d, :d] = whitening.T", "pass", own)
    plant("joint: curvature not raised", secant, "return np.asarray(curvature + raise_by)", "return curvature", FILTER)
    plant(
        "joint: a secant unheard", secant, "updated = curvature + weights", "updated = curvature + 0 * weights", FILTER
    )
    plant(
        "joint: a secant that keeps its error",
        secant,
        "error_scale - gain[:, None, None]",
        "error_scale - 0 * gain[:, None, None]",
        FILTER,
    )
    plant(
        "joint: one gain in all directions",
        secant,
        "gain_along = 2 * noise / np.maximum(2 * noise",
        "gain_along = noise / np.maximum(noise",
        FILTER,
    )
    plant(
        "joint: negative curvature believed",
        secant,
        "(rises > np.sqrt(gain_along * variance * square))",
        "(np.abs(rises) > 0)",
        FILTER,
    )
    plant(
        "joint: error of learned directions",
        refined,
        "self.gram_error_scale[:many], step",
        "self.pilot.gram_error_scale[:many], step",
        FILTER,
    )
    plant(
        "joint: counts beyond chance unheard", "public/clipping.py", "conflict_inflation(ratio, share, 1)", "1", FILTER
    )
    tail = "public/clipping.py"
    plant(
        "joint: public tail beside counts",
        tail,
        "has_tail = np.any(significant, axis=1)[:, None]",
        "has_tail = np.any(0 * significant, axis=1)[:, None]",
        FILTER,
    )
    plant("joint: a tail of noise", tail, "PRIOR_ROWS + _BEYOND_CHANCE * chance", "PRIOR_ROWS + 0 * chance", FILTER)
    plant("joint: a tail without an end", tail, "(in_tail & (beyond < _HALF_A_ROW))", "(in_tail & False)", FILTER)
    plant("joint: a clear count unheard", tail, "empty = (rows < _HALF_A_ROW)", "empty = (prior < _HALF_A_ROW)", FILTER)
    plant("joint: parts of rows far out", "public/clipping.py", "np.where(empty, 0.0, rows)", "rows", FILTER)
    plant(
        "joint: no common direction",
        "public/clipping.py",
        "_COMMON_POWER = 0.062, 0.1, 0.6",
        "_COMMON_POWER = 0.062, 0.1, 0.0",
        FILTER,
    )
    plant(
        "joint: rows beyond every bound cost nothing",
        refined,
        "largest_clipping_mse[0]",
        "clipping_mse[0]",
        FILTER,
    )
    plant(
        "joint: far rows in any direction", second, "np.maximum(bias**2 / self.plan.sizes.d,", "np.maximum(0,", FILTER
    )
    plant(
        "joint: rows beyond every bound unsaid",
        refined,
        "if self.gradient.exceeds_expected_tail[0]:",
        "if False:",
        FILTER,
    )
    plant("joint: bounds do not grow", "public/clipping.py", "HARMLESS * mu * math.sqrt(n) / 2", "0.0", FILTER)
    plant("joint: bounds priced by the score", tail, "error / unclipped**_SLOPE_POWER", "error", FILTER)
    plant("joint: a pilot scaled for itself", "methods/joint/plan.py", "_PILOT_SCALE * accurate", "accurate", FILTER)
    expected = "tests/methods/test_joint_refined.py -k a_plan"
    plant("joint: a plan ends at the longest", tail, "tail.count_beyond(low), at_least", "0.0 * low, at_least", FILTER)
    plant("joint: a plan with exact counts", second, "self.counting_sd * rng.", "0 * rng.", expected)
    plant("joint: a plan trusts the pilot", "methods/joint/plan.py", " + gram_mse * (noise + clipping)", "", expected)
    plant(
        "joint: a plan clips nothing",
        "methods/joint/plan.py",
        "+ gain * np.sqrt(step_clipping)) ** 2",
        ") ** 2",
        expected,
    )
    gaps, joint_passes = "tests/methods/test_joint_filter.py -k gaps", "methods/joint/passes.py"
    plant("joint: complete rows of zeros have gaps", joint_passes, "/ n - zeros / m", "/ n", gaps)
    plant(
        "joint: public zeros are the private ones", joint_passes, "variance += chance", "variance += 0 * chance", gaps
    )
    plant(
        "joint: a hundredth of gaps is said",
        joint_passes,
        "_FEW_LEFT_OUT = 4.0, 0.02",
        "_FEW_LEFT_OUT = 4.0, 0.0",
        gaps,
    )
    plant(
        "joint: a plan of many gradients has one bound",
        "methods/joint/plan.py",
        "simulated = gradient.rehearsal",
        "simulated = self.second.rehearsal",
        "tests/auditing/test_comparison.py -k near_the_realized",
    )
    plant(
        "joint: counted twice, paid once",
        "methods/joint/plan.py",
        "middle=between + counted",
        "middle=between",
        REFINED,
    )
    plant("joint: pilot at 3 mu", second, "return self.mu * math.sqrt(self.pilot)", "return 3 * self.mu", SPIED)
    plant(
        "joint: histogram noise / 14",
        second,
        "exact, moved, self.shares.counting_mu",
        "exact, moved, 14 * self.shares.counting_mu",
        SPIED,
    )
    plant(
        "joint: one pass at 3 mu",
        "methods/joint/passes.py",
        "release_integer_moment(total, self.mu,",
        "release_integer_moment(total, 3 * self.mu,",
        APART,
    )
    plant(
        "grid: off-diagonal noise / 4",
        grid,
        "else scale / np.sqrt(2)",
        "else scale / 4",
        APART,
    )
    plant("grid: slack forgotten", grid, "return (1 + SLACK) * sensitivity / mu", "return sensitivity / mu", SPIED)
    plant(
        "grid: rows 2 % too long",
        grid,
        "steps = np.trunc(inside * (1 - 2.0**-40))",
        "steps = np.trunc(inside * 1.02)",
        GRID,
    )
    plant(
        "grid: every row at the radius",
        grid,
        "np.maximum(np.where(finite, length, 1.0), radius)",
        "np.where(finite, length, 1.0)",
        f"{GRID} -k too_long",
    )
    plant(
        "noise: exact sampler bypassed",
        noise,
        "return discrete_gaussian(sigma, trials * size).reshape(trials, size)",
        "return np.rint(sigma * np.random.default_rng().standard_normal((trials, size))).astype(np.int64)",
        NOISE,
    )
    plant(
        "noise: entropy of a seeded generator",
        noise,
        "np.frombuffer(os.urandom(8 * trials * size), dtype=np.uint64)",
        "np.random.default_rng().integers(0, 2**64, trials * size, dtype=np.uint64)",
        NOISE,
    )
    plant(
        "noise: a release may use a seed",
        noise,
        "    secure = False\n\n    @abstractmethod",
        "    secure = True\n\n    @abstractmethod",
        "tests/releases/test_recorded.py tests/ledger/test_limits.py tests/ledger/test_log.py " + NOISE,
    )
    plant("noise: papers' noise halved off the diagonal", noise, "np.sqrt(0.5), 1.0)", "np.sqrt(0.25), 1.0)", NOISE)
    symmetric, packed = "base/symmetric.py", "tests/base/test_symmetric.py"
    plant("symmetric: entries off the diagonal count once", symmetric, "1.0, np.sqrt(2))", "1.0, 1.0)", packed)
    plant("symmetric: integers become floats", symmetric, ", dtype=entries.dtype)", ")", packed)
    plant("symmetric: the diagonal twice", symmetric, "np.tril(lower, -1).T", "lower.T", packed)
    plant(
        "registry: an attacker gets less than was released",
        "methods/registry.py",
        "upper_triangle(self.statistic) if self.statistic.ndim == 3 else self.statistic",
        "self.statistic[:, :, 0] if self.statistic.ndim == 3 else self.statistic",
        "tests/methods/test_joint_moment.py -k audit",
    )
    ada = "methods/ada_ssp.py"
    plant("ada-ssp: parts at mu/sqrt 2", ada, "self.mu / math.sqrt(3)", "self.mu / math.sqrt(2)", APART)
    plant("ada-ssp: eigenvalue noise / 10", ada, "rounded * eigen_sd / unit", "0.1 * rounded * eigen_sd / unit", APART)
    plant("ada-ssp: moment noise / 2", ada, "(1 + SLACK) * moment_sd / unit", "0.5 * moment_sd / unit", APART)
    two = "methods/two_part/statistics.py"
    plant("two parts: each at mu", two, "part = self.mu / math.sqrt(2)", "part = self.mu", APART)
    plant(
        "two parts: cross noise / 2",
        two,
        "(1 + SLACK) * cross_sigma / cross_unit",
        "0.5 * cross_sigma / cross_unit",
        APART,
    )
    plant(
        "two parts: Gram noise / 2", two, "(1 + SLACK) * gram_sigma / gram_unit", "0.5 * gram_sigma / gram_unit", APART
    )
    plant(
        "pmt-moment: noise / 2",
        "methods/two_part/whitened.py",
        "(1 + SLACK) * self.sigma / unit",
        "0.5 * self.sigma / unit",
        APART,
    )
    truncation = "mechanisms/truncation.py"
    plant(
        "joint calibration too far",
        truncation,
        "return 2 * (1 - t * t) * gram + 2 * (1 + t) * cross",
        "return 2 * (1 - t * t) * gram + 2 * cross",
        APART,
    )
    plant("labels calibrated too far", truncation, '"labels": math.sqrt(1 / 2)', '"labels": math.sqrt(1 / 3)', SPIED)
    plant("three parts calibrated too far", truncation, "math.sqrt(81 / 32 / 3)", "math.sqrt(1 / 3)", APART)
    plant("moment calibrated too far", truncation, '"moment": math.sqrt(1 / 2)', '"moment": 1 / 2', APART)
    plant(
        "bounded rows: rounding forgotten",
        truncation,
        "NORM_FACTOR = 1 - 2.0**-40",
        "NORM_FACTOR = 1 + 2.0**-40",
        f"{MINIMIZER} -k bounded",
    )
    plant(
        "bounded rows: infinite ones kept",
        truncation,
        "good = np.isfinite(top) & (top > 0)",
        "good = top > 0",
        f"{MINIMIZER} -k bounded",
    )
    plant(
        "papers' radius without its root",
        truncation,
        "return math.sqrt(d * (1 + math.log(2 * n / eta)))",
        "return d * (1 + math.log(2 * n / eta))",
        LINEAR,
    )
    integers = "mechanisms/integers.py"
    plant("integers: numbers not clipped", integers, "np.clip(values / bound, -1.0, 1.0)", "values / bound", APART)
    plant(
        "integers: slope noise of another unit", "methods/noisy_newton.py", "(SLOPES * COARSE**2)", "(COARSE**2)", SPIED
    )
    plant(
        "newton: score noise halved",
        "methods/noisy_newton.py",
        "(1 + SLACK) * score_sd / unit",
        "0.5 * score_sd / unit",
        SPIED,
    )
    plant(
        "newton: Hessian noise halved",
        "methods/noisy_newton.py",
        "(1 + SLACK) * hessian_sd / curved",
        "0.5 * hessian_sd / curved",
        SPIED,
    )
    plant(
        "newton: one step more than paid for",
        "methods/noisy_newton.py",
        "for _ in range(self.parameters.steps):",
        "for _ in range(self.parameters.steps + 1):",
        SPIED,
    )
    plant(
        "newton: no projection",
        "methods/noisy_newton.py",
        "np.minimum(1.0, bound / length)",
        "np.minimum(1.0, 1e9 * bound / length)",
        f"{ARRIVES} -k projected",
    )
    plant(
        "dp-gd: noise of one step for all",
        "methods/dp_gd.py",
        "self.mu / math.sqrt(self.parameters.steps)",
        "self.mu",
        SPIED,
    )
    plant(
        "dp-gd: noise halved", "methods/dp_gd.py", "(1 + SLACK) * self.sigma / unit", "0.5 * self.sigma / unit", APART
    )
    plant(
        "dp-gd: clip forgotten",
        "methods/dp_gd.py",
        "self.parameters.clip, clipped=True",
        "self.parameters.clip, clipped=False",
        f"{ARRIVES} -k mean_clipped",
    )
    offered = "tests/methods/test_registry_offered.py"
    plant(
        "offered: in any order",
        "methods/registry.py",
        "entry is not first, public.family.id in",
        "entry is not first, public in",
        offered,
    )
    plant(
        "offered: a method unmeasured",
        "methods/dp_gd.py",
        'behind_public_fit=("poisson",)',
        "behind_public_fit=()",
        offered,
    )
    noted = f"{offered} -k says_so"
    plant(
        "offered: nothing said of it",
        "releases/release.py",
        "family.id in entry.behind_public_fit",
        "family.id not in entry.behind_public_fit",
        noted,
    )
    plant(
        "pmt-score: sensitivity of one sign",
        "methods/pmt_score.py",
        "(1 + SLACK) * 2 * FINE / self.mu",
        "(1 + SLACK) * FINE / self.mu",
        APART,
    )
    equation = "tests/methods/test_score_equation.py"
    plant(
        "score equation: curvature of public rows taken as known",
        "methods/score_equation.py",
        "squares = self._changes(points, fits) ** 2",
        "squares = 0 * self._changes(points, fits) ** 2",
        equation,
    )
    left_out, own = "public/shape.py", f"{equation} -k 'own_predictor or own_hessian'"
    plant("score equation: the mean of no row", left_out, "centre, rows @ centre)", "centre, left_out @ centre)", own)
    plant("score equation: rows moved as they are not", "methods/score_equation.py", "factors**2", "factors", own)
    plant(
        "objective: pull of the modulus left in",
        "methods/pmt_objective.py",
        "self.pull * (minimizers",
        "0.5 * self.pull * (minimizers",
        equation,
    )
    simulation = f"{equation} -k simulated"
    plant(
        "score equation: bands of simulated rows as long as the covariance",
        "methods/score_equation.py",
        "self.privacy_part(posterior, self.error_ratios)",
        "self.left(posterior, np.ones(self.public.d))",
        simulation,
    )
    plant(
        "objective: simulated noise of few rows", "mechanisms/objective.py", "share * b, share", "b, share", simulation
    )
    plant("objective: simulated pull of few rows", "mechanisms/objective.py", "b, share * self", "b, self", simulation)
    plant(
        "pmt-score: simulated noise of few rows",
        "methods/pmt_score.py",
        "self.mu * self.n / rows.n",
        "self.mu",
        simulation,
    )
    objective = "mechanisms/objective.py"
    plant(
        "objective: noise of add-remove",
        "accounting/perturbed.py",
        "return 2 * radius / mu",
        "return radius / mu",
        f"{LABELS} -k meets_the_budget",
    )
    plant(
        "objective: modulus halved",
        "accounting/perturbed.py",
        "return 2 * noise**2 * reach",
        "return noise**2 * reach",
        f"{LABELS} -k meets_the_budget",
    )
    plant(
        "objective: grid noise forgotten",
        objective,
        "b = source.integers(FINE, trials, len(self.centre))",
        "b = 0 * source.integers(FINE, trials, len(self.centre))",
        SPIED,
    )
    plant(
        "objective: covering noise forgotten",
        "mechanisms/minimizer.py",
        "noise = source.integers((1 + SLACK) * self.sensitivity / reserve.paid, *theta.shape)",
        "noise = 0",
        SPIED,
    )
    plant(
        "optimum: rounding at far points forgotten",
        "mechanisms/minimizer.py",
        "slope = 2 * self.rounding_bound.slope / self.modulus",
        "slope = 0.0",
        f"{MINIMIZER} -k 'least_gradient or whole_steps'",
    )
    plant(
        "optimum: half a step of b forgotten",
        "mechanisms/minimizer.py",
        "slip = self.step_of_noise * math.sqrt(len(self.centre)) / 2",
        "slip = 0.0",
        f"{MINIMIZER} -k 'least_gradient or whole_steps'",
    )
    plant(
        "optimum: no ball",
        "mechanisms/minimizer.py",
        "np.minimum(1.0, self.ball / np.maximum(length, 1e-300))",
        "np.ones(len(length))",
        f"{MINIMIZER} -k least_gradient",
    )
    plant(
        "optimum: tolerance below rounding",
        "mechanisms/minimizer.py",
        "return np.asarray(max(self.least_gradient, self.rounding_bound.fixed) + self.rounding_bound.slope * distance)",
        "return np.asarray(self.least_gradient + 0 * distance)",
        f"{MINIMIZER} -k least_gradient",
    )
    plant(
        "spherical: Gamma of shape 1 (E8)",
        "mechanisms/spherical.py",
        "for value in lengths), context",
        "for value in lengths[:1]), context",
        f"{MINIMIZER} -k 'spherical or floors'",
    )
    plant(
        "spherical: floor towards zero",
        "mechanisms/spherical.py",
        "integer = -integer if sign else integer",
        "integer = integer",
        f"{MINIMIZER} -k 'spherical or floors'",
    )
    perturbed = "accounting/perturbed.py"
    plant(
        "perturbed: the Jacobian's logarithm halved",
        perturbed,
        "return math.log1p(self.loss.curvature * self.kappa)",
        "return math.log1p(self.loss.curvature * self.kappa) / 2",
        f"{PERTURBED} -k 'exact_densities or keeps_its_delta'",
    )
    plant(
        "perturbed: replace-one pays once",
        perturbed,
        "width = 2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0",
        "width = 1.0",
        f"{PERTURBED} -k exact_densities",
    )
    plant(
        "perturbed: modulus not checked (E10)",
        "mechanisms/perturbed.py",
        "if not float(np.min(self.ridge)) >= self.terms.modulus * (1 - 1e-12):",
        "if False:",
        f"{PERTURBED} -k refused",
    )
    budgets = "accounting/budgets.py"
    plant(
        "budgets: delta of the wrong side",
        budgets,
        "t, u = epsilon / mu - mu / 2, epsilon",
        "t, u = epsilon / mu + mu / 2, epsilon",
        BUDGETS,
    )
    plant(
        "budgets: sums instead of squares",
        budgets,
        "math.sqrt(math.fsum(mu * mu for mu in mus))",
        "math.sqrt(math.fsum(mu for mu in mus))",
        BUDGETS,
    )
    plant(
        "budgets: pure epsilon implies half of mu",
        budgets,
        "return -2 * float(ndtri",
        "return -1 * float(ndtri",
        "tests/local/test_protocol.py -k trade_off",
    )
    plant(
        "mixed: losses rounded down",
        "accounting/mixed.py",
        "ups = [math.ceil(value / step - 1e-9)",
        "ups = [math.floor(value / step - 0.6)",
        MIXED,
    )
    randomizers = "mechanisms/randomizers.py"
    plant("local: keeps more", randomizers, "(1 - _MARGIN), 1 - _REST)", "(1 + 1e-3), 1 - _REST)", LOCAL)
    plant("local: pieces at the full epsilon", randomizers, "_best(d, epsilon / pieces)", "_best(d, epsilon)", LOCAL)
    plant(
        "local: noise of a radius for a diameter",
        randomizers,
        "return (1 + SLACK) * 2 * FINE / self.mu",
        "return (1 + SLACK) * FINE / self.mu",
        LOCAL,
    )
    plant(
        "local: labels sent in full, bound halved",
        "local/protocol.py",
        "(np.clip(y, self.low, self.high) - self.offset) / self.response_bound",
        "np.clip(y, self.low, self.high) / self.response_bound",
        LOCAL,
    )
    plant(
        "local: a missing value says something",
        "local/protocol.py",
        "np.where(usable[:, None], features, 0.0)",
        "np.where(usable[:, None], features, 1.0)",
        "tests/local",
    )
    plant("local: noise of all people for each", randomizers, "float(scale) * math.sqrt(n)", "float(scale)", LOCAL)
    releases = "releases/release.py"
    plant(
        "release: recorded mu is not the plan's",
        releases,
        "return budgets.Guarantee(mu, method(request.method).claim.neighbours, delta, _unit",
        "return budgets.Guarantee(mu / 2, method(request.method).claim.neighbours, delta, _unit",
        f"{ARRIVES} -k recorded",
    )
    plant(
        "release: the ledger pays half",
        releases,
        "        unit.rows * plan.mu,\n",
        "        unit.rows * plan.mu / 2,\n",
        "tests/ledger/test_log.py tests/ledger/test_limits.py",
    )
    plant(
        "release: a seed will do",
        releases,
        "if plan.mu > 0 and not source.secure:",
        "if False:",
        "tests/releases tests/ledger tests/base",
    )
    plant("grid: words added up as one", grid, "words[0] * 2**_WORD_BITS + words[1]", "words[0] + words[1]", GRID)
    likeness, shared, known = (
        "tests/public/test_homogeneity.py",
        "tests/tables/test_overlap.py",
        "ledger/fingerprint.py",
    )
    fingerprint, persons = "tests/ledger/test_fingerprint.py", "tests/tables/test_persons.py"
    homogeneity, deduplicate = "public/homogeneity.py", "public/deduplicate.py"
    plant(
        "homogeneity: the mean of a thousand rows",
        homogeneity,
        "    middle = entries(np.ones(m)) / m",
        "    middle = entries(1.0 * (np.arange(m) < 1000)) / min(m, 1000)",
        f"{likeness} -k alike_samples",
    )
    rare = f"{likeness} -k rare_levels"
    rate = ("FALSE_ALARMS_OF_FEW if m < _FEW_ROWS_PER_COLUMN * d else FALSE_ALARMS", "FALSE_ALARMS")
    plant("homogeneity: few rows warn as many", homogeneity, *rate, f"{likeness} -k how_rare")
    named = f"{likeness} -k names_the_column"
    plant("homogeneity: shorter columns are named", homogeneity, "size * _NAMED_PART for", "size * 0 for", named)
    plant(
        "homogeneity: a moved mean is no difference", homogeneity, "deviation(centred, centred), of_mean", "0.0", named
    )
    zeros = f"{likeness} -k rows_of_zeros"
    plant("homogeneity: gaps are another population", homogeneity, "if not self.has_intercept or", "if True or", zeros)
    moment = "methods/joint_moment/method.py"
    plant("homogeneity: Explore's release has no test", moment, "return self._alarm is not None", "return False", named)
    plant(
        "homogeneity: pairs that no row has are known",
        homogeneity,
        "(moments.shape) * lacking",
        "(moments.shape) * 0",
        rare,
    )
    plant(
        "homogeneity: means drown among all entries",
        homogeneity,
        "min(2 * min(chance, of_means), 1.0)",
        "chance",
        f"{likeness} -k frequent_levels",
    )
    beyond = f"{likeness} -k beyond_all"
    plant("homogeneity: every ball is closed", homogeneity, "if self.is_open:", "if False:", beyond)
    plant("homogeneity: every ball is open", homogeneity, "weights(rows) == 1))", "weights(rows) >= 0))", beyond)
    shift = "tests/methods/test_joint_filter.py -k law_of_a_shift"
    plant("joint: a covariance is known", "methods/joint/outcome.py", "max(dof - d + 1, 1.0)", "dof", shift)
    plant(
        "homogeneity: sums without random signs",
        homogeneity,
        "rng.choice([-1.0, 1.0], m)",
        "np.ones(m)",
        f"{likeness} -k 'null_spreads or another_shape'",
    )
    plant(
        "deduplicate: equal rows count once",
        deduplicate,
        "    if len(counts) == m or",
        "    if len(counts) < m:\n        return np.sort(np.unique(rows, axis=0, return_index=True)[1])\n"
        "    if len(counts) == m or",
        f"{likeness} -k honest",
    )
    plant(
        "deduplicate: a design is a paste", deduplicate, " or _is_full_cross(rows, counts)", "", f"{likeness} -k honest"
    )
    plant(
        "deduplicate: one place for each row",
        deduplicate,
        "(counts // copies)[which]",
        "np.ones_like(counts)[which]",
        f"{likeness} -k pasted",
    )
    plant(
        "overlap: the standing answers",
        "releases/release.py",
        "    if plan.mu > 0 and not source.secure:",
        "    from pmtcore.tables.overlap import overlap\n\n"
        "    if overlap(problem.public, problem.private)._value.share >= 0.5:\n        reasons += ('shared',)\n"
        "    if plan.mu > 0 and not source.secure:",
        f"{shared} -k standing",
    )
    plant(
        "overlap: chance left out",
        "tables/overlap.py",
        "    return expected, upper_limit",
        "    return 0.0, 0.0",
        f"{shared} -k honest",
    )
    plant(
        "persons: a record states the row",
        "releases/release.py",
        "outcome.released_under(guarantee)",
        "outcome.released()",
        f"{persons} -k states",
    )
    plant(
        "persons: a record's word is believed",
        "methods/joint_moment/record.py",
        "return {**stated, **numbers}",
        "return {**stated, **numbers, **({'person': fields['person']} if 'person' in fields else {})}",
        f"{persons} -k cannot_state",
    )
    plant(
        "persons: leading zeros tell apart",
        "tables/persons.py",
        '(integer + fraction).lstrip("0")',
        "(integer + fraction)",
        f"{persons} -k one_however",
    )
    plant(
        "persons: case tells apart",
        "tables/persons.py",
        "text.casefold() if",
        "text if",
        f"{persons} -k one_however",
    )
    plant(
        "fingerprint: the first columns only",
        "tables/fingerprint.py",
        "    names, source = table.columns, reading_numbers(",
        "    names, source = table.columns[:64], reading_numbers(",
        f"{fingerprint} -k front",
    )
    plant(
        "fingerprint: tables that an earlier version kept are compared by fewer rows",
        "ledger/log.py",
        "return None if any(",
        "return MOST_HASHED if any(",
        f"{fingerprint} -k earlier_version",
    )
    plant(
        "fingerprint: few rows also where rows tell nobody apart",
        "tables/fingerprint.py",
        "if columns and self._most_telling is not None:",
        "if self._most_telling is not None:",
        f"{fingerprint} -k counted_all",
    )
    plant(
        "sites: a person's rows are spent for as one row",
        "sites/study.py",
        "nobody, side.data, study.choices,",
        "nobody, side.data, replace(study.choices, person=None),",
        "tests/sites/test_study_runs.py -k several_rows",
    )
    plant(
        "ridge: one decomposition, at another penalty",
        "public/ridge.py",
        "(penalty - _REFERENCE_PENALTY) * self.shares",
        "penalty * self.shares",
        "tests/public/test_ridge.py -k decomposition",
    )
    plant(
        "radius: half of an inverse",
        "public/clipping.py",
        "symmetric_from_lower(np.tril(inverse))",
        "np.tril(inverse)",
        "tests/public/test_radius.py",
    )
    plant(
        "ridge: the Hessian of labels is taken at the first point for all",
        "public/ridge.py",
        "            hessian = _mean_derivatives(data, fit)[1]\n",
        "",
        "tests/public/test_ridge.py -k curvature",
    )
    plant(
        "ridge: another prior is taken however little public rows prefer it",
        "public/ridge.py",
        "return (best, shape) if is_clear else (ridge, spread)",
        "return best, shape",
        "tests/public/test_ridge.py -k hardly_better",
    )
    plant(
        "ridge: weights of a Cauchy prior without the variance of the fit",
        "public/ridge.py",
        "squares = spread * (point.coefficients**2 + variance)",
        "squares = spread * point.coefficients**2",
        "tests/public/test_ridge.py -k cauchy",
    )
    plant(
        "bands: labels of the passes without the model's variance",
        "methods/gradients/frame.py",
        "return robust.at_least(self.to_table(self.to_table(inverse).T) / self.n)",
        "return robust",
        "tests/public/test_model_bands.py -k private_part",
    )
    plant(
        "bands: the public fit to labels without the model's variance",
        "methods/baselines.py",
        "robust.at_least(model)",
        "robust",
        "tests/public/test_model_bands.py -k three_rows",
    )
    plant(
        "ridge: few public rows support no penalty",
        "public/ridge.py",
        "min(supported, default=_PENALTY_PATH[0])",
        "min(supported)",
        "tests/methods/test_few_public_rows.py -k prior",
    )
    plant(
        "release: bands from public rows of one response",
        "releases/release.py",
        "None if problem.public.response_is_constant else ",
        "",
        "tests/report/test_columns.py -k one_response",
    )
    plant(
        "sites: a file that does not fit is told by a process",
        "sites/simulation.py",
        "        context.problem(study.names, table, name)\n",
        "        pass\n",
        "tests/sites/test_command.py -k fit",
    )
    plant(
        "cells: a day is another level in another type",
        "tables/cells.py",
        "by_day.get(day, by_form.get(plain_form(text), UNSEEN_CODE))",
        "by_form.get(plain_form(text), UNSEEN_CODE)",
        "tests/tables/test_rows.py -k one_level",
    )
    plant(
        "explore: a level is cut at its own sign",
        "cli/explore.py",
        'part.rpartition("=")',
        'part.partition("=")',
        "tests/releases/test_explore.py -k level_is_asked",
    )
    plant(
        "release: public figures after the spend",
        "releases/release.py",
        "            _plan(problem, request)[2].prepare()\n",
        "",
        "tests/releases/test_outcome.py -k public_rows",
    )
    plant(
        "solver: a step that overflows is told on standard error",
        "glm/solvers.py",
        '@np.errstate(over="ignore", invalid="ignore")\n',
        "",
        "tests/glm/test_solvers.py -k warns",
    )
    plant(
        "one parse: numbers are handed on whatever decimal mark they were read with",
        "tables/fingerprint.py",
        "if parsed is not None and parsed.decimal != rules.mark:",
        "if parsed is not None and False:",
        "tests/tables/test_parsed.py -k again",
    )
    plant(
        "one parse: numbers of some rows are handed on",
        "tables/fingerprint.py",
        "        numbers_read: deque[Block] = deque()\n",
        "        numbers_read: deque[Block] = deque()\n        if parsed is not None:\n            parsed._left[:] = [numbers_read]\n",
        "tests/tables/test_parsed.py -k stopped",
    )
    plant(
        "one parse: numbers stay after a refused release",
        "releases/release.py",
        "            stack.callback(problem.parsed.clear)  #",
        "            pass  #",
        "tests/tables/test_parsed.py -k refused",
    )
    plant(
        "sites: a coordinator that is started again begins anew",
        "sites/transcript.py",
        "message.attempt, dict(self.arrivals)",
        "message.attempt, {}",
        "tests/sites/test_study_runs.py -k 'goes_on_from and begin-0'",
    )
    plant(
        "fingerprint: no noise",
        known,
        "return NOISE * (",
        "return 0.0 * (",
        f"{fingerprint} -k noisy",
    )
    plant(
        "fingerprint: other noise each time",
        known,
        "    threshold = THRESHOLD + ",
        "    secret += os.urandom(8)\n    threshold = THRESHOLD + ",
        f"{fingerprint} -k noisy",
    )
    plant(
        "fingerprint: whole rows in an order that a row changes",
        known,
        "_counts_evidence(cells.named_types, known.named_types, known.complete),",
        "0.0,",
        f"{fingerprint} -k turn_columns",
    )
    plant(
        "fingerprint: rows with others of their kind speak for private rows among public ones",
        known,
        "unique_types = types[copies_in_sample == 1]",
        "unique_types = types",
        f"{fingerprint} -k same_people",
    )
    plant(
        "fingerprint: rows of a larger table speak as much",
        known,
        "probability = 1 - (1 - inclusion) ** copies_in_table[position]",
        "probability = 1.0",
        f"{fingerprint} -k same_people",
    )
    plant(
        "fingerprint: some columns of a row are enough",
        known,
        "cells.names for k in known.varying):\n        return 0.0\n    hashes",
        "cells.names for k in known.varying):\n        return 0.0\n    del known.varying[4:]\n    hashes",
        f"{fingerprint} -k same_people",
    )
    plant(
        "left-out rows: no limit to how far one lies",
        "public/moments.py",
        "inner_out = np.minimum(inner_out, inner * self.largest_growth)",
        "inner_out = np.asarray(inner_out)",
        "tests/public/test_moments.py -k no_infinity",
    )
    plant(
        "joint-moment: a floor by the expectation alone",
        "methods/joint_moment/linear.py",
        "np.sqrt(sizes * _NOISE_FLOOR * sigma / (sizes + _NOISE_FLOOR * sigma))",
        "np.sqrt(sizes)",
        "tests/methods/test_joint_moment.py -k stands_out",
    )
    plant(
        "Explore: inflation of one feature is computed",
        "explore/regression.py",
        "if len(self.features) == 1:",
        "if len(self.features) == 0:",
        "tests/releases/test_explore.py -k by_formula",
    )
    plant(
        "fingerprint: as many rows of a small table are asked for as of a large one",
        known,
        "required = max(min(_UNCHANGED_SHARE * len(known.sample), len(known.sample) / 4 + _UNCHANGED_ROWS), LEAST_RECOGNISED)",
        "required = SAMPLE / 2",
        f"{fingerprint} -k new_column",
    )
    plant(
        "fingerprint: equal counts of few kinds of rows are never by chance",
        known,
        "min(_MOST_COUNTS_APART, chance_sum - _CHANCE_REQUIRED, chance_margin)",
        "min(_MOST_COUNTS_APART, chance_sum - _CHANCE_REQUIRED)",
        f"{fingerprint} -k seldom_one",
    )
    plant(
        "fingerprint: equal counts of few kinds of rows say nothing",
        known,
        "min(_MOST_COUNTS_APART, chance_sum - _CHANCE_REQUIRED, chance_margin)",
        "min(_MOST_COUNTS_APART, chance_sum - _CHANCE_REQUIRED, chance_margin / 4)",
        f"{fingerprint} -k few_kinds",
    )
    plant(
        "fingerprint: a tiny table asks for fewer rows than the noise is wide",
        known,
        "required = max(min(_UNCHANGED_SHARE * len(known.sample), len(known.sample) / 4 + _UNCHANGED_ROWS), LEAST_RECOGNISED)",
        "required = min(_UNCHANGED_SHARE * len(known.sample), len(known.sample) / 4 + _UNCHANGED_ROWS)",
        f"{fingerprint} -k too_small",
    )
    plant(
        "fingerprint: a private row counts fourfold",
        known,
        "_UNCHANGED_SENSITIVITY = 3.0",
        "_UNCHANGED_SENSITIVITY = 0.75",
        f"{fingerprint} --slow -k changes_little",
    )
    plant(
        "fingerprint: equal counts of few rows",
        known,
        "min(_MOST_COUNTS_APART, chance_sum - _CHANCE_REQUIRED, chance_margin)",
        "_MOST_COUNTS_APART",
        f"{fingerprint} -k not_joined",
    )
    plant(
        "fingerprint: a row counts as often as it is asked for",
        known,
        "len(np.unique(partner[best >",
        "len((partner[best >",
        f"{fingerprint} -k 'planted or decide'",
    )
    for name, file, old, new, tests in _SITES:
        plant(f"sites: {name}", f"sites/{file}.py", old, new, f"tests/sites/{tests}")
    for name, file, old, new, tests in _ROWS:
        plant(f"row: {name}", file, old, new, tests)
    shown = "tests/report/test_shortened.py tests/report/test_thumbnail.py"
    plant(
        "a share of shortened rows as it is released",
        "report/statistics.py",
        "min(self.share, 1.0)",
        "self.share",
        shown,
    )
    plant(
        "an axis of shares without an end",
        "report/figures/style.py",
        "maxallowed=0.0 if log else 1.0",
        "maxallowed=None",
        shown,
    )
    plant(
        "a small picture of an edge of a band",
        "../benchmarks/thumbnails.py",
        'if stroke.get("width") == 0:',
        'if stroke.get("width") == -1:',
        shown,
    )
    mutants += (
        _noise_mutants()
        + _quiet_mutants()
        + _public_mutants()
        + _ledger_mutants()
        + _plan_mutants()
        + _page_mutants()
        + _table_mutants()
    )
    results, questions = "tests/api/test_results.py", "tests/releases/test_questions.py"
    weights, clusters = "tests/api/test_weights.py", "tests/api/test_clusters.py"
    plant(
        "limits around the coefficient",
        "base/results.py",
        "return np.minimum(self.centre - half, self.coefficients)",
        "return np.minimum(self.coefficients - half, self.coefficients)",
        f"{results} -k 'rebuilds or small_p_value'",
    )
    plant(
        "p-value of one side", "base/results.py", "p = 2 * student.sf", "p = student.sf", f"{results} -k small_p_value"
    )
    plant(
        "record without its state",
        "tables/formula.py",
        "expansion.spec.transform_state.update(state)",
        "expansion.spec.transform_state.update({})",
        f"{results} -k colleague_opens",
    )
    plant(
        "instruments unused",
        "explore/regression.py",
        "s_zx, s_zz = z @ state.moment @ x.T",
        "s_zx, s_zz = x @ state.moment @ x.T",
        f"{questions} -k two_stages",
    )
    plant(
        "noise of a sum of moments",
        "explore/confirm.py",
        "sigma = math.sqrt(float(np.sum((weights *",
        "sigma = math.sqrt(float(np.mean((weights *",
        f"{questions} -k sites_add",
    )
    plant(
        "tables that may overlap",
        "explore/confirm.py",
        "if not disjoint.strip():",
        "if False:",
        f"{questions} -k cannot_be_added",
    )
    plant(
        "rows times their weight",
        "tables/coder.py",
        "root_weights = np.sqrt(weights)",
        "root_weights = weights",
        f"{weights} -k multiplied",
    )
    plant(
        "negative weights",
        "tables/coder.py",
        "np.where(values >= 0, values, np.nan)",
        "np.abs(values)",
        f"{weights} -k multiplied",
    )
    plant(
        "new rows are weighted",
        "tables/design.py",
        "coder.rows(block, labelled=False, weighted=False)",
        "coder.rows(block, labelled=False)",
        f"{weights} -k weighted_one",
    )
    plant(
        "a budget in rho taken for mu",
        "accounting/budgets.py",
        "return cls.from_rho(rho)",
        "return cls(rho)",
        "tests/cli/test_cli.py -k convert",
    )
    plant(
        "bands without their truncation",
        "base/bands.py",
        '"truncation": self.truncation}',
        '"truncation": None}',
        "tests/report/test_report.py",
    )
    plant(
        "groups are not summed",
        "public/bands.py",
        "np.add.at(sums, groups, shifts)",
        "sums[groups] = shifts",
        f"{clusters} -k summed_first",
    )
    plant(
        "losses without their weight",
        "mechanisms/passes.py",
        "if piece.weights is not None:\n        sizes *=",
        "if False:\n        sizes *=",
        f"{weights} -k 'weighted_in_the_loss and gradients'",
    )
    plant(
        "counts without their exposure",
        "tables/coder.py",
        "return np.asarray(y / np.where(exposure > 0, exposure, np.nan))",
        "return y",
        f"{weights} -k 'weighted_in_the_loss and public'",
    )
    plant(
        "a loss weight that is not a number",
        "tables/coder.py",
        "complete &= np.isfinite(weights)",
        "complete &= True",
        f"{weights} -k their_row_alone",
    )
    plant(
        "methods that cannot weigh losses",
        "methods/registry.py",
        "if public.weights is not None and not self.weighs_losses:",
        "if False:",
        f"{weights} -k not_for",
    )
    plant(
        "products of weighted columns",
        "methods/joint_moment/derived.py",
        "(rows / rows[:, :1], rows[:, 0]) if self.weighted else (rows, 1.0)",
        "(rows, 1.0)",
        f"{clusters} -k from_a_moment",
    )
    plant(
        "groups that a method ignores",
        "releases/release.py",
        "if problem.choices.cluster and not plan.clusters_errors:",
        "if False:",
        f"{clusters} -k say_so",
    )
    plant(
        "any number of fixed effects",
        "tables/formula.py",
        "if levels[name] > MAX_LEVELS:",
        "if False:",
        f"{results} -k many_fixed",
    )
    plant(
        "the number of rows in the ledger",
        "ledger/log.py",
        '{"fingerprint": text, "rows": 0}',
        '{"fingerprint": text, "rows": cells.table_rows}',
        "tests/ledger/test_log.py -k number_of_rows",
    )
    plant(
        "rows in the first line",
        "tables/dialect.py",
        'line.partition(b"\\r")',
        'line.replace(b"\\r", b","), b"", b""',
        "tests/tables/test_bad_input.py -k lone",
    )
    plant(
        "the encoding of a header is that of the rows",
        "tables/dialect.py",
        "_UTF16_UNMARKED.match(line)",
        "False",
        "tests/tables/test_bad_input.py -k another_program",
    )
    plant(
        "progress: passes of a solver are told",
        "releases/progress.py",
        "if self._spent and self._number > self._n_passes:",
        "if False:",
        "tests/releases/test_progress.py -k how_often",
    )
    plant(
        "a source in memory is pickled",
        "tables/sources.py",
        "if self.in_memory else object",
        "if False else object",
        "tests/base/test_labels.py -k pickled",
    )
    instructions, arguments = "tests/cli/test_instructions.py", "tests/api/test_wrong_arguments.py"
    for name, file, old, new, tests in (
        ("a truth value is a number", "base/messages.py", "if isinstance(value, bool) or not", "if not", arguments),
        ("an error keeps an object", "base/messages.py", "if name in quoted and not", "if () and not", arguments),
        ("an argument is of any type", "base/arguments.py", "elif not _is_a(value, hint):", "elif False:", arguments),
        ("a long text is quoted", "base/messages.py", "len(converted) > _LONGEST_QUOTED", "False", instructions),
        ("an empty text is a choice", "api/inputs.py", 'given.get(name) == ""', "False", arguments),
        (
            "a cluster is a feature",
            "tables/choices.py",
            "if self.cluster and self.cluster in",
            "if () and self.cluster in",
            arguments,
        ),
        ("a feature is the intercept", "tables/choices.py", "INTERCEPT in self.features", "False", arguments),
        ("a term is the intercept", "tables/formula.py", "if _INTERCEPT in inputs", "if False", arguments),
        ("a column is declared twice", "tables/schema.py", "        if twice:", "        if False:", instructions),
        ("a name that is no text", "ledger/account.py", "if not isinstance(text, str):", "if False:", arguments),
    ):
        plant(f"instructions: {name}", file, old, new, tests)
    formulas = "tests/api/test_formula.py -k what_could_see"
    plant(
        "a product of columns",
        "tables/formula.py",
        "    ast.Pow: ",
        "    ast.MatMult: operator.matmul,\n    ast.Pow: ",
        formulas,
    )
    plant(
        "a setting that is a column",
        "tables/formula.py",
        "ast.literal_eval(setting)",
        "setting",
        formulas,
    )
    plant(
        "a function that writes elsewhere",
        "tables/formula.py",
        "args=[argument], keywords=[]) if name",
        "args=[argument, *_]) if name",
        formulas,
    )
    plant(
        "a script without its groups",
        "report/reproduce.py",
        'for name in (*COMMON_CHOICES, "person", "person_rule")',
        'for name in (*(each for each in COMMON_CHOICES if each != "cluster"), "person", "person_rule")',
        "tests/api/test_faces.py -k reproduced",
    )
    plant(
        "the cap is bad input",
        "cli/main.py",
        'return _complain(f"{error}{how_to_print}", CAP_REACHED)',
        'return _complain(f"{error}{how_to_print}")',
        "tests/cli/test_manners.py -k statuses",
    )
    method, response = "methods/response_moment.py", "tests/methods/test_response_moment.py"
    for name, file, old, new, chosen in (
        (
            "responses: a row without one has no covariates",
            "tables/coder.py",
            "if self.expected is not None and labelled:",
            "if False:",
            "'no_cell or moves'",
        ),
        (
            "responses: a prediction by the row's own cell",
            "tables/coder.py",
            "np.where(np.isfinite(total), total, 0.0)",
            "total + np.nan",
            "'no_cell or moves'",
        ),
        (
            "responses: the target on the right side",
            "tables/formula.py",
            "if target in inputs:",
            "if False:",
            "not_go",
        ),
        (
            "responses: covariates that nobody declared",
            "methods/registry.py",
            "if self.protects_responses_only and not public.covariates_are_public:",
            "if False:",
            "refused",
        ),
        (
            "responses: suits undeclared tables",
            "methods/registry.py",
            "declared = public.covariates_are_public or not self.protects_responses_only",
            "declared = True",
            "refused",
        ),
        (
            "responses: recommended by its width",
            "releases/planning.py",
            "and (responses_only or not method(other.method).protects_responses_only)",
            "",
            "plans",
        ),
        (
            "responses: a total that speaks of rows",
            "ledger/account.py",
            "return responses if responses.value in relations else Neighbours.REPLACE_ONE",
            "return Neighbours.REPLACE_ONE",
            "presents",
        ),
        (
            "responses: words about rows",
            "accounting/budgets.py",
            'return f"{sentence} {ONLY_RESPONSES}" if self.neighbours is',
            "return sentence if self.neighbours is",
            "presents",
        ),
        (
            "responses: a Gram matrix of floating sums",
            method,
            "np.rint(products * squares)",
            "np.rint((products * squares).sum(axis=1, keepdims=True))",
            "blocks",
        ),
        (
            "responses: whitened by the response too",
            method,
            "covariates(x, np.zeros(len(y)))",
            "covariates(x * (1 + 1e-3 * np.tanh(y))[:, None], y)",
            "'no_cell or moves'",
        ),
        (
            "responses: no noise of the first pass",
            method,
            "for variance in (gradient.noise**2, gradient.clipping_mse,",
            "for variance in (0 * gradient.noise, 0 * gradient.clipping_mse,",
            "held",
        ),
        (
            "responses: sampling errors of few public rows alone",
            method,
            "sampling = robust.at_least(equal)",
            "sampling = robust",
            "equal_variances",
        ),
        (
            "responses: rows beyond every bound as those below it",
            method,
            "self.estimate.largest_clipping[0] +",
            "self.estimate.clipping[0] +",
            "beyond_every_bound",
        ),
        (
            "responses: rows beyond every bound unsaid",
            method,
            "if self.gradients[-1].exceeds",
            "if False and self.gradients[-1].exceeds",
            "beyond_every_bound",
        ),
        ("responses: a long last step", method, "+ np.outer(step, step)", "", "beyond_every_bound"),
        (
            "responses: means of people with public covariates",
            "tables/choices.py",
            "if self.person and self.person_rule != FIRST:\n            raise InputError(TableMessage.COVARIATES_OF",
            "if False:\n            raise InputError(TableMessage.COVARIATES_OF",
            "not_go",
        ),
    ):
        plant(name, file, old, new, f"{response} -k {chosen}")
    return mutants


EMPTY = "tests/methods/test_empty_rows.py"
ONE = "tests/tables/test_one_row.py"
_CELLS, _PROBLEM, _QUERIES = "tables/cells.py", "tables/problem.py", "tables/queries.py"
# What one private row could do to others: name, file, text, fault, tests that notice.
# Studies of several institutions: name, module of pmtcore/sites, text, its replacement, tests in tests/sites.
_SITES = (
    (
        "a share of the noise too small",
        "noise_shares",
        "scale / math.sqrt(planned) *",
        "scale / planned *",
        "test_sharing.py -k noise",
    ),
    (
        "a later pass with the first one's noise",
        "noise_shares",
        "math.sqrt((planned - colluders) / (answering - colluders))",
        "1.0",
        "test_study_runs.py -k fewest_honest",
    ),
    (
        "noise as if nobody colluded",
        "study",
        "math.sqrt(1 - self.colluders / answering)",
        "math.sqrt(1 - 0 / answering)",
        "test_study_runs.py -k 'same_bits or the_bits'",
    ),
    ("a borrow forgotten", "sharing", "other[:, 0] - borrow", "other[:, 0]", "test_sharing.py"),
    (
        "shares sent as they are",
        "rounds",
        "seals.seal_message(body, self._study.site(other).seal)",
        "body",
        "test_study_runs.py -k unmasked",
    ),
    (
        "a pass opened again",
        "rounds",
        "os.link(draft, self._file(message.step))",
        "self._file(message.step).write_bytes(draft.read_bytes())",
        "test_study_runs.py -k one_plan",
    ),
    (
        "passes of another plan",
        "rounds",
        "if self.was_opened(0) and tuple(",
        "if False and tuple(",
        "test_study_runs.py -k one_plan",
    ),
    (
        "opened before all are ready",
        "rounds",
        'others <= set(self._sent("ready", step))',
        "True",
        "test_study_runs.py -k before_the_first",
    ),
    (
        "a sum published without masks",
        "rounds",
        "sharing.total([own, *received])",
        "sharing.total([words, *received])",
        "test_study_runs.py -k the_bits",
    ),
    (
        "a later total not scaled up",
        "rounds",
        "(2 * value * planned + rows) // (2 * rows)",
        "value",
        "test_study_runs.py -k scaled_up",
    ),
    (
        "a sum on disk is not published again",
        "rounds",
        "if message.sender not in transcript.sent(",
        "if False and message.sender not in transcript.sent(",
        "test_study_runs.py -k written_down",
    ),
    (
        "a ring with one side",
        "study",
        "[*range(-reach, 0), *range(1, reach + 1)]",
        "[*range(1, 2 * reach + 1)]",
        "test_study_runs.py -k ring",
    ),
    (
        "signatures not asked for",
        "boards",
        "        seals.require_signature(",
        "        str(",
        "test_study_runs.py -k did_not_sign",
    ),
    (
        "a declined study runs",
        "parties",
        'self._agreement().state == "declined"',
        "False",
        "test_study_runs.py -k too_few",
    ),
    ("the noise's mu stated", "parties", "source, stated=stated)", "source)", "test_study_runs.py -k the_bits"),
    (
        "bands as if no site was lost",
        "parties",
        "if factor > 1 and",
        "if factor > 99 and",
        "test_study_runs.py -k after_the_first",
    ),
    (
        "a second person agrees to no table",
        "parties",
        "if ledger.account(dataset).second:",
        "if False:",
        "test_study_runs.py -k second_person",
    ),
    (
        "levels tested one by one",
        "effects",
        "results.wald_test(list(names))",
        "results.wald_test(list(names)[:1])",
        "test_effects.py -k detected",
    ),
)
_ROWS = (
    (
        "a logarithm of an empty row",
        "methods/joint_moment/derived.py",
        "np.where(empty, 0.0, column) for column in made",
        "column for column in made",
        f"{EMPTY} -k derived_from",
    ),
    (
        "empty rows in the first bin",
        "mechanisms/passes.py",
        "where=piece.lengths == 0",
        "where=piece.lengths < 0",
        f"{EMPTY} -k 'fillers and joint-pmt'",
    ),
    (
        "a column of objects takes one type",
        _CELLS,
        "if len(kinds) <= 1 and kinds <=",
        "if not kinds <=",
        f"{ONE} -k 'alone or time_zones'",
    ),
    (
        "32-bit objects as 64",
        _CELLS,
        "return pa.float32(), float(value)",
        "return pa.float64(), float(value)",
        f"{ONE} -k typed_cell",
    ),
    (
        "decimals at one scale",
        _CELLS,
        "return pa.decimal256(_DECIMAL_DIGITS, scale), value",
        "return pa.decimal256(_DECIMAL_DIGITS, 2), round(value, 2)",
        f"{ONE} -k typed_cell",
    ),
    ("an object's error passes", _CELLS, "except Exception:  # noqa: S112", "except KeyError:", f"{ONE} -k alone"),
    (
        "bytes called text not checked",
        _CELLS,
        "cells.validate(full=True)",
        "cells.validate()",
        f"{ONE} -k command_line",
    ),
    (
        "a slice of objects reads the others",
        _CELLS,
        'np.where(_is_typed(cells), _floats(cells.field("day"))',
        'np.where(np.any(_is_typed(cells)), _floats(cells.field("day"))',
        f"{ONE} -k 'alone or time_zones'",
    ),
    (
        "sqlite decodes strictly",
        _QUERIES,
        "connection.text_factory = decode_bytes",
        "connection.text_factory = str",
        f"{ONE} -k 'command_line and sqlite'",
    ),
    (
        "sqlite's declared types believed",
        _QUERIES,
        'connect_args={"detect_types": 0}',
        "connect_args={}",
        f"{ONE} -k rows_of_sqlite",
    ),
    (
        "duckdb guesses",
        _QUERIES,
        "return _TEXT_READER.search(plan) is not None",
        "return False",
        f"{ONE} -k guessed",
    ),
    (
        "a failed guess tells of rows",
        _QUERIES,
        "return _TEXT_FILE.search(query) is not None",
        "raise",
        f"{ONE} -k guessed",
    ),
    (
        "private lines joined at quotes",
        "tables/sources.py",
        'not self._private or dialect.quoting == "multiline"',
        "True",
        f"{ONE} -k 'stray_quote or lines_of_text'",
    ),
    (
        "refuse is sound",
        _PROBLEM,
        "LabReason.REFUSES_ROWS: strict",
        "LabReason.REFUSES_ROWS: False",
        f"{ONE} -k of_the_lab",
    ),
    (
        "joined lines are sound",
        _PROBLEM,
        "LabReason.LINE_BREAKS: multiline",
        "LabReason.LINE_BREAKS: False",
        f"{ONE} -k price",
    ),
    (
        "a finding counts a person's rows",
        "tables/findings.py",
        " or choices.unit is not None:",
        ":",
        f"{ONE} -k sentence",
    ),
    (
        "a note counts a person's rows",
        _PROBLEM,
        "notes += (Note(TableNote.UNIT, unit=choices.unit.words),)",
        "notes += (Note(TableNote.UNIT, unit=choices.unit.words), *(('!',) if private.n < 9 else ()))",
        f"{ONE} -k sentence",
    ),
    ("rows at hand are held", "base/private_rows.py", "if lacking > 0:", "if lacking > 10**9:", f"{EMPTY} -k hides"),
    ("rows at hand are summed", "base/private_rows.py", "while lacking > 0:", "while False:", f"{EMPTY} -k hides"),
    (
        "the lattice of rows at hand",
        "mechanisms/perturbed.py",
        "len(self.ridge), self.minimizer_release(n)",
        "len(self.ridge), self.minimizer_release(data.count + 1)",
        f"{EMPTY} -k lattice",
    ),
)


def _of(file: str, tests: str, *faults: tuple[str, str, str]) -> list[Mutant]:
    """Return faults of one file that the same tests should notice: name, text, replacement."""
    return [Mutant(name, f"pmtcore/{file}", old, new, tests) for name, old, new in faults]


def _public_mutants() -> list[Mutant]:
    """Plant spectra that ignore rare categories, and priors of another strength than they state."""
    return [
        *_of(
            "auditing/diagnostics.py",
            "tests/auditing/test_diagnostics.py",
            (
                "spectrum: no draws of the population",
                "after = max(after, bootstrapped_after(truncate(features, radius)), key=lambda each: each.kappa)",
                "pass",
            ),
            ("spectrum: the sample is the population", "rng.exponential(size=(", "np.ones(shape=("),
            (
                "spectrum: weights that do not add up to one",
                "weights /= np.sum(weights, axis=1, keepdims=True)",
                "weights /= 2 * m",
            ),
            ("spectrum: the mean of the draws", "np.median(spectra, axis=0)", "np.mean(spectra, axis=0) * 1.5"),
        ),
        *_of(
            "public/moments.py",
            "tests/public/test_weak_penalty.py",
            (
                "weak penalty: in the units of the columns",
                "self.effect_units if self.penalty_units is None",
                "np.ones(self.d) if self.penalty_units is None",
            ),
            (
                "weak penalty: the public fit has that of n rows",
                "self.m is None else EFFECT_SD**-2 / self.m",
                "self.m is None else self.lam",
            ),
            (
                "weak penalty: chosen ones are in its units too",
                "self.penalized if self.penalty_units is None else",
                "self.penalized * self.effect_units**2 if self.penalty_units is None else",
            ),
        ),
    ]


def _plan_mutants() -> list[Mutant]:
    """Plant wrong intervals of a prediction, and a plan that does not foresee what the method does."""
    interval, outcomes = "methods/outcome_interval.py", "tests/methods/test_outcome_interval.py -k 'law or contains'"
    widths = "tests/releases/test_planning.py -k half_widths_have"
    combined, foreseen = "self.with_public(self.expected_moment[None]).weights[0]", "tests/methods/test_joint_moment.py"
    faults = [
        (
            "plan: few public rows are like many",
            interval,
            "np.clip(rows_per_column, 1.0, _MANY_ROWS)",
            "_MANY_ROWS",
            outcomes,
        ),
        (
            "plan: a median outside its interval",
            interval,
            "float(np.clip(min(self.median.ratio(rows_per_column), most), low, high))",
            "self.median.ratio(rows_per_column)",
            outcomes,
        ),
        (
            "plan: the median is the prediction",
            "methods/registry.py",
            "self._scaled_total(self.median_factor)",
            "self._scaled_total(1.0)",
            widths,
        ),
        (
            "plan: an interval above its prediction",
            interval,
            "most), 1.0)",
            "most), 9.0)",
            outcomes,
        ),
        (
            "plan: more public rows always tell more",
            interval,
            "rows_per_column, 1.0, _MANY_ROWS",
            "rows_per_column, 1.0, 1e9",
            outcomes,
        ),
        (
            "plan: more noise leads beyond the public fit",
            interval,
            "if self.combined else np.inf",
            "if False else np.inf",
            "tests/methods/test_outcome_interval.py -k beyond",
        ),
        (
            "plan: an interval moves sampling too",
            "methods/registry.py",
            "np.hypot(factor * self.to_exact, self",
            "factor * np.hypot(self.to_exact, self",
            widths,
        ),
        (
            "plan: joint-moment without the public moment",
            "methods/joint_moment/method.py",
            combined,
            "None",
            f"{foreseen} -k foresees",
        ),
    ]
    return [Mutant(name, f"pmtcore/{file}", old, new, tests) for name, file, old, new, tests in faults]


def _table_mutants() -> list[Mutant]:
    """Plant identifiers taken for features, row numbers for evidence, and sums lost in rounding."""
    return [
        *_of(
            "tables/schema.py",
            "tests/tables/test_findings.py -k identifiers",
            ("any whole numbers are identifiers", ">= _EXPECTED_EQUAL_PAIRS * (np.ptp(finite) + 1)", ">= 0"),
            (
                "sparse identifiers alone",
                ">= _EXPECTED_EQUAL_PAIRS * (np.ptp(finite) + 1)",
                ">= 50 * (np.ptp(finite) + 1)",
            ),
        ),
        *_of(
            "tables/schema.py",
            "tests/tables/test_findings.py -k 'any_length or separate_thousands'",
            ("codes: six nines at most", "abs(value):.15g", "abs(value):g"),
            ("points: other numbers of decimals are thousands", r"(\d*\.[\d.]*|", "("),
            ("points: a measurement below 1 is a thousand", "^[+-]?[1-9]", "^[+-]?[0-9]"),
            ("points: a number above 999 has no mark", r"|\d{4,})$", ")$"),
        ),
        *_of(
            "tables/cells.py",
            "tests/tables/test_rows.py -k 'utf8 or encoding'",
            (
                "encoding: bytes that are no UTF-8 are lost",
                '.decode(encoding, "replace"), error.end',
                '.decode("ascii", "replace"), error.end',
            ),
            (
                "encoding: one cell turns its column",
                "else decode_bytes(cell) for cell",
                'else cell.decode("cp1252", "replace") for cell',
            ),
        ),
        *_of(
            "tables/lines.py",
            "tests/tables/test_rows.py -k 'utf8 or encoding'",
            (
                "encoding: one row turns its file",
                'return decode_bytes(text, "latin-1" if encoding == "latin-1" else "cp1252").encode("utf-8")',
                'return text if _is_utf8(text) else text.decode("cp1252", "replace").encode()\n\n\n'
                "def _is_utf8(text: bytes) -> bool:\n    try:\n        return bool(text.decode()) or True\n"
                "    except UnicodeDecodeError:\n        return False",
            ),
        ),
        *_of(
            "tables/problem.py",
            "tests/tables/test_findings.py -k identifiers",
            ("chosen identifiers are left out", "unchosen = choices.features is None and", "unchosen ="),
        ),
        *_of(
            "tables/coder.py",
            "tests/tables/test_findings.py -k complete_rows",
            ("columns with the fewest gaps go first", "key=lambda name: -int(", "key=lambda name: int("),
        ),
        *_of(
            "ledger/fingerprint.py",
            "tests/ledger/test_fingerprint.py -k row_numbers_twice",
            ("row numbers count as often as they stand there", "is_determined = any(2 *", "is_determined = any(0 *"),
        ),
        *_of(
            "public/moments.py",
            "tests/public/test_moments.py -k one_bit",
            (
                "penalized moments inverted as they are",
                "scale = np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))[..., None]",
                "scale = np.ones(matrix.shape[:-1])[..., None]",
            ),
        ),
        *_of(
            "glm/solvers.py",
            "tests/glm/test_solvers.py -k same_digits",
            (
                "least squares end in units of 1",
                "if data.loss is GAUSSIAN:",
                "if False:",
            ),
        ),
    ]


def _page_mutants() -> list[Mutant]:
    """Plant sentences of the pages that say too little or too much."""
    return [
        *_of(
            "public/shrinkage.py",
            "tests/public/test_shrinkage.py",
            ("a penalty that decides nothing", " or remaining >= _HALF_SHRINKAGE", ""),
            ("a penalty in the unit of a number", "np.where(binary, 1.0, 1 / np.sqrt(variance[at]))", "1.0 + 0 * h"),
        ),
        *_of(
            "methods/registry.py",
            "tests/releases/test_planning.py -k leaves_a_part_out",
            ("a width in part is whole", " or self.clipping_in_privacy or truncation_rate == 0", " or True"),
        ),
        *_of(
            "explore/moment.py",
            "tests/releases/test_explore.py -k public_rows_join",
            ("rows of another table join a record", " or not np.array_equal(plan.root, moment.record.root)", ""),
        ),
        *_of(
            "releases/record.py",
            "tests/report/test_report.py -k unlike",
            ("an alarm is lost in the record", 'bool(record.get("rows_disagree", False))', "False"),
        ),
        *_of(
            "report/figures/conditioning.py",
            "tests/report/test_figures.py -k zeros",
            ("a moment of zeros divides by zero", "if longest > 0 else 0.0", "if longest >= 0 else 0.0"),
        ),
        *_of(
            "report/figures/style.py",
            "tests/report/test_figures.py -k titles",
            ("a title has a word left over", "range(1, _LINE + 1)", "range(_LINE, _LINE + 1)"),
        ),
        *_of(
            "report/figures/style.py",
            "tests/report/test_figures.py -k far_spans",
            (
                "10000 beside 1e+6 on an axis",
                "isinstance(step, int) and step > 1",
                "isinstance(step, int) and step > 9",
            ),
        ),
        *_of(
            "report/columns.py",
            "tests/report/test_columns.py -k no_categories",
            (
                "a text that goes into no fit is a feature",
                "note.kind is TableNote.LEFT_OUT",
                "note.kind is TableNote.ZERO",
            ),
        ),
        *_of(
            "auditing/comparison.py",
            "tests/app/test_compare_page.py -k it_moves",
            (
                "every method moves with every axis",
                "return axis not in _SWEPT_PARAMETERS or _has(entry, _SWEPT_PARAMETERS[axis])",
                "return True",
            ),
        ),
        *_of(
            "auditing/comparison.py",
            "tests/auditing/test_comparison.py -k typical",
            (
                "Data measures another coefficient",
                "np.median(np.abs(deviation) / scale",
                "np.max(np.abs(deviation) / scale",
            ),
        ),
        *_of(
            "report/words.py",
            "tests/report/test_words.py",
            ("another part of the error is named", "(max if more else min)(grown", "(min if more else max)(grown"),
            ("a radius is advised to other people's rows", '        more = wider = ""\n', '        more = ""\n'),
            (
                "the first coefficient is the example",
                "rows.iloc[0 if ordered else int(np.argmax(clear_effects(rows, unit)))]",
                "rows.iloc[0]",
            ),
        ),
        *_of(
            "report/rows.py",
            "tests/report/test_figures.py -k clearest_level",
            (
                "clear by a value at the end of its band",
                "np.abs(low + high) / (high - low)",
                "2 * np.abs(value) / (high - low)",
            ),
        ),
        *_of(
            "report/figures/coefficients.py",
            "tests/report/test_figures.py -k beyond_the_axis",
            (
                "a band runs off its picture",
                "for end in ends if not edges[0] <= end <= edges[1]]",
                "for end in ends if end > 2 * limit]",
            ),
        ),
        *_of(
            "tables/problem.py",
            "tests/tables/test_findings.py -k row_numbers",
            ("row numbers as a target", "numbers if not _is_identifier(public, name)]", "numbers]"),
        ),
        *_of(
            "tables/problem.py",
            "tests/tables/test_findings.py -k no_identifier",
            ("a repair puts row numbers in", "    if not usable:\n", "    usable += identifiers\n    if not usable:\n"),
        ),
        *_of(
            "tables/problem.py",
            "tests/tables/test_findings.py -k go_in",
            (
                "what is listed is not what goes in",
                "    return tuple(one.name for one in features)",
                "    return tuple(names)",
            ),
        ),
        *_of(
            "cli/explore.py",
            "tests/releases/test_explore.py -k asked_by_its_name",
            ("a value of no column", 'or "" in numbers ', ""),
            ("a column given twice", " or len(numbers) < len(pairs)", ""),
        ),
        *_of(
            "public/moments.py",
            "tests/methods/test_units.py -k loses",
            ("a penalty beyond all curvature", "_MOST_PENALTY * self.spread**2", "1e30 * self.spread**2"),
            ("a most penalty in the units of the table", "_MOST_PENALTY * self.spread**2", "_MOST_PENALTY"),
        ),
        *_of(
            "public/moments.py",
            "tests/methods/test_units.py -k unit_of_the_table",
            ("a most penalty that is felt", "_MOST_PENALTY = 1e6", "_MOST_PENALTY = 1e-2"),
        ),
        *_of(
            "methods/dp_gd.py",
            "tests/methods/test_units.py -k loses",
            (
                "steps that diverge are taken",
                "if rate * curvature >= _LONGEST_STEP",
                "if rate * curvature >= 1e30 * _LONGEST_STEP",
            ),
        ),
        *_of(
            "tables/findings.py",
            "tests/tables/test_findings.py -k alike",
            (
                "a label against its other spelling",
                "for level in levels if level not in spellings][:3]",
                "for level in levels][:3]",
            ),
            ("two spellings are two labels", "len(levels) == 2 and not spellings", "len(levels) == 2"),
        ),
        *_of(
            "tables/findings.py",
            "tests/tables/test_findings.py -k many_values",
            ("a number as a label", "linear if linear and too_many else", "linear if linear and not too_many else"),
        ),
        *_of(
            "cli/files.py",
            "tests/cli/test_output.py -k full_disk",
            (
                "an empty file is left behind",
                "        if not there:\n            file.unlink(missing_ok=True)\n        raise",
                "        raise",
            ),
            (
                "a file of before is deleted",
                "        if not there:\n            file.unlink(missing_ok",
                "        if True:\n            file.unlink(missing_ok",
            ),
        ),
        *_of(
            "cli/explore.py",
            "tests/cli/test_output.py -k read_once",
            ("a record from a pipe", "Moment.from_bytes(read_small(chosen.record))", "Moment.load(chosen.record)"),
        ),
        *_of(
            "base/results.py",
            "tests/api/test_results.py -k error_of_a_predicted",
            ("the error of a linear predictor", "self.slope(self.linear) * self.se_mean", "self.se_mean"),
        ),
        *_of(
            "public/gaussian_update.py",
            "tests/api/test_results.py -k counts_of_one",
            ("a quotient of nothing", " & (rises > _LEAST_RISE)", ""),
        ),
        *_of(
            "public/bands.py",
            "tests/public/test_bands.py",
            ("degrees of freedom have a unit", "positive = (total > 0)", "positive = (total > 1e-200)"),
            ("a part of nothing counts", "sum(s**2 / p.freedom", "sum(s / p.freedom"),
            (
                "stretched by a quotient of variances",
                "np.divide(np.sqrt(variance), self.sd",
                "np.divide(variance, self.sd",
            ),
        ),
        *_of(
            "public/cholesky.py",
            "tests/tables/test_findings.py -k one_value",
            ("a target of one value is repeated", "names) in ([], [INTERCEPT])", "names) == [0]"),
        ),
    ]


def _noise_mutants() -> list[Mutant]:
    """Plant repeated draws, and covering noise that is asked for and not added."""
    signature = '(self, {}: float, trials: int, size: int) -> np.ndarray:\n        """'
    integers = "    def integers" + signature.format("sigma") + "Draw exactly (proofs/noise"
    spherical = "    def spherical" + signature.format("scale") + "Draw exactly"
    cached = "    @__import__('functools').cache\n"
    drawn = "return discrete_gaussian(sigma, trials * size).reshape(trials, size)"
    entropy = "np.frombuffer(os.urandom(8 * trials * size), dtype=np.uint64).reshape(trials, size)"
    mutants = _of(
        "mechanisms/noise.py",
        FRESH,
        ("fresh: the same integers again for one scale and shape", integers, cached + integers),
        ("fresh: the same vectors again for one scale and shape", spherical, cached + spherical),
        ("fresh: one row for all trials", drawn, drawn + "[:1].repeat(trials, axis=0)"),
        ("fresh: one number for all coordinates", drawn, drawn + "[:, :1].repeat(size, axis=1)"),
        (
            "fresh: the second half mirrors the first",
            "discrete_gaussian(sigma, trials * size).reshape(trials, size)",
            "(lambda x: np.concatenate([x, -x])[: trials * size])("
            "discrete_gaussian(sigma, (trials * size + 1) // 2)).reshape(trials, size)",
        ),
        (
            "fresh: one vector for all trials",
            "np.stack([spherical_integers(scale, size) for _ in range(trials)])",
            "np.stack([spherical_integers(scale, size)] * trials)",
        ),
        ("fresh: half of each word is zero", entropy, entropy + " >> np.uint64(32)"),
        ("fresh: one row of words for all", entropy, entropy + "[:1].repeat(trials, axis=0)"),
    )
    mutants += _of(
        "mechanisms/discrete_gaussian.py",
        "tests/mechanisms/test_discrete_gaussian.py",
        ("sampler: zero twice as often", "accepted &= ~(negative & (length == 0))", ""),
        ("sampler: nothing after a word of ones", "np.flatnonzero(first_zero == 0)", "()"),
        ("sampler: all words of ones in one segment", "64 + _further_ones()", "64"),
        (
            "sampler: offsets of half the range",
            "np.uint64((1 << bits) - 1)",
            "np.uint64((1 << bits) // 2 - 1 & 2**63 - 1)",
        ),
        (
            "sampler: offsets below the scale",
            "(math.ceil(sigma) - 1).bit_length()",
            "math.floor(sigma).bit_length() - 1",
        ),
        ("sampler: the largest scale overflows", "(math.ceil(sigma) - 1).bit_length()", "math.frexp(sigma)[1]"),
        ("sampler: segments not halved in the chance", "0.5 * first_zero * np.exp", "0.5 * np.exp"),
        ("sampler: a scale 1 % too small", "(length / sigma) ** 2)", "(length / (0.99 * sigma)) ** 2)"),
        ("sampler: seven digits decide all", "np.abs(above) <= _MARGIN", "np.abs(above) < 0"),
        (
            "sampler: close calls are accepted",
            "accepted[at] = _is_accepted(int(words[2, at]), int(segment[at])",
            "accepted[at] = True or _is_accepted(int(words[2, at]), int(segment[at])",
        ),
        ("sampler: the other side of a close call", "if uniform.b <= chance.a:", "if uniform.a <= chance.b:"),
        ("sampler: no further bits", "secrets.randbits(_MORE_BITS)\n", "0\n"),
        ("sampler: more than asked for", "sigma)[:missing])", "sigma))"),
        ("sampler: one sign", "words[1] >> np.uint64(63) == 1", "words[1] >> np.uint64(63) == 2"),
        (
            "sampler: no noise at scale zero",
            "if not 0 < sigma <=",
            "if sigma == 0:\n        return np.zeros(count, dtype=np.int64)\n    if not 0 < sigma <=",
        ),
    )
    mutants += _of(
        "mechanisms/spherical.py",
        FRESH,
        (
            "fresh: the same bits for every coordinate",
            "[secrets.randbits(_FIRST_BITS) for _ in range(size + 2 * pairs)], _FIRST_BITS",
            "[secrets.randbits(_FIRST_BITS)] * size + [secrets.randbits(_FIRST_BITS) >> 1] * (2 * pairs), _FIRST_BITS",
        ),
    )
    mutants += _of(
        "mechanisms/noise.py",
        "tests/mechanisms/test_noise.py -k 64_bits",
        (
            "noise beyond 64 bits: drawn at once, and cut",
            "        if sigma > LARGEST_DRAWN:\n            parts",
            "        if False:\n            parts",
        ),
        (
            "noise beyond 64 bits: too small a part of each draw",
            "sigma / math.sqrt(parts), trials",
            "sigma / parts, trials",
        ),
        ("noise beyond 64 bits: one draw for all parts", "for _ in range(parts))\n", "for _ in range(1))\n"),
        (
            "noise beyond 64 bits: the sum wraps",
            "np.zeros((trials, size), dtype=object)",
            "np.zeros((trials, size), dtype=np.int64)",
        ),
        (
            "noise beyond 64 bits: of the lab, cut",
            "np.array([int(value) for value in rounded.flat], dtype=object).reshape(rounded.shape)",
            "rounded.astype(np.int64)",
        ),
    )
    added = "(self.integers(theta) + noise) * self.step"
    mutants += _of(
        "mechanisms/minimizer.py",
        COVERING,
        ("covering: Gaussian noise times zero", added, "(self.integers(theta) + 0 * noise) * self.step"),
        (
            "covering: pure noise times zero",
            "noise = source.spherical(self.sensitivity / reserve.paid, *theta.shape)",
            "noise = 0 * source.spherical(self.sensitivity / reserve.paid, *theta.shape)",
        ),
        ("covering: Gaussian noise of a step's fraction", added, "(self.integers(theta) + noise / 64) * self.step"),
        (
            "covering: pure noise halved",
            "noise = source.spherical(self.sensitivity / reserve.paid, *theta.shape)",
            "noise = source.spherical(self.sensitivity / reserve.paid, *theta.shape) // 2",
        ),
        (
            "covering: a grid a thousand times finer than rho",
            "2 * self.distance / FINE, self.ball",
            "2e-3 * self.distance / FINE, self.ball",
        ),
        (
            "covering: a grid of rho for two rho",
            "2 * self.distance / FINE, self.ball",
            "self.distance / FINE, self.ball",
        ),
        ("covering: rounding of d coordinates forgotten", "FINE + math.sqrt(len(self.centre))", "float(FINE)"),
        ("covering: rounding alone", "FINE + math.sqrt(len(self.centre))", "math.sqrt(len(self.centre))"),
    )
    mutants += _of(
        "mechanisms/minimizer.py",
        COVERING,
        (
            "covering: ten times its share of epsilon",
            "self.sensitivity / reserve.paid, *theta.shape)\n        else",
            "self.sensitivity / (10 * reserve.paid), *theta.shape)\n        else",
        ),
        (
            "covering: ten times its share of mu",
            "(1 + SLACK) * self.sensitivity / reserve.paid",
            "(1 + SLACK) * self.sensitivity / (10 * reserve.paid)",
        ),
    )
    mutants += _of(
        "public/clipping.py",
        "tests/public/test_clipping.py",
        ("tails: the prior is counted on one side alone", "self.many + PRIOR_ROWS", "self.many"),
        ("tails: no floor of the power", "np.maximum(hill, self.least_power)", "hill"),
    )
    mutants += _of(
        "glm/solvers.py",
        "tests/glm/test_solvers.py",
        (
            "solver: the matrix pulls half as much as its curvature says",
            "theta @ self.matrix)\n\n    def lasso_value",
            "theta @ self.matrix / 2)\n\n    def lasso_value",
        ),
        ("solver: a fit ends by the length of its gradient", "start, measure=newton_decrements)", "start)"),
    )
    mutants += _of(
        "glm/solvers.py",
        ENDS,
        ("ends: sweeps' end taken as it is", "end[t] = _exact_step(level, hessian[t], lasso[t], end[t])", "pass"),
        (
            "ends: overshooting steps taken whole",
            "beyond, short = now > _SLOPE_LEFT * start[live],",
            "beyond, short = now > np.inf,",
        ),
    )
    return mutants


def _quiet_mutants() -> list[Mutant]:
    """Plant words about private rows beside the record: logs, standard error, kept errors, refusals."""
    reasons = "    reasons = problem.lab_reasons\n"
    logger = '    __import__("logging").getLogger({!r}).{}("%d rows", problem.private.n)\n'
    mutants = _of(
        "releases/release.py",
        QUIET,
        ("quiet: a log line with a private count", reasons, reasons + logger.format("second_moment", "warning")),
        ("quiet: the same at the lowest level", reasons, reasons + logger.format("pmtcore.releases", "debug")),
        ("quiet: the same in the ledger's logger", reasons, reasons + logger.format("second_moment.ledger", "info")),
        (
            "quiet: a line on standard error",
            reasons,
            reasons + '    __import__("sys").stderr.write(f"{problem.private.n} rows\\n")\n',
        ),
        ("quiet: a warning", reasons, reasons + '    __import__("warnings").warn(f"{problem.private.n} rows")\n'),
        ("quiet: an error's text kept", "ledger.fail(key, type(error).__name__)", "ledger.fail(key, str(error))"),
        (
            "quiet: an error's first words kept",
            "ledger.fail(key, type(error).__name__)",
            'ledger.fail(key, f"{type(error).__name__}: {error}"[:60])',
        ),
    )
    mutants += _of(
        "releases/outcome.py",
        QUIET,
        (
            "quiet: an error's text told",
            "OWN_ERROR, reason=type(cause).__name__",
            "OWN_ERROR, reason=repr(cause)",
        ),
        ("quiet: a cell in a chained error", "from without_text(error)", "from error"),
        ("quiet: a system error's file told", "reason=cause.strerror or type(cause).__name__", "reason=str(cause)"),
    )
    mutants += _of(
        "ledger/database.py",
        QUIET,
        (
            "quiet: more fields in the ledger's lines",
            '"key": key, "number": seq + 1}',
            '"key": key, "number": seq + 1, "payload": row["payload"]}',
        ),
    )
    mutants += _of(
        "tables/problem.py",
        QUIET,
        (
            "quiet: the private file's columns in a refusal",
            "NO_PRIVATE_COLUMN, column=name)",
            "NO_PUBLIC_COLUMN, columns=[name], present=private.columns)",
        ),
        (
            "quiet: the private file's columns where none is common",
            "InputError(TableMessage.NO_COMMON_COLUMN)",
            "InputError(TableMessage.NO_PUBLIC_COLUMN, columns=[], present=private.columns)",
        ),
    )
    mutants += _of(
        "tables/persons.py",
        QUIET,
        (
            "quiet: the private file's columns for a person's",
            "NO_PERSON_COLUMN, column=column)",
            "NO_PUBLIC_COLUMN, columns=[column], present=table.columns)",
        ),
    )
    mutants += _of(
        "tables/dialect.py",
        QUIET,
        (
            "quiet: a private name that is there twice",
            "if hide_names:",
            "if not repeated:",
        ),
    )
    return mutants


def _ledger_mutants() -> list[Mutant]:
    """Plant events believed without a seal, agreements that bind nothing, spends that are denied."""
    read, payload = "chain.authenticated_fields(row, self._database.key)", "chain.checked_fields(row)"
    mutants = _of(
        "ledger/account.py",
        SEALS,
        (
            "seals: entries unchecked",
            "by_kind = {kind: (kind, chain.authenticated_fields(row, seal))",
            "by_kind = {kind: (kind, chain.checked_fields(row))",
        ),
        (
            "seals: accounts unchecked",
            'fields, kind = chain.authenticated_fields(row, seal), row["kind"]',
            'fields, kind = chain.checked_fields(row), row["kind"]',
        ),
        (
            "seals: joins unchecked",
            'chain.authenticated_fields(row, seal)["other"]',
            'chain.checked_fields(row)["other"]',
        ),
    )
    messages, kinds = "tests/base/test_messages.py", "tests/tables/test_findings.py"
    mutants += _of(
        "base/messages.py",
        messages,
        (
            "messages: advice is cut after names are put in",
            'self.template.partition(";")[0].rstrip("."), (), facts)',
            'self.template, (), facts).partition(";")[0]',
        ),
        (
            "messages: a note forgets its kind elsewhere",
            "return (self.kind,), dict(self.facts)",
            "return (self.kind,), {}",
        ),
    )
    mutants += _of(
        "base/messages.py",
        messages,
        ("messages: an ending comes twice", "if sentence not in self.endings:", "if True:"),
        (
            "messages: an error loses its kind elsewhere",
            "(type(self), *self.args), self.__dict__",
            "(type(self), *self.args), {}",
        ),
    )
    mutants += _of(
        "tables/findings.py",
        kinds,
        (
            "findings: constants are not collinear",
            "    PublicMessage.CONSTANT,\n",
            "",
        ),
    )
    mutants += _of(
        "mechanisms/passes.py",
        "tests/test_proofs.py",
        ("proofs: lengths in fewer steps", "SIZES = 2**14", "SIZES = 2**13"),
        (
            "proofs: lengths rounded down",
            "return np.rint(clipped, out=clipped)",
            "return np.floor(clipped, out=clipped)",
        ),
    )
    mutants += _of(
        "methods/joint/plan.py",
        "tests/test_proofs.py",
        ("proofs: a third for gradients before the last", "_MIDDLE_SHARE = 0.25", "_MIDDLE_SHARE = 0.33"),
    )
    documents = "tests/test_doc_statements.py"
    mutants += _of(
        "tables/limits.py",
        documents,
        ("documents: a limit that a guide states", "MAX_PERSON_RUNNING = 3", "MAX_PERSON_RUNNING = 4"),
    )
    mutants += _of(
        "cli/parser.toml",
        documents,
        ("documents: an option that a guide types", '"--colluders" =', '"--collusion" ='),
    )
    mutants += _of(
        "tables/persons.py",
        documents,
        (
            "documents: numbers that a guide calls one person",
            "return text if number is None else",
            "return text if number else",
        ),
    )
    mutants += _of("ledger/agreements.py", SEALS, ("seals: agreements unchecked", read, payload))
    mutants += _of(
        "ledger/log.py", SEALS, ("seals: registrations unchecked", "fields = " + read, "fields = " + payload)
    )
    mutants += _of(
        "ledger/chain.py",
        SEALS,
        ("seals: the chain does without", "        return legacy\n", "        return True\n"),
        ("seals: any seal will do", "return key is None or hmac.compare_digest(", "return key is None or bool("),
    )
    mutants += _of(
        "ledger/database.py",
        SEALS,
        (
            "seals: a stripped ledger is sealed anew",
            "if not sealed and self.key is not None and not self._takes_unsealed:",
            "if False:",
        ),
        ("seals: a new key beside stripped events", "if self.key is None and head[0] == 0:", "if self.key is None:"),
        ("seals: events counted for seals", '"sealed": checked.sealed,', '"sealed": checked.events,'),
        (
            "seals: readers do not count events",
            "            self._check_count(connection)\n            yield connection\n",
            "            yield connection\n",
        ),
    )
    mutants += _of(
        "cli/arguments.py",
        f"{AGREEMENT} -k 'variable or command_line'",
        (
            "agreement: whoever LOGNAME says",
            "pwd.getpwuid(os.getuid()).pw_name",
            'os.environ.get("LOGNAME", "somebody")',
        ),
    )
    exchanged = f"{AGREEMENT} -k 'exchanged or digest'"
    mutants += _of(
        "ledger/agreements.py",
        exchanged,
        ("agreement: files are not bound", '"choices", "unit", "tables")', '"choices", "unit")'),
    )
    mutants += _of(
        "tables/fingerprint.py",
        exchanged,
        ("agreement: names of columns bound alone", "digest.update(sink.getvalue())", "pass"),
        (
            "agreement: a digest without the key",
            "hmac.new(key, repr(table.columns)",
            'hmac.new(b"x", repr(table.columns)',
        ),
    )
    mutants += _of(
        "releases/release.py",
        exchanged,
        ("agreement: public files are not bound", " + public_digest(problem.public, key)", ""),
    )
    mutants += _of(
        "releases/outcome.py",
        OUTCOME,
        (
            "outcome: an error passes as it is",
            "raise SpendFailure(spend, spend.state(), error) from without_text(error)",
            "raise",
        ),
        (
            "outcome: the key is not named",
            "place=spend.ledger.place, key=spend.key)",
            'place=spend.ledger.place, key="")',
        ),
        (
            "outcome: a spend is denied",
            "SpendState.NO_RESULT: SpendMessage.NO_RESULT",
            "SpendState.NO_RESULT: SpendMessage.NOTHING",
        ),
        (
            "outcome: an interrupt says nothing",
            "raise KeyboardInterrupt(str(stop) or sentence(spend, spend.state(), stop)) from None",
            "raise",
        ),
    )
    mutants += _of(
        "ledger/log.py",
        OUTCOME,
        ("outcome: a late error is a refusal", "raise UnclearSpend(error) from error", "raise"),
    )
    mutants += _of(
        "ledger/log.py",
        "tests/ledger/test_log.py -k 'entered_once or retired_or_parted'",
        ("a data set is parted from itself", "if dataset == other:", "if False:"),
        ("a failure is entered twice", 'if spent.state == "reserved":', "if spent.record is None:"),
    )
    mutants += _of(
        "ledger/chain.py",
        "tests/ledger/test_seals.py -k of_other_letters",
        (
            "seals: other letters stop the check",
            'str(row["seal"]).encode(), seal(key, row["hash"]).encode()',
            'str(row["seal"]), seal(key, row["hash"])',
        ),
    )
    mutants += _of(
        "ledger/database.py",
        f"{OUTCOME} -k 'only_what'",
        (
            "outcome: the ledger's errors deny spends",
            "reason=fault.sentence())",
            'reason=fault.sentence() + "; Nothing was released")',
        ),
    )
    mutants += _of(
        "releases/release.py",
        OUTCOME,
        (
            "outcome: a record is kept at the first try or never",
            "        return place.ledger.finish(place.key, record)\n\n\n",
            "        raise\n\n\n",
        ),
    )
    mutants += _of(
        "tables/named.py",
        f"{AGAIN} -k 'looks_like or demo_is_known'",
        ("demo: any table of its shape", "return _demo_digest(table) == _DEMO_DIGEST", "return True"),
        ("demo: not known", "return _demo_digest(table) == _DEMO_DIGEST", "return False"),
    )
    mutants += _of(
        "api/spending.py",
        f"{AGAIN} -k 'frames_without'",
        ("frames: one account for all", 'f"unnamed table {mark[:_DIGEST_DIGITS]}".strip()', '"unnamed table"'),
        (
            "frames: a digest that anybody can take",
            "seal(ledger.fingerprint_key, problem.table.sha256)",
            "problem.table.sha256",
        ),
    )
    return mutants


@dataclass(frozen=True)
class Planted:
    """A fault in a copy of the code, and the process that runs its tests."""

    mutant: Mutant
    root: Path
    text: str  # of the file without the fault
    start: float

    def lift(self) -> None:
        """Put the file back as it was."""
        (self.root / self.mutant.file).write_text(self.text)


def start(mutant: Mutant, root: Path) -> tuple[int, Planted]:
    """Plant a fault in a copy and start its tests in a process of their own; returns its number.

    The process is forked: what the package needs of others is loaded already, the package itself never here.
    """
    path = root / mutant.file
    text = path.read_text()
    path.write_text(text.replace(mutant.old, mutant.new, 1))
    child = os.fork()
    if child == 0:
        _run_tests(mutant, root)
    return child, Planted(mutant, root, text, time.monotonic())


def _run_tests(mutant: Mutant, root: Path) -> NoReturn:
    """Run the tests of a fault, and end with their exit status; a test that hangs is ended by the alarm."""
    status = 3
    try:
        os.setsid()
        signal.alarm(_TIMEOUT)
        out = os.open(root / _OUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(out, stream)
        os.chdir(root)
        sys.path[:0] = [str(root)]
        os.environ["PYTHONPATH"] = str(root)
        import pytest  # noqa: PLC0415

        status = int(
            pytest.main(
                ["-x", "-q", "-n", "0", "--slow", "--reruns", "0", "-p", "no:cacheprovider", *shlex.split(mutant.tests)]
            )
        )
        sys.stdout.flush()
    finally:
        os._exit(status)


def judged(planted: Planted, status: int) -> bool:
    """Return whether a fault survived, by how its tests ended.

    Raises:
        SystemExit: the tests did not run.
    """
    planted.lift()
    if os.WIFSIGNALED(status):
        return False
    code = os.WEXITSTATUS(status)
    if code not in (0, 1):
        said = (planted.root / _OUT).read_text(errors="replace")[-2000:]
        raise SystemExit(f"{planted.mutant.name}: the tests did not run\n{said}")
    return code == 0


def load() -> None:
    """Load what the package needs of others, once for all faults; what is not installed its tests will miss."""
    for name in _LOADED:
        with suppress(ImportError):
            importlib.import_module(name)


def stale(wanted: list[Mutant]) -> list[str]:
    """Return what of the list does not follow the code: texts that are gone, tests that do not exist."""
    complaints = gone(wanted)
    # In a process of its own: this one never loads the package, whose copies its children load.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        empty = pool.submit(without_tests, sorted({mutant.tests for mutant in wanted})).result()
    return complaints + [f"{mutant.name}: {mutant.tests} selects no test" for mutant in wanted if mutant.tests in empty]


def gone(wanted: list[Mutant]) -> list[str]:
    """Return texts of the list that are not in the code, and files that are not there."""
    complaints = []
    for mutant in wanted:
        path = ROOT / mutant.file
        if not path.is_file() or mutant.old not in path.read_text():
            complaints.append(f"{mutant.name}: {mutant.file} no longer has {mutant.old!r}")
        files = _files(mutant.tests)
        complaints += [f"{mutant.name}: there is no {file}" for file in files if not (ROOT / file).exists()]
    return complaints


def without_tests(selections: list[str]) -> set[str]:
    """Return the selections, of files and a ``-k`` expression, that select no test; all tests are collected once."""
    import pytest  # noqa: PLC0415
    from _pytest.mark import KeywordMatcher  # noqa: PLC0415
    from _pytest.mark.expression import Expression  # noqa: PLC0415

    class Collector:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            self.items = session.items

    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT)]
    collector = Collector()
    files = sorted({file for selection in selections for file in _files(selection) if Path(file).exists()})
    with redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", "-q", "-n", "0", "--slow", "-p", "no:cacheprovider", *files], [collector])
    matchers = [(item.nodeid, KeywordMatcher.from_item(item)) for item in collector.items]
    empty = set()
    for selection in selections:
        parts, places = shlex.split(selection), tuple(_files(selection))
        keywords = Expression.compile(parts[parts.index("-k") + 1]) if "-k" in parts else None
        if not any(
            id.startswith(places) and (keywords is None or keywords.evaluate(matcher)) for id, matcher in matchers
        ):
            empty.add(selection)
    return empty


def _files(selection: str) -> list[str]:
    """Return the files of tests, or folders of them, in a selection."""
    return [part for part in shlex.split(selection) if part.startswith("tests")]


def code_digest() -> str:
    """Return the digest of everything that is copied: what was noticed holds for this code alone."""
    digest = hashlib.sha256()
    for part in _PARTS:
        place = ROOT / part
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        for path in files:
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


class Progress:
    """What was noticed already, kept in a file where one is named."""

    def __init__(self, file: str) -> None:
        self._file, self._code = Path(file) if file else None, code_digest()
        earlier = json.loads(self._file.read_text()) if self._file is not None and self._file.exists() else {}
        self.noticed: list[str] = earlier.get("noticed", []) if earlier.get("code") == self._code else []

    def note(self, mutant: Mutant) -> None:
        """Keep that this one was noticed."""
        self.noticed.append(mutant.name)
        if self._file is not None:
            self._file.write_text(json.dumps({"code": self._code, "noticed": self.noticed}))


def copied(root: Path) -> Path:
    """Return a copy of the code and its tests."""
    root.mkdir()
    for part in _PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, root / part)
    # By the hash of the source: a file that was changed and put back within a second is never taken for the other.
    compileall.compile_dir(root / "pmtcore", quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return root


def tried(waiting: list[Mutant], copies: list[Path], progress: Progress) -> list[str]:
    """Plant one fault in each copy at a time; the names of those that survive."""
    waiting, free, alive = waiting[::-1], list(copies), []
    running: dict[int, Planted] = {}
    while waiting or running:
        while waiting and free:
            child, planted = start(waiting.pop(), free.pop())
            running[child] = planted
        child, status = os.wait()
        if child not in running:
            continue
        planted = running.pop(child)
        left = judged(planted, status)
        free.append(planted.root)
        took = time.monotonic() - planted.start
        print(f"{'SURVIVES' if left else 'noticed':9} {took:5.0f} s  {planted.mutant.name}", flush=True)
        if left:
            alive.append(planted.mutant.name)
        else:
            progress.note(planted.mutant)
    return alive


def main() -> int:
    """Run all mutants, or those asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a name; several with |")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument(
        "--resume", default="", metavar="FILE", help="keep what was noticed, and leave it out next time"
    )
    chosen = parser.parse_args()
    wanted = [m for m in every_mutant() if any(part in m.name for part in chosen.only.split("|"))]
    if chosen.list:
        print("\n".join(f"{m.name:45} {m.file}" for m in wanted))
        return 0
    if wrong := stale(wanted):
        raise SystemExit("\n".join(wrong))
    progress = Progress(chosen.resume)
    load()
    with tempfile.TemporaryDirectory() as folder:
        copies = [copied(Path(folder) / str(job)) for job in range(chosen.jobs)]
        alive = tried([mutant for mutant in wanted if mutant.name not in progress.noticed], copies, progress)
    print(f"{len(wanted) - len(alive)} of {len(wanted)} mutants noticed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
