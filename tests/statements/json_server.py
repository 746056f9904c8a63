"""A small HTTP server that gives the answers of a table, in place of Kafka Connect or a schema registry."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class JsonServer:
    """Serves ``answers``: "METHOD /path?query" -> (status, JSON); anything else is 404. A context.

    ``requests`` has what was asked: (the key, the JSON that was sent), ``headers`` the headers of each.
    """

    def __init__(self, answers: Mapping[str, tuple[int, Any]]) -> None:
        self.requests: list[tuple[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        requests, headers = self.requests, self.headers

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                sent = json.loads(self.rfile.read(length)) if length else None
                request_line = f"{self.command} {self.path}"
                requests.append((request_line, sent))
                headers.append(dict(self.headers))
                status, body = answers.get(request_line, (404, {"error_code": 404, "message": "not found"}))
                data = b"" if body is None else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = do_PUT = _answer

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> JsonServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
