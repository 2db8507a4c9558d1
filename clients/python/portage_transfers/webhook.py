"""Checks the signature of a notification (Standard Webhooks, version 1)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import Any, Mapping, Sequence

from .errors import WebhookRefused

TOLERANCE_SECONDS = 300


def verify_webhook(
    secrets: str | Sequence[str], headers: Mapping[str, str], body: bytes, *, now: float | None = None
) -> dict[str, Any]:
    """Returns the event of a message that one of the secrets signed at most five minutes ago.

    `body` is what was received, byte for byte. Remember the header `webhook-id`: a message may come twice.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        name, at, signatures = (given["webhook-" + part] for part in ("id", "timestamp", "signature"))
    except KeyError as missing:
        raise WebhookRefused(f"no header {missing}") from None
    if not (at.isascii() and at.isdigit() and len(at) <= 15):
        raise WebhookRefused("the timestamp is not a number of seconds")
    if abs((time.time() if now is None else now) - int(at)) > TOLERANCE_SECONDS:
        raise WebhookRefused("the timestamp is more than five minutes away")
    signed = b".".join([name.encode(), at.encode(), body])
    every = [one[3:].encode() for one in signatures.split() if one.startswith("v1,")]
    found = False
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
        for signature in every:
            found |= hmac.compare_digest(base64.b64encode(digest), signature)
    if not found:
        raise WebhookRefused("no signature is of this secret and this body")
    event = json.loads(body)
    if not isinstance(event, dict):
        raise WebhookRefused("the body is not an object")
    return event


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a secret is whsec_ and base64") from None
    if not key:
        raise ValueError("the secret is empty")
    return key
