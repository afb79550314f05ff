"""A server does not start with settings under which anybody could sign in as anybody."""

from __future__ import annotations

import json
import random
import tomllib
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from pmtcore.base.deployment import deployment_problems, is_predictable, sign_in_hours
from pmtcore.base.messages import SettingFault
from pmtcore.base.roles import Denied, Role, actor_of
from pmtcore.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
SOUND = {
    "redirect_uri": "https://sm.example.org/oauth2callback",
    "cookie_secret": random.Random(1).randbytes(32).hex(),
    "client_id": "second-moment",
    "client_secret": urlsafe_b64encode(random.Random(2).randbytes(24)).decode(),
    "server_metadata_url": "https://id.example.org/.well-known/openid-configuration",
}
OPTIONS = {"server.enableXsrfProtection": True, "server.enableCORS": True}
NOW = 2e9


def kinds(auth: object, environment: dict[str, str] | None = None, **options: bool) -> set[SettingFault]:
    return {
        result.kind
        for result in deployment_problems({"auth": auth}, environment or {}, OPTIONS | options)
        if result.serious
    }


def test_sound_settings_and_no_sign_in_are_taken() -> None:
    """Two thousand random secrets of the shapes that people make are none too poor; of 32 digits 1 in 60,000 is."""
    assert not deployment_problems({}, {}, {}) and not kinds(SOUND)
    source = random.Random(20261124)
    assert not any(is_predictable(source.randbytes(16).hex()) for _ in range(1000))
    assert not any(is_predictable(urlsafe_b64encode(source.randbytes(24)).decode()) for _ in range(1000))


@pytest.mark.parametrize("file", sorted((ROOT / "deploy").glob("*.toml")))
def test_no_secret_of_an_example_is_taken(file: Path) -> None:
    """Whatever an example file holds as a secret is refused, alone too."""
    auth = tomllib.loads(file.read_text())["auth"]
    for name in ("cookie_secret", "client_secret"):
        assert SettingFault.PLACEHOLDER in kinds({**SOUND, name: auth[name]}), name
        assert main(["check", "--deploy", "--secrets", str(file)]) == 2


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("", SettingFault.MISSING),
        ("   ", SettingFault.MISSING),
        (None, SettingFault.MISSING),
        (["a" * 40], SettingFault.MISSING),
        (7, SettingFault.MISSING),
        ("CHANGE-ME-" * 5, SettingFault.PLACEHOLDER),
        ("my Secret, which is long enough to pass", SettingFault.PLACEHOLDER),
        ("3f9c1b7e5a2d8046e1b3c9d7f5a208", SettingFault.SHORT),
        ("a" * 64, SettingFault.PREDICTABLE),
        ("q7Rz" * 16, SettingFault.PREDICTABLE),
        ("0123456789abcdefghijklmnopqrstuvwxyz", SettingFault.PREDICTABLE),
        ("zyxwvutsrqponmlkjihgfedcba9876543210", SettingFault.PREDICTABLE),
    ],
)
def test_poor_cookie_secrets(value: object, kind: SettingFault) -> None:
    assert kinds({**SOUND, "cookie_secret": value}) == {kind}


def test_addresses_switches_and_lists(tmp_path: Path) -> None:
    """Plain http beyond this machine, protection switched off, a list of roles that nobody can read."""
    for name in ("redirect_uri", "server_metadata_url"):
        path = SOUND[name].split("example.org")[1]
        for wrong in (f"http://sm.example.org{path}", f"ftp://localhost{path}", f"http://[::1{path}"):
            assert kinds({**SOUND, name: wrong}) == {SettingFault.NOT_ENCRYPTED}, wrong
        assert not kinds({**SOUND, name: f"http://localhost:8501{path}"})
    assert kinds({**SOUND, "redirect_uri": "https://sm.example.org/"}) == {SettingFault.WRONG_PLACE}
    for option in OPTIONS:
        assert kinds(SOUND, **{option: False}) == {SettingFault.SWITCHED_OFF}
    roles = tmp_path / "roles.json"
    for text in ("", "[]", "{", '{"a": "analyst", "A": "curator"}', "7", '"curator"'):
        roles.write_text(text)
        assert kinds(SOUND, {"PMT_ROLES": str(roles)}) == {SettingFault.UNREADABLE}
    assert kinds(SOUND, {"PMT_ROLES": str(tmp_path / "none")}) == {SettingFault.UNREADABLE}
    roles.write_text('{"a": "owner"}')
    (nobody,) = deployment_problems({"auth": SOUND}, {"PMT_ROLES": str(roles)}, OPTIONS)
    assert nobody.kind is SettingFault.NOBODY and not nobody.serious
    assert kinds("curator") == {SettingFault.MISSING}


