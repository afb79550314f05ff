"""What is wrong with a server's settings before it serves anybody: secrets, addresses, lists; checked when it starts.

Whoever knows the cookie secret signs a cookie of their own and is a curator. So a secret of an example file, a short
one and one that is no random text are refused, as the settings checks of web frameworks do for a deployment.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from pmtcore.base.messages import InputError, SettingFault
from pmtcore.base.roles import parse_roles

SECRET_LENGTH = 32  # characters: 32 hexadecimal ones are 128 bits
_DISTINCT = 8  # of 32 random hexadecimal characters: fewer with odds of 4e-8, C(16, 7) (7/16)^32
_CLIENT_LENGTH = 16  # of the secret that a provider issues
_LEDGER_LENGTH = 16  # of a database password: 16 hexadecimal characters are 64 bits, guessed over a network
# Words that random text in base64 contains with probability below 1e-6.
_PLACEHOLDERS = ("change", "example", "sample", "secret", "password", "placeholder", "insecure", "your own", "default")
_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class WrongSetting:
    """One setting that is wrong.

    Attributes:
        setting: its name, as the operator wrote it; its value is never shown.
        serious: whether it keeps the server from starting.
    """

    kind: SettingFault
    setting: str
    serious: bool = True

    @property
    def sentence(self) -> str:
        """Return what is wrong with the setting and what to do."""
        return self.kind.sentence(setting=self.setting)


def is_predictable(text: str) -> bool:
    """Return whether a text has few distinct characters, repeats one text, or mostly runs through the alphabet."""
    periodic = text in (text + text)[1:-1]
    steps = [abs(ord(a) - ord(b)) <= 1 for a, b in pairwise(text)]
    return len(set(text)) < _DISTINCT or periodic or sum(steps) > len(steps) / 2


def secret_problems(setting: str, value: object, length: int, random: bool = True) -> Iterator[WrongSetting]:
    """Yield what is wrong with a secret.

    Args:
        setting: name of the setting that holds it.
        value: the secret as it was given.
        length: fewest characters.
        random: True where the operator makes it, and can make it random; False where a provider issues it.
    """
    if not isinstance(value, str) or not value.strip():
        yield WrongSetting(SettingFault.MISSING, setting)
    elif any(word in value.casefold() for word in _PLACEHOLDERS):
        yield WrongSetting(SettingFault.PLACEHOLDER, setting)
    elif len(value) < length:
        yield WrongSetting(SettingFault.SHORT, setting)
    elif random and is_predictable(value):
        yield WrongSetting(SettingFault.PREDICTABLE, setting)


def deployment_problems(
    secrets: Mapping[str, object], environment: Mapping[str, str], options: Mapping[str, object]
) -> list[WrongSetting]:
    """Return what is wrong with the settings of a server; nothing where nobody signs in.

    Args:
        secrets: Streamlit's ``secrets.toml``.
        environment: the process's variables.
        options: Streamlit's options by their names.
    """
    auth = secrets.get("auth")
    if "auth" not in secrets:
        return []
    if not isinstance(auth, Mapping):
        return [WrongSetting(SettingFault.MISSING, "[auth] of the secrets")]
    return [*_sign_in(auth), *_switches(options), *_roles(environment), *_ledger(environment)]


def _sign_in(auth: Mapping[str, object]) -> Iterator[WrongSetting]:
    yield from secret_problems("auth.cookie_secret", auth.get("cookie_secret"), SECRET_LENGTH)
    yield from _address("auth.redirect_uri", auth.get("redirect_uri"))
    redirect = auth.get("redirect_uri")
    if isinstance(redirect, str) and not redirect.endswith("/oauth2callback"):
        yield WrongSetting(SettingFault.WRONG_PLACE, "auth.redirect_uri")
    several = {name: section for name, section in auth.items() if isinstance(section, Mapping)}
    providers = {f"auth.{name}": section for name, section in several.items() if "client_id" in section}
    for name, section in (providers or {"auth": auth}).items():
        yield from secret_problems(f"{name}.client_secret", section.get("client_secret"), _CLIENT_LENGTH, False)
        yield from _address(f"{name}.server_metadata_url", section.get("server_metadata_url"))


def _address(setting: str, value: object) -> Iterator[WrongSetting]:
    if not isinstance(value, str) or not value:
        yield WrongSetting(SettingFault.MISSING, setting)
        return
    try:
        url = urlsplit(value)
        local = url.scheme == "http" and url.hostname in _LOCAL
    except ValueError:
        yield WrongSetting(SettingFault.NOT_ENCRYPTED, setting)
        return
    if url.scheme != "https" and not local:
        yield WrongSetting(SettingFault.NOT_ENCRYPTED, setting)


def _switches(options: Mapping[str, object]) -> Iterator[WrongSetting]:
    for name in ("server.enableXsrfProtection", "server.enableCORS"):
        if options.get(name) is False:
            yield WrongSetting(SettingFault.SWITCHED_OFF, name)


def _roles(environment: Mapping[str, str]) -> Iterator[WrongSetting]:
    place = environment.get("PMT_ROLES")
    if not place:
        return
    try:
        given = parse_roles(Path(place).read_bytes()).values()
    except (OSError, InputError):
        yield WrongSetting(SettingFault.UNREADABLE, "PMT_ROLES")
        return
    if not any(given):
        yield WrongSetting(SettingFault.NOBODY, "PMT_ROLES", serious=False)


def _ledger(environment: Mapping[str, str]) -> Iterator[WrongSetting]:
    if not environment.get("PMT_LEDGER", "").startswith("postgresql"):
        return
    yield from secret_problems("PMT_LEDGER_KEY", environment.get("PMT_LEDGER_KEY"), _LEDGER_LENGTH, False)


def sign_in_hours(environment: Mapping[str, str]) -> float:
    """Return how long a sign-in lasts, in hours: ``PMT_SIGN_IN_HOURS``, 12 where it is not set or no number."""
    try:
        given = float(environment.get("PMT_SIGN_IN_HOURS", "12"))
    except ValueError:
        return 12.0
    return given if math.isfinite(given) and given > 0 else 12.0
