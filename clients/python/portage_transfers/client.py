"""Sends requests to Portage, and repeats a create under its key while its outcome is unknown."""

from __future__ import annotations

import http.client
import json
import random
import time
import uuid
from dataclasses import dataclass
from typing import Any, Callable, Generic, Mapping, Sequence, TypeVar, cast
from urllib.parse import quote, urlencode, urlsplit

from .errors import NoAnswer, PortageError, Refused, StillPending, UnknownOutcome, Unreachable
from .models import (
    AccountTransfer,
    AccountTransferPage,
    Balance,
    NewAccountTransfer,
    NewRelayTransfer,
    NewTransfer,
    OpenedAccountTransfer,
    OpenedRelayTransfer,
    Page,
    RelayTransfer,
    Transfer,
    TransferStory,
)

T = TypeVar("T")
ENDED = frozenset({"COMMITTED", "ROLLED_BACK", "COMPLETED", "FAILED"})
PAID = frozenset({"COMMITTED", "COMPLETED"})


@dataclass(frozen=True)
class Created(Generic[T]):
    """The answer to a create. FAILED and ROLLED_BACK are answers too: `code` says why."""

    key: str
    transfer: T
    replayed: bool  #: the key was used before, or by an earlier try of this call: it is that transfer
    code: str | None

    @property
    def state(self) -> str:
        """Where the transfer stands, in any flow."""
        return _state(self.transfer)

    @property
    def paid(self) -> bool:
        """The transfer has ended, and the target has the money."""
        return self.state in PAID


@dataclass(frozen=True)
class BatchItem:
    """What became of one create of a batch: an answer, or an error as a single create raises it."""

    key: str
    created: Created[Transfer] | None
    error: PortageError | None


@dataclass(frozen=True)
class _Answer:
    status: int
    replayed: bool
    retry_after: float | None
    body: Any


