"""Gives schemathesis something to ask about: what no description can draw.

Only requests that are meant to be good are changed, and only in what must name something that is
there: a case, an approval, a transfer that stands, a pause, money. It is made through the API, by the
roles that may.
"""
import json
import os
import urllib.error
import urllib.request

import schemathesis

SEEDS = json.loads(os.environ["ATTACK_SEEDS"])
V1 = "/api/v1"
MADE = {"count": 0, "open": None}


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
        MADE["open"] = []
        for _ in range(20):
            body = {"from": "FUNDING", "to": "FUTURE", "asset": "USDT", "amount": "1", "cid": fresh()}
            status, made = call("user", "POST", "/internal_transfer", body)
            if status in (200, 202):
                MADE["open"].append(made["req_id"])
    return MADE["open"]


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


IDS = {
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
        user = 700000 + MADE["count"]
        call("act", "PATCH", "/ops/assets/USDT", {"status": "ACTIVE", "reason": "seed"})
        given = {"user_id": user, "asset": "USDT", "amount": "5", "ref": fresh(), "reason": "seed"}
        call("act", "POST", "/ops/deposits", given)
        body.update({"user_id": user, "asset": "USDT", "amount": "1", "ref": fresh()})
    elif label == f"POST {V1}/ops/transfers/{{id}}/resolve":
        body.update({"answer": "rejected"})
    elif label == f"POST {V1}/ops/transfers/{{action}}" and open_transfers():
        case.path_parameters["action"] = "retry"
        body.update({"ids": open_transfers()[:3]})
    elif label == f"POST {V1}/ops/resume":
        call("act", "POST", "/ops/halt", {"reason": "seed"})
        body.update({"accept": []})


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
    make = IDS.get(label)
    made = make() if make else None
    if made is not None and case.path_parameters:
        case.path_parameters["id"] = made
        # a key that was used for another one would only be told so
        for name in [name for name in case.headers or {} if name.lower() == "idempotency-key"]:
            del case.headers[name]
    money(case, label)
