"""State of a study, from what anybody may read: the study file, what sites sent back, the messages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pmtcore.base.messages import SiteState
from pmtcore.sites.boards import EVERYTHING, BoardMessage, MemoryBoard
from pmtcore.sites.study import Study
from pmtcore.sites.transcript import Transcript


@dataclass(frozen=True)
class Status:
    """State of a study.

    Attributes:
        study: with the keys of all who agreed.
        states: of each site, in the study's order.
        passes: how many were opened, and with how many sites each.
        stopped: the coordinator's last message; empty while the study runs.
    """

    study: Study
    states: tuple[SiteState, ...]
    passes: tuple[int, ...] = ()
    stopped: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        states = {name: state.code for name, state in zip(self.study.names, self.states, strict=True)}
        return {"sites": states, "passes": list(self.passes), "stopped": self.stopped, "digest": self.study.digest}

    def rows(self) -> list[dict[str, Any]]:
        """Return a line for each site, in words."""
        pairs = zip(self.study.sites, self.states, strict=True)
        return [{"site": site.name, "rows": site.rows, "": state.sentence()} for site, state in pairs]


def status(
    study: Study, joined: Iterable[Mapping[str, Any]] = (), messages: Iterable[Mapping[str, Any]] = ()
) -> Status:
    """Return the state of a study.

    Args:
        study: as its file says.
        joined: what sites wrote when they agreed.
        messages: of the board, in their order; those that are not genuine count as not sent.

    Raises:
        StudyError: a site agreed to another study, or something is no message.
    """
    study, board = study.with_keys(joined), MemoryBoard()
    for fields in messages:
        board.post(BoardMessage.from_dict(fields))
    transcript = Transcript(study, board, EVERYTHING)
    transcript.update()
    passes: list[int] = []
    while (opened := transcript.opened(len(passes))) is not None:
        passes.append(len(opened.names))
    states = tuple(_state(study, transcript, name) for name in study.names)
    return Status(study, states, tuple(passes), transcript.stopped or "")


def _state(study: Study, transcript: Transcript, name: str) -> SiteState:
    if name in transcript.done:
        return SiteState.DONE
    if name in transcript.failed:
        return SiteState.FAILED
    if name in transcript.arrivals:
        return SiteState.HERE
    return SiteState.AGREED if study.site(name).seal else SiteState.INVITED
