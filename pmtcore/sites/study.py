"""A study: the public file that all sites agree to before a row is read.

It fixes columns and how they are read, the public data, the request (method, parameters, budget), the sites with their
row counts and keys, the least number of sites that answer, and how many of them may collude with the coordinator.
From these follows who can learn what, in :func:`knowledge`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TypedDict, Unpack
from uuid import uuid4

from pmtcore.accounting.budgets import MU_RANGE, Budget, Unit
from pmtcore.base.json_fields import OPTIONAL, JsonFields
from pmtcore.base.messages import (
    InputError,
    Party,
    PartyKnowledge,
    SiteMessage,
    StudyError,
    StudyFault,
    TableMessage,
    number_between,
    reraised_as,
    whole_number_between,
)
from pmtcore.base.private_rows import PrivateRows
from pmtcore.base.strict_json import parse_json_object
from pmtcore.methods.registry import method
from pmtcore.releases.release import Request
from pmtcore.sites import effects
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import Problem, PublicSide, design_of, prepare, public_side
from pmtcore.tables.schema import Schema
from pmtcore.tables.table import MomentTable, Table, read_moment_path, read_path, with_label_column

VERSION = 1  # of the study file; another one is refused
METHODS = ("joint-pmt", "joint-moment", "pmt-gradients")  # their passes are sums of integers alone
MOST_SITES = 1_000  # as many as benchmarks/sites.py runs
_ALL_NEIGHBOURS = 100  # sites: up to so many, each shares with all others
_NEIGHBOURS = 40  # of a site in larger studies: fewer colluding sites never isolate one (proofs/sites.md, 2)
_PATIENCE = (0.5, 7 * 86_400.0)  # seconds, least and largest: for a test, and a week
_STRICT_POLICY = "refuse"


def fields_of(data: bytes) -> dict[str, Any]:
    """Return the object in the bytes of a file.

    Raises:
        StudyError: there is none.
    """
    with reraised_as(StudyError(StudyFault.NOT_A_STUDY)):
        return parse_json_object(data)


@dataclass(frozen=True)
class Site(JsonFields):
    """One institution: its name, how many rows it holds, and the public halves of its two keys (base64)."""

    name: str
    rows: int
    seal: str = ""
    verify: str = ""

    def __post_init__(self) -> None:
        if not (0 < len(self.name) <= 40 and self.name.replace("-", "").replace("_", "").isalnum()):
            raise InputError(SiteMessage.SITE_NAME_FORM)
        whole_number_between(f"rows of {self.name}", self.rows, 1, 2**40)


@dataclass(frozen=True)
class PublicFile(JsonFields):
    """Public file of a study.

    Attributes:
        file: its name, without a folder.
        sha256: of its bytes.
        moment: whether it is a moment matrix.
        rows: how many rows are behind the moment, if known.
    """

    file: str
    sha256: str
    moment: bool = False
    rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", Path(self.file).name)


@dataclass(frozen=True)
class Study(JsonFields):
    """Terms that every site agrees to; all of them are public.

    Attributes:
        id: at random, so that two runs of the same plan are two studies.
        public: the public file, which lies beside the study.
        schema: how columns are read; ``None``: what the public table suggests.
        least: the least number of sites that must answer.
        colluders: number of sites that may collude with the coordinator: the noise of the others satisfies the budget.
        patience: seconds without any message until a site counts as lost.
        site_effects: whether each site has a coefficient of its own (:mod:`pmtcore.sites.effects`).
    """

    id: str
    title: str
    public: PublicFile
    choices: Choices
    schema: Schema | None
    request: Request
    sites: tuple[Site, ...]
    least: int
    colluders: int = 0
    patience: float = 600.0
    site_effects: bool = field(default=False, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        check_names(self.sites)
        whole_number_between("colluding sites", self.colluders, 0, len(self.sites) - 1)
        whole_number_between("least number of sites", self.least, max(2, self.colluders + 1), len(self.sites))
        number_between("patience", self.patience, *_PATIENCE)
        # All sites together add the noise of a release with this mu, which must be in the range of a release.
        number_between("mu of the noise of all sites", self.noise_mu(self.least), *MU_RANGE)
        if self.request.method not in METHODS:
            raise StudyError(StudyFault.METHOD)
        if _STRICT_POLICY in (self.choices.missing, self.choices.unseen):
            raise StudyError(StudyFault.STRICT_POLICY)
        if self.choices.formula:
            raise StudyError(StudyFault.FORMULA)
        # A site that is missing would have a coefficient without rows.
        if self.site_effects and (
            self.request.method != effects.METHOD
            or self.public.moment
            or self.least < len(self.sites)
            or self.choices.weights
        ):
            raise StudyError(StudyFault.EFFECTS)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return names of all sites, in the study's order."""
        return tuple(site.name for site in self.sites)

    def site(self, name: str) -> Site:
        """Return the site of this name.

        Raises:
            StudyError: there is none.
        """
        if name not in self._sites:
            raise StudyError(StudyFault.UNKNOWN_SITE, name)
        return self._sites[name]

    @cached_property
    def _sites(self) -> dict[str, Site]:
        return {site.name: site for site in self.sites}

    def neighbours(self, names: Sequence[str], name: str) -> tuple[str, ...]:
        """Return the sites that a site shares masks with, among the sites of an attempt.

        In small studies these are all others, in larger ones the nearest on a ring. A ring with d neighbours each stays
        connected when any ``d - 1`` sites are removed, so d is larger than the number of colluders.
        """
        count = len(names)
        if name not in names:
            return ()
        reach = max(_NEIGHBOURS, self.colluders + 1) // 2 + max(_NEIGHBOURS, self.colluders + 1) % 2
        if count <= _ALL_NEIGHBOURS or 2 * reach >= count - 1:
            return tuple(other for other in names if other != name)
        at = names.index(name)
        offsets = [*range(-reach, 0), *range(1, reach + 1)]
        return tuple(names[(at + offset) % count] for offset in offsets)

    def rows(self, names: Iterable[str]) -> int:
        """Return the number of rows of these sites together."""
        return sum(self.site(name).rows for name in names)

    def noise_mu(self, answering: int) -> float:
        """Return the mu of the total noise of all answering sites; that of the budget where nobody colludes.

        With k sites answering, each adds noise for the case that only ``k - colluders`` of them are honest. The total
        then has more noise than the budget requires, and the method plans with that noise (proofs/sites.md).
        """
        return self.request.budget.mu * math.sqrt(1 - self.colluders / answering)

    def mu_against(self, coalition: int, *answering: int) -> float:
        """Return the mu of the release against a coalition of sites with the coordinator.

        Args:
            coalition: number of sites in it.
            answering: number of sites that answered, for each pass where these numbers differ. The mu is that of the
                weakest pass, which the composition of the passes does not exceed (proofs/sites.md, 4).
        """
        if coalition >= min(answering):
            return math.inf
        worst = max((count - self.colluders) / (count - coalition) for count in answering)
        return self.request.budget.mu * math.sqrt(worst)

    @cached_property
    def plan_digest(self) -> str:
        """Return the SHA-256 of everything but the keys, to which a site agrees before it makes its own."""
        return _digest(replace(self, sites=tuple(Site(site.name, site.rows) for site in self.sites)).as_dict())

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of everything: sites compare it without going through the coordinator."""
        return _digest(self.as_dict())

    def key(self, name: str) -> str:
        """Return the ledger's key for a site's spend on this study."""
        return f"study-{self.plan_digest[:32]}-{name}"

    def with_keys(self, joined: Iterable[Mapping[str, Any]]) -> Study:
        """Return the study with the keys of sites that joined.

        Raises:
            StudyError: a site agreed to another study, or is not in this one.
        """
        known = {site.name: site for site in self.sites}
        for each in joined:
            site = self.site(str(each.get("site")))
            if each.get("plan") != self.plan_digest:
                raise StudyError(StudyFault.OTHER_STUDY, site.name)
            known[site.name] = replace(site, seal=str(each.get("seal")), verify=str(each.get("verify")))
        return replace(self, sites=tuple(known.values()))

    def require_keys(self) -> None:
        """Raise unless every site has joined.

        Raises:
            StudyError: somebody has not.
        """
        missing = [site.name for site in self.sites if not (site.seal and site.verify)]
        if missing:
            raise StudyError(StudyFault.NO_KEYS, *missing)

    def widening(self, passes: Sequence[Sequence[str]]) -> float:
        """Return the factor by which passes with fewer sites widen all errors at most (proofs/sites.md, 4).

        A later pass is scaled up to the planned rows, and each of its sites adds more noise where some may collude.

        Args:
            passes: sites of each pass; the first ones are those that the release is planned for.
        """
        planned = passes[0]
        noise = 1 - self.colluders / len(planned)
        return max(
            self.rows(planned) / self.rows(names) * math.sqrt(noise / (1 - self.colluders / len(names)))
            for names in passes
        )

    def request_of(self, names: Sequence[str]) -> Request:
        """Return the request that the method plans with: its budget is the mu of these sites' total noise."""
        return replace(self.request, budget=Budget(self.noise_mu(len(names))))

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields; :meth:`from_dict` reads them back."""
        return {"version": VERSION, **super().as_dict()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Return the study of these plain fields.

        Raises:
            InputError: another form, or a value that no study has.
        """
        with reraised_as(StudyError(StudyFault.NOT_A_STUDY)):
            if given["version"] != VERSION:
                raise StudyError(StudyFault.NOT_A_STUDY)
            return super().from_dict(given)

    @classmethod
    def from_json(cls, data: bytes) -> Study:
        """Return the study in the bytes of a file.

        Raises:
            InputError: no JSON, or no study.
        """
        return cls.from_dict(fields_of(data))

    def as_json(self) -> str:
        """Return the text of the study file."""
        return json.dumps(self.as_dict(), indent=2, sort_keys=True) + "\n"


