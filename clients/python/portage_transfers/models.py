"""Bodies of requests and answers, named as in the API. A newer server may add fields.

Amounts are strings in the asset's unit (of the relay: in base units). User ids are strings.
"""

from __future__ import annotations

from typing import TypedDict

_NewTransfer = TypedDict("_NewTransfer", {"from": str, "to": str, "asset": str, "amount": str})
_Transfer = TypedDict("_Transfer", {"from": str, "to": str})
_HistoryEntry = TypedDict("_HistoryEntry", {"from": "str | None"}, total=False)


class NewTransfer(_NewTransfer, total=False):
    """A transfer between two accounts of one user."""

    user_id: str | None  #: with `transfers:any`: for whom
    reference: str | None
    metadata: dict[str, str] | None
    cid: str | None  #: the key, in a batch


class HistoryEntry(_HistoryEntry):
    """One step of a transfer."""

    seq: int
    at: str
    to: str
    event: str
    detail: str | None


class Transfer(_Transfer):
    """A transfer between two accounts of one user, as an answer or a list shows it."""

    transfer_id: int
    req_id: str
    asset: str
    amount: str
    state: str
    message: str
    cid: str | None
    reference: str | None
    metadata: dict[str, str]
    created_at: str
    updated_at: str


class TransferStory(Transfer):
    """A transfer with its history."""

    retry_count: int
    error: str | None
    history: list[HistoryEntry]


class Page(TypedDict):
    """Transfers, newest first; `next` is the `cursor` of the page after it."""

    transfers: list[Transfer]
    next: str | None


class _NewAccountTransfer(TypedDict):
    fromAccountNumber: str
    toAccountNumber: str
    amount: str
    currency: str


class NewAccountTransfer(_NewAccountTransfer, total=False):
    """A transfer between two numbered accounts."""

    description: str | None


class OpenedAccountTransfer(TypedDict):
    """An account transfer that is durable; it goes on by itself."""

    transferId: str
    status: str
    createdAt: str


class _AccountTransfer(OpenedAccountTransfer):
    fromAccountNumber: str
    toAccountNumber: str
    amount: str
    currency: str
    message: str
    updatedAt: str


class AccountTransfer(_AccountTransfer, total=False):
    """An account transfer; a list leaves its history out."""

    description: str | None
    reason: str | None
    history: list[HistoryEntry]


class AccountTransferPage(TypedDict):
    """Account transfers, newest first; `next` is the `cursor` of the page after it."""

    transfers: list[AccountTransfer]
    next: str | None


class NewRelayTransfer(TypedDict):
    """A payment from the relay's account on NEAR, in base units of the token."""

    receiver_id: str
    amount: str


class OpenedRelayTransfer(NewRelayTransfer):
    """A payment that is durable; it goes on by itself. Its `transfer_id` is its key; operators know it by `req_id`."""

    transfer_id: str
    req_id: str
    status: str
    created_at: str
    tx_hash: str | None
    completed_at: str | None


class _RelayEvent(TypedDict):
    time: str
    event: str


class RelayEvent(_RelayEvent, total=False):
    """One event of a payment; an `ERROR` has the fields about what failed and is tried again."""

    tx_hash: str | None
    error_type: str | None
    message: str | None
    retry_count: int | None
    will_retry: bool | None


class RelayTransfer(OpenedRelayTransfer):
    """A payment with its events."""

    updated_at: str
    retry_count: int
    error_message: str | None
    events: list[RelayEvent]


class _Balance(TypedDict):
    account: str
    status: str


class Balance(_Balance, total=False):
    """One asset of one account."""

    number: str | None
    asset: str | None
    available: str | None
    frozen: str | None
    in_flight: str | None
