"""Why a study cannot begin, or stopped: a kind, and the sites it concerns; the sentence is rendered last."""

from __future__ import annotations

from enum import Enum

from pmtcore.base.checks import InputError, listed


class Kind(Enum):
    """What went wrong with a study."""

    NOT_A_STUDY = "not-a-study"
    NOT_INSTALLED = "not-installed"
    UNKNOWN_SITE = "unknown-site"
    TOO_FEW_SITES = "too-few-sites"
    TOO_LITTLE_NOISE = "too-little-noise"
    NO_KEYS = "no-keys"
    OTHER_PUBLIC = "other-public"
    OTHER_STUDY = "other-study"
    OTHER_ROWS = "other-rows"
    STRICT_POLICY = "strict-policy"
    FORMULA = "formula"
    EFFECTS = "effects"
    FEW_PUBLIC_ROWS = "few-public-rows"
    SITE_COLUMN = "site-column"
    SITE_LINES = "site-lines"
    NOT_AGREED = "not-agreed"
    NEEDS_TABLE = "needs-table"
    METHOD = "method"
    FORGED = "forged"
    OPENED_BEFORE = "opened-before"
    SITES_CHANGED = "sites-changed"
    LOST = "lost"
    PATIENCE = "patience"
    STOPPED = "stopped"
    RANGE = "range"
    UNREACHABLE = "unreachable"


_SENTENCES = {
    Kind.NOT_A_STUDY: "This is no study file; make one with 'study create'",
    Kind.NOT_INSTALLED: "PyNaCl is not installed: pip install 'second-moment[sites]'",
    Kind.UNKNOWN_SITE: "The study has no such site; its names are in the study file",
    Kind.TOO_FEW_SITES: "Fewer sites answered than the study asks for; nothing was opened",
    Kind.TOO_LITTLE_NOISE: "The noise of one site would be too coarse beside the integers to account for the sum",
    Kind.NO_KEYS: "A site has not joined: the study has no keys of it; add its file with 'study create --joined'",
    Kind.OTHER_PUBLIC: "The public file beside the study is not the one that the study names",
    Kind.OTHER_STUDY: "This is another study than the one that was agreed to",
    Kind.OTHER_ROWS: "The private table has another number of rows than the study says of this site",
    Kind.STRICT_POLICY: "In a study no policy refuses rows: that would tell of private ones",
    Kind.FORMULA: "A study names its columns one by one; give --target and --features in place of a formula",
    Kind.EFFECTS: "Effects of sites need joint-moment, public rows, no weights, and that every site answers",
    Kind.FEW_PUBLIC_ROWS: "Effects of sites need two public rows for each of them at least",
    Kind.SITE_COLUMN: "With effects of sites no other column is called 'site'; rename it",
    Kind.SITE_LINES: "Each line names a site and its rows: NAME=ROWS",
    Kind.NEEDS_TABLE: "A second person agrees to releases of this data set, and to one table: name it with --private",
    Kind.NOT_AGREED: "This site has not agreed to the study, or declined it; 'study join' asks",
    Kind.METHOD: "This method does not work over sites; choose joint-pmt, joint-moment or pmt-gradients",
    Kind.FORGED: "A message does not carry the signature of the site that it names",
    Kind.OPENED_BEFORE: "This site has published its part of this pass before; it never does so twice",
    Kind.SITES_CHANGED: "The first pass was opened with other sites; only these can go on, all of them or fewer",
    Kind.LOST: "A site was lost; what was not opened is not spent, and nothing more is released",
    Kind.PATIENCE: "Nothing was heard for as long as the study waits",
    Kind.STOPPED: "The coordinator stopped the study",
    Kind.RANGE: "An opened sum is out of the range of any sum of these rows: a site did not follow the protocol",
    Kind.UNREACHABLE: "The coordinator cannot be reached at this address",
}


class StudyError(InputError):
    """A study cannot begin, or stopped.

    Attributes:
        kind: why.
        sites: names of the sites concerned.
    """

    kind: Kind

    def __init__(self, kind: Kind, *sites: str) -> None:
        self.kind, self.sites = kind, sites
        super().__init__(f"{_SENTENCES[kind]}{f' ({listed(sites)})' if sites else ''}.")
