"""Roles and what each may do: asked by the functions that act, not by a menu."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pmtcore.base.messages import ArgumentMessage, InputError, reraised_as
from pmtcore.base.strict_json import parse_json


class Forbidden(InputError):
    """A role does not allow the action that was asked for."""


class Action(Enum):
    """Actions that need a role, in the words of the refusal."""

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


class Denied(Enum):
    """Why a person has no role."""

    NOT_SIGNED_IN = "not signed in"
    OVER = "the sign-in is too old"
    UNVERIFIED = "the provider does not vouch for the address"
    NO_ROLE = "no role was given"


@dataclass(frozen=True)
class Actor:
    """Person who uses the application, with a role.

    Attributes:
        role: None: without a role.
        denied: why there is none, where that is known.
    """

    name: str
    role: Role | None
    denied: Denied | None = None

    @property
    def role_name(self) -> str:
        """Return the role's name as events keep it, empty for nobody's."""
        return "" if self.role is None else self.role.value

    def may(self, action: Action) -> bool:
        """Return True where their role allows it."""
        return self.role is not None and action in MAY[self.role]

    def require(self, action: Action) -> None:
        """Raise unless their role allows it.

        Raises:
            Forbidden: with the action and the role in words.
        """
        if not self.may(action):
            role = "has no role here" if self.role is None else f"is {self.role.value}"
            person = self.name or "Whoever is not signed in"
            raise Forbidden(ArgumentMessage.FORBIDDEN, person=person, role=role, action=action.value)


OWNER = Actor("the only user", Role.OWNER)


_SKEW = 300.0  # seconds that a provider's clock may be ahead


def actor_of(
    claims: Mapping[str, object],
    roles_json: bytes | None,
    now: float,
    *,
    role_claim: str = "roles",
    hours: float = 12.0,
    trust_email: bool = False,
) -> Actor:
    """Return the person who is signed in, from the provider's claims.

    So that a revoked role ends, a list is read anew each time, and a provider's claims expire after some hours.

    Args:
        claims: of the sign-in. Empty: nobody is signed in.
        roles_json: as in :func:`role_of`.
        now: seconds since 1970.
        role_claim: the claim with the roles.
        hours: hours that a sign-in lasts; a sign-in without a time has expired.
        trust_email: whether an address counts without ``email_verified``, for providers that never send that claim.

    Raises:
        InputError: the list cannot be read.
    """
    if claims.get("is_logged_in") is not True:
        return Actor("", None, Denied.NOT_SIGNED_IN)
    subject = str(claims.get("sub") or "")
    email = claims.get("email") or (subject if "@" in subject else None)
    name = str(email or subject)
    issued = claims.get("iat")
    known = isinstance(issued, int | float) and not isinstance(issued, bool) and math.isfinite(issued)
    if not name or not known or not -_SKEW <= now - float(str(issued)) <= hours * 3600:
        return Actor(name, None, Denied.OVER)
    if email and not trust_email and claims.get("email_verified") not in (True, "true"):
        return Actor(name, None, Denied.UNVERIFIED)
    role = role_of(name, claims.get(role_claim), roles_json)
    return Actor(name, role, None if role is not None else Denied.NO_ROLE)


def role_of(name: str, claims: object, roles_json: bytes | None) -> Role | None:
    """Return a person's role: from a list of names and roles where there is one, else from the claims of their sign-in.

    Args:
        name: who signed in; letter case does not count.
        claims: a role's name, or several; the one that allows most counts.
        roles_json: JSON, a table of names and roles.

    Raises:
        InputError: the list cannot be read: nobody has a role then.
    """
    if roles_json is not None:
        return parse_roles(roles_json).get(name.casefold())
    return _strongest_role(claims)


def parse_roles(roles_json: bytes) -> dict[str, Role | None]:
    """Return the names of a list, in small letters, and the role of each.

    Raises:
        InputError: the list cannot be read: nobody has a role then.
    """
    with reraised_as(InputError(ArgumentMessage.ROLES_FORM)):
        record = parse_json(roles_json)
        folded = {str(key).casefold(): _strongest_role(value) for key, value in record.items()}
        if len(folded) != len(record):
            raise ValueError("a person twice")
    return folded


def _strongest_role(claims: object) -> Role | None:
    """Return the role that allows most among those named."""
    names = [claims] if isinstance(claims, str) else list(claims) if isinstance(claims, list | tuple) else []
    given = {role for role in Role if role is not Role.OWNER and role.value in names}
    return max(given, key=lambda role: len(MAY[role]), default=None)
