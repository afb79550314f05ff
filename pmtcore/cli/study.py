"""The study command: several institutions, one regression (docs/sites.md)."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pmtcore.base.checks import InputError, whole_number_between
from pmtcore.cli.arguments import budget_arguments, budget_from, choices_from, settings_from, table_arguments, user
from pmtcore.cli.files import read_small, write_small

Answer = tuple[Mapping[str, Any], str]  # the JSON object, the text
_PATIENCE = 600.0  # seconds: a pass over a large table, and a colleague who restarts a machine


def arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    """Add the four steps of a study."""
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP", parser_class=type(parser))

    def step(name: str, run: Any, help: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = steps.add_parser(name, help=help, description=help, parents=[common])
        made.set_defaults(run=run)
        return made

    made = step("create", _create, "Write a study file; or add the keys of sites that joined. No private file.")
    made.add_argument("study", metavar="FILE", help="the study; the public file has to lie beside it")
    made.add_argument("--site", action="append", default=[], metavar="NAME=ROWS", help="a site and its private rows")
    made.add_argument("--joined", action="append", default=[], metavar="FILE", help="what a site wrote with 'join'")
    made.add_argument("--title", default="", help="what the study is for")
    made.add_argument("--patience", type=float, default=_PATIENCE, metavar="SECONDS", help="until a site is lost")
    _plan_arguments(made, required=False)
    made = step("join", _join, "See what a study would spend and find; agree to it for a site. No private row is read.")
    made.add_argument("study", metavar="FILE")
    made.add_argument("--site", required=True, metavar="NAME")
    made.add_argument("--folder", required=True, metavar="FOLDER", help="for this site's keys; keep it private")
    _ledger_arguments(made)
    made.add_argument("--out", metavar="FILE", help="where to write what the coordinator needs")
    made.add_argument("--agree", action="store_true", help="agree; without it the plan is shown and nothing is written")
    made = step("run", _run, "Take part for a site (--site), or lead the study (no --site).")
    made.add_argument("study", metavar="FILE")
    made.add_argument("--site", metavar="NAME")
    made.add_argument("--private", metavar="PLACE", help="the site's table")
    made.add_argument("--folder", metavar="FOLDER", help="the site's keys")
    _ledger_arguments(made)
    made.add_argument("--server", metavar="URL", help="the coordinator's address; https between machines")
    made.add_argument("--board", metavar="FOLDER", help="a folder that all share; with --listen: where messages lie")
    made.add_argument("--listen", metavar="HOST:PORT", help="lead: the address to serve (default 127.0.0.1:8090)")
    made.add_argument("--out", metavar="FILE", help="also write what is printed to this file")
    made = step("simulate", _simulate, "A study on one machine: a process for each private file.")
    made.add_argument("--private", nargs="+", required=True, metavar="FILE", help="a file for each site")
    made.add_argument("--folder", metavar="FOLDER", help="where studies, keys and ledgers stay (default: nowhere)")
    _plan_arguments(made, required=True)
    made.add_argument("--out", metavar="FILE", help="also write what is printed to this file")


def _plan_arguments(parser: argparse.ArgumentParser, required: bool) -> None:
    table_arguments(parser, private=False)
    if not required:
        next(action for action in parser._actions if action.dest == "target").required = False
    budget_arguments(parser)
    parser.add_argument("--method", metavar="ID", default="joint-pmt", help="joint-pmt, joint-moment or pmt-gradients")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the method")
    parser.add_argument("--rows-per-person", type=int, default=1, metavar="K", help="rows of a person at one site")
    parser.add_argument("--least", type=int, metavar="K", help="sites that must answer (default: all)")
    parser.add_argument("--colluders", type=int, default=0, metavar="C", help="sites that may collude (default: 0)")


def _ledger_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ledger", metavar="URL", help="the site's ledger (default: your own)")
    parser.add_argument("--dataset", metavar="NAME", help="whose cap it counts against (default: the site's name)")


def _request(chosen: argparse.Namespace) -> Any:
    from pmtcore.releases.release import Request  # noqa: PLC0415

    return Request.from_dict(
        {
            "method": chosen.method,
            "mu": budget_from(chosen).mu,
            "parameters": settings_from(chosen.set),
            "delta": chosen.delta,
            "rows_per_person": chosen.rows_per_person,
        }
    )


def _settings(chosen: argparse.Namespace) -> dict[str, Any]:
    return {
        "least": chosen.least,
        "colluders": chosen.colluders,
        "moment": chosen.public_moment is not None,
        "public_rows": chosen.public_rows,
        "schema": None if chosen.schema is None else json.loads(read_small(chosen.schema)),
    }


def _create(chosen: argparse.Namespace) -> Answer:
    from pmtcore.sites.study import Site, Study, create  # noqa: PLC0415

    if chosen.joined:
        study = Study.from_json(read_small(chosen.study))
        study = study.with_keys(json.loads(read_small(path)) for path in chosen.joined)
    else:
        if Path(chosen.study).exists():
            raise InputError(f"There is a file {chosen.study!r} already; a study is written once.")
        if chosen.target is None:
            raise InputError("'study create' needs --target COLUMN.")
        choices = choices_from(chosen)
        pairs = settings_from(chosen.site, "--site", "NAME=ROWS")
        sites = [Site(name, whole_number_between("rows", rows, 1, 2**40)) for name, rows in pairs.items()]  # type: ignore[arg-type]
        settings = {**_settings(chosen), "patience": chosen.patience}
        study = create(
            chosen.title, chosen.public or chosen.public_moment, choices, _request(chosen), sites, **settings
        )
    write_small(chosen.study, study.as_json())
    waiting = [site.name for site in study.sites if not site.seal]
    text = f"Study {study.digest[:16]} in {chosen.study}: {len(study.sites)} sites. "
    text += f"Not joined yet: {', '.join(waiting)}." if waiting else "All have joined; send this file to each site."
    return {"study": study.as_dict(), "digest": study.digest, "waiting": waiting}, text


def _open(chosen: argparse.Namespace) -> Any:
    from pmtcore.sites.study import GroundOfStudy, Study  # noqa: PLC0415

    return GroundOfStudy.of(Study.from_json(read_small(chosen.study)), str(Path(chosen.study).parent))


def _ledger(chosen: argparse.Namespace) -> Any:
    from pmtcore.ledger.log import Ledger, default_url  # noqa: PLC0415

    return Ledger(chosen.ledger or default_url())


def _join(chosen: argparse.Namespace) -> Answer:
    from pmtcore.sites.knowledge import knowledge  # noqa: PLC0415
    from pmtcore.sites.parties import join, plan_of  # noqa: PLC0415

    ground = _open(chosen)
    study, plan = ground.study, plan_of(ground)
    study.site(chosen.site)
    learns = knowledge(study, len(study.sites))
    lines = [f"{study.title or 'A study'}: {study.request.method} on {study.choices.target}, plan {study.plan_digest}"]
    lines += [f"  {site.name}: {site.rows:,} rows" for site in study.sites]
    lines += [f"It would spend mu = {study.request.budget.mu:.4g}.", *(each.words for each in learns)]
    record: dict[str, Any] = {
        "plan": study.plan_digest,
        "mu": study.request.budget.mu,
        "knowledge": [each.as_dict() for each in learns],
        "verdict": list(plan.verdict),
        "agreed": chosen.agree,
    }
    if not chosen.agree:
        return record, "\n".join([*lines, "Nothing is written; agree with --agree."])
    dataset = chosen.dataset or chosen.site
    joined = join(ground, chosen.site, Path(chosen.folder), _ledger(chosen), dataset, user().name)
    path = chosen.out or str(Path(chosen.folder) / f"{chosen.site}.joined.json")
    write_small(path, json.dumps(joined, indent=2) + "\n")
    chosen.out = None  # it holds what the coordinator needs, and not what is printed
    return {**record, "joined": joined}, "\n".join([*lines, f"Agreed. Send {path} to the coordinator."])


def _board(chosen: argparse.Namespace) -> Any:
    from pmtcore.sites.boards import FolderBoard, HttpBoard, MemoryBoard  # noqa: PLC0415

    if chosen.server is not None:
        return HttpBoard(chosen.server)
    return MemoryBoard() if chosen.board is None else FolderBoard(chosen.board)


def _run(chosen: argparse.Namespace) -> Answer:
    from pmtcore.api.summary import text as in_words  # noqa: PLC0415

    record = _lead(chosen) if chosen.site is None else _take_part(chosen)
    return record, in_words(record)


def _lead(chosen: argparse.Namespace) -> dict[str, Any]:
    from pmtcore.sites.boards import served  # noqa: PLC0415
    from pmtcore.sites.parties import Coordinator  # noqa: PLC0415

    ground, board = _open(chosen), _board(chosen)
    if chosen.board is not None and chosen.listen is None:
        return Coordinator(ground, board).run()
    host, _, port = (chosen.listen or "127.0.0.1:8090").rpartition(":")
    with served(board, ground.study, host, int(whole_number_between("port", port, 0, 65_535))):  # type: ignore[arg-type]
        return Coordinator(ground, board).run()


def _take_part(chosen: argparse.Namespace) -> dict[str, Any]:
    from pmtcore.mechanisms.noise import SecureNoise  # noqa: PLC0415
    from pmtcore.sites.parties import SiteOfStudy  # noqa: PLC0415
    from pmtcore.tables.table import read_path  # noqa: PLC0415

    if chosen.private is None or chosen.folder is None or (chosen.server is None) == (chosen.board is None):
        raise InputError("A site needs --private FILE, --folder FOLDER, and --server URL or --board FOLDER.")
    table, dataset = read_path(chosen.private, "private"), chosen.dataset or chosen.site
    own = Path(chosen.folder)
    site = SiteOfStudy(_open(chosen), chosen.site, table, own, _ledger(chosen), dataset, SecureNoise(), user().name)
    return site.run(_board(chosen))


def _simulate(chosen: argparse.Namespace) -> Answer:
    from pmtcore.api.summary import text as in_words  # noqa: PLC0415
    from pmtcore.sites.simulation import prepare_simulation, simulate  # noqa: PLC0415

    public, choices = chosen.public or chosen.public_moment, choices_from(chosen)
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(chosen.folder or Path(spare) / "study")
        ground = prepare_simulation(folder, public, chosen.private, choices, _request(chosen), **_settings(chosen))
        record = simulate(ground, folder, chosen.private)
    return record, in_words(record)
