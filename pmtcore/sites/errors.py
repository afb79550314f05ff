"""Kinds of errors of a study, with the sites they concern, and the parties that a guarantee is stated against."""

from enum import Enum

from pmtcore.base.messages import InputError, listed


class Coded(Enum):
    """Members with a sentence, which messages and records name by a code."""

    @property
    def code(self) -> str:
        """Return the name of the member in messages and records."""
        return self.name.lower().replace("_", "-")


class Kind(Coded):
    """What went wrong with a study, each with its sentence, without a full stop."""

    NOT_A_STUDY = "This is no study file; make one with 'study create'"
    NOT_INSTALLED = "PyNaCl is not installed: pip install 'second-moment[sites]'"
    UNKNOWN_SITE = "The study has no such site; its names are in the study file"
    TOO_FEW_SITES = "Fewer sites answered than the study asks for; nothing was opened"
    TOO_LITTLE_NOISE = "The noise of one site would be too coarse beside the integers to account for the sum"
    NO_KEYS = "A site has not joined: the study has no keys of it; add its file with 'study create --joined'"
    OTHER_PUBLIC = "The public file beside the study is not the one that the study names"
    OTHER_STUDY = "This is another study than the one that was agreed to"
    OTHER_ROWS = "The private table has another number of rows than the study says of this site"
    STRICT_POLICY = "In a study no policy refuses rows: that would tell of private ones"
    FORMULA = "A study names its columns one by one; give --target and --features in place of a formula"
    EFFECTS = "Effects of sites need joint-moment, public rows, no weights, and that every site answers"
    FEW_PUBLIC_ROWS = "Effects of sites need two public rows for each of them at least"
    SITE_COLUMN = "With effects of sites no other column is called 'site'; rename it"
    SITE_LINES = "Each line names a site and its rows: NAME=ROWS"
    NEEDS_TABLE = "A second person agrees to releases of this data set, and to one table: name it with --private"
    NOT_AGREED = "This site has not agreed to the study, or declined it; 'study join' asks"
    METHOD = "This method does not work over sites; choose joint-pmt, joint-moment or pmt-gradients"
    FORGED = "A message does not carry the signature of the site that it names"
    OPENED_BEFORE = "This site has published its part of this pass before; it never does so twice"
    SITES_CHANGED = "The first pass was opened with other sites; only these can go on, all of them or fewer"
    LOST = "A site was lost; what was not opened is not spent, and nothing more is released"
    PATIENCE = "Nothing was heard for as long as the study waits"
    STOPPED = "The coordinator stopped the study"
    RANGE = "An opened sum is out of the range of any sum of these rows: a site did not follow the protocol"
    UNREACHABLE = "The coordinator cannot be reached at this address"


class Party(Coded):
    """Who looks at a study, in words."""

    OUTSIDERS = "the coordinator, or whoever reads all messages of the study"
    ONE_SITE = "one site that subtracts its own noise from the totals"
    COALITION = "{sites} sites that pool all they know with the coordinator"
    PERSON_IN_TWO_SITES = "any of these, where a person has rows at two sites"


class StudyError(InputError):
    """A study cannot begin, or stopped.

    Attributes:
        kind: why.
        sites: names of the sites concerned.
    """

    kind: Kind

    def __init__(self, kind: Kind, *sites: str) -> None:
        self.kind, self.sites = kind, sites
        super().__init__(f"{kind.value}{f' ({listed(sites)})' if sites else ''}.")
