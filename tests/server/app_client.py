"""Calls the application in this process, without a port."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from ksql_spark.config import Config
from ksql_spark.server.app import create_app
from ksql_spark.server.host import Host


class AppClient:
    """Calls the application without a port; responses come whole."""

    def __init__(self, host: Host, **config: Any) -> None:
        self._transport = httpx.ASGITransport(create_app(host, Config(config)), raise_app_exceptions=False)

    def get(self, path: str, **arguments: Any) -> httpx.Response:
        return self._request("GET", path, **arguments)

    def post(self, path: str, **arguments: Any) -> httpx.Response:
        return self._request("POST", path, **arguments)

    def _request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://server") as client:
                return await client.request(method, path, **arguments)

        return asyncio.run(send())
