"""Request bodies (reference §7.2) and how they become engine requests.

Bodies are read regardless of their Content-Type, because clients (such as curl -d) rarely set it; requests
from pages of other sites have been refused before (server/guards.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pydantic
from fastapi import Request as HttpRequest

from server.errors import RequestError

if TYPE_CHECKING:
    from ksql_spark.engine import Request


class Body(pydantic.BaseModel):
    """Unknown members are ignored."""

    model_config = pydantic.ConfigDict(extra="ignore")


class StatementsBody(Body):
    """The body of POST /ksql and POST /query."""

    ksql: str
    streamsProperties: dict[str, Any] | None = None
    sessionVariables: dict[str, Any] | None = None
    requestProperties: dict[str, Any] | None = None
    commandSequenceNumber: int | None = None

    def request(self) -> Request:
        """The request for the engine."""
        from ksql_spark.engine import Request

        return Request(
            self.ksql,
            self.streamsProperties or {},
            _texts(self.sessionVariables),
            self.commandSequenceNumber,
        )


class QueryStreamBody(Body):
    """The body of POST /query-stream."""

    sql: str
    properties: dict[str, Any] | None = None
    sessionVariables: dict[str, Any] | None = None
    requestProperties: dict[str, Any] | None = None

    def request(self) -> Request:
        """The request for the engine."""
        from ksql_spark.engine import Request

        return Request(self.sql, self.properties or {}, _texts(self.sessionVariables))


class CloseQueryBody(Body):
    """The body of POST /close-query."""

    queryId: str


def _texts(variables: dict[str, Any] | None) -> dict[str, str]:
    return {name: str(value) for name, value in (variables or {}).items()}


B = TypeVar("B", bound=Body)


async def read_body(model: type[B], http: HttpRequest) -> B:
    """The request's JSON as ``model``.

    Raises:
        RequestError: the body is not a JSON object, or a member is missing or has the wrong type.
    """
    try:
        return model.model_validate_json(await http.body())
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        match first["type"]:
            case "json_invalid":
                reason = f"The request body is not valid JSON: {first['ctx']['error']}."
            case "missing":
                reason = f'The request body has no member "{where}".'
            case "model_type":
                reason = "The request body must be a JSON object."
            case _:
                reason = f'Member "{where}" of the request body is wrong: {first["msg"]}.'
        raise RequestError(reason) from None


def openapi(model: type[Body]) -> dict[str, Any]:
    """The request body for a route's OpenAPI entry, because FastAPI does not read bodies here."""
    schema = model.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