class Client:
    """A client of one server. `token` is a token, or a function that returns one for each request.

    `timeout` bounds each wait for the server; after `deadline` no create is repeated. Both are in seconds.
    """

    def __init__(
        self, url: str, token: str | Callable[[], str], *, timeout: float = 30.0, deadline: float = 120.0
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the address begins with http:// or https://")
        secure = parts.scheme == "https"
        self._connection = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path.rstrip("/")
        self._token = token if callable(token) else lambda: token
        self._timeout, self._deadline = timeout, deadline

    def create_transfer(self, new: NewTransfer, key: str | None = None) -> Created[Transfer]:
        """Moves money between two accounts of one user."""
        return cast("Created[Transfer]", self._create("/api/v1/internal_transfer", new, key or new.get("cid")))

    def create_account_transfer(
        self, new: NewAccountTransfer, key: str | None = None
    ) -> Created[OpenedAccountTransfer]:
        """Moves money between two numbered accounts."""
        return cast("Created[OpenedAccountTransfer]", self._create("/api/transfers", new, key))

    def create_relay_transfer(
        self, new: NewRelayTransfer, key: str | None = None
    ) -> Created[OpenedRelayTransfer]:
        """Pays an account on NEAR from the relay's own."""
        return cast("Created[OpenedRelayTransfer]", self._create("/transfer", new, key))

    def create_transfers(self, all_new: Sequence[NewTransfer]) -> list[BatchItem]:
        """Makes up to 1000 independent transfers. Only items whose outcome is unknown are repeated.
        An item without a `cid` gets one."""
        bodies = [_checked({**new, "cid": new.get("cid") or _new_key()}) for new in all_new]
        keys: list[str] = [body["cid"] for body in bodies]
        items: dict[int, BatchItem] = {}
        doubtful: set[int] = set()  # items of which an earlier try may have opened the transfer

        def attempt(timeout: float) -> None:
            todo = [place for place in range(len(bodies)) if place not in items]
            sent = {"transfers": [bodies[place] for place in todo]}
            try:
                answer = self._send("POST", "/api/v1/internal_transfers", timeout, sent)
                results = answer.body.get("results") if isinstance(answer.body, dict) else None
                if answer.status != 200 or not isinstance(results, list):
                    raise _refusal(answer)
                if [_field(result, "index") for result in results] != list(range(len(todo))):
                    raise NoAnswer("the answer does not list every item")
            except NoAnswer:
                doubtful.update(todo)
                raise
            last: PortageError | None = None
            for place, result in zip(todo, results):
                one = _Answer(_field(result, "status"), result.get("replayed") is True, answer.retry_after, result)
                try:
                    items[place] = BatchItem(keys[place], _created(keys[place], one), None)
                except NoAnswer as fault:
                    doubtful.add(place)
                    last = fault
                except Refused as fault:
                    if fault.code == "OVERLOADED":
                        last = last or fault
                    else:
                        items[place] = BatchItem(keys[place], None, _final(keys[place], fault, place in doubtful))
            if last is not None:
                raise last

        try:
            self._repeat(",".join(keys), attempt)
        except PortageError as fault:
            if not items and not doubtful:
                raise
            cause = fault.__cause__ if isinstance(fault, UnknownOutcome) else fault
            for place, key in enumerate(keys):
                if place not in items:
                    known = place not in doubtful and isinstance(cause, (Refused, Unreachable))
                    error = cause if known else UnknownOutcome(key, cause)
                    items[place] = BatchItem(key, None, cast(PortageError, error))
        return [items[place] for place in range(len(bodies))]

    def transfer(self, req_id: str) -> TransferStory:
        """A transfer with its history."""
        return cast(TransferStory, self._get(f"/api/v1/internal_transfer/{quote(req_id, '')}"))

    def account_transfer(self, transfer_id: str) -> AccountTransfer:
        """A transfer between two numbered accounts with its history."""
        return cast(AccountTransfer, self._get(f"/api/transfers/{quote(transfer_id, '')}"))

    def relay_transfer(self, key: str) -> RelayTransfer:
        """A payment on NEAR with its events, by the key of its create."""
        return cast(RelayTransfer, self._get(f"/transfer/{quote(key, '')}"))

    def transfers(self, **filters: str | int | None) -> Page:
        """The caller's own transfers, newest first: by state, asset, from_, to, cursor, limit."""
        return cast(Page, self._get("/api/v1/internal_transfers", filters))

    def account_transfers(self, **filters: str | int | None) -> AccountTransferPage:
        """Transfers that the caller's numbered accounts pay, newest first: by status, cursor, limit."""
        return cast(AccountTransferPage, self._get("/api/transfers", filters))

    def balances(self) -> list[Balance]:
        """The caller's balances."""
        return cast("list[Balance]", self._get("/api/v1/balances"))

    def wait(self, req_id: str, timeout: float = 60.0) -> TransferStory:
        """Reads a transfer until it has ended; `StillPending` where it has not within `timeout`."""
        return _wait(self.transfer, req_id, timeout)

    def wait_account_transfer(self, transfer_id: str, timeout: float = 60.0) -> AccountTransfer:
        """The same for a transfer between two numbered accounts."""
        return _wait(self.account_transfer, transfer_id, timeout)

    def wait_relay_transfer(self, key: str, timeout: float = 60.0) -> RelayTransfer:
        """The same for a payment on NEAR."""
        return _wait(self.relay_transfer, key, timeout)

    def _create(self, path: str, new: Mapping[str, Any], key: str | None) -> Created[Any]:
        key, body = key or _new_key(), _checked(new)

        def attempt(timeout: float) -> Created[Any]:
            return _created(key, self._send("POST", path, timeout, body, key))

        return self._repeat(key, attempt)

    def _repeat(self, key: str, attempt: Callable[[float], T]) -> T:
        """Makes attempts under one key until one of them has a certain outcome, or the deadline is near."""
        end, wait, unknown = time.monotonic() + self._deadline, 0.1, False
        while True:
            last: PortageError
            try:
                return attempt(max(0.05, min(self._timeout, end - time.monotonic())))
            except NoAnswer as fault:
                last, unknown = fault, True
            except Unreachable as fault:
                last = fault
            except Refused as fault:
                last = fault
                if fault.code != "OVERLOADED":
                    raise _final(key, fault, unknown) from fault
            except Exception as fault:  # of the caller's function for tokens: the key must not be lost
                if unknown:
                    raise UnknownOutcome(key, fault) from fault
                raise
            pause = max(wait * random.uniform(0.5, 1.0), getattr(last, "retry_after", None) or 0.0)
            if time.monotonic() + pause >= end:
                raise UnknownOutcome(key, last) if unknown else last from last
            time.sleep(pause)
            wait = min(wait * 2, 5.0)

    def _get(self, path: str, filters: Mapping[str, str | int | None] | None = None) -> Any:
        given = {name.rstrip("_"): value for name, value in (filters or {}).items() if value is not None}
        answer = self._send("GET", path + ("?" + urlencode(given) if given else ""), self._timeout)
        if answer.status != 200 or not isinstance(answer.body, (dict, list)):
            raise _refusal(answer)
        return answer.body

    def _send(
        self, method: str, path: str, timeout: float, body: object = None, key: str | None = None
    ) -> _Answer:
        headers = {"authorization": f"Bearer {self._token()}"}
        payload = None if body is None else json.dumps(body).encode()
        if payload is not None:
            headers["content-type"] = "application/json"
        if key is not None:
            headers["idempotency-key"] = key
        connection = self._connection(self._host, self._port, timeout=timeout)
        try:
            try:
                connection.connect()
            except OSError as fault:  # only a connection that was never made proves that nothing was sent
                raise Unreachable(str(fault) or type(fault).__name__) from fault
            try:
                connection.request(method, self._base + path, payload, headers)
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException) as fault:
                raise NoAnswer(str(fault) or type(fault).__name__) from fault
        finally:
            connection.close()
        try:
            read = json.loads(content)
        except ValueError:
            read = None
        after = response.getheader("retry-after", "")
        replayed = response.getheader("idempotency-replayed") is not None
        return _Answer(response.status, replayed, float(after) if after.isdecimal() else None, read)


