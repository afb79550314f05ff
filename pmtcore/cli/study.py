"""The study command: several institutions, one regression (docs/sites.md)."""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from pmtcore.api.loading import in_words
from pmtcore.base.messages import CommandMessage, InputError, whole_number_between
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.cli.arguments import Answer, budget_from, choices_from, current_user, settings_from
from pmtcore.cli.files import read_small, write_small
from pmtcore.ledger.log import Ledger, default_url
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.release import Request
from pmtcore.sites import parties, simulation
from pmtcore.sites.boards import EVERYTHING, Board, FolderBoard, HttpBoard, MemoryBoard, serve_board
from pmtcore.sites.parties import Coordinator, SiteOfStudy
from pmtcore.sites.status import status as status_of
from pmtcore.sites.study import Site, Study, StudyContext, StudySettings, fields_of, knowledge
from pmtcore.sites.study import create as create_study
from pmtcore.tables.table import read_path


def _request(chosen: argparse.Namespace) -> Request:
    return Request.from_dict(
        {
            "method": chosen.method,
            "mu": budget_from(chosen).mu,
            "parameters": settings_from(chosen.set),
            "delta": chosen.delta,
            "rows_per_person": chosen.rows_per_person,
        }
    )


def _settings(chosen: argparse.Namespace) -> StudySettings:
    return {
        "least": chosen.least,
        "colluders": chosen.colluders,
        "moment": chosen.public_moment is not None,
        "public_rows": chosen.public_rows,
        "site_effects": chosen.site_effects,
        "schema": None if chosen.schema is None else json.loads(read_small(chosen.schema)),
    }


def create(chosen: argparse.Namespace) -> Answer:
    """Write a study file, or one with the keys of sites that joined."""
    if chosen.joined:
        study = Study.from_json(read_small(chosen.study))
        study = study.with_keys(json.loads(read_small(path)) for path in chosen.joined)
    else:
        if Path(chosen.study).exists():
            raise InputError(CommandMessage.STUDY_EXISTS, place=chosen.study)
        choices = choices_from(chosen)
        pairs = settings_from(chosen.site, "--site", "NAME=ROWS")
        sites = [Site(name, whole_number_between("rows", rows, 1, 2**40)) for name, rows in pairs.items()]
        settings: StudySettings = {**_settings(chosen), "patience": chosen.patience}
        public = chosen.public or chosen.public_moment
        study = create_study(chosen.title, public, choices, _request(chosen), sites=sites, **settings)
    write_small(chosen.study, study.as_json())
    waiting = [site.name for site in study.sites if not site.seal]
    text = f"Study {study.digest[:16]} in {chosen.study}: {len(study.sites)} sites. "
    text += f"Not joined yet: {', '.join(waiting)}." if waiting else "All have joined; send this file to each site."
    return {"study": study.as_dict(), "digest": study.digest, "waiting": waiting}, text


def status(chosen: argparse.Namespace) -> Answer:
    """Return who has agreed, who takes part, and which passes are opened."""
    messages, after = [], -1
    board, until = (None if chosen.board is None else FolderBoard(chosen.board)), 0
    while board is not None and until != after:
        after = until
        more, until = board.read(after, EVERYTHING)
        messages += [vars(message) for message in more]
    joined = [fields_of(read_small(path)) for path in chosen.joined]
    state = status_of(Study.from_json(read_small(chosen.study)), joined, messages)
    lines = [f"{row['site']}, {row['rows']:,} rows: {row['']}" for row in state.rows()]
    lines += [f"Pass {at} is opened, with {count} sites." for at, count in enumerate(state.passes, 1)]
    return state.as_dict(), "\n".join(lines + ([f"Stopped: {state.stopped}."] if state.stopped else []))


def _open(chosen: argparse.Namespace) -> StudyContext:
    return StudyContext.of(Study.from_json(read_small(chosen.study)), str(Path(chosen.study).parent))


def _ledger(chosen: argparse.Namespace) -> Ledger:
    return Ledger(chosen.ledger or default_url())


def join(chosen: argparse.Namespace) -> Answer:
    """Show cost and predicted errors of a study; with --agree write its keys and the agreement in the ledger."""
    context = _open(chosen)
    study, plan = context.study, parties.plan_of(context)
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
    table = None if chosen.private is None else read_path(chosen.private, "private")
    joined = parties.join(
        context, chosen.site, Path(chosen.folder), _ledger(chosen), dataset=dataset, by=current_user().name, table=table
    )
    path = chosen.out or str(Path(chosen.folder) / f"{chosen.site}.joined.json")
    write_small(path, json.dumps(joined, indent=2) + "\n")
    chosen.out = None  # that file is for the coordinator; the printed answer does not go there
    return {**record, "joined": joined}, "\n".join([*lines, f"Agreed. Send {path} to the coordinator."])


def _board(chosen: argparse.Namespace) -> Board:
    if chosen.server is not None:
        return HttpBoard(chosen.server)
    return MemoryBoard() if chosen.board is None else FolderBoard(chosen.board)


def run(chosen: argparse.Namespace) -> Answer:
    """Run a site's part, or the coordinator's."""
    record = _lead(chosen) if chosen.site is None else _take_part(chosen)
    return record, in_words(record)


def _lead(chosen: argparse.Namespace) -> ReleaseRecord:
    context, board = _open(chosen), _board(chosen)
    if chosen.board is not None and chosen.listen is None:
        return Coordinator(context, board).run()
    host, _, port = (chosen.listen or "127.0.0.1:8090").rpartition(":")
    with serve_board(board, context.study, host, int(whole_number_between("port", port, 0, 65_535))):
        return Coordinator(context, board).run()


def _take_part(chosen: argparse.Namespace) -> ReleaseRecord:
    if chosen.private is None or chosen.folder is None or (chosen.server is None) == (chosen.board is None):
        raise InputError(CommandMessage.SITE_FORM)
    table, dataset = read_path(chosen.private, "private"), chosen.dataset or chosen.site
    own = Path(chosen.folder)
    site = SiteOfStudy(
        _open(chosen), chosen.site, table, own, _ledger(chosen), dataset, SecureNoise(), current_user().name
    )
    return site.run(_board(chosen))


def simulate(chosen: argparse.Namespace) -> Answer:
    """Run a study on this machine."""
    public, choices = chosen.public or chosen.public_moment, choices_from(chosen)
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(chosen.folder or Path(spare) / "study")
        context = simulation.prepare_simulation(
            folder, public, chosen.private, choices, request=_request(chosen), **_settings(chosen)
        )
        record = simulation.simulate(context, folder, chosen.private)
    return record, in_words(record)
