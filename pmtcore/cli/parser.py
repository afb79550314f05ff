"""What may be asked on the command line; read without any library, so that help comes at once.

Each command names the function that runs it, ``module:function`` within this room, which is loaded when it is called.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from pmtcore import __version__
from pmtcore.base.messages import CommandMessage, InputError

_STEPS = (
    "cap",
    "show",
    "verify",
    "accept",
    "part",
    "retire",
    "register",
    "asked",
    "agree",
    "decline",
    "release",
    "record",
)
_STUDY_PATIENCE = 600.0  # seconds: a pass over a large table, and a colleague who restarts a machine
_LONGEST = 400  # characters of a complaint that repeats an argument: five lines of a terminal
_EPILOG = """exit status: 0 done, 2 a wrong call or bad input, 3 refused by the cap of the ledger, 70 an error of the
program, 130 stopped. FILE may be - for standard input, once."""
_EXAMPLES = {
    "release": 'second-moment release --private p.csv --public b.csv --formula "y ~ age" --mu 1 --json --out r.json',
    "plan": "second-moment plan --public b.csv --private-rows 10000 --target y --mu 0.5,1,2",
    "explore": 'second-moment explore --record r.json --formula "quality ~ alcohol + pH"',
    "report": "second-moment report --record r.json --out report.html",
    "convert": "second-moment convert --epsilon 1 --delta 1e-6",
    "describe": "second-moment describe --private p.csv --public b.csv --target y",
    "compare": "second-moment compare --private p.csv --public b.csv --target y --methods joint-pmt,dp-ols --mu 1",
    "select": "second-moment select --private p.csv --public b.csv --target y --family logistic --epsilon 1",
    "check": "second-moment check --deploy",
    "ledger": "second-moment ledger cap --dataset p.csv --mu 3",
    "audit": "second-moment audit joint-pmt --mu 1",
    "local": "second-moment local configure --public b.csv --target y --family logistic --epsilon 2 --out c.json",
    "gallery": "second-moment gallery A1 --quick",
    "study": "second-moment study simulate --public b.csv --private p.csv q.csv r.csv --target y --mu 1",
    "methods": "second-moment methods --json",
}


class Parser(argparse.ArgumentParser):
    """argparse, with its complaints in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise in place of leaving the program."""
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
        raise InputError(CommandMessage.WRONG_CALL, reason=message, command=self.prog)


def program() -> str:
    """Return what was called, as a user would call it again."""
    called = Path(sys.argv[0]).name
    return called if called.startswith("second-moment") else "python -m pmtcore"


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    made = Parser(prog=program(), description="Private regression with public second moments.", epilog=_EPILOG)
    made.add_argument("--version", action="version", version=f"second-moment {__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    common = Parser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON object")
    common.add_argument("--quiet", action="store_true", help="print nothing but errors, and what --json prints")
    common.add_argument("--verbose", action="store_true", help="report progress, and show where an error comes from")

    def command(name: str, run: str, help: str) -> argparse.ArgumentParser:
        example = f"example: {_EXAMPLES[name]}" if name in _EXAMPLES else None
        subcommand = commands.add_parser(name, help=help, description=help, epilog=example, parents=[common])
        subcommand.set_defaults(run=f"pmtcore.cli.{run}")
        return subcommand

    listing = command("methods", "commands:list_methods", "List the methods: standing, neighbours, errata, parameters.")
    listing.add_argument(
        "words", nargs="*", metavar="WORD", help="only methods with this word in a name, such as DP-PMTRR"
    )
    convert = command("convert", "commands:convert", "A total budget in the other units.")
    budget_arguments(convert)
    describe = command(
        "describe", "commands:describe", "Conditioning and truncation of the private rows; for the curator."
    )
    table_arguments(describe)
    describe.add_argument("--eta", type=float, default=0.05, help="failure probability behind the radius")
    plan = command(
        "plan", "audit_commands:plan", "What a budget buys, from public rows and the number of private ones; free."
    )
    table_arguments(plan, private=False)
    rows = plan.add_mutually_exclusive_group(required=True)
    rows.add_argument("--private-rows", "--rows", dest="rows", type=int, metavar="N", help="number of private rows")
    rows.add_argument("--private", metavar="PLACE", help="or the private table: its rows are counted, no value is used")
    plan.add_argument("--mu", required=True, metavar="M[,M...]", help="total budgets")
    plan.add_argument("--method", metavar="ID", help="default: the recommended one, and two others beside it")
    plan.add_argument("--all", action="store_true", help="every sound method that predicts its errors")
    plan.add_argument("--time", action="store_true", help="also how long a release takes here, and how much memory")
    plan.add_argument("--coefficient", metavar="NAME", help="with --width: the budget, or the rows, that reach it")
    plan.add_argument("--width", type=float, help="wanted 95 %% half-width of the coefficient")
    release = command("release", "releases:run", "One private release, its spend in a ledger.")
    table_arguments(release)
    budget_arguments(release)
    release_arguments(release)
    explore = command("explore", "explore:run", "Any regression from a joint moment that was released; spends nothing.")
    explore_arguments(explore)
    compare = command(
        "compare", "commands:compare", "Lab: distance of methods to the non-private fit over repeated trials."
    )
    table_arguments(compare)
    compare.add_argument("--methods", required=True, metavar="ID,ID")
    compare.add_argument("--mu", required=True, metavar="M[,M...]", help="total budgets")
    compare.add_argument("--trials", type=int, default=100)
    compare.add_argument("--scale", default="none", metavar="none|z|minmax|max")
    compare.add_argument("--seed", type=int, default=0)
    compare.add_argument("--axis", default="budget", metavar="AXIS", help="budget, 'private rows', 'public rows', ...")
    compare.add_argument("--values", metavar="X[,X...]", help="values on an axis other than the budget")
    select = command(
        "select", "commands:select", "Lab: which coefficients NAPP-ERM, NAPP-VS, NAPP-VS+ and sound methods keep."
    )
    table_arguments(select)
    select.add_argument("--epsilon", type=float, default=1.0, help="pure epsilon of every method (add-remove-one)")
    select.add_argument("--Lambda", dest="target_lam", type=float, default=5.0, help="weight of the lasso, 0.2 to 50")
    select.add_argument("--trials", type=int, default=10, help="noise draws")
    select.add_argument("--seed", type=int, default=0)
    ledger = command(
        "ledger", "ledger:run", "The budget: caps, spends, data sets, agreements, and whether it is intact."
    )
    ledger_arguments(ledger)
    audit = command("audit", "audit_commands:audit", "Attack a method: a lower bound on its privacy against its claim.")
    audit.add_argument("id", metavar="ID", help="a method, or 'all'")
    audit.add_argument("--mu", type=float, default=1.0, help="the claimed mu")
    audit.add_argument("--trials", type=int, default=20_000)
    audit.add_argument("--seed", type=int, default=1)
    audit.add_argument(
        "--rows-per-person", type=int, metavar="K", help="neighbours differ in one person; K rows of each count"
    )
    audit.add_argument(
        "--person-rule", default="first", metavar="first|mean", help="with it: the first K rows, or their mean"
    )
    report = command(
        "report", "audit_commands:report", "One self-contained HTML file about a release, for stakeholders."
    )
    report.add_argument("--ledger", metavar="URL")
    report.add_argument("--key", metavar="KEY", help="key of the release in the ledger")
    report.add_argument("--record", "--release", dest="release", metavar="FILE", help="what release --json printed")
    report.add_argument("--check", metavar="URL", help="with --record: the ledger that holds it (default: your own)")
    report.add_argument("--out", "--html", dest="html", required=True, metavar="FILE", help="where to write the page")
    local = command(
        "local", "local:run", "Local model: publish a configuration, randomize own rows, aggregate reports."
    )
    local_arguments(local)
    study = command("study", "study:run", "Several institutions, one regression: create, join, run, simulate.")
    study_arguments(study, common)
    gallery = command(
        "gallery", "audit_commands:gallery", "The papers' experiments: the list, or one recomputed with its verdict."
    )
    gallery.add_argument("figure", nargs="?", metavar="FIGURE", help="such as A1; without it, the list")
    gallery.add_argument("--quick", action="store_true", help="fewer trials than the paper")
    gallery.add_argument("--trials", type=int, help="number of trials")
    gallery.add_argument("--check", action="store_true", help="whether the stored result is what today's code gives")
    gallery.add_argument(
        "--mend",
        action="store_true",
        help="recompute the results that today's code does not reproduce, with the stored trials",
    )
    gallery.add_argument(
        "--all",
        action="store_true",
        help="run every figure whose table is here up to the papers' trials, step by step; a stopped run goes on later",
    )
    gallery.add_argument(
        "--open", action="store_true", help="claims without an answer, why, and how many trials would decide them"
    )
    gallery.add_argument(
        "--out",
        dest="folder",  # of which the check of a file to write knows nothing
        metavar="FOLDER",
        help="with --all: where results are kept (default: this machine's cache); with one figure: its file",
    )
    gallery.add_argument("--workers", type=int, default=2, help="number of processes")
    check = command("check", "deployment:run", "Whether a server's settings are fit for others to sign in.")
    check.add_argument("--deploy", action="store_true", help="check the settings of a server that others reach")
    check.add_argument("--secrets", metavar="FILE", help="Streamlit's secrets (default: the application's own)")
    command("app", "launch:run", "Open the application in a browser.")
    completion = command("completion", "launch:completion", "Print what a shell needs to complete these commands.")
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    return made


def release_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what a release is asked for, beside its tables and its budget."""
    parser = parser.add_argument_group("release")  # type: ignore[assignment]
    parser.add_argument("--method", metavar="ID", help="see 'methods'; default: the recommended one")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the method")
    parser.add_argument("--config", metavar="FILE", help="a request saved by the application or by --save-config")
    parser.add_argument("--save-config", metavar="FILE", help="write the request, to be used again")
    parser.add_argument(
        "--rows-per-person", type=int, metavar="K", help="how many rows one person may have (default 1)"
    )
    parser.add_argument("--person", metavar="COLUMN", help="who a row belongs to: at most K rows of each count")
    parser.add_argument(
        "--person-rule",
        default="first",
        metavar="first|mean",
        help="of each person the first K rows count, or the mean of all",
    )
    parser.add_argument("--ask", action="store_true", help="ask a second person to agree; then release with the key")
    parser.add_argument("--seed", type=int, help="repeatable noise: the result is then a lab figure")
    parser.add_argument(
        "--ledger", metavar="URL", help="where the spend is kept, a file or a database URL (default: your own ledger)"
    )
    parser.add_argument("--lab", action="store_true", help="outside any ledger: the result is then a lab figure")
    parser.add_argument("--dataset", metavar="NAME", help="data set whose cap in the ledger the spend counts against")
    parser.add_argument("--purpose", default="", help="kept in the ledger")
    parser.add_argument("--key", metavar="KEY", help="repeating a key repeats the outcome and spends nothing")
    parser.add_argument(
        "--progress", action="store_true", help="report progress on standard error even without a terminal"
    )
    _out_argument(parser)


