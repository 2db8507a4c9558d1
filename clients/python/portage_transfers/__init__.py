"""Client of Portage, a transfer service. Standard library only."""

from .client import BatchItem, Client, Created
from .errors import (
    NoAnswer,
    PortageError,
    Refused,
    StillPending,
    UnknownOutcome,
    Unreachable,
    WebhookRefused,
)
from .webhook import verify_webhook

__all__ = [
    "BatchItem",
    "Client",
    "Created",
    "NoAnswer",
    "PortageError",
    "Refused",
    "StillPending",
    "UnknownOutcome",
    "Unreachable",
    "WebhookRefused",
    "verify_webhook",
]
