"""Check of the settings of a server with sign-in, under some of which anybody could sign in as anybody."""

import os
import sys

import streamlit as st
from streamlit import config

from pmtcore.base.deployment import deployment_problems

_OPTIONS = ("server.enableXsrfProtection", "server.enableCORS")


def refuse_unsafe() -> None:
    """Say what is wrong with the settings on standard error, and end the process where it is serious.

    Raises:
        SystemExit: with status 78, the system's name for a wrong configuration.
    """
    try:
        secrets = st.secrets.to_dict()
    except FileNotFoundError:
        return
    wrong = deployment_problems(secrets, os.environ, {name: config.get_option(name) for name in _OPTIONS})
    for problem in wrong:
        sys.stderr.write(f"{'error' if problem.serious else 'warning'}: {problem.sentence}\n")
    if any(problem.serious for problem in wrong):
        sys.stderr.write("The server does not start; docs/server.md says what each setting is.\n")
        sys.stderr.flush()
        raise SystemExit(os.EX_CONFIG)
