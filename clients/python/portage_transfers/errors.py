"""Errors, divided by what the caller may conclude about its request."""

from __future__ import annotations

from typing import Any, Mapping


class PortageError(Exception):
    """The base of every error of this package."""


class Refused(PortageError):
    """The server refused the request, and this request opened nothing."""

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: float | None) -> None:
        differs = ", ".join(problem.get("mismatched_fields") or [])
        super().__init__(f"{problem['code']}: {problem.get('error')}" + (f": it differs in {differs}" if differs else ""))
        self.status = status
        self.code: str = problem["code"]
        self.request_id: str | None = problem.get("request_id")
        #: With `DUPLICATE_REQUEST`: the fields that differ from the first request of this key.
        self.mismatched_fields: list[str] = list(problem.get("mismatched_fields") or [])
        #: Seconds after which the same request may be accepted, where the server named them.
        self.retry_after = retry_after


class Unreachable(PortageError):
    """No connection was made, so nothing was sent."""


class NoAnswer(PortageError):
    """A request that may have been sent got no usable answer: a 500, a timeout, a cut connection."""


class UnknownOutcome(PortageError):
    """The outcome of a create is still unknown at its deadline. Repeat it later with the same key and
    the same body: it is never made twice."""

    def __init__(self, key: str, why: object) -> None:
        super().__init__(f"outcome unknown, repeat with the key {key}: {why}")
        self.key = key


class StillPending(PortageError):
    """A transfer has not ended within the time that the caller was ready to wait. It goes on."""

    def __init__(self, name: str, state: str | None) -> None:
        super().__init__(f"{name} has not ended ({state or 'it could not be read'})")
        self.name = name
        self.state = state


class WebhookRefused(PortageError):
    """A message that must not be believed: forged, changed, too old, or without a signature."""
