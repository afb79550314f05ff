"""Who is at the screen: signed in by OpenID Connect, or the only user of this machine; asked where things are done."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st
from streamlit import config, runtime

from pmtcore.base.checks import InputError
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.roles import OWNER, Action, Actor, role_of

_HERE = ("localhost", "127.0.0.1", "::1")


def signs_in() -> bool:
    """Whether people sign in here: the secrets have a provider."""
    try:
        return "auth" in st.secrets
    except (FileNotFoundError, KeyError):
        return False


def alone() -> bool:
    """Whether only this machine can reach the server, or whoever started it says so (a container behind a port)."""
    if not runtime.exists() or os.environ.get("PMT_SINGLE_USER") == "1":
        return True
    return config.get_option("server.address") in _HERE


def actor() -> Actor:
    """Who is at the screen, with the role that their claims or the list of roles give them."""
    if not signs_in():
        return OWNER if alone() else Actor("", None)
    if not st.user.is_logged_in:
        return Actor("", None)
    name = str(st.user.get("email") or st.user.get("sub") or "")
    place = os.environ.get("PMT_ROLES")
    try:
        listed = Path(place).read_bytes() if place else None
    except OSError:
        raise InputError("The list of roles (PMT_ROLES) cannot be read; nobody has a role.") from None
    return Actor(name, role_of(name, st.user.get(os.environ.get("PMT_ROLE_CLAIM", "roles")), listed))


def require(action: Action) -> None:
    """Raise unless whoever is at the screen may do this.

    Raises:
        Forbidden: with the action and the role in words.
    """
    actor().require(action)


def draw() -> None:
    """Who is at the screen, in the sidebar."""
    if not signs_in():
        if alone():
            st.caption("Single user: nobody signs in, and only this machine is meant to reach the server.")
        else:
            st.warning("Open to the network without sign-in: private tables cannot be opened and nothing released.")
        return
    if not st.user.is_logged_in:
        st.button("Sign in", on_click=st.login, key="sign-in", icon=":material/login:", width="stretch")
        return
    found = actor()
    st.caption(f"{plain(found.name)}, {'no role' if found.role is None else found.role.value}")
    st.button("Sign out", on_click=st.logout, key="sign-out", icon=":material/logout:", width="stretch")
