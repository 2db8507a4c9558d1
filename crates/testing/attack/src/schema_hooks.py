"""Gives schemathesis something to ask about: what no description can draw.

Only requests that are meant to be good are changed, and only in what must name something that is
there: a case, an approval, a transfer that stands, a pause, money. It is made through the API, by the
roles that may.
"""
import base64
import json
import os
import urllib.error
import urllib.request

import schemathesis

SEEDS = json.loads(os.environ["ATTACK_SEEDS"])
V1 = "/api/v1"
MADE = {"count": 0, "open": None, "asset": None}
# any cursor that is not of a page before is refused
NOWHERE = ("cursor", "seal", "state", "asset", "from", "to", "subject")
CODES = ("BAD_REQUEST", "INVALID_AMOUNT", "NOT_FOUND", "SYSTEM_ERROR")


def call(role, method, path, body=None):
    """What the server answers this role, and its status; nothing where there is no such role."""
    token = SEEDS["tokens"].get(role)
    if not token:
        return 0, {}
    data = None if body is None else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    request = urllib.request.Request(SEEDS["url"] + V1 + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, json.loads(reply.read() or b"{}")
    except urllib.error.HTTPError as fault:
        return fault.code, {}
    except (OSError, ValueError):
        return 0, {}


def fresh():
    MADE["count"] += 1
    return f"seed-{os.getpid()}-{MADE['count']}"


def open_transfers():
    """Transfers to a ledger that is silent: they stand until somebody ends them."""
    if MADE["open"] is None:
        body = {"from": "FUNDING", "to": "FUTURE", "amount": "1"}
        made = [opened("/internal_transfer", body) for _ in range(20)]
        MADE["open"] = [id for id in made if id]
    return MADE["open"]


def opened(path, body):
    """The id of a transfer that the user makes; what an earlier request froze is freed first."""
    for again in (False, True):
        if again:
            free()
        status, made = call("user", "POST", path, {**body, "asset": "USDT", "cid": fresh()})
        if status in (200, 202):
            return made["req_id"]
    return None


def free():
    """The user's accounts and the asset, as they were, and some money."""
    claims = SEEDS["tokens"]["user"].split(".")[1]
    user = json.loads(base64.urlsafe_b64decode(claims + "=="))["sub"]
    active = {"status": "ACTIVE", "reason": "seed"}
    for pause in call("read", "GET", "/ops/pauses")[1].get("pauses", []):
        if pause["kind"] != "account":
            call("act", "DELETE", f"/ops/pauses/{pause['id']}", {"reason": "seed"})
    for account in ("FUNDING", "SPOT", "FUTURE"):
        call("act", "POST", f"/ops/accounts/{user}/{account}/status", active)
    deposit(int(user), "100")


def deposit(user, amount):
    """Outside money, in an asset that somebody may have stopped."""
    active = {"status": "ACTIVE", "internal_transfer_enabled": True, "reason": "seed"}
    call("act", "PATCH", "/ops/assets/USDT", active)
    given = {"user_id": user, "asset": "USDT", "amount": amount, "ref": fresh()}
    call("act", "POST", "/ops/deposits", {**given, "reason": "seed"})


def a_transfer():
    return opened("/internal_transfer", {"from": "FUNDING", "to": "SPOT", "amount": "0.01"})


def a_second_transfer():
    """In the spelling of the other route."""
    return opened("/transfer", {"from": "funding", "to": "trading", "amount": "0.01"})


def a_code():
    MADE["count"] += 1
    return CODES[MADE["count"] % len(CODES)]


def an_asset():
    """One of our own, which nobody else needs."""
    if MADE["asset"] is None:
        body = {"symbol": f"A{os.getpid()}", "precision": 6, "reason": "seed"}
        if call("act", "POST", "/ops/assets", body)[0] in (200, 201):
            MADE["asset"] = body["symbol"]
    return MADE["asset"]


def a_user():
    """Somebody with money in Funding."""
    user = 700000 + MADE["count"]
    deposit(user, "5")
    return user


def one_open():
    ids = open_transfers()
    MADE["count"] += 1
    return ids[MADE["count"] % len(ids)] if ids else None


def a_case():
    cases = call("read", "GET", "/cases")[1].get("cases", [])
    return cases[MADE["count"] % len(cases)].get("id") if cases else None


def a_verdict():
    """A proposal that another person may refuse."""
    where = f"/ops/transfers/{one_open()}/resolve"
    body = {"answer": "rejected", "evidence": {"seed": fresh()}, "reason": "seed"}
    return call("act", "POST", where, body)[1].get("approval_id")


def proposed_resume():
    body = {"reason": "seed", "accept": []}
    return call("act", "POST", "/ops/resume", body)[1].get("approval_id")


def a_resume():
    """A proposal that another person may approve, and that takes effect."""
    call("act", "POST", "/ops/halt", {"reason": "seed"})
    return proposed_resume()


def halted():
    """Whether no money moves, for whatever was asked for before, in this run or in the one before it."""
    try:
        with urllib.request.urlopen(SEEDS["url"] + "/health", timeout=30):
            return False
    except urllib.error.HTTPError as fault:
        return fault.code == 503
    except OSError:
        return False


def lift():
    """Two persons let money move again: a server that is halted answers 503, as it must."""
    approval = proposed_resume()
    if approval:
        call("approve", "POST", f"/ops/approvals/{approval}/approve", {"reason": "seed"})


def a_pause():
    MADE["count"] += 1
    body = {"kind": "account", "name": f"{900000 + MADE['count']}/SPOT", "reason": "seed"}
    return call("act", "POST", "/ops/pauses", body)[1].get("pause_id")


def held():
    id = one_open()
    if id:
        call("act", "POST", f"/ops/transfers/{id}/pause", {"reason": "seed"})
    return id


# what a path names, where it is not any text: it stands between the braces
NAMED = {
    f"GET {V1}/internal_transfer/{{req_id}}": a_transfer,
    f"GET {V1}/transfer/{{req_id}}": a_second_transfer,
    f"PATCH {V1}/ops/assets/{{symbol}}": an_asset,
    "GET /docs/errors/{code}": a_code,
    f"GET {V1}/cases/{{id}}": a_case,
    f"POST {V1}/cases/{{id}}/assign": a_case,
    f"POST {V1}/cases/{{id}}/comment": a_case,
    f"POST {V1}/ops/approvals/{{id}}/approve": a_resume,
    f"POST {V1}/ops/approvals/{{id}}/reject": a_verdict,
    f"DELETE {V1}/ops/pauses/{{id}}": a_pause,
    f"GET {V1}/transfers/{{id}}": one_open,
    f"POST {V1}/ops/transfers/{{id}}/ask": one_open,
    f"POST {V1}/ops/transfers/{{id}}/pause": one_open,
    f"POST {V1}/ops/transfers/{{id}}/resolve": one_open,
    f"POST {V1}/ops/transfers/{{id}}/resume": held,
    f"POST {V1}/ops/transfers/{{id}}/retry": one_open,
}


def money(case, label):
    """Money that is there, in what must name some."""
    body = case.body
    if not isinstance(body, dict):
        return
    if label == f"POST {V1}/transfer":
        body.update({"from": "funding", "to": "trading", "asset": "USDT", "amount": "0.01"})
        body.pop("cid", None)
        body.pop("user_id", None)
    elif label == f"POST {V1}/internal_transfer":
        body.update({"from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "0.01"})
        body.update({"cid": fresh()})
        body.pop("user_id", None)
        (case.headers or {}).pop("Idempotency-Key", None)
    elif label == f"POST {V1}/ops/withdrawals":
        body.update({"user_id": a_user(), "asset": "USDT", "amount": "1", "ref": fresh()})
    elif label == f"POST {V1}/ops/transfers/{{id}}/resolve":
        body.update({"answer": "rejected"})
    elif label == f"POST {V1}/ops/transfers/{{action}}" and open_transfers():
        case.path_parameters["action"] = "retry"
        body.update({"ids": open_transfers()[:3]})
    elif label == f"POST {V1}/ops/resume":
        call("act", "POST", "/ops/halt", {"reason": "seed"})
        body.update({"accept": []})
    elif label == f"POST {V1}/internal_transfers":
        one = {"from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "0.01"}
        body.update({"transfers": [{**one, "cid": fresh()} for _ in range(1 + MADE["count"] % 5)]})
    elif label == f"POST {V1}/ops/assets":
        for limit in ("min_transfer_amount", "max_transfer_amount", "daily_amount", "asset_id"):
            body.pop(limit, None)
        MADE["count"] += 1
        body.update({"symbol": f"S{os.getpid()}N{MADE['count']}", "precision": 6})
    elif label == f"PATCH {V1}/ops/assets/{{symbol}}":
        if not body.get("status"):
            body["status"] = "ACTIVE"
        for limit in ("min_transfer_amount", "max_transfer_amount", "daily_amount"):
            if body.get(limit) is not None:
                body[limit] = "1000"
    elif label == f"POST {V1}/ops/deposits":
        user = 700000 + MADE["count"]
        body.update({"user_id": user, "asset": "USDT", "amount": "5", "ref": fresh()})
    elif label == f"POST {V1}/ops/pauses":
        MADE["count"] += 1
        body.update({"kind": "account", "name": f"{950000 + MADE['count']}/SPOT"})
    elif label == f"POST {V1}/ops/accounts/{{user}}/{{type}}/status":
        case.path_parameters.update({"user": str(a_user()), "type": "FUNDING"})


def meant_well(case):
    meta = getattr(case, "meta", None)
    mode = getattr(getattr(meta, "generation", None), "mode", None)
    return mode is not None and mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    label = case.operation.label
    if halted():
        lift()
    if not meant_well(case):
        return
    make = NAMED.get(label)
    made = make() if make else None
    if made is not None and case.path_parameters:
        name = label[label.index("{") + 1 : label.index("}")]
        case.path_parameters[name] = made
    # a key that was used for something else would only be told so
    for header in [header for header in case.headers or {} if header.lower() == "idempotency-key"]:
        case.headers[header] = fresh()
    for parameter in [parameter for parameter in case.query or {} if parameter in NOWHERE]:
        del case.query[parameter]
    money(case, label)
