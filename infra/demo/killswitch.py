"""Lets a worker die at the points of the plan: by SIGKILL, in the middle of what the deployed handlers do.

It watches from outside: the requests to the banks through urllib's own processors, the sends through botocore's events.
"""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

from botocore import handlers

from infra.demo.behaviour import FORWARD, operation
from infra.demo.kills import Kind, Moment, Point, sends
from infra.demo.processes import Reports


class KillSwitch(urllib.request.BaseHandler):
    """Kills this process once for each point, whichever worker comes to it first."""

    def __init__(self, points: Iterable[Point], directory: Path, reports: Reports) -> None:
        self._points = set(points)
        self._directory = directory  # shared by the workers: a file for each point that has been used up
        self._reports = reports
        self._transfer = ""

    def install(self) -> None:
        """Watch every request and every send of this process. Before the first AWS client is made."""
        urllib.request.install_opener(urllib.request.build_opener(self))
        handlers.BUILTIN_HANDLERS.append(("before-call.sqs.SendMessage", self._sending))

    def delivered(self, transfer: str) -> None:
        """The execution of this transfer is about to be advanced."""
        self._transfer = transfer

    def http_request(self, request: urllib.request.Request) -> urllib.request.Request:
        self._asking(request, Moment.BEFORE)
        return request

    def http_response(self, request: urllib.request.Request, response: HTTPResponse) -> HTTPResponse:
        self._asking(request, Moment.AFTER)
        return response

    def _asking(self, request: urllib.request.Request, moment: Moment) -> None:
        body = json.loads(request.data) if isinstance(request.data, bytes) else {}
        asked = operation(request.get_method(), request.selector, reverses="reverses" in body)
        if asked is not None:
            kind = Kind.BODY if asked in FORWARD else Kind.ROLLBACK
            point = Point(kind, self._transfer, asked, moment)
            if point in self._points:
                self._die_at(point)

    def _sending(self, params: Mapping[str, Any], **_: object) -> None:
        message = json.loads(json.loads(params["body"])["MessageBody"])
        for point in self._points:
            if sends(point, message.get("execution", ""), message.get("revision", 0)):
                self._die_at(point)

    def _die_at(self, point: Point) -> None:
        try:
            (self._directory / f"{point}".replace(" ", "-")).touch(exist_ok=False)
        except FileExistsError:
            return  # it was killed here before; this is the attempt after
        self._reports.send("kill", asdict(point) | {"at": time.time()})
        os.kill(os.getpid(), signal.SIGKILL)