def explore_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the record and the question."""
    parser.add_argument(
        "--record",
        "--release",
        dest="record",
        required=True,
        metavar="FILE",
        help="what release --method joint-moment wrote",
    )
    parser.add_argument("--formula", metavar="'Y ~ A + B'", help="in place of --response and --features")
    parser.add_argument("--response", metavar="COLUMN", help="default: the target of the release")
    parser.add_argument("--features", metavar="A,B", help="default: those of the release")
    parser.add_argument("--no-intercept", action="store_true")
    parser.add_argument("--ridge", type=float, default=0.0, metavar="LAM", help="penalty in the units of the table")
    parser.add_argument(
        "--family", default="gaussian", metavar="gaussian|logistic", help="logistic: for a 0/1 response"
    )
    parser.add_argument("--endogenous", metavar="A,B", help="with --instruments: two-stage least squares")
    parser.add_argument("--instruments", metavar="C,D", help="columns in place of the endogenous features")
    parser.add_argument("--within", metavar="'Y ~ A'", help="a smaller model: nested F against it")
    parser.add_argument("--test", metavar="A,B", help="joint test that these coefficients are zero")
    parser.add_argument(
        "--confirm", metavar="FILE", help="release of the same model by joint-pmt (JSON), to be combined with this one"
    )
    parser.add_argument("--at", metavar="'A=1,B=2'", help="prediction at these values")
    parser.add_argument(
        "--show",
        metavar="WHAT",
        help="in place of a regression: columns, summary, correlations, partial, components, ridge, lasso, subsets",
    )
    parser.add_argument(
        "--correction", default="none", metavar="none|bonferroni|scheffe", help="of bands after a search"
    )
    parser.add_argument("--models", type=int, default=1, help="number of models looked at, for bonferroni")
    parser.add_argument("--synthetic", metavar="FILE", help="write synthetic rows as CSV: for trying code only")
    parser.add_argument("--rows", type=int, default=1000, help="number of synthetic rows")
    _out_argument(parser)


def ledger_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a step."""
    parser.add_argument("step", choices=_STEPS)
    parser.add_argument("--ledger", metavar="URL", help="a file or a database URL (default: your own ledger)")
    parser.add_argument("--dataset", metavar="NAME")
    parser.add_argument("--private", metavar="FILE", help="register: the table that analysts may choose by name")
    parser.add_argument("--public", metavar="FILE", help="register: its public companion")
    parser.add_argument("--schema", metavar="FILE", help="register: a declared schema (JSON); else the public table's")
    parser.add_argument("--person", metavar="COLUMN", help="register: who a row belongs to")
    parser.add_argument("--rows-per-person", type=int, default=1, metavar="K", help="register: rows of each that count")
    parser.add_argument("--person-rule", default="first", metavar="first|mean", help="register: K rows, or their mean")
    parser.add_argument("--second", action="store_true", help="register: a second person agrees to each release")
    parser.add_argument("--mu", type=float, help="the cap, a total under replace-one")
    parser.add_argument("--other", metavar="NAME", help="part: the data set that shares nobody with --dataset")
    parser.add_argument("--reason", help="kept in the ledger: why an older copy is accepted, data sets part, ...")
    parser.add_argument("--head", metavar="HASH", help="verify: a head noted earlier, to be in the chain")
    parser.add_argument("--key", metavar="KEY", help="of the request (agree, decline, release), or of the record")


