"""The user of a session: signed in by OpenID Connect, or the only user of this machine."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import streamlit as st
from streamlit import config, runtime

from pages.elements.controls import control
from pmtcore.base.deployment import sign_in_hours
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.messages import InputError
from pmtcore.base.roles import OWNER, Action, Actor, Denied, actor_of

_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


def signs_in() -> bool:
    """Return whether people sign in: whether the secrets name a provider."""
    try:
        return "auth" in st.secrets
    except (FileNotFoundError, KeyError):
        return False


def has_single_user() -> bool:
    """Return whether the server has a single user: by its address, or by a setting."""
    if not runtime.exists() or os.environ.get("PMT_SINGLE_USER") == "1":
        return True
    return config.get_option("server.address") in _LOOPBACK_HOSTS


def actor() -> Actor:
    """Return the user with the role from their claims or from the list of roles."""
    if not signs_in():
        return OWNER if has_single_user() else Actor("", None, Denied.NOT_SIGNED_IN)
    return identified(st.user.to_dict())


def identified(claims: Mapping[str, object]) -> Actor:
    """Return the user with these claims of a sign-in.

    Raises:
        InputError: the list of roles cannot be read.
    """
    place = os.environ.get("PMT_ROLES")
    try:
        listed = Path(place).read_bytes() if place else None
    except OSError:
        raise InputError("The list of roles (PMT_ROLES) cannot be read; nobody has a role.") from None
    return actor_of(
        claims,
        listed,
        time.time(),
        role_claim=os.environ.get("PMT_ROLE_CLAIM", "roles"),
        hours=sign_in_hours(os.environ),
        trust_email=os.environ.get("PMT_TRUST_EMAIL") == "1",
    )


def admitted() -> bool:
    """Return whether the user may see more than the sign-in page.

    Raises:
        InputError: the list of roles cannot be read.
    """
    return not signs_in() or actor().role is not None


def claimant() -> str:
    """Return the name under which long runs of the user are limited; empty for a single user."""
    if signs_in():
        return actor().name
    return "" if has_single_user() else st.context.ip_address or "unknown"


def require(action: Action) -> None:
    """Check that the user may do this.

    Raises:
        Forbidden: the role does not allow it.
    """
    actor().require(action)


def draw() -> None:
    """Draw the user, in the sidebar."""
    if not signs_in():
        if has_single_user():
            st.caption("Single user: nobody signs in, and only this machine is meant to reach the server.")
        else:
            st.warning("Open to the network without sign-in: private tables cannot be opened and nothing released.")
        return
    visitor = actor()
    st.caption(f"{plain(visitor.name)}, {'no role' if visitor.role is None else visitor.role.value}")
    st.button(**control("sign-out"), on_click=st.logout)


_REASONS = {
    Denied.NOT_SIGNED_IN: "Sign in to go on.",
    Denied.OVER: "This sign-in is over; sign in again.",
    Denied.UNVERIFIED: "The provider does not say that this address is verified: it has no role here; ask a curator.",
    Denied.NO_ROLE: "This name has no role here; ask a curator.",
}


def draw_sign_in() -> None:
    """Draw the only page for a user without a role, with sign-in or sign-out."""
    st.title("Second Moment")
    try:
        visitor = actor()
    except InputError as error:
        st.error(str(error))
        return
    st.write(_REASONS[visitor.denied or Denied.NO_ROLE])
    if visitor.denied in (Denied.UNVERIFIED, Denied.NO_ROLE):
        st.caption(f"{plain(visitor.name)}, no role")
        st.button("Sign out", on_click=st.logout, key="sign-out", icon=":material/logout:")
    else:
        st.button(**control("sign-in"), on_click=st.login)
