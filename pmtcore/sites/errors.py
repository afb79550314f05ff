"""The error of a study, with the sites that it concerns."""

from pmtcore.base.messages import InputError, StudyFault, listed


class StudyError(InputError):
    """A study cannot begin, or stopped.

    Attributes:
        kind: why.
        sites: names of the sites concerned.
    """

    kind: StudyFault

    def __init__(self, kind: StudyFault, *sites: str) -> None:
        self.kind, self.sites = kind, sites
        super().__init__(f"{kind.sentence().removesuffix('.')} ({listed(sites)})." if sites else kind.sentence())
