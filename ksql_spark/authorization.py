"""Roles, and what each may do: the one place that decides about requests and statements.

A role may do all that those before it may. Without authentication everybody is an admin.
"""

from __future__ import annotations

import enum

from grammar.nodes import Statement
from grammar.statements.connectors import CreateConnector, DropConnector
from grammar.statements.describe import (
    DescribeConnector,
    DescribeFunction,
    DescribeSource,
    DescribeSources,
    Explain,
)
from grammar.statements.functions import CreateFunction, DropFunction
from grammar.statements.queries import Query
from grammar.statements.session import (
    AlterSystem,
    DefineVariable,
    SetProperty,
    UndefineVariable,
    UnsetProperty,
)
from grammar.statements.show import Show
from ksql_spark.errors import KsqlError


class Role(enum.IntEnum):
    """Who somebody is to this server, the least first."""

    #: selects from streams and tables, and sees what there is
    READER = 1
    #: creates, writes and drops, and prints topics
    DEVELOPER = 2
    #: changes the server: its properties, code that it runs, its end
    ADMIN = 3

    @classmethod
    def named(cls, name: str) -> Role:
        """The role called ``name``, in any case. Raises ValueError."""
        try:
            return cls[name.upper()]
        except KeyError:
            known = ", ".join(role.name.lower() for role in cls)
            raise ValueError(f"there is no role {name}, only {known}") from None


_OF_STATEMENTS: dict[type[Statement], Role] = {
    **dict.fromkeys(
        (
            DefineVariable, DescribeConnector, DescribeFunction, DescribeSource, DescribeSources, Explain,
            Query, SetProperty, Show, UndefineVariable, UnsetProperty,
        ),
        Role.READER,
    ),
    # a connector reads and writes files, and connects to other servers, with its worker's rights
    **dict.fromkeys((AlterSystem, CreateConnector, CreateFunction, DropConnector, DropFunction), Role.ADMIN),
}  # fmt: skip

#: endpoint -> the least role that may use it; statements are decided about one by one besides
_OF_ENDPOINTS: dict[str, Role] = {
    "/": Role.READER,
    "/cluster/drain": Role.ADMIN,
    "/clusterStatus": Role.READER,
    "/close-query": Role.READER,
    "/docs": Role.READER,
    "/healthcheck": Role.READER,
    "/heartbeat": Role.ADMIN,
    "/info": Role.READER,
    "/inserts-stream": Role.DEVELOPER,
    "/is_valid_property": Role.READER,
    "/ksql": Role.READER,
    "/ksql/terminate": Role.ADMIN,
    "/lag": Role.ADMIN,
    "/metadata": Role.READER,
    "/metadata/key": Role.READER,
    "/metrics": Role.READER,
    "/openapi.json": Role.READER,
    "/query": Role.READER,
    "/query-stream": Role.READER,
    "/state/rebuild": Role.DEVELOPER,
    "/status": Role.READER,
    "/v1/metadata": Role.READER,
    "/v1/metadata/id": Role.READER,
    "/ws/query": Role.READER,
}


def role_for_statement(kind: type[Statement]) -> Role:
    """The least role that may run statements of this class: DEVELOPER if nothing else is said."""
    return _OF_STATEMENTS.get(kind, Role.DEVELOPER)


def role_for_endpoint(path: str) -> Role:
    """The least role that may use an endpoint, whose path may have more parts: ADMIN if nothing is said."""
    found = _OF_ENDPOINTS.get(path)
    if found is None:
        found = _OF_ENDPOINTS.get("/" + path.split("/", 2)[1])
        if found is None or path.split("/", 2)[1] not in ("status", "is_valid_property"):
            return Role.ADMIN
    return found


def check_statement(role: Role, statement: Statement) -> None:
    """Refuse a statement that ``role`` may not run.

    Raises:
        KsqlError: FORBIDDEN.
    """
    least = role_for_statement(type(statement))
    if role < least:
        what = " ".join(statement.source_text.split()[:2]).upper()
        raise KsqlError("FORBIDDEN", what=f"{what} …", role=role.name.lower(), least=least.name.lower())


def check_endpoint(role: Role, path: str) -> None:
    """Refuse a request that ``role`` may not make.

    Raises:
        KsqlError: FORBIDDEN.
    """
    least = role_for_endpoint(path)
    if role < least:
        raise KsqlError("FORBIDDEN", what=path, role=role.name.lower(), least=least.name.lower())
