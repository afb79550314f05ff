"""A release as it is filed, and the files that are made of it: for stakeholders, for officers and for a repetition."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from pmtcore.accounting.budgets import of_person
from pmtcore.base.exports import json_text
from pmtcore.base.messages import InputError
from pmtcore.base.numbers import rounded, unbroken
from pmtcore.base.paths import proofs_folder
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.ledger.account import Account, Entry
from pmtcore.ledger.log import Ledger, default_url
from pmtcore.methods.registry import method
from pmtcore.releases.record import Release
from pmtcore.report import deployment, reproduce
from pmtcore.report.figures.release import coefficients_table
from pmtcore.report.html import drawing_file, embedded_report, file_name, report
from pmtcore.report.names import title
from pmtcore.report.sheet import csv_text

# Date of each member of an archive, so that the same release always gives the same bytes.
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class FiledRelease:
    """A release with its account and its spend in the ledger.

    Attributes:
        record: the release in plain fields.
        account: of its data set; ``None`` where it is in no ledger.
        entry: its spend there.
        answers: models from a released moment, as HTML.
        table: title of its table, where it is in no ledger.
    """

    record: ReleaseRecord
    account: Account | None = None
    entry: Entry | None = None
    answers: str = ""
    table: str = ""

    @property
    def words(self) -> str:
        """Return a label that distinguishes the release in a list."""
        spent = of_person(self.record["guarantee"])["mu"] if self.entry is None else self.entry.mu
        mu = unbroken(f"mu = {rounded(spent, 4)}")
        if self.entry is None:
            return f"this session, in no ledger · {title(self.record['method'])} · {mu} · {self.record['target']}"
        when = self.entry.at[:16].replace("T", " ")
        parts = (self.entry.dataset, when, title(self.entry.method), mu, self.entry.purpose)
        return " · ".join(part for part in parts if part)

    def report(self) -> str:
        """Return its report as one file of HTML."""
        return report(*self._arguments(), answers=self.answers, table=self.table)

    def embedded(self) -> str:
        """Return its report as a part of a page."""
        return embedded_report(*self._arguments(), answers=self.answers, table=self.table)

    def _arguments(self) -> tuple[ReleaseRecord, dict[str, object] | None, str | None]:
        if self.account is None:
            return self.record, None, None
        return self.record, self.account.as_dict(), str(Ledger(default_url(), make=False).verify()["head"])

    def archive(self) -> bytes:
        """Return the report, the record, the picture and the pages that prove the guarantee, in one ZIP file.

        Raises:
            TypeError: a private figure is among the fields.
        """
        text = self.report()
        members = {"report.html": text, "record.json": json_text(self.record)}
        if (drawing := re.search(r"<svg .*?</svg>", text, flags=re.DOTALL)) is not None:
            members["coefficients.svg"] = drawing_file(drawing.group())
        for page in method(self.record["method"]).claim.proofs or ("index",):
            members[f"proofs/{page}.md"] = (proofs_folder() / f"{page}.md").read_text(encoding="utf-8")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, member in members.items():
                archive.writestr(zipfile.ZipInfo(name, _ZIP_DATE), member, zipfile.ZIP_DEFLATED)
        return packed.getvalue()


def filed_release(key: str, release: Release, table: str = "") -> FiledRelease:
    """Return a release as the ledger has it; without a ledger, or with one that cannot be read, as it is.

    Args:
        key: of its spend.
        release: as it was made.
        table: title of its table.
    """
    with suppress(InputError):
        ledger = Ledger(default_url(), make=False)
        entry = ledger.entry(key)
        if entry is not None and entry.record is not None:
            return FiledRelease(entry.record.copy(), ledger.account(entry.dataset), entry)
    return FiledRelease(release.as_dict(), table=table)


def filed_releases(ledger: Ledger) -> dict[str, FiledRelease]:
    """Return all releases of a ledger that have a record, by their keys, oldest first."""
    entries = [(entry, account) for account in ledger.accounts() for entry in account.entries]
    return {
        entry.key: FiledRelease(entry.record, account, entry)
        for entry, account in sorted(entries, key=lambda pair: pair[0].at)
        if entry.record is not None
    }


@dataclass(frozen=True)
class Download:
    """A file that is made when it is asked for.

    Attributes:
        label: words of its button.
        name: of the file.
        media_type: of its contents.
        make: returns its contents; called by any thread.
    """

    label: str
    name: str
    media_type: str
    make: Callable[[], str | bytes]


def report_files(filed: FiledRelease) -> list[Download]:
    """Return the files for a stakeholder: the report, the record, and both with the proofs in one file."""
    record = filed.record
    return [
        Download("Report (HTML)", file_name(record, "report", "html"), "text/html", filed.report),
        Download("Record (JSON)", file_name(record, "release", "json"), "application/json", partial(json_text, record)),
        Download(
            "With proofs (ZIP)",
            file_name(record, "report", "zip"),
            "application/zip",
            filed.archive,
        ),
    ]


def release_files(release: Release, request: dict[str, object], filed: FiledRelease) -> list[Download]:
    """Return all files of a release.

    Args:
        release: as it was made.
        request: what was asked for, in plain fields.
        filed: the release as it is filed.
    """
    return [*report_files(filed), *_for_a_repetition(release, request, filed)]


def _for_a_repetition(release: Release, request: dict[str, object], filed: FiledRelease) -> Iterator[Download]:
    """Yield the files for further calculation, for a repetition, and for a public registry."""
    record, entry = filed.record, filed.entry
    at, purpose = ("", "") if entry is None else (entry.at, entry.purpose)
    if release.names:
        yield Download(
            "Coefficients (CSV)", "coefficients.csv", "text/csv", lambda: csv_text(coefficients_table(release))
        )
    yield Download("Configuration (JSON)", "request.json", "application/json", lambda: json.dumps(request))
    yield Download("Python script", "release.py", "text/x-python", lambda: reproduce.script(record))
    yield Download("Notebook", "release.ipynb", "application/x-ipynb+json", lambda: reproduce.notebook(record))
    draft = partial(deployment.entry, record, at, purpose)
    yield Download("Registry entry, draft (YAML)", "deployment.yaml", "application/yaml", draft)
