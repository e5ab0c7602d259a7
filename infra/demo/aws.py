"""AWS on this machine: moto, as a process of its own that serves one request after the other.

moto's own server takes a thread for each request, and moto's transactions lose writes between threads.
"""

from __future__ import annotations

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import BaseWSGIServer, make_server

from infra.demo.reports import Reports


class QuietHandler(MotoRequestHandler):
    """Serves, and says nothing about it."""

    def log(self, type: str, message: str, *arguments: object) -> None:
        pass


def server(port: int = 0) -> BaseWSGIServer:
    """DynamoDB, SQS and the rest on 127.0.0.1, at a free port by default. Poll without waiting: a wait blocks all."""
    application = DomainDispatcherApplication(create_backend_app)
    return make_server("127.0.0.1", port, application, threaded=False, request_handler=QuietHandler)


def main() -> None:
    serving = server()
    Reports.open().ready(f"http://127.0.0.1:{serving.server_port}")
    serving.serve_forever()


if __name__ == "__main__":
    main()
