"""A schema registry over HTTP, held in memory: as much of Confluent's interface as the engine uses."""

from __future__ import annotations

import json
import random
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

from ksql_spark.services import ports


def own_host() -> str:
    """A loopback address that no other registry has had; 127.0.0.1 where the system has only that one.

    Spark's JVM remembers the schemas of a registry by its address, and all workers share it.
    """
    host = f"127.{random.randint(1, 254)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
    return host if ports.is_free(0, host) else "127.0.0.1"


class RegistryServer:
    """A context. ``requests`` has what was asked: "METHOD /path". Any schema is compatible with any other,
    unless ``refused`` says why it is not.

    Args:
        authorization: the header that it requires.
        tls: for HTTPS, at the name localhost.
        host: the address to listen at.
    """

    def __init__(
        self,
        authorization: str | None = None,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.requests: list[str] = []
        self.refused: str | None = None
        #: while it is not set, requests are not answered
        self.answers = threading.Event()
        self.answers.set()
        #: id -> what was registered
        self.schemas: dict[int, dict[str, Any]] = {}
        #: subject -> ids of its versions
        self.subjects: dict[str, list[int]] = {}
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                sent = json.loads(self.rfile.read(length)) if length else {}
                path = urlsplit(self.path).path
                registry.requests.append(f"{self.command} {path}")
                registry.answers.wait()
                parts = [unquote(part) for part in path.strip("/").split("/")]
                status, body = registry.answer(self.command, parts, sent)
                if authorization is not None and self.headers.get("Authorization") != authorization:
                    status, body = 401, {"error_code": 40101, "message": "Who are you?"}
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = _answer

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer((host, 0), Handler)
        port = self._server.server_address[1]
        self.url = f"http://{host}:{port}" if tls is None else f"https://localhost:{port}"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def add(self, subject: str, text: str, kind: str = "AVRO", **more: Any) -> int:
        """Register a schema; gives its id."""
        schema = {"schema": text, "schemaType": kind, **more}
        existing = next((i for i, registered in self.schemas.items() if registered == schema), None)
        schema_id = existing or len(self.schemas) + 1
        self.schemas[schema_id] = schema
        versions = self.subjects.setdefault(subject, [])
        if schema_id not in versions:
            versions.append(schema_id)
        return schema_id

    def guid(self, schema_id: int) -> UUID:
        """The GUID of a schema, as newer registries have it."""
        return UUID(int=2**64 + schema_id)

    def answer(self, method: str, parts: list[str], sent: Any) -> tuple[int, Any]:
        """Status and body of an answer."""
        match method, *parts:
            case "POST", "subjects", subject, "versions":
                if self.refused is not None:
                    return 409, {"error_code": 409, "message": self.refused}
                schema_id = self.add(subject, sent["schema"], sent.get("schemaType") or "AVRO")
                return 200, {"id": schema_id, "guid": str(self.guid(schema_id))}
            case "DELETE", "subjects", subject if subject in self.subjects:
                return 200, list(range(1, len(self.subjects.pop(subject)) + 1))
            case "GET", "subjects", subject, "versions" if subject in self.subjects:
                return 200, [number + 1 for number, _ in enumerate(self.subjects[subject])]
            case "GET", "subjects", subject, "versions", version if subject in self.subjects:
                versions = self.subjects[subject]
                number = len(versions) if version == "latest" else int(version)
                schema_id = versions[number - 1]
                body = {"subject": subject, "version": number, "id": schema_id, **self.schemas[schema_id]}
                return 200, body
            case "GET", "schemas", "ids", schema_id if int(schema_id) in self.schemas:
                return 200, self.schemas[int(schema_id)]
            case "GET", "schemas", "guids", guid if UUID(guid).int - 2**64 in self.schemas:
                return 200, self.schemas[UUID(guid).int - 2**64]
            case "POST", "compatibility", "subjects", subject, "versions", "latest" if (
                subject in self.subjects
            ):
                return 200, {"is_compatible": self.refused is None, "messages": [self.refused or ""]}
        return 404, {"error_code": 404, "message": "not found"}

    def __enter__(self) -> RegistryServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop answering; may be called more than once."""
        self.answers.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
