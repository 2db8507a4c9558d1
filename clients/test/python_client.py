"""Runs the Python client against a server: URL FAULTS_URL TOKEN SERVICE_TOKEN SECRET."""

import base64
import hashlib
import hmac
import json
import sys
import time
import urllib.request
from typing import Any, Callable

from portage_transfers import (
    Client,
    Refused,
    UnknownOutcome,
    Unreachable,
    WebhookRefused,
    verify_webhook,
)
from portage_transfers.models import NewTransfer

URL, FAULTS, TOKEN, SERVICE, SECRET = sys.argv[1:6]
client, service = Client(URL, TOKEN), Client(URL, SERVICE)
faulty = Client(FAULTS, lambda: TOKEN, deadline=10)
MOVE: NewTransfer = {"from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "1"}


def tries(key: str) -> int:
    with urllib.request.urlopen(f"{FAULTS}/tries/{key}") as answer:
        return int(json.load(answer)["tries"])


def raised(kind: type[Exception], run: Callable[[], object]) -> Any:
    try:
        run()
    except kind as fault:
        return fault
    raise AssertionError(f"no {kind.__name__}")


def with_cid(cid: str) -> int:
    return sum(one["cid"] == cid for one in client.transfers(limit=100)["transfers"])


def create_repeat_wait() -> None:
    first = client.create_transfer(MOVE, "py-1")
    assert not first.replayed and first.transfer["cid"] == first.key == "py-1"
    again = client.create_transfer(MOVE, "py-1")
    assert again.replayed and again.transfer["req_id"] == first.transfer["req_id"]
    story = client.wait(first.transfer["req_id"])
    assert story["state"] == "COMMITTED" and story["amount"] == "1.000000" and len(story["history"]) > 2
    made = client.create_transfer(MOVE)
    assert len(made.key) == 32 and made.transfer["cid"] == made.key
    assert with_cid("py-1") == 1
    page = client.transfers(limit=1, from_="FUNDING", state="COMMITTED")
    assert len(page["transfers"]) == 1 and page["next"]


def refusals() -> None:
    poor = faulty.create_transfer({**MOVE, "amount": "999999"}, "poor-py")
    assert (poor.state, poor.code, poor.paid) == ("FAILED", "INSUFFICIENT_BALANCE", False)
    assert tries("poor-py") == 1
    other = raised(Refused, lambda: faulty.create_transfer({**MOVE, "amount": "2"}, "py-1"))
    assert (other.status, other.code, other.mismatched_fields) == (409, "DUPLICATE_REQUEST", ["amount"])
    assert str(other).endswith(": it differs in amount"), other
    assert tries("py-1") == 1
    unfit = raised(Refused, lambda: faulty.create_transfer({**MOVE, "asset": "NONE"}, "unfit-py"))
    assert (unfit.status, unfit.code, tries("unfit-py")) == (400, "INVALID_ASSET", 1)
    assert raised(Refused, lambda: client.transfer("01JFVQ2X8Z0Y1M3N4P5R6S7T8V")).status == 404
    wrong: Any = {**MOVE, "amount": 1.5}
    raised(TypeError, lambda: client.create_transfer(wrong))
    numbered: Any = {**MOVE, "user_id": 9007199254740993}
    raised(TypeError, lambda: service.create_transfer(numbered))


def batch() -> None:
    items: list[NewTransfer] = [
        {**MOVE, "cid": "py-b1"},
        {**MOVE, "cid": "py-b2", "amount": "999999"},
        {**MOVE, "cid": "py-1", "amount": "3"},
        {**MOVE},
    ]
    for replayed in (False, True):
        paid, poor, other, keyless = client.create_transfers(items)
        assert paid.created and paid.created.paid and paid.created.replayed == replayed
        assert poor.created and poor.created.code == "INSUFFICIENT_BALANCE"
        assert isinstance(other.error, Refused) and other.error.code == "DUPLICATE_REQUEST"
        assert keyless.created and keyless.created.transfer["cid"] == keyless.key
    cut = faulty.create_transfers([{**MOVE, "cid": "cut-py-b"}, {**MOVE, "cid": "cut-py-c"}])
    assert all(one.created and one.created.replayed for one in cut) and tries("cut-py-b") == 2
    assert with_cid("cut-py-b") == with_cid("cut-py-c") == 1
    down = Client(FAULTS, TOKEN, deadline=0.5).create_transfers([{**MOVE, "cid": "down-py-b"}])
    assert isinstance(down[0].error, UnknownOutcome) and down[0].error.key == "down-py-b"


def big_user() -> None:
    made = service.create_transfer({**MOVE, "user_id": "9007199254740993"}, "big-py")
    assert made.paid, made
    assert service.transfer(made.transfer["req_id"])["state"] == "COMMITTED"


def unknown_outcomes() -> None:
    cut = faulty.create_transfer(MOVE, "cut-py")
    assert cut.paid and cut.replayed and tries("cut-py") == 2 and with_cid("cut-py") == 1
    assert faulty.create_transfer(MOVE, "page-py").paid and tries("page-py") == 2
    begin = time.monotonic()
    assert faulty.create_transfer(MOVE, "busy-py").paid and tries("busy-py") == 2
    assert time.monotonic() - begin >= 1
    short = Client(FAULTS, TOKEN, deadline=1)
    down = raised(UnknownOutcome, lambda: short.create_transfer(MOVE, "down-py"))
    assert down.key == "down-py" and tries("down-py") > 1
    gone = raised(UnknownOutcome, lambda: faulty.create_transfer(MOVE, "gone-py"))
    assert gone.__cause__.code == "UNAUTHORIZED" and tries("gone-py") == 2
    tokens = iter([TOKEN])
    spent = Client(FAULTS, lambda: next(tokens), deadline=5)
    assert raised(UnknownOutcome, lambda: spent.create_transfer(MOVE, "down-py-2")).key == "down-py-2"
    halted = raised(Refused, lambda: faulty.create_transfer(MOVE, "halt-py"))
    assert halted.code == "HALTED" and tries("halt-py") == 1
    nowhere = Client("http://127.0.0.1:65533", TOKEN, deadline=0.5)
    raised(Unreachable, lambda: nowhere.create_transfer(MOVE))


def other_flows() -> None:
    opened = faulty.create_account_transfer(
        {"fromAccountNumber": "ACC-1", "toAccountNumber": "ACC-2", "amount": "2", "currency": "USDT"}, "cut-py-a"
    )
    assert opened.replayed and tries("cut-py-a") == 2
    assert client.wait_account_transfer(opened.transfer["transferId"])["status"] == "COMPLETED"
    listed = client.account_transfers(limit=100)["transfers"]
    assert sum(one["transferId"] == opened.transfer["transferId"] for one in listed) == 1
    relay = faulty.create_relay_transfer({"receiver_id": "alice.near", "amount": "1000000"}, "busy-py-r")
    assert relay.state == "RECEIVED" and relay.transfer["transfer_id"] == relay.key and tries(relay.key) == 2


def webhook() -> None:
    secret, other = ("whsec_" + base64.b64encode(one * 32).decode() for one in (b"a", b"b"))
    body, at = b'{"type":"transfer.completed","timestamp":"t","data":{"state":"COMMITTED"}}', int(time.time())

    def headers(at: int, key: bytes = b"a") -> dict[str, str]:
        digest = hmac.new(key * 32, b"msg_1.%d." % at + body, hashlib.sha256).digest()
        signed = "v1," + base64.b64encode(digest).decode()
        return {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(at), "Webhook-Signature": f"v1,AAAA v1a,x {signed}"}

    assert verify_webhook(secret, headers(at), body)["data"]["state"] == "COMMITTED"
    assert verify_webhook([other, secret], headers(at), body)["type"] == "transfer.completed"
    raised(WebhookRefused, lambda: verify_webhook(other, headers(at), body))
    raised(WebhookRefused, lambda: verify_webhook(secret, headers(at), body + b" "))
    raised(WebhookRefused, lambda: verify_webhook(secret, headers(at - 301), body))
    raised(WebhookRefused, lambda: verify_webhook(secret, headers(at + 310), body))
    raised(WebhookRefused, lambda: verify_webhook(secret, {}, body))
    for unfit in ("", "whsec_", "whsec_A", "whsec_-"):
        raised(ValueError, lambda: verify_webhook(unfit, headers(at), body))
    with urllib.request.urlopen(f"{FAULTS}/hook") as answer:
        sent = json.load(answer)
    assert verify_webhook(SECRET, sent["headers"], sent["body"].encode())["type"] == "webhook.test"
    raised(WebhookRefused, lambda: verify_webhook(secret, sent["headers"], sent["body"].encode()))


for check in (create_repeat_wait, refusals, batch, big_user, unknown_outcomes, other_flows, webhook):
    check()
    print("ok python", check.__name__)