def test_several_providers_and_the_ledgers_key() -> None:
    """Each provider's secret is looked at, and the key of a ledger that others can reach."""
    shared = {name: SOUND[name] for name in ("redirect_uri", "cookie_secret")}
    own = {name: SOUND[name] for name in SOUND if name not in shared}
    assert not kinds({**shared, "one": own, "two": own})
    assert kinds({**shared, "one": own, "two": {**own, "client_secret": "change-me"}}) == {SettingFault.PLACEHOLDER}
    there = {"PMT_LEDGER": "postgresql://pmt@db/pmt"}
    assert kinds(SOUND, there) == {SettingFault.MISSING} and kinds(SOUND, there | {"PMT_LEDGER_KEY": "k"}) == {
        SettingFault.SHORT
    }
    assert not kinds(SOUND, there | {"PMT_LEDGER_KEY": random.Random(3).randbytes(16).hex()})


def test_no_value_is_in_what_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says each setting's name and never what it is."""
    file, poor = tmp_path / "s.toml", "poorsecretwithoutlength"
    file.write_text(
        "[auth]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in {**SOUND, "cookie_secret": poor}.items())
    )
    assert main(["check", "--deploy", "--secrets", str(file)]) == 2
    said = capsys.readouterr()
    assert "auth.cookie_secret" in said.err and poor not in said.err + said.out
    file.write_text("[auth]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in SOUND.items()))
    assert main(["check", "--deploy", "--secrets", str(file)]) == 0
    file.write_text("[auth\n" + poor)
    assert main(["check", "--deploy", "--secrets", str(file)]) == 2
    assert poor not in capsys.readouterr().err


def claims(**more: object) -> dict[str, object]:
    return {
        "is_logged_in": True,
        "sub": "1",
        "email": "ann@x.org",
        "email_verified": True,
        "iat": NOW - 60,
        "roles": "curator",
        **more,
    }


def test_an_address_counts_where_the_provider_vouches_for_it() -> None:
    """Not verified, not said, said in another way: no role, from a claim or a list; a name that looks like one too."""
    listed = b'{"ann@x.org": "curator", "1": "analyst"}'
    assert actor_of(claims(), listed, NOW).role is Role.CURATOR
    assert actor_of(claims(email_verified="true"), None, NOW).role is Role.CURATOR
    for said in (False, None, "false", "yes", 1.5, [], [True]):
        for names in (listed, None):
            result = actor_of(claims(email_verified=said), names, NOW)
            assert (result.role, result.denied) == (None, Denied.UNVERIFIED), said
    assert actor_of(claims(email_verified=None), listed, NOW, trust_email=True).role is Role.CURATOR
    no_email = claims(email=None, email_verified=None)
    assert actor_of(no_email, listed, NOW).role is Role.ANALYST
    assert actor_of({**no_email, "sub": "ann@x.org"}, listed, NOW).denied is Denied.UNVERIFIED


@pytest.mark.parametrize("issued", [NOW - 12 * 3600 - 1, NOW + 301, None, "now", True, float("nan"), float("inf"), []])
def test_a_sign_in_ends(issued: object) -> None:
    """Too old, from the future, or without a time: nobody is signed in; what a role allowed ends with it."""
    assert actor_of(claims(iat=issued), None, NOW).denied is Denied.OVER
    assert actor_of(claims(iat=NOW - 11.9 * 3600), None, NOW).role is Role.CURATOR
    assert actor_of(claims(iat=NOW - 2 * 3600), None, NOW, hours=1.0).denied is Denied.OVER


def test_nobody_by_other_claims() -> None:
    for signed in (None, False, "true", 1):
        assert actor_of(claims(is_logged_in=signed), None, NOW).denied is Denied.NOT_SIGNED_IN
    assert actor_of({}, None, NOW).role is None
    assert [sign_in_hours({"PMT_SIGN_IN_HOURS": text}) for text in ("2", "x", "nan", "-1", "inf")] == [
        2,
        12,
        12,
        12,
        12,
    ]