def study_arguments(parser: argparse.ArgumentParser, common: Parser) -> None:
    """Add the steps of a study."""
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP", parser_class=Parser)

    def step(name: str, help: str) -> argparse.ArgumentParser:
        substep = steps.add_parser(name, help=help, description=help, parents=[common])
        substep.set_defaults(run=f"pmtcore.cli.study:{name}")
        return substep

    made = step("create", "Write a study file; or add the keys of sites that joined. No private file.")
    made.add_argument("study", metavar="FILE", help="the study; the public file has to lie beside it")
    made.add_argument("--site", action="append", default=[], metavar="NAME=ROWS", help="a site and its number of rows")
    made.add_argument("--joined", action="append", default=[], metavar="FILE", help="what a site wrote with 'join'")
    made.add_argument("--title", default="", help="what the study is for")
    made.add_argument(
        "--patience", type=float, default=_STUDY_PATIENCE, metavar="SECONDS", help="wait for a silent site"
    )
    _plan_arguments(made)
    made = step("join", "See what a study would spend and find; agree to it for a site.")
    made.add_argument("study", metavar="FILE")
    made.add_argument("--site", required=True, metavar="NAME")
    made.add_argument("--folder", required=True, metavar="FOLDER", help="for this site's keys; keep it private")
    made.add_argument("--private", metavar="PLACE", help="the site's table: only where a second person has to agree")
    _ledger_arguments(made)
    made.add_argument("--out", metavar="FILE", help="where to write what the coordinator needs")
    made.add_argument("--agree", action="store_true", help="agree; without it the plan is shown and nothing is written")
    made = step("status", "See who has agreed, who takes part, and which passes are opened.")
    made.add_argument("study", metavar="FILE")
    made.add_argument("--joined", action="append", default=[], metavar="FILE", help="what a site wrote with 'join'")
    made.add_argument("--board", metavar="FOLDER", help="folder of the messages")
    made = step("run", "Take part for a site (--site), or lead the study (no --site).")
    made.add_argument("study", metavar="FILE")
    made.add_argument("--site", metavar="NAME")
    made.add_argument("--private", metavar="PLACE", help="the site's table")
    made.add_argument("--folder", metavar="FOLDER", help="the site's keys")
    _ledger_arguments(made)
    made.add_argument("--server", metavar="URL", help="the coordinator's address; https between machines")
    made.add_argument("--board", metavar="FOLDER", help="a folder that all share; with --listen: where messages lie")
    made.add_argument("--listen", metavar="HOST:PORT", help="lead: the address to serve (default 127.0.0.1:8090)")
    _out_argument(made)
    made = step("simulate", "A study on one machine: a process for each private file.")
    made.add_argument("--private", nargs="+", required=True, metavar="FILE", help="a file for each site")
    made.add_argument("--folder", metavar="FOLDER", help="where studies, keys and ledgers stay (default: nowhere)")
    _plan_arguments(made)
    _out_argument(made)