def _digest(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class StudySettings(TypedDict, total=False):
    """Settings of a study with default values; see :class:`Study`."""

    least: int | None
    colluders: int
    patience: float
    moment: bool
    public_rows: int | None
    schema: Mapping[str, Any] | None
    site_effects: bool


def create(
    title: str,
    public: str,
    choices: Choices,
    request: Request,
    *,
    sites: Iterable[Site],
    **settings: Unpack[StudySettings],
) -> Study:
    """Return a new study on a public file; no private file is needed.

    Raises:
        InputError: the file cannot be read, or a value that no study has.
    """
    entry, every = method(request.method), tuple(sites)
    if not Path(public).is_file():
        raise InputError(TableMessage.NO_FILE, place=str(public))
    given: dict[str, Any] = dict(settings)
    least, schema = given.pop("least", None), given.pop("schema", None)
    sha256 = hashlib.sha256(Path(public).read_bytes()).hexdigest()
    study = Study(
        uuid4().hex,
        title,
        PublicFile(public, sha256, given.pop("moment", False), given.pop("public_rows", None)),
        choices,
        None if schema is None else Schema.from_dict(schema),
        replace(request, method=entry.id),
        every,
        len(every) if least is None else least,
        **given,
    )
    context = StudyContext.of(study, str(Path(public).parent))
    # Named one by one, so that a site whose table lacks a column is refused and does not sum other features.
    features = tuple(dict.fromkeys(feature.column.name for feature in context.side.coder.features))
    written = replace(study, choices=replace(choices, features=features))
    # The digest is of the study as read back from its file, with the defaults of all parameters.
    return Study.from_json(written.as_json().encode())


def create_from(
    name: str,
    data: bytes,
    title: str,
    choices: Choices,
    *,
    request: Request,
    sites: Iterable[Site],
    **settings: Unpack[StudySettings],
) -> Study:
    """Return a new study on a public file that somebody sent: :func:`create`, with its name and bytes for a path.

    Raises:
        InputError: as :func:`create`.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(data)
        return create(title, str(path), choices, request, sites=sites, **settings)


def check_names(sites: Sequence[Site]) -> None:
    """Check the number of a study's sites, and that their names are distinct.

    Raises:
        InputError: too few or too many sites, or a name twice.
    """
    if not 2 <= len(sites) <= MOST_SITES or len({site.name for site in sites}) < len(sites):
        raise InputError(SiteMessage.SITES_FORM, limit=MOST_SITES)


def sites_of(text: str) -> list[Site]:
    """Return the sites in ``NAME=ROWS``, one in a line or between commas.

    Raises:
        InputError: another entry, or no sites that a study can have.
    """
    sites = []
    for entry in filter(None, map(str.strip, text.replace(",", "\n").splitlines())):
        name, _, rows = entry.partition("=")
        if not rows.strip().isdigit():
            raise StudyError(StudyFault.SITE_LINES)
        sites.append(Site(name.strip(), int(rows)))
    check_names(sites)
    return sites


@dataclass(frozen=True, eq=False)
class StudyContext:
    """Public data of a study: the public table or moment, and the rules by which rows are read."""

    study: Study
    table: Table | MomentTable
    side: PublicSide

    @classmethod
    def of(cls, study: Study, folder: str) -> StudyContext:
        """Read the public file beside the study.

        Raises:
            StudyError: it is another file than the study names; InputError: it cannot be read, or does not fit.
        """
        path = Path(folder) / study.public.file
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != study.public.sha256:
            raise StudyError(StudyFault.OTHER_PUBLIC)
        table: Table | MomentTable = read_moment_path(path) if study.public.moment else read_path(path, "public")
        if study.site_effects and isinstance(table, Table):
            if effects.COLUMN in table.columns:
                raise StudyError(StudyFault.SITE_COLUMN)
            names = effects.assigned_sites(study.names, [site.rows for site in study.sites], table.n)
            table = with_label_column(table, effects.COLUMN, names)
        columns = _Columns((*table.columns, study.choices.target))
        # Of a private table only the names of its columns matter here.
        side = public_side(columns, table, study.choices, study.public.rows, schema=study.schema)  # type: ignore[arg-type]
        return cls(study, table, side)

    def problem(self, names: Sequence[str], private: Table | None = None, own: str = "") -> Problem:
        """Return the problem of the combined table of these sites, one of which has the rows ``private``.

        Args:
            names: of the sites that answer.
            private: a site's own table; ``None``: the coordinator's view, without any row.
            own: name of the site with ``private``, where the sites have effects.

        Raises:
            InputError: the private table does not fit the study.
        """
        study, total = self.study, self.study.rows(names)
        if private is None:
            weighted = self.side.coder.has_loss_weights
            nobody = PrivateRows(lambda: (), total, self.side.coder.names, weighted=weighted)
            design = design_of(self.side.coder, self.table)
            side = self.side
            return Problem(nobody, side.data, study.choices, side.notes, coder=side.coder, design=design)
        table = with_label_column(private, effects.COLUMN, [own]) if study.site_effects else private
        prepared = prepare(table, self.table, study.choices, public_rows=study.public.rows, schema=study.schema)
        # The ledger has the fingerprint of the site's unchanged table.
        return replace(prepared, private=prepared.private.part_of(total), table=private)


@dataclass(frozen=True)
class _Columns:
    """Stand-in for a private table without rows, whose column names are those of the public file."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class Knowledge:
    """Privacy of one row against a party, as mu-GDP states it.

    Attributes:
        sites: largest number of sites in the party.
        mu: infinite where there is no guarantee.
    """

    party: Party
    sites: int
    mu: float

    @property
    def words(self) -> str:
        """Return the sentence."""
        party = self.party.sentence(sites=self.sites)
        if math.isinf(self.mu):
            return PartyKnowledge.NOTHING.sentence(party=party)
        by_person = self.party is Party.PERSON_IN_TWO_SITES
        protected = PartyKnowledge.ALL_ROWS if by_person else PartyKnowledge.EACH_ROW
        return protected.sentence(party=party, mu=self.mu)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        mu = None if math.isinf(self.mu) else self.mu
        return {"party": self.party.code, "sites": self.sites, "mu": mu, "words": self.words}


def knowledge(study: Study, *answering: int) -> tuple[Knowledge, ...]:
    """Return the guarantee against each party, by the number of sites that answered (of each pass, if they differ)."""
    known = [
        Knowledge(Party.OUTSIDERS, 0, study.mu_against(0, *answering)),
        Knowledge(Party.ONE_SITE, 1, study.mu_against(1, *answering)),
    ]
    if study.colluders > 1:
        known.append(Knowledge(Party.COALITION, study.colluders, study.mu_against(study.colluders, *answering)))
    # The rows of a person at two sites are a group: their mu add, against the party with the largest mu.
    most = max(known, key=lambda one: one.mu)
    unit = study.choices.unit or Unit(study.request.rows_per_person)
    return (*known, Knowledge(Party.PERSON_IN_TWO_SITES, most.sites, 2 * unit.rows * most.mu))
