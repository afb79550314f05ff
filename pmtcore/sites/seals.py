"""Keys of a site, from PyNaCl: shares are sealed for one reader, every message is signed by its writer.

Sealed boxes (X25519, XSalsa20-Poly1305) and Ed25519 signatures; no cipher, key exchange or generator of our own.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from importlib import import_module
from pathlib import Path
from types import ModuleType

from pmtcore.base.messages import InputError, SiteMessage, StudyError, StudyFault, reraised_as


def base64_text(data: bytes) -> str:
    """Return bytes as base64."""
    return b64encode(data).decode()


def data(text: str) -> bytes:
    """Return the bytes behind base64.

    Raises:
        StudyError: it is none.
    """
    with reraised_as(StudyError(StudyFault.FORGED)):
        return b64decode(text, validate=True)


def _nacl(module: str) -> ModuleType:
    with reraised_as(StudyError(StudyFault.NOT_INSTALLED), ImportError):
        return import_module(f"nacl.{module}")


class Keys:
    """A site's private keys, in memory.

    Args:
        seal: 32 bytes, opens what is sealed for the site.
        sign: 32 bytes, signs its messages.
    """

    def __init__(self, seal: bytes, sign: bytes) -> None:
        self._seal = _nacl("public").PrivateKey(seal)
        self._sign = _nacl("signing").SigningKey(sign)

    @classmethod
    def new(cls) -> Keys:
        """Return new keys from the system's randomness."""
        return cls(bytes(_nacl("public").PrivateKey.generate()), bytes(_nacl("signing").SigningKey.generate()))

    @classmethod
    def read(cls, path: Path) -> Keys:
        """Return the keys in a file that :meth:`write` made.

        Raises:
            InputError: no such file, or no keys.
        """
        try:
            fields = json.loads(path.read_text())
            return cls(data(fields["seal"]), data(fields["sign"]))
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(SiteMessage.NO_KEYS, place=str(path)) from None

    def write(self, path: Path) -> None:
        """Write the keys where only this user reads them; never over others.

        Raises:
            InputError: there are keys already.
        """
        fields = json.dumps({"seal": base64_text(bytes(self._seal)), "sign": base64_text(bytes(self._sign))})
        with reraised_as(InputError(SiteMessage.KEYS_EXIST, place=str(path)), FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(fields)

    @property
    def public(self) -> dict[str, str]:
        """Return the public halves, as the study file has them."""
        return {"seal": base64_text(bytes(self._seal.public_key)), "verify": base64_text(bytes(self._sign.verify_key))}

    def open(self, sealed: bytes) -> bytes:
        """Return the message in a box that was sealed for this site.

        Raises:
            StudyError: the box was sealed for another reader.
        """
        with reraised_as(StudyError(StudyFault.FORGED), _nacl("exceptions").CryptoError):
            return bytes(_nacl("public").SealedBox(self._seal).decrypt(sealed))

    def sign(self, message: bytes) -> str:
        """Return this site's signature, as base64."""
        return base64_text(bytes(self._sign.sign(message).signature))

    def __repr__(self) -> str:
        return "<keys of a site>"


def seal_message(message: bytes, key: str) -> bytes:
    """Return the message sealed for the owner of a public key (base64)."""
    return bytes(_nacl("public").SealedBox(_nacl("public").PublicKey(data(key))).encrypt(message))


def require_signature(message: bytes, signature: str, key: str) -> None:
    """Raise unless the owner of a public key signed the message.

    Raises:
        StudyError: they did not.
    """
    with reraised_as(StudyError(StudyFault.FORGED), _nacl("exceptions").CryptoError, ValueError):
        _nacl("signing").VerifyKey(data(key)).verify(message, data(signature))
