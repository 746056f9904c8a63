"""A Connect cluster over HTTP, held in memory: as much of its REST API as the engine uses."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PLUGINS = [
    {"class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "type": "sink", "version": "4.3.1"},
    {
        "class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "type": "source",
        "version": "4.3.1",
    },
]
SETTINGS = [
    {
        "name": "file",
        "type": "STRING",
        "required": False,
        "default_value": None,
        "importance": "HIGH",
        "documentation": "Source filename.",
        "group": None,
    },
    {
        "name": "batch.size",
        "type": "INT",
        "required": False,
        "default_value": "2000",
        "importance": "LOW",
        "documentation": "The maximum number of records of a batch.",
        "group": None,
    },
]
Answer = tuple[int, Any]


class ConnectServer:
    """A context. What it has may be read and changed by tests.

    Args:
        tls: the server's side of TLS; None: plain HTTP.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        #: what was asked: "METHOD /path" and the JSON that was sent
        self.requests: list[tuple[str, Any]] = []
        #: name -> configuration
        self.connectors: dict[str, dict[str, str]] = {}
        #: name -> states of its tasks, with a trace after a blank where they failed; absent: one that runs
        self.tasks: dict[str, list[str]] = {}
        #: name -> topics it has used
        self.topics: dict[str, list[str]] = {}
        #: answers to the next requests, whatever they are
        self.next_answers: list[Answer] = []
        #: what must be sent as basic authentication
        self.user_info: str | None = None
        #: what POST /connectors answers; None: it creates
        self.refusal: Answer | None = None
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                sent = json.loads(self.rfile.read(length)) if length else None
                url = urlsplit(self.path)
                fake.requests.append((f"{self.command} {url.path}", sent))
                expected = base64.b64encode((fake.user_info or "").encode()).decode()
                if fake.user_info and self.headers.get("Authorization") != f"Basic {expected}":
                    status, body = 401, None
                elif fake.next_answers:
                    status, body = fake.next_answers.pop(0)
                else:
                    parts = [unquote(part) for part in url.path.strip("/").split("/")]
                    status, body = fake.answer(self.command, parts, parse_qs(url.query), sent)
                data = b"" if body is None else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = do_PUT = _answer

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def asked(self, method: str) -> list[tuple[str, Any]]:
        """The requests of a method."""
        return [request for request in self.requests if request[0].startswith(method)]

    def info(self, name: str) -> dict[str, Any]:
        config = self.connectors[name]
        type_ = "sink" if "Sink" in config.get("connector.class", "") else "source"
        tasks = [{"connector": name, "task": number} for number in range(len(self._tasks(name)))]
        return {"name": name, "config": config, "tasks": tasks, "type": type_}

    def status(self, name: str) -> dict[str, Any]:
        tasks = []
        for number, text in enumerate(self._tasks(name)):
            state, _, trace = text.partition(" ")
            tasks.append(
                {"id": number, "state": state, "worker_id": "w:1"} | ({"trace": trace} if trace else {})
            )
        connector = {"state": "RUNNING", "worker_id": "w:1"}
        return {"name": name, "connector": connector, "tasks": tasks, "type": self.info(name)["type"]}

    def _tasks(self, name: str) -> list[str]:
        return self.tasks.get(name, ["RUNNING"])

    def answer(self, method: str, parts: list[str], query: dict[str, list[str]], sent: Any) -> Answer:
        """Status and body of an answer."""
        match method, *parts:
            case "GET", "connectors" if "expand" in query:
                return 200, {n: {"info": self.info(n), "status": self.status(n)} for n in self.connectors}
            case "GET", "connectors":
                return 200, list(self.connectors)
            case "GET", "connector-plugins":
                return 200, PLUGINS
            case "GET", "connector-plugins", name, "config" if any(name in p["class"] for p in PLUGINS):
                return 200, SETTINGS
            case "POST", "connectors":
                if self.refusal is not None:
                    return self.refusal
                if sent["name"] in self.connectors:
                    return 409, _error(409, f"Connector {sent['name']} already exists")
                self.connectors[sent["name"]] = sent["config"]
                return 201, self.info(sent["name"]) | {"tasks": []}
            case _, "connectors", name, *_ if name not in self.connectors:
                return 404, _error(404, f"Connector {name} not found")
            case "DELETE", "connectors", name:
                del self.connectors[name]
                return 204, None
            case "POST", "connectors", name, "restart":
                self.tasks[name] = ["RUNNING" for _ in self._tasks(name)]
                return 202, self.status(name)
            case "GET", "connectors", name:
                return 200, self.info(name)
            case "GET", "connectors", name, "status":
                return 200, self.status(name)
            case "GET", "connectors", name, "topics":
                return 200, {name: {"topics": self.topics.get(name, [])}}
        return 404, _error(404, "HTTP 404 Not Found")

    def __enter__(self) -> ConnectServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop answering; may be called more than once."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


def _error(status: int, message: str) -> dict[str, Any]:
    return {"error_code": status, "message": message}