def _plan_arguments(parser: argparse.ArgumentParser) -> None:
    table_arguments(parser, private=False)
    budget_arguments(parser)
    parser.add_argument("--method", metavar="ID", default="joint-pmt", help="joint-pmt, joint-moment or pmt-gradients")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the method")
    parser.add_argument("--rows-per-person", type=int, default=1, metavar="K", help="rows of a person at one site")
    parser.add_argument("--least", type=int, metavar="K", help="sites that must answer (default: all)")
    parser.add_argument("--colluders", type=int, default=0, metavar="C", help="sites that may collude (default: 0)")
    parser.add_argument("--site-effects", action="store_true", help="joint-moment: a coefficient for each site")


def _ledger_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ledger", metavar="URL", help="the site's ledger (default: your own)")
    parser.add_argument("--dataset", metavar="NAME", help="whose cap it counts against (default: the site's name)")


def local_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the three halves."""
    parser.add_argument("step", choices=("configure", "randomize", "aggregate"))
    parser.add_argument("--public", metavar="FILE", help="public rows, labelled or not (configure, aggregate)")
    parser.add_argument("--rows", metavar="FILE", help="own rows (randomize)")
    parser.add_argument("--reports", metavar="FILE", help="randomized reports, JSON lines or Parquet (aggregate)")
    parser.add_argument("--config", metavar="FILE", help="the published configuration (randomize, aggregate)")
    parser.add_argument("--out", dest="destination", metavar="FILE", help="where to write: configuration or reports")
    parser.add_argument("--target", metavar="COLUMN")
    parser.add_argument("--features", metavar="A,B")
    parser.add_argument("--no-intercept", action="store_true")
    parser.add_argument("--family", help="the loss; another one from the same reports costs nothing (aggregate)")
    parser.add_argument(
        "--link", metavar="LINK", help="y = f(x'w) + noise in place of a family: cubic, softplus, sigmoid"
    )
    parser.add_argument("--positive", metavar="LABEL")
    parser.add_argument("--epsilon", type=float, help="budget of each report, pure with PrivUnit (configure)")
    parser.add_argument("--mu", type=float, help="budget of each report, in place of epsilon (configure)")
    parser.add_argument("--scheme", default="whitened", metavar="whitened|moments")
    parser.add_argument("--response-bound", type=float, default=0.0)
    parser.add_argument("--people", type=int, default=10_000, help="expected number of reports (configure)")


def _out_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FILE", help="also write the answer to this file; as JSON if it ends in .json")


def budget_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the total budget, in one of its units."""
    parser = parser.add_argument_group("budget")  # type: ignore[assignment]
    parser.add_argument("--mu", type=float, help="total budget in GDP")
    parser.add_argument("--rho", type=float, help="total budget in zCDP")
    parser.add_argument("--epsilon", type=float, help="total epsilon; needs --delta")
    parser.add_argument("--delta", type=float, help="with --epsilon: the budget; else: where epsilon is stated")


