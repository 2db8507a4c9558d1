"""A server that fails on purpose, between a client and Portage.

It forwards every request, then does what the key of the request asks for: a key that begins with `cut-`
has its connection closed without an answer at the first try, after the request had its effect. Keys
`down-`, `busy-`, `page-` and `halt-` are answered here, as is `GET /tries/KEY`, the number of tries of a key.
It also takes the server's webhooks at `/hook`; `GET /hook` waits for the first of them and shows it.
"""

import http.client
import json
import sys
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TRIES: Counter[str] = Counter()
MESSAGES: list[object] = []
UNKNOWN = {"error": "The outcome is not known", "code": "SYSTEM_ERROR", "request_id": "R", "outcome": "unknown"}
BUSY = {"error": "Too much at once", "code": "OVERLOADED", "request_id": "R"}
HALTED = {"error": "No money moves", "code": "HALTED", "request_id": "R"}


class Faults(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.startswith("/tries/"):
            return self.answer(200, {"tries": TRIES[self.path.removeprefix("/tries/")]})
        if self.path == "/hook":
            for _ in range(300):
                if MESSAGES:
                    return self.answer(200, MESSAGES[0])
                time.sleep(0.1)
        self.forward(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.path == "/hook":
            MESSAGES.append({"headers": dict(self.headers), "body": body.decode()})
            return self.answer(200, {})
        given = json.loads(body)
        key = self.headers.get("idempotency-key") or given["transfers"][0]["cid"]
        TRIES[key] += 1
        kind, first = key.split("-")[0], TRIES[key] == 1
        if kind == "down":
            self.answer(500, UNKNOWN)
        elif kind == "halt":
            self.answer(503, HALTED)
        elif kind == "busy" and first:
            self.answer(503, BUSY, {"retry-after": "1"})
        elif kind == "page" and first:
            self.answer(502, None)
        elif kind == "gone":  # the first try is unknown; the second is refused
            self.answer(500, UNKNOWN) if first else self.answer(401, {**BUSY, "code": "UNAUTHORIZED"})
        elif self.path == "/transfer":
            paid = {"transfer_id": key, "status": "RECEIVED", "created_at": "2026-11-29T00:00:00.000Z", **given}
            self.answer(201 if TRIES[key] < 3 else 200, paid)
        else:
            self.forward(body, cut=kind == "cut" and first)

    def forward(self, body: bytes, cut: bool = False) -> None:
        upstream = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
        kept = ("authorization", "content-type", "idempotency-key")
        headers = {name: value for name, value in self.headers.items() if name.lower() in kept}
        upstream.request(self.command, self.path, body or None, headers)
        response = upstream.getresponse()
        content = response.read()
        upstream.close()
        if cut:
            self.close_connection = True
            return
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() in ("content-type", "idempotency-replayed", "retry-after"):
                self.send_header(name, value)
        self.finish_with(content)

    def answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.finish_with(b"<html>bad gateway</html>" if body is None else json.dumps(body).encode())

    def finish_with(self, content: bytes) -> None:
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Faults)
    print(server.server_address[1], flush=True)
    server.serve_forever()
