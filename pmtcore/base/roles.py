"""Who may do what: three roles, and what each is allowed; asked in the functions that do it, not in a menu."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import final

from pmtcore.base.checks import InputError
from pmtcore.base.strict_json import parsed


class Forbidden(InputError):
    """Somebody asked for what their role does not allow."""


class Action(Enum):
    """What somebody may want to do, in the words of the refusal."""

    OPEN_TABLES = "open private tables of their own"
    SEE_PRIVATE = "see exact figures of private rows"
    REGISTER = "register a data set"
    CAP = "set a cap"
    PART = "part two data sets"
    RETIRE = "retire a data set"
    USE_REGISTERED = "work with a registered data set"
    RELEASE = "release"
    AGREE = "agree to a release"
    READ_LEDGER = "read the ledger"
    REPORT = "make a report"


class Role(Enum):
    """Roles, as they are named in claims and files."""

    CURATOR = "curator"
    ANALYST = "analyst"
    REVIEWER = "reviewer"
    OWNER = "owner"  # the only user of a machine of their own


MAY: Mapping[Role, frozenset[Action]] = {
    Role.CURATOR: frozenset(Action),
    Role.OWNER: frozenset(Action),
    Role.ANALYST: frozenset({Action.USE_REGISTERED, Action.RELEASE, Action.READ_LEDGER, Action.REPORT}),
    Role.REVIEWER: frozenset({Action.READ_LEDGER, Action.REPORT}),
}


@final
@dataclass(frozen=True)
class Actor:
    """Somebody who is signed in."""

    name: str
    role: Role | None  # None: known, but without a role

    @property
    def role_name(self) -> str:
        """The role's name as events keep it, empty for nobody's."""
        return "" if self.role is None else self.role.value

    def may(self, action: Action) -> bool:
        """Whether their role allows it."""
        return self.role is not None and action in MAY[self.role]

    def require(self, action: Action) -> None:
        """Raise unless their role allows it.

        Raises:
            Forbidden: with the action and the role in words.
        """
        if not self.may(action):
            role = "has no role here" if self.role is None else f"is {self.role.value}"
            raise Forbidden(
                f"{self.name or 'Whoever is not signed in'} {role} and may not {action.value}; ask a curator."
            )


OWNER = Actor("the only user", Role.OWNER)


def role_of(name: str, claims: object, listed: bytes | None) -> Role | None:
    """The role of a person: from a list of names and roles where there is one, else from the claims of their sign-in.

    Args:
        claims: a role's name, or several; the one that allows most counts.
        listed: JSON, a table of names and roles.

    Raises:
        InputError: the list cannot be read: nobody has a role then.
    """
    if listed is not None:
        try:
            found = parsed(listed)
            folded = {str(key).casefold(): value for key, value in found.items()}
            if len(folded) != len(found):
                raise ValueError("a person twice")
            claims = folded.get(name.casefold())
        except (ValueError, AttributeError, RecursionError):
            raise InputError(
                'The list of roles must be JSON such as {"name": "analyst"}, each name once; nobody has a role.'
            ) from None
    names = [claims] if isinstance(claims, str) else list(claims) if isinstance(claims, list | tuple) else []
    given = {role for role in Role if role is not Role.OWNER and role.value in names}
    return max(given, key=lambda role: len(MAY[role]), default=None)
