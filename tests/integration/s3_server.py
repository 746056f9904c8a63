"""An S3 server on this machine, in memory: moto, of the extra ``s3-tests``."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import uuid
from types import TracebackType
from xml.etree import ElementTree

import httpx
import pytest

from ksql_spark.services.ports import HOST, free_port
from tests.waiting import TIMEOUT_S, until


class S3Server:
    """A server with one bucket; a context."""

    def __init__(self) -> None:
        pytest.importorskip("moto.server", reason="moto is not installed: make test-cluster")
        port = free_port()
        self.url = f"http://{HOST}:{port}"
        self._bucket = f"state-{uuid.uuid4().hex[:8]}"
        command = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> S3Server:
        until(self._has_bucket)
        return self

    def _has_bucket(self) -> bool:
        """False where it does not listen yet."""
        assert self._process.poll() is None
        try:
            httpx.put(f"{self.url}/{self._bucket}", timeout=TIMEOUT_S).raise_for_status()
        except httpx.TransportError:
            return False
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def folder(self, name: str) -> str:
        """The URI of a folder in the bucket."""
        return f"s3a://{self._bucket}/{name}"

    @property
    def properties(self) -> dict[str, str]:
        """What Hadoop needs to reach it."""
        return {
            "fs.s3a.endpoint": self.url,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": "test",
            "fs.s3a.secret.key": "test",
        }

    @property
    def environment(self) -> dict[str, str]:
        """What delta-rs and obstore need, and archives."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }

    def keys(self, prefix: str = "") -> list[str]:
        """The names of the objects that begin so."""
        names: list[str] = []
        token: dict[str, str] = {}
        while True:
            query = {"list-type": "2", "prefix": prefix, **token}
            answer = ElementTree.fromstring(
                httpx.get(f"{self.url}/{self._bucket}", params=query, timeout=TIMEOUT_S).text
            )
            names += [str(key.text) for key in answer.iterfind(".//{*}Key")]
            following = answer.findtext("{*}NextContinuationToken")
            if following is None:
                return names
            token = {"continuation-token": following}


class Gate:
    """A port that leads to an S3 server while it is open; a context.

    Args:
        server: the S3 server.
    """

    def __init__(self, server: S3Server) -> None:
        self._target = (HOST, int(server.url.rpartition(":")[2]))
        self.port = free_port()
        self.url = f"http://{HOST}:{self.port}"
        self._listening: socket.socket | None = None
        self._connections: list[socket.socket] = []

    def __enter__(self) -> Gate:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Accept connections."""
        listening = self._listening = socket.create_server((HOST, self.port))
        threading.Thread(target=self._accept, args=(listening,), daemon=True).start()

    def close(self) -> None:
        """Refuse connections, and end those that are there."""
        if self._listening is not None:
            for one in [self._listening, *self._connections]:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
            self._listening, self._connections = None, []

    def _accept(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listening.accept()
                far = socket.create_connection(self._target)
                self._connections += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
