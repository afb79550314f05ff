"""Plants faults one by one in a copy of the code and runs the tests that should notice: none may survive.

    python benchmarks/mutants.py            all of them
    python benchmarks/mutants.py --only gradient --jobs 2
    python benchmarks/mutants.py --list

A mutant whose text is no longer in the code is an error too: the list follows the code. Exit 1 if one survives.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_TIMEOUT = 600  # seconds; a mutant that makes a test hang is noticed too
_PARTS = ("pmtcore", "tests", "pages", "app.py", "pyproject.toml", "README.md", "docs", "assets", "benchmarks")


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
CONTRACT = "tests/methods/test_contract.py"
NOISE = "tests/mechanisms/test_noise.py"
GRID = "tests/mechanisms/test_grid.py"
TURNED = "tests/mechanisms/test_turned.py"
GRADIENTS = "tests/methods/test_gradients.py -k 'moves or reached'"
OPTIMUM = "tests/mechanisms/test_optimum.py"
PERTURBED = "tests/mechanisms/test_perturbed.py"
LABELS = "tests/methods/test_labels_methods.py"
LINEAR = "tests/methods/test_linear.py"
LOCAL = (
    "tests/local/test_protocol.py -k 'ratio or choice or shortcut or diameter or one_row or unfolded or without_noise'"
)
BUDGETS = "tests/accounting/test_budgets.py tests/accounting/test_oracle.py"
MIXED = "tests/accounting/test_mixed.py tests/accounting/test_oracle.py"


def _mutants() -> list[Mutant]:
    found: list[Mutant] = []

    def plant(name: str, file: str, old: str, new: str, tests: str) -> None:
        found.append(Mutant(name, f"pmtcore/{file}", old, new, tests))

    second, grid, noise = "methods/joint/second_pass.py", "mechanisms/grid.py", "mechanisms/noise.py"
    passes, turned = "mechanisms/passes.py", "mechanisms/turned.py"
    plant("turned: directions 2 % too long", turned, "STEPS * (1 - 2.0**-40)", "STEPS * 1.02", TURNED)
    plant("turned: rows far out at their scaled length", turned, "lengths * unit * lift", "lengths * unit", TURNED)
    plant("passes: lengths not clipped", passes, "-1.0, 1.0, out=shares", "-9.0, 9.0, out=shares", GRADIENTS)
    plant(
        "kept: the first blocks counted twice",
        "base/records.py",
        "            if at < known:\n",
        "            if at < 0:\n",
        TURNED,
    )
    plant(
        "joint: gradient noise halved",
        passes,
        "GRADIENT_SENSITIVITY * GRADIENT, mu",
        "1.0 * GRADIENT, mu",
        SPIED,
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
        "methods/joint/first_pass.py",
        "release_integer_moment(total, self.mu,",
        "release_integer_moment(total, 3 * self.mu,",
        APART,
    )
    plant(
        "grid: off-diagonal noise / 4",
        grid,
        "source.integers(sigma / math.sqrt(2), trials, len(rows))",
        "source.integers(sigma / 4, trials, len(rows))",
        APART,
    )
    plant("grid: slack forgotten", grid, "return (1 + SLACK) * sensitivity / mu", "return sensitivity / mu", SPIED)
    plant(
        "grid: rows 2 % too long",
        grid,
        "found = np.trunc(inside * (1 - 2.0**-40))",
        "found = np.trunc(inside * 1.02)",
        GRID,
    )
    plant(
        "grid: every row at the radius",
        grid,
        "np.maximum(np.where(whole, length, 1.0), radius)",
        "np.where(whole, length, 1.0)",
        f"{GRID} -k too_long",
    )
    plant(
        "noise: OpenDP's sampler bypassed",
        noise,
        "np.asarray(discrete_gaussian(sigma)([0] * (trials * size)), dtype=np.int64)",
        "np.rint(sigma * np.random.default_rng().standard_normal(trials * size)).astype(np.int64)",
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
        "    secure = False\n\n    def __init__",
        "    secure = True\n\n    def __init__",
        "tests/ledger/test_limits.py tests/base/test_exits.py tests/ledger/test_log.py " + NOISE,
    )
    plant("noise: papers' noise halved off the diagonal", noise, "np.sqrt(0.5))", "np.sqrt(0.25))", NOISE)
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
        "SHORTER = 1 - 2.0**-40",
        "SHORTER = 1 + 2.0**-40",
        f"{OPTIMUM} -k bounded",
    )
    plant(
        "bounded rows: infinite ones kept",
        truncation,
        "good = np.isfinite(top) & (top > 0)",
        "good = top > 0",
        f"{OPTIMUM} -k bounded",
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
    plant(
        "pmt-score: sensitivity of one sign",
        "methods/pmt_score.py",
        "(1 + SLACK) * 2 * FINE / self.mu",
        "(1 + SLACK) * FINE / self.mu",
        APART,
    )
    objective = "mechanisms/objective.py"
    plant(
        "objective: noise of add-remove",
        "accounting/objective.py",
        "return 2 * radius / mu",
        "return radius / mu",
        f"{LABELS} -k meets_the_budget",
    )
    plant(
        "objective: modulus halved",
        "accounting/objective.py",
        "return 2 * noise**2 * reach",
        "return noise**2 * reach",
        f"{LABELS} -k meets_the_budget",
    )
    plant(
        "objective: grid noise forgotten",
        objective,
        "b = source.integers(FINE, trials, d)",
        "b = 0 * source.integers(FINE, trials, d)",
        SPIED,
    )
    plant(
        "objective: covering noise forgotten",
        "mechanisms/optimum.py",
        "noise = source.integers((1 + SLACK) * self.sensitivity / mu, *theta.shape)",
        "noise = 0",
        SPIED,
    )
    plant(
        "optimum: doubt of far points forgotten",
        "mechanisms/optimum.py",
        "slope = 2 * self.doubt.slope / self.modulus",
        "slope = 0.0",
        f"{OPTIMUM} -k 'wanted or whole_steps'",
    )
    plant(
        "optimum: half a step of b forgotten",
        "mechanisms/optimum.py",
        "slip = self.step_of_noise * math.sqrt(len(self.centre)) / 2",
        "slip = 0.0",
        f"{OPTIMUM} -k 'wanted or whole_steps'",
    )
    plant(
        "optimum: no ball",
        "mechanisms/optimum.py",
        "np.minimum(1.0, self.ball / np.maximum(length, 1e-300))",
        "np.ones(len(length))",
        f"{OPTIMUM} -k wanted",
    )
    plant(
        "optimum: tolerance below rounding",
        "mechanisms/optimum.py",
        "return np.asarray(max(self.wanted, self.doubt.fixed) + self.doubt.slope * away)",
        "return np.asarray(self.wanted + 0 * away)",
        f"{OPTIMUM} -k wanted",
    )
    plant(
        "spherical: Gamma of shape 1 (E8)",
        "mechanisms/spherical.py",
        "for value in lengths), context",
        "for value in lengths[:1]), context",
        f"{OPTIMUM} -k 'spherical or floors'",
    )
    plant(
        "spherical: floor towards zero",
        "mechanisms/spherical.py",
        "whole = -whole if sign else whole",
        "whole = whole",
        f"{OPTIMUM} -k 'spherical or floors'",
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
        LOCAL + " " + MIXED,
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
        "np.where(whole[:, None], features, 0.0)",
        "np.where(whole[:, None], features, 1.0)",
        "tests/local",
    )
    plant("local: noise of all people for each", randomizers, "float(scale) * math.sqrt(n)", "float(scale)", LOCAL)
    releases = "releases/release.py"
    plant(
        "release: recorded mu is not the plan's",
        releases,
        "return Guarantee(plan.mu, entry.neighbours, delta)",
        "return Guarantee(plan.mu / 2, entry.neighbours, delta)",
        f"{ARRIVES} -k recorded",
    )
    plant(
        "release: the ledger pays half",
        releases,
        "request.as_dict(), plan.mu, relation",
        "request.as_dict(), plan.mu / 2, relation",
        "tests/ledger/test_log.py tests/ledger/test_limits.py",
    )
    plant(
        "release: a seed will do",
        releases,
        "if plan.mu > 0 and not source.secure:",
        "if False:",
        "tests/releases tests/ledger tests/base",
    )
    plant("grid: words added up as one", grid, "words[0] * 2**_WORD + words[1]", "words[0] + words[1]", GRID)
    likeness, shared, known = "tests/public/test_likeness.py", "tests/tables/test_overlap.py", "ledger/fingerprint.py"
    fingerprint, persons = "tests/ledger/test_fingerprint.py", "tests/tables/test_persons.py"
    homogeneity, deduplicate = "public/homogeneity.py", "public/deduplicate.py"
    plant(
        "homogeneity: the mean of a thousand rows",
        homogeneity,
        "    middle = (",
        "    z, inside, m = z[:1000], inside[:1000], min(m, 1000)\n    middle = (",
        f"{likeness} -k alike_samples",
    )
    plant(
        "homogeneity: sums without random signs",
        homogeneity,
        "rng.choice([-1.0, 1.0], m)",
        "np.ones(m)",
        f"{likeness} -k 'another_shape or alike'",
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
        "    return likely, at_most",
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
        "return {**stated, **numbers, **({'person': found['person']} if 'person' in found else {})}",
        f"{persons} -k cannot_state",
    )
    plant(
        "persons: leading zeros tell apart",
        "tables/identifiers.py",
        '(whole + fraction).lstrip("0")',
        "(whole + fraction)",
        f"{persons} -k one_however",
    )
    plant(
        "persons: case tells apart",
        "tables/identifiers.py",
        "text.casefold() if",
        "text if",
        f"{persons} -k one_however",
    )
    plant(
        "fingerprint: the first columns only",
        "tables/fingerprint.py",
        "    names = table.columns\n",
        "    names = table.columns[:64]\n",
        f"{fingerprint} -k front",
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
        "    secret = b",
        "    secret = os.urandom(8) + b",
        f"{fingerprint} -k noisy",
    )
    plant(
        "fingerprint: equal counts of few rows",
        known,
        "min(_COUNTS_APART, chance - _BY_CHANCE)",
        "_COUNTS_APART",
        f"{fingerprint} -k not_joined",
    )
    plant(
        "fingerprint: a row counts as often as it is asked for",
        known,
        "len(np.unique(partner[best >",
        "len((partner[best >",
        f"{fingerprint} -k 'planted or decide'",
    )
    shares, rounds, parties, sites = "sites/noise_shares.py", "sites/rounds.py", "sites/parties.py", "tests/sites"
    plant("sites: a share of the noise too small", shares, "scale / math.sqrt(answering)", "scale / answering", sites)
    plant(
        "sites: noise as if nobody colluded",
        "sites/study.py",
        "math.sqrt(1 - self.colluders / answering)",
        "math.sqrt(1 - 0 / answering)",
        sites,
    )
    plant("sites: a borrow forgotten", "sites/sharing.py", "other[:, 0] - borrow", "other[:, 0]", sites)
    plant("sites: shares sent as they are", rounds, "seals.sealed(body, self._study.site(other).seal)", "body", sites)
    plant(
        "sites: a pass opened again",
        rounds,
        "os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600",
        "os.O_WRONLY | os.O_CREAT, 0o600",
        sites,
    )
    plant("sites: opened before all are ready", rounds, 'set(others) <= set(self._sent("ready", step))', "True", sites)
    plant(
        "sites: a sum published without masks",
        rounds,
        "sharing.total([mine, *received])",
        "sharing.total([words, *received])",
        sites,
    )
    plant(
        "sites: signatures not asked for", "sites/boards.py", "        seals.require_signature(", "        str(", sites
    )
    plant("sites: a declined study runs", parties, 'self._agreement().state == "declined"', "False", sites)
    plant("sites: the noise's mu stated", parties, "source, stated=stated)", "source)", sites)
    return found


def survives(mutant: Mutant, root: Path) -> bool:
    """Whether the tests pass with the fault planted in this copy; the copy is whole again afterwards."""
    path = root / mutant.file
    text = path.read_text()
    if mutant.old not in text:
        raise SystemExit(f"{mutant.name}: {mutant.file} no longer has {mutant.old!r}")
    path.write_text(text.replace(mutant.old, mutant.new, 1))
    try:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            *shlex.split(mutant.tests),
        ]
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, timeout=_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(text)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{mutant.name}: the tests did not run\n{done.stdout.decode()[-2000:]}")
    return done.returncode == 0


def main() -> int:
    """All mutants, or those asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a name; several with |")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args()
    wanted = [m for m in _mutants() if any(part in m.name for part in chosen.only.split("|"))]
    if chosen.list:
        print("\n".join(f"{m.name:45} {m.file}" for m in wanted))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        copies = []
        for job in range(chosen.jobs):
            root = Path(folder) / str(job)
            root.mkdir()
            for part in _PARTS:
                source = ROOT / part
                if source.is_dir():
                    shutil.copytree(source, root / part, ignore=shutil.ignore_patterns("__pycache__"))
                elif source.exists():
                    shutil.copy(source, root / part)
            copies.append(root)

        def run(job: int) -> list[str]:
            alive = []
            for mutant in wanted[job :: chosen.jobs]:
                left = survives(mutant, copies[job])
                print(f"{'SURVIVES' if left else 'noticed':9} {mutant.name}", flush=True)
                alive += [mutant.name] * left
            return alive

        with ThreadPoolExecutor(chosen.jobs) as pool:
            alive = [name for found in pool.map(run, range(chosen.jobs)) for name in found]
    print(f"{len(wanted) - len(alive)} of {len(wanted)} mutants noticed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