def _new_key() -> str:
    return uuid.uuid4().hex


def _checked(new: Mapping[str, Any]) -> dict[str, Any]:
    """A number would be rounded on its way: amounts and user ids are strings."""
    for name in ("amount", "user_id"):
        if not isinstance(new.get(name, ""), (str, type(None))):
            raise TypeError(f"{name} is a string")
    return {name: value for name, value in new.items() if value is not None}


def _field(body: Any, name: str) -> Any:
    return body.get(name) if isinstance(body, dict) else None


def _state(transfer: Any) -> str:
    return str(transfer.get("state") or transfer.get("status"))


def _created(key: str, answer: _Answer) -> Created[Any]:
    """An answer that shows a transfer; a refusal and an answer that shows nothing are raised."""
    body = answer.body
    named = any(isinstance(_field(body, name), str) for name in ("req_id", "transferId", "transfer_id"))
    failed = answer.status == 422 and _state(body or {}) in ENDED and isinstance(_field(body, "code"), str)
    if named and (failed or answer.status in (200, 201, 202)):
        return Created(key, body, answer.replayed, body["code"] if failed else None)
    raise _refusal(answer)


def _refusal(answer: _Answer) -> PortageError:
    """A refusal counts only where the contract says that nothing was opened, in the shape that it gives."""
    code, status = _field(answer.body, "code"), answer.status
    certain = 400 <= status < 500 or (status == 503 and code in ("HALTED", "OVERLOADED"))
    opened = _field(answer.body, "req_id") is not None or _field(answer.body, "outcome") is not None
    if not isinstance(code, str) or not certain or opened or code == "SYSTEM_ERROR":
        return NoAnswer(f"status {status} {_field(answer.body, 'error') or 'without a known body'}")
    return Refused(status, answer.body, answer.retry_after)


def _final(key: str, fault: Refused, unknown: bool) -> PortageError:
    """After an attempt of unknown outcome a refusal is only about the last attempt. A key that is bound
    to another body is the exception: no attempt of this body can have opened anything."""
    if unknown and fault.code != "DUPLICATE_REQUEST":
        return UnknownOutcome(key, fault)
    return fault


def _wait(read: Callable[[str], T], name: str, timeout: float) -> T:
    end, pause, state = time.monotonic() + timeout, 0.1, None
    while True:
        try:
            found = read(name)
            state = _state(found)
            if state in ENDED:
                return found
        except (NoAnswer, Unreachable):
            pass  # a read changes nothing: it is made again
        except Refused as fault:
            if fault.status < 500:
                raise
        if time.monotonic() + pause >= end:
            raise StillPending(name, state)
        time.sleep(pause)
        pause = min(pause * 1.5, 2.0)
