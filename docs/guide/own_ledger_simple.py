"""The simple form of a ledger behind Portage, to learn from; for money take own_ledger.py.

LEDGER_TOKEN=... python3 own_ledger_simple.py ledger.db 3200
"""
import hmac, json, os, sqlite3, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN, LOCK = os.environ["LEDGER_TOKEN"], threading.Lock()
DB = sqlite3.connect(sys.argv[1], isolation_level=None, check_same_thread=False)
DB.executescript("""
    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS operations (req_id TEXT, leg TEXT, terms TEXT, answer TEXT,
        PRIMARY KEY (req_id, leg));
    CREATE TABLE IF NOT EXISTS balances (account TEXT PRIMARY KEY, available TEXT);
""")
UNKNOWN = 503, {}  # nothing was kept, and nothing is claimed

def stored(req_id, leg):
    return DB.execute("SELECT terms, answer FROM operations WHERE req_id = ? AND leg = ?",
                      [req_id, leg]).fetchone()

def named(op, answer):  # what the answer is about: without it a gateway could have given it
    return {"req_id": op["req_id"], "leg": op["leg"], **json.loads(answer)}

def execute(op):
    terms, leg = json.dumps([op["user_id"], op["asset"], op["amount"]]), op["leg"]
    if before := stored(op["req_id"], leg):  # a repeat: what was answered then, refusals too
        return (200, named(op, before[1])) if before[0] == terms else UNKNOWN
    withdrawn = stored(op["req_id"], "WITHDRAW")
    if leg == "REFUND" and withdrawn != (terms, '{"success": true}'):
        return UNKNOWN
    account = f"{op['user_id']}/{op['asset']}"
    has = DB.execute("SELECT available FROM balances WHERE account = ?", [account]).fetchone()
    after = int(has[0] if has else 0) + int(op["amount"]) * (-1 if leg == "WITHDRAW" else 1)
    answer = json.dumps({"error": "INSUFFICIENT_BALANCE"} if after < 0 else {"success": True})
    if after >= 0:
        DB.execute("INSERT OR REPLACE INTO balances VALUES (?, ?)", [account, str(after)])
    DB.execute("INSERT INTO operations VALUES (?, ?, ?, ?)",
               [op["req_id"], leg, terms, answer])
    return 200, named(op, answer)

def query(asked):
    found = stored(asked["req_id"], asked["leg"])
    # "stored": this is of the books, and not of what fails before them
    return (200, {**named(asked, found[1]), "stored": True}) if found else (404, {})

ROUTES = {"/withdraw": execute, "/deposit": execute, "/rollback": execute, "/query": query}

class Handler(BaseHTTPRequestHandler):
    timeout, wbufsize = 30, -1

    def do_POST(self):
        try:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            shown = self.headers.get("Authorization", "").encode()
            if not hmac.compare_digest(shown, f"Bearer {TOKEN}".encode()):
                status, said = 401, {}
            else:
                with LOCK, DB:  # one request at a time, each one transaction
                    DB.execute("BEGIN IMMEDIATE")
                    status, said = ROUTES[self.path](asked)
        except Exception as fault:
            self.log_error("%r", fault)
            status, said = UNKNOWN
        text = json.dumps(said).encode()
        self.send_response(status)  # only here: after the commit
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_request(self, *_):
        pass

if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    print(f"ledger listens on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
