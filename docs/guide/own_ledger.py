"""A ledger of your own behind Portage: the full form of its contract, on SQLite (see own-ledger.md).

LEDGER_TOKEN=... python3 own_ledger.py ledger.db 3200        (Python 3.10 or later, nothing else)
"""
import hmac, json, os, re, secrets, sqlite3, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

ASSETS, TOKEN, LOCK = {"BTC": 8, "ETH": 8, "USDT": 6}, os.environ["LEDGER_TOKEN"], threading.Lock()
DB = sqlite3.connect(sys.argv[1], isolation_level=None, check_same_thread=False)
DB.row_factory = sqlite3.Row
DB.executescript("""
    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS me (ledger TEXT, incarnation TEXT, horizon TEXT);
    CREATE TABLE IF NOT EXISTS halts (number INTEGER PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS open (req_id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS operations (seq INTEGER PRIMARY KEY, req_id TEXT, leg TEXT,
        error TEXT, user_id INTEGER, asset TEXT, amount TEXT, UNIQUE (req_id, leg));
    CREATE TABLE IF NOT EXISTS accounts (user_id INTEGER PRIMARY KEY, status TEXT);
    CREATE TABLE IF NOT EXISTS balances (user_id INTEGER, asset TEXT, available TEXT,
        PRIMARY KEY (user_id, asset));
    CREATE TABLE IF NOT EXISTS changes (key TEXT PRIMARY KEY, user_id INTEGER, status TEXT);
""")

def one(sql, *values):
    return DB.execute(sql, values).fetchone()

if not one("SELECT 1 FROM me"):
    DB.execute("INSERT INTO me VALUES (?, '', '')", [secrets.token_hex(16)])
DB.execute("UPDATE me SET incarnation = ?", [secrets.token_hex(16)])  # another one at each start

def told(row):
    item = {name: row[name] for name in row.keys() if row[name] is not None}
    if "user_id" in item:
        item["user_id"] = str(item["user_id"])  # in JSON a large integer loses digits
    return item if "error" in item else {**item, "success": True}

def stored(req_id, leg):
    row = one("SELECT * FROM operations WHERE req_id = ? AND leg = ?", req_id, leg)
    return row and told(row)

def terms(op):
    return [op.get(name) for name in ("user_id", "asset", "amount")]

def keep(op, error=None):
    DB.execute("INSERT INTO operations (req_id, leg, error, user_id, asset, amount)"
               " VALUES (?, ?, ?, ?, ?, ?)", [op["req_id"], op["leg"], error, *terms(op)])
    return stored(op["req_id"], op["leg"])

def forgotten(req_id):
    return (req_id <= one("SELECT horizon FROM me")["horizon"]
            and not one("SELECT 1 FROM open WHERE req_id = ?", req_id))

def execute(op):
    unknown = lambda why: {"req_id": op["req_id"], "leg": op["leg"], "unknown": why}
    leg, (user, asset, amount) = op["leg"], terms(op)
    if (leg not in ("WITHDRAW", "DEPOSIT", "REFUND")
            or not all(re.fullmatch("[1-9][0-9]*", digits) for digits in (user, amount))):
        return unknown("BAD_OPERATION")
    if forgotten(op["req_id"]):
        return unknown("BELOW_HORIZON")
    if before := stored(op["req_id"], leg):  # a repeat: what was answered then, refusals too
        same = before.get("error") == "FENCED" or terms(before) == terms(op)
        return before if same else unknown("CONTRADICTION")
    if leg != "REFUND" and asset not in ASSETS:
        return keep(op, "INVALID_ASSET")
    account = one("SELECT status FROM accounts WHERE user_id = ?", user)
    has = one("SELECT available FROM balances WHERE user_id = ? AND asset = ?", user, asset)
    after = int(has["available"] if has else 0) + int(amount) * (-1 if leg == "WITHDRAW" else 1)
    if leg == "REFUND":
        withdraw = stored(op["req_id"], "WITHDRAW")
        if not withdraw or "error" in withdraw or terms(withdraw) != terms(op):
            return unknown("CONTRADICTION")
    elif leg == "WITHDRAW" and not account:
        return keep(op, "SOURCE_ACCOUNT_NOT_FOUND")
    elif account and account["status"] == "DISABLED":
        return keep(op, "ACCOUNT_DISABLED")
    elif leg == "WITHDRAW" and account["status"] == "FROZEN":
        return keep(op, "ACCOUNT_FROZEN")
    elif after < 0:
        return keep(op, "INSUFFICIENT_BALANCE")
    DB.execute("INSERT OR IGNORE INTO accounts VALUES (?, 'ACTIVE')", [user])
    DB.execute("INSERT OR REPLACE INTO balances VALUES (?, ?, ?)", [user, asset, str(after)])
    return keep(op)

def totals(seq):
    sums = {asset: [0, 0] for asset in ASSETS}
    for row in DB.execute("SELECT asset, available FROM balances"):
        sums[row["asset"]][0] += int(row["available"])
    for row in DB.execute("SELECT asset, leg, amount FROM operations WHERE error IS NULL"):
        sums[row["asset"]][1] += int(row["amount"]) * (1 if row["leg"] == "WITHDRAW" else -1)
    return [{"asset": asset, "users": str(users), "frozen": "0", "clearing": str(clearing),
             "world": "0", "seq": seq} for asset, (users, clearing) in sums.items()]

