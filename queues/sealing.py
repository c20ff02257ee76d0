"""Secrets sealed to a public key: who stores them cannot read them.

The web process knows the public key only. What a secret is for is part of the sealed text, so
that one cluster's credential cannot be passed off as another's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json

from django.conf import settings
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

KEY_LENGTH = 32


class SealError(Exception):
    """A secret cannot be sealed or opened; the text names keys by their id, never by value."""


def new_key_pair() -> tuple[str, str]:
    """Return a fresh (public, private) pair as the settings take it."""
    private = PrivateKey.generate()
    return _text(bytes(private.public_key)), _text(bytes(private))


def can_open() -> bool:
    """Tell whether this process holds the private key."""
    return bool(settings.SEALING_PRIVATE_KEY)


def seal(secret: str, *, purpose: str) -> tuple[bytes, str]:
    """Return the sealed secret and the id of the key that can open it."""
    public = _public()
    content = json.dumps({"purpose": purpose, "secret": secret}).encode()
    return SealedBox(public).encrypt(content), key_id(public)


def unseal(sealed: bytes, key: str, *, purpose: str) -> str:
    """Return the secret, if it was sealed for this purpose and to our key."""
    if not settings.SEALING_PRIVATE_KEY:
        message = "this process has no private key (GPUPORTAL_SEALING_PRIVATE_KEY)"
        raise SealError(message)
    private = PrivateKey(_bytes("GPUPORTAL_SEALING_PRIVATE_KEY", settings.SEALING_PRIVATE_KEY))
    if key_id(private.public_key) != key:
        message = f"sealed to key {key}, but this process holds key {key_id(private.public_key)}"
        raise SealError(message)
    try:
        content = json.loads(SealedBox(private).decrypt(bytes(sealed)))
    except (CryptoError, ValueError):
        message = f"the sealed text does not open with key {key}"
        raise SealError(message) from None
    if content.get("purpose") != purpose:
        message = f"the credential was sealed for something else than {purpose}"
        raise SealError(message)
    return str(content["secret"])


def key_id(public: PublicKey) -> str:
    """Return a short name of a key, safe to show."""
    return hashlib.sha256(bytes(public)).hexdigest()[:16]


def _public() -> PublicKey:
    """Return the public key; a process with only the private one derives it."""
    if settings.SEALING_PUBLIC_KEY:
        return PublicKey(_bytes("GPUPORTAL_SEALING_PUBLIC_KEY", settings.SEALING_PUBLIC_KEY))
    if settings.SEALING_PRIVATE_KEY:
        private = _bytes("GPUPORTAL_SEALING_PRIVATE_KEY", settings.SEALING_PRIVATE_KEY)
        return PrivateKey(private).public_key
    message = "no key to seal credentials with (GPUPORTAL_SEALING_PUBLIC_KEY)"
    raise SealError(message)


def _bytes(name: str, value: str) -> bytes:
    try:
        found = base64.urlsafe_b64decode(value.strip())
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != KEY_LENGTH:
        message = f"{name} is not a key: 32 bytes in URL-safe base64 are expected"
        raise SealError(message)
    return found


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode("ascii")
