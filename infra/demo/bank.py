"""The banks: a process that serves HTTP, keeps books in SQLite, and answers badly on purpose.

    POST   /debits, /credits     {account, amount, reference, reverses?}  201 {id}
    GET    /bookings?key=        200 {bookings: [id]}
    POST   /notices, /entries    {account, reference, ...}                201 {}
    DELETE /notices/key, /entries/key                                     200 {}
    4xx {reason}: declined, and declined again when asked again. 5xx, or no answer: booked or not, who knows.

Each POST carries an Idempotency-Key: the same key gets the same answer and books nothing more.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

from infra.demo.behaviour import Operation, misbehaviour, operation, refusal
from infra.demo.ledger import Ledger
from infra.demo.processes import Reports
from infra.demo.scenario import Fault, How, Scenario, cents

HANG = 1.3  # seconds: more than the transfers' client waits


@dataclass(frozen=True, slots=True)
class Request:
    operation: Operation
    key: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and its value; a status of None is the answer that never comes."""

    status: int | None
    value: Mapping[str, Any]


FAILURE = Answer(500, {"reason": "the bank's system is not available"})
SILENCE = Answer(None, {})


class Banks:
    """What the banks do with a request, once it is understood."""

    def __init__(self, scenario: Scenario, ledger: Ledger) -> None:
        self._scenario = scenario
        self._ledger = ledger
        self._turn = Lock()

    def ask(self, request: Request) -> Answer:
        with self._turn, self._ledger:
            call = self._ledger.count_call(f"{request.operation} {request.key}")
            fault = self._fault(request, call)
            if fault and fault.how is How.FAILS_BEFORE:
                return FAILURE
            answer = self._answer(request)
        if fault is None:
            return answer
        return FAILURE if fault.how is How.FAILS_AFTER else SILENCE

    def _fault(self, request: Request, call: int) -> Fault | None:
        account = self._scenario.accounts.get(request.body.get("account", ""))
        return misbehaviour(account, request.operation, call) if account else None

    def _answer(self, request: Request) -> Answer:
        match request.operation:
            case Operation.INQUIRY:
                return Answer(200, {"bookings": [str(booking) for booking in self._ledger.find(request.key)]})
            case Operation.WITHDRAWAL | Operation.STRIKE:
                self._ledger.void(request.key)
                return Answer(200, {})
            case _:
                return self._answer_once(request)

    def _answer_once(self, request: Request) -> Answer:
        asked = json.dumps([request.operation, request.body], sort_keys=True)
        if known := self._ledger.answer(request.key):
            status, earlier, value = known
            if earlier != asked:
                return Answer(422, {"reason": f"key {request.key} was used for another request"})
            return Answer(status, json.loads(value))
        answer = self._carry_out(request)
        self._ledger.keep_answer(request.key, answer.status or 500, asked, json.dumps(answer.value))
        return answer

    def _carry_out(self, request: Request) -> Answer:
        body = request.body
        account = self._scenario.accounts.get(body["account"])
        if account is None:
            return Answer(404, {"reason": f"no bank has an account {body['account']}"})
        amount = cents(body.get("amount", "0"))
        if reason := refusal(account, request.operation, amount):
            return Answer(403, {"reason": reason})
        if request.operation in (Operation.NOTICE, Operation.ENTRY):
            self._ledger.file(request.key, request.operation, body["reference"])
            return Answer(201, {})
        kind = request.operation.removesuffix("-back")
        reverses = int(body["reverses"]) if "reverses" in body else None
        booking = self._ledger.book(request.key, body["reference"], kind, account.number, amount, reverses)
        return Answer(201, {"id": str(booking)})


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        answer = self._ask()
        if answer.status is None:
            time.sleep(HANG)
            return
        content = json.dumps(answer.value).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _ask(self) -> Answer:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        asked = operation(self.command, self.path, reverses="reverses" in body)
        if asked is None:
            return Answer(404, {"reason": f"no bank answers to {self.command} {self.path}"})
        url = urlsplit(self.path)
        named = parse_qs(url.query).get("key") or [url.path.rpartition("/")[2]]
        key = self.headers["Idempotency-Key"] if self.command == "POST" else named[0]
        if not key:
            return Answer(400, {"reason": "an Idempotency-Key is missing"})
        return self.server.banks.ask(Request(asked, key, body))

    def log_message(self, format: str, *arguments: object) -> None:
        pass  # the demo shows what the workers see


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, banks: Banks) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.banks = banks

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a worker that was killed does not listen any more


def main(path: Path) -> None:
    ledger = Ledger(path)
    scenario = Scenario.load()
    ledger.found(scenario.accounts.values())
    server = Server(Banks(scenario, ledger))
    Reports.open().ready(f"http://127.0.0.1:{server.server_port}")
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
