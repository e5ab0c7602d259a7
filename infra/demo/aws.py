"""AWS on this machine: moto, as a process of its own that does one request after the other.

moto's own server takes a thread for each connection, and its transactions lose writes between threads. Here one thread
serves them all, over connections that stay open. Poll without waiting: a wait would block everybody.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from infra.demo.processes import Reports

Application = Callable[[dict[str, Any], Callable[..., Any]], Any]
Connection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def connection(application: Application) -> Connection:
    """Serves a WSGI application over one connection, as often as it is asked."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                environ = _environ(head.decode("latin-1"))
                if "HTTP_EXPECT" in environ:
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                environ["wsgi.input"] = io.BytesIO(await reader.readexactly(int(environ["CONTENT_LENGTH"])))
                writer.write(_answer(application, environ))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # whoever asked has gone, or was killed
        finally:
            writer.close()

    return serve


def _environ(head: str) -> dict[str, Any]:
    """A request's head as WSGI has it."""
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ")
    path, _, query = target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_LENGTH": "0",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for line in filter(None, lines):
        name, _, value = line.partition(":")
        key = name.upper().replace("-", "_")
        environ[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value.strip()
    return environ


def _answer(application: Application, environ: dict[str, Any]) -> bytes:
    """The whole answer, head and body."""
    head: list[str] = []

    def start_response(status: str, headers: list[tuple[str, str]], *_: object) -> None:
        kept = [f"{name}: {value}" for name, value in headers if name.lower() != "content-length"]
        head[:] = [f"HTTP/1.1 {status}", *kept]

    try:
        body = b"".join(application(environ, start_response))
    except Exception as error:
        print(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}: {error!r}", file=sys.stderr, flush=True)
        head[:], body = [f"HTTP/1.1 500 {HTTPStatus(500).phrase}"], b""
    return "\r\n".join([*head, f"content-length: {len(body)}", "", ""]).encode("latin-1") + body


async def serve(reports: Reports) -> None:
    application = DomainDispatcherApplication(create_backend_app)
    server = await asyncio.start_server(connection(application), "127.0.0.1", 0)
    reports.ready(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(Reports.open()))