def balances(where, *values):
    rows = DB.execute("SELECT user_id, asset, available, '0' AS frozen, status FROM balances"
                      f" JOIN accounts USING (user_id) WHERE {where}", values)
    return [{**dict(row), "user_id": str(row["user_id"])} for row in rows]

def set_status(user, status, key):
    said = {"status": status, "user_id": str(user), "key": key}
    if before := one("SELECT user_id, status FROM changes WHERE key = ?", key):
        same = tuple(before) == (user, status)
        return (200, said) if same else (503, {"unknown": "CONTRADICTION"})
    if not DB.execute("UPDATE accounts SET status = ? WHERE user_id = ?", [status, user]).rowcount:
        return 404, {"error": "ACCOUNT_NOT_FOUND"}
    DB.execute("INSERT INTO changes VALUES (?, ?, ?)", [key, user, status])
    return 200, said

def raise_horizon(to, still_open):
    old, was_open = one("SELECT horizon FROM me")["horizon"], DB.execute("SELECT req_id FROM open")
    was_open = {row["req_id"] for row in was_open}
    if to >= old:  # it only rises, and what was forgotten once stays so
        DB.execute("UPDATE me SET horizon = ?", [to])
        DB.execute("DELETE FROM open")
        DB.executemany("INSERT OR IGNORE INTO open VALUES (?)", [
            [id] for id in still_open if id <= to and (id > old or id in was_open)])
    return 200, {}

def last_halt():
    return one("SELECT coalesce(max(number), 0) AS number FROM halts")["number"]

def who():
    return dict(one("SELECT ledger, incarnation,"
                    " (SELECT coalesce(max(seq), 0) FROM operations) AS highest FROM me"))

def route(method, path, asked, halt):
    me = who()
    if method == "POST" or "ledger" in asked:  # a request that names another ledger does nothing
        if ((asked["ledger"], asked["incarnation"]) != (me["ledger"], me["incarnation"])
                or int(asked["min_seq"]) > me["highest"]):
            return 409, {"error": "WRONG_LEDGER"}
    match method, *path:
        case "GET", "hello":  # the decimals are compared: amounts are in base units
            return 200, {"assets": [{"asset": a, "decimals": d} for a, d in ASSETS.items()]}
        case "POST", "halt":
            DB.execute("INSERT OR IGNORE INTO halts VALUES (?)", [asked["halt"]])
            return 200, {"halt": last_halt()}
        case "POST", "operations" if halt < last_halt():  # its sender does not know of the HALT
            return 409, {"error": "STALE_HALT", "halt": last_halt()}
        case "POST", "operations":
            return 200, {"results": [execute(op) for op in asked["operations"]]}
        case "GET", "operations":
            after, limit = int(asked["after"]), min(int(asked["limit"]), 1000)
            rows = DB.execute("SELECT * FROM operations WHERE seq > ? ORDER BY seq LIMIT ?",
                              [after, limit])
            return 200, {"after": after, "operations": [told(row) for row in rows]}
        case "GET", "operations", req_id, leg:
            found = stored(req_id, leg)
            if not found and forgotten(req_id):
                return 503, {"unknown": "BELOW_HORIZON"}
            absent = {"error": "NOT_FOUND", "req_id": req_id, "leg": leg}
            return (200, found) if found else (404, absent)
        case "POST", "fences" if asked["leg"] in ("WITHDRAW", "DEPOSIT"):
            if forgotten(asked["req_id"]):
                return 503, {"unknown": "BELOW_HORIZON"}
            key = {"req_id": asked["req_id"], "leg": asked["leg"]}
            found = stored(**key) or keep(key, "FENCED")
            return 200, ({**key, "fenced": True, "seq": found["seq"]}
                         if found.get("error") == "FENCED" else found)
        case "GET", "totals":
            return 200, {"totals": totals(me["highest"])}
        case "GET", "accounts":
            return 200, balances("user_id > ? ORDER BY user_id, asset LIMIT ?",
                                 int(asked["after"]), int(asked["limit"]))
        case "GET", "accounts", user:
            return 200, balances("user_id = ? ORDER BY asset", int(user))
        case "POST", "accounts", user, "status":
            return set_status(int(user), asked["status"], asked["key"])
        case "POST", "horizon":
            return raise_horizon(asked["id"], asked["open"])
    return 404, {"error": "NO_SUCH_ROUTE"}

class Handler(BaseHTTPRequestHandler):
    protocol_version, timeout, wbufsize = "HTTP/1.1", 30, -1

    def answer(self):
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            shown = self.headers.get("Authorization", "").encode()
            if not hmac.compare_digest(shown, f"Bearer {TOKEN}".encode()):
                status, said = 401, {"error": "UNAUTHORIZED"}
            else:
                with LOCK, DB:  # one request at a time, each one transaction
                    DB.execute("BEGIN IMMEDIATE")
                    asked = json.loads(body) if body else dict(parse_qsl(url.query))
                    halt = int(self.headers.get("Portage-Halt", 0))
                    status, said = route(self.command, url.path.strip("/").split("/"), asked, halt)
                    said = said if isinstance(said, list) else {**who(), **said}
        except Exception as fault:  # nothing was kept, so nothing is claimed
            self.log_error("%r", fault)
            status, said = 503, {"unknown": "HINDERED"}
        text = json.dumps(said).encode()  # only here: after the commit
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

    def log_request(self, *_):
        pass

if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    print(f"ledger {who()['ledger']} listens on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
