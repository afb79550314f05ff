"""A study on one machine: a process for each site, the coordinator here, messages over the loopback interface."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from pmtcore.base.messages import InputError, SiteMessage, TableMessage
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.ledger.log import Ledger
from pmtcore.releases.release import Request
from pmtcore.sites.boards import FolderBoard, serve_board
from pmtcore.sites.parties import Coordinator, join
from pmtcore.sites.study import Site, StudyContext, StudySettings, create
from pmtcore.tables.choices import Choices
from pmtcore.tables.table import read_path

STUDY = "study.json"
LEDGER = "ledger.db"
LOOPBACK = "127.0.0.1"
_PATIENCE = 60.0  # seconds: processes of one machine, which may be busy
_EXIT_SECONDS = 60.0  # seconds that a site's process has to end once the release is there


def prepare_simulation(
    folder: Path,
    public: str,
    private: Sequence[str],
    choices: Choices,
    *,
    request: Request,
    **settings: Unpack[StudySettings],
) -> StudyContext:
    """Write a study of these files into a folder, joined by a site for each, with a ledger of its own.

    Args:
        folder: where studies, keys, messages and ledgers go.
        public: the public file.
        private: a file for each site.
        choices: about the tables.
        request: method and budget.
        settings: of :func:`pmtcore.sites.study.create`.

    Raises:
        InputError: a file cannot be read or does not fit the study, two sites have one file, or the folder holds a
            study already.
    """
    _require_apart(private)
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / STUDY).exists():
        raise InputError(SiteMessage.STUDY_EXISTS, place=str(folder))
    copy = folder / Path(public).name
    if not Path(public).is_file():
        raise InputError(TableMessage.NO_FILE, place=str(public))
    if copy.resolve() != Path(public).resolve():
        shutil.copyfile(public, copy)
    tables = {f"site-{at}": read_path(path, "private") for at, path in enumerate(private, 1)}
    sites = [Site(name, table.n) for name, table in tables.items()]
    settings.setdefault("patience", _PATIENCE)
    study = create("simulation", str(copy), choices, request, sites=sites, **settings)
    context, joined = StudyContext.of(study, str(folder)), []
    for name, table in tables.items():
        # Checked before the sites start: otherwise the others would spend and wait for a site whose file does not fit.
        context.problem(study.names, table, name)
    (folder / "board").mkdir()
    for site in sites:
        own = folder / site.name
        own.mkdir()
        ledger = Ledger(str(own / LEDGER))
        ledger.first_cap(site.name, request.budget.mu * request.rows_per_person)
        joined.append(join(context, site.name, own, ledger, dataset=site.name, by="simulation"))
    study = study.with_keys(joined)
    (folder / STUDY).write_text(study.as_json())
    return StudyContext.of(study, str(folder))


def _require_apart(private: Sequence[str]) -> None:
    """Raise where one file is given for two sites."""
    places = [Path(path).resolve() for path in private]
    for at, place in enumerate(places):
        if place in places[:at]:
            raise InputError(SiteMessage.SITES_SHARE_A_FILE, place=private[at])


def start_site(folder: Path, name: str, private: str, address: str) -> subprocess.Popen[bytes]:
    """Start the process of one site."""
    own = folder / name
    command = [sys.executable, "-m", "pmtcore", "study", "run", str(folder / STUDY), "--site", name, "--private"]
    command += [private, "--folder", str(own), "--ledger", str(own / LEDGER), "--dataset", name, "--server", address]
    log = (own / "log").open("ab")
    with log:
        # The arguments are this program's own, and no shell reads them.
        return subprocess.Popen([*command, "--json"], stdout=log, stderr=log, env=dict(os.environ))  # noqa: S603


def simulate(context: StudyContext, folder: Path, private: Sequence[str]) -> ReleaseRecord:
    """Run a prepared study with a process for each site, and return the coordinator's record.

    Raises:
        StudyError: the study stopped.
    """
    study, board = context.study, FolderBoard(folder / "board")
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with serve_board(board, study, LOOPBACK, 0) as address:
            for site, path in zip(study.sites, private, strict=True):
                processes.append(start_site(folder, site.name, path, address))
            record = Coordinator(context, board).run()
            for process in processes:
                process.wait(_EXIT_SECONDS)
        return record
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
