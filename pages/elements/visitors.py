"""User and address of a request, before any page runs: from the signed cookie and the connection."""

import ipaddress
import json
import os
from dataclasses import dataclass
from typing import final

from starlette.requests import cookie_parser
from starlette.types import Scope
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import _get_signed_cookie_with_chunks

from pages.elements import actors
from pmtcore.base.messages import InputError
from pmtcore.base.roles import OWNER, Action, Actor

_NETWORK = 64  # bits of the network part of an IPv6 address, since one household has all addresses of a network


@final
@dataclass(frozen=True)
class Visitor:
    """User and address of a connection.

    Attributes:
        address: of the client; empty for a single user.
        actor: the user, with a role only where the cookie is signed and recent and the user has one.
    """

    address: str
    actor: Actor

    @property
    def may_upload(self) -> bool:
        """Return whether the user may open uploaded tables."""
        return self.actor.may(Action.OPEN_TABLES)


def visitor(scope: Scope) -> Visitor:
    """Return user and address of a request or a websocket."""
    if not actors.signs_in():
        return Visitor("", OWNER) if actors.has_single_user() else Visitor(address_of(scope), Actor("", None))
    try:
        actor = actors.identified(_claims(scope))
    except InputError:
        actor = Actor("", None)
    return Visitor(address_of(scope), actor)


def _claims(scope: Scope) -> dict[str, object]:
    """Return the claims in the cookie of the sign-in; none where its signature is not valid."""
    header = b"; ".join(value for name, value in scope.get("headers", []) if name == b"cookie")
    payload = _get_signed_cookie_with_chunks(cookie_parser(header.decode("latin-1")), USER_COOKIE_NAME)
    try:
        claims = json.loads(payload) if payload is not None else {}
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}


def address_of(scope: Scope) -> str:
    """Return the address of the client: that of the connection, or the last one forwarded that is not a trusted proxy.

    ``PMT_TRUSTED_PROXIES`` names the networks of proxies; without it headers are ignored.
    """
    client = scope.get("client")
    said = [value.decode("latin-1") for name, value in scope.get("headers", []) if name == b"x-forwarded-for"]
    chain = [part.strip() for value in said for part in value.split(",")] + [client[0] if client else ""]
    while len(chain) > 1 and _trusted(chain[-1]):
        chain.pop()
    return _network(chain[-1])


def _trusted(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
        networks = os.environ.get("PMT_TRUSTED_PROXIES", "").replace(",", " ").split()
        return any(parsed in ipaddress.ip_network(network, strict=False) for network in networks)
    except ValueError:
        return False


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    mapped = parsed.ipv4_mapped
    return str(mapped) if mapped else str(ipaddress.ip_network((parsed, _NETWORK), strict=False))
