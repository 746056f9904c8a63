"""Rules for all requests to an endpoint: declared with its route, enforced by middleware."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter

from ksql_spark.authorization import Role


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of an endpoint: who may use it, and which bodies it takes."""

    #: the least role that may use it; statements are also checked one by one. None: anybody may
    role: Role | None
    #: a role for some sources is enough: the endpoint hides and protects the others
    takes_patterns: bool = False
    #: a headless server rejects it (reference §8.4)
    runs_sql: bool = False
    #: its body has any length and is read line by line
    is_streamed: bool = False
    #: the media types of its body, if it is not JSON
    media_types: tuple[str, ...] = ()
    #: it changes nothing, so its body may have any Content-Type
    only_reads: bool = False


#: the rules of a path without an endpoint
UNKNOWN = Rules(Role.ADMIN)


class Router(APIRouter):
    """The endpoints of a module."""

    def __init__(self) -> None:
        super().__init__()
        self.rules: dict[str, Rules] = {}

    def endpoint(
        self, method: str, path: str, rules: Rules, **options: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare an endpoint.

        Args:
            method: GET, POST or WEBSOCKET.
            path: may have parameters, as FastAPI writes them.
            rules: the rules for all requests to it.
            options: those of FastAPI's routes.
        """
        self.rules[path] = rules
        if method == "WEBSOCKET":
            return self.websocket(path, **options)
        return self.api_route(path, methods=[method], **options)


class Endpoints:
    """The rules of all endpoints, by path."""

    def __init__(self, routers: Iterable[Router]) -> None:
        self._rules: dict[str, Rules] = {"/openapi.json": Rules(Role.READER, takes_patterns=True)}
        #: paths of endpoints with path parameters, without these
        self._prefixes: dict[str, Rules] = {}
        for router in routers:
            for path, rules in router.rules.items():
                base, brace, _ = path.partition("/{")
                self._rules[base] = rules
                if brace:
                    self._prefixes[f"{base}/"] = rules

    def paths(self) -> frozenset[str]:
        """The paths of all endpoints, without parameters."""
        return frozenset(self._rules)

    def rules(self, path: str) -> Rules:
        """The rules of the endpoint at ``path``; UNKNOWN if there is none."""
        rules = self._rules.get(path)
        if rules is None:
            rules = next((r for base, r in self._prefixes.items() if path.startswith(base)), UNKNOWN)
        return rules