def table_arguments(parser: argparse.ArgumentParser, private: bool = True) -> None:
    """Add the arguments that name tables, and say what to make of their columns."""
    parser = parser.add_argument_group("tables")  # type: ignore[assignment]
    if private:
        parser.add_argument(
            "--private",
            required=True,
            metavar="PLACE",
            help="a file (CSV, TSV, Parquet, gzip'ed too), a folder or pattern of Parquet files, an address of an "
            "object store, or of a database with --query; read in blocks, of any size",
        )
        parser.add_argument(
            "--query", metavar="SELECT", help="with a database's address in --private: the rows to take"
        )
        parser.add_argument(
            "--overlap", default="", metavar="REASON", help="why public rows may be private rows too; recorded"
        )
        parser.add_argument("--private-rows", type=int, metavar="N", help="declare n instead of counting")
        parser.add_argument(
            "--threads", type=int, metavar="N", help="threads that sum private rows; default: all cores"
        )
        parser.add_argument("--engine", default="here", metavar="here|dask", help="where passes over private rows run")
        parser.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler; without one, two workers here")
    parser.add_argument("--public", metavar="FILE", help="public rows: a file (CSV, TSV, Parquet)")
    parser.add_argument("--public-moment", metavar="FILE", help="a second moment matrix in place of public rows")
    parser.add_argument("--public-rows", type=int, metavar="M", help="rows behind the moment matrix, if known")
    parser.add_argument(
        "--public-ridge", type=float, default=0.0, metavar="LAM", help="where columns are collinear in the public rows"
    )
    parser.add_argument("--target", metavar="COLUMN", help="the response; or --formula")
    parser.add_argument("--features", metavar="A,B", help="default: columns of both tables, no identifiers")
    parser.add_argument("--formula", metavar="'Y ~ A + C(B)'", help="in place of --target and --features")
    parser.add_argument("--cluster", metavar="COLUMN", help="errors clustered by a column of the public table")
    parser.add_argument("--weights", metavar="COLUMN", help="weights of the rows, in both tables")
    parser.add_argument("--exposure", metavar="COLUMN", help="time or size that a count is of, in both tables")
    parser.add_argument("--no-intercept", action="store_true", help="fit without an intercept")
    parser.add_argument(
        "--missing", default="empty-row", metavar="empty-row|public-median|refuse", help="rows with gaps"
    )
    parser.add_argument("--unseen", default="other", metavar="other|refuse", help="levels that only private rows have")
    parser.add_argument("--levels", action="append", default=[], metavar="'COLUMN=A|B|C'", help="declared categories")
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="COLUMN=KIND",
        help="number, coded (its levels, such as -999, are missing), level, caseless, day-first, percent, ...",
    )
    parser.add_argument("--collinear", default="drop", metavar="drop|refuse", help="columns that others determine")
    parser.add_argument(
        "--covariates",
        default="private",
        metavar="private|public",
        help="public: all columns but the target are known anyway; then response-moment protects the responses alone",
    )
    parser.add_argument("--schema", metavar="FILE", help="a declared schema (JSON: columns, dialect)")
    families = "gaussian|logistic|poisson|boosting"
    parser.add_argument("--family", default="gaussian", metavar=families, help="family of the response")
    weak = "ridge penalty of a family other than gaussian (default: a weak prior that the rows outweigh)"
    parser.add_argument("--lam", type=float, help=weak)
    parser.add_argument("--positive", metavar="LABEL", help="the value of the target that counts as 1")
