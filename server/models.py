"""Request bodies (reference §7.2) and how they become engine requests.

Bodies are read as JSON whatever their Content-Type: requests that pages of other sites can send have already
been rejected (server/security/middleware.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import pydantic
from fastapi import Request as HttpRequest

from ksql_spark.entities import Body as Answer
from ksql_spark.entities import Entity
from ksql_spark.entities.servers import HostInfo
from ksql_spark.security.authorization import Rights
from ksql_spark.server.errors import RequestError

if TYPE_CHECKING:
    from ksql_spark.engine import Request


Long = Annotated[int, pydantic.Field(ge=-(2**63), lt=2**63)]


class Body(pydantic.BaseModel):
    """Unknown members are ignored."""

    model_config = pydantic.ConfigDict(extra="ignore")


class StatementsBody(Body):
    """The body of POST /ksql and POST /query."""

    ksql: str
    streamsProperties: dict[str, Any] | None = None
    sessionVariables: dict[str, Any] | None = None
    requestProperties: dict[str, Any] | None = None
    parameters: list[Any] | dict[str, Any] | None = None
    commandSequenceNumber: Long | None = None

    def request(self, rights: Rights, user: str | None = None, client: str | None = None) -> Request:
        """The request for the engine, of a client with these rights and this name, and whom limits count."""
        from ksql_spark.engine import Request

        return Request(
            self.ksql,
            self.streamsProperties or {},
            _texts(self.sessionVariables),
            self.commandSequenceNumber,
            parameters=self.parameters,
            consistency_token=_token(self.requestProperties, TOKEN),
            continuation_token=_token(self.requestProperties, CONTINUATION),
            rights=rights,
            user=user,
            client=client,
        )


class QueryStreamBody(Body):
    """The body of POST /query-stream."""

    sql: str
    properties: dict[str, Any] | None = None
    parameters: list[Any] | dict[str, Any] | None = None
    sessionVariables: dict[str, Any] | None = None
    requestProperties: dict[str, Any] | None = None

    def request(self, rights: Rights, user: str | None = None, client: str | None = None) -> Request:
        """The request for the engine: the client's rights and name, and whom limits count."""
        from ksql_spark.engine import Request

        return Request(
            self.sql,
            self.properties or {},
            _texts(self.sessionVariables),
            parameters=self.parameters,
            consistency_token=_token(self.requestProperties, TOKEN),
            continuation_token=_token(self.requestProperties, CONTINUATION),
            rights=rights,
            user=user,
            client=client,
        )


class CloseQueryBody(Body):
    """The body of POST /close-query."""

    queryId: str


class InsertsBody(Body):
    """The first line of POST /inserts-stream."""

    target: str
    properties: dict[str, Any] | None = None


class HeartbeatBody(Body):
    """The body of POST /heartbeat."""

    hostInfo: HostInfo
    timestamp: Long


class LagBody(Body):
    """The body of POST /lag."""

    ksqlHost: HostInfo
    hostStoreLags: dict[str, Any]


class MetadataForKeyBody(Body):
    """The body of POST /metadata/key."""

    table: str
    key: dict[str, Any]


class RestartBody(Body):
    """The body of POST /connectors/<name>/restart, which is empty."""


class DrainBody(Body):
    """The body of POST /cluster/drain."""

    drained: bool = True


class TerminateBody(Body):
    """The body of POST /ksql/terminate."""

    deleteTopicList: list[str] | None = None


class RebuildBody(Body):
    """The body of POST /state/rebuild."""

    queryId: str


#: where a request's scope holds its body (BodyGuard)
BODY = "ksql_spark.body"
#: the member of requestProperties with a token of earlier results
TOKEN = "request.ksql.query.pull.consistency.token"
#: the member with the token up to which a client has read a push query
CONTINUATION = "request.ksql.query.push.continuation.token"
#: the response header with a token
TOKEN_HEADER = "ksql-consistency-token"
#: the header of possibly stale responses: the stopped queries that write what was read
STALE_HEADER = "ksql-stale"


def _token(properties: dict[str, Any] | None, name: str) -> str | None:
    token = (properties or {}).get(name)
    if token is not None and not isinstance(token, str):
        raise RequestError(f'Member "{name}" of requestProperties must be a string.')
    return token or None


def _texts(variables: dict[str, Any] | None) -> dict[str, str]:
    """Variables with values in SQL's form: ``true``, not ``True``. A null variable is not defined."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (variables or {}).items()
        if value is not None
    }


B = TypeVar("B", bound=Body)


def read_body(model: type[B], http: HttpRequest) -> B:
    """The request's JSON as ``model``, see parsed_body."""
    return parsed_body(model, http.scope[BODY])


def parsed_body(model: type[B], text: bytes | str) -> B:
    """Parse JSON as ``model``.

    Raises:
        RequestError: the body is not a JSON object, or a member is missing or has the wrong type.
    """
    try:
        return model.model_validate_json(text)
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
                reason = f'Member "{where}" of the request body is invalid: {first["msg"]}.'
        raise RequestError(reason) from None


#: where the OpenAPI description has the schemas of responses
REFERENCE = "#/components/schemas/{model}"


def schema_of(cls: type[Answer]) -> dict[str, Any]:
    """The schema of a response by its name."""
    return {"$ref": REFERENCE.format(model=cls.__name__)}


def described(
    body: type[Body] | None = None,
    *,
    answers: Mapping[str, str | type[Answer] | dict[str, Any] | None],
    body_type: str = "application/json",
) -> dict[str, Any]:
    """A route's OpenAPI entry, because FastAPI does not read bodies and responses here.

    Args:
        body: the request body; None if there is none.
        answers: the response's media types, each with its class, schema or description.
        body_type: the media type of the request's body.
    """

    def schema_for(answer: str | type[Answer] | dict[str, Any] | None) -> dict[str, Any]:
        match answer:
            case str():
                return {"description": answer}
            case dict():
                return answer
        return {} if answer is None else schema_of(answer)

    content = {media_type: {"schema": schema_for(answer)} for media_type, answer in answers.items()}
    entry: dict[str, Any] = {
        "responses": {"200": {"description": "OK", "content": content}, "default": _ERROR}
    }
    if body is not None:
        schema = body.model_json_schema(ref_template=REFERENCE)
        schema.pop("$defs", None)  # they are among the schemas of responses
        entry["requestBody"] = {"required": True, "content": {body_type: {"schema": schema}}}
    return entry


_ERROR: dict[str, Any] = {
    "description": "An error; the HTTP status is error_code / 100.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["@type", "error_code", "message"],
                "properties": {
                    "@type": {"enum": ["generic_error", "statement_error"]},
                    "error_code": {"type": "integer"},
                    "message": {"type": "string"},
                    "statementText": {"type": "string"},
                    "entities": {"type": "array", "items": schema_of(Entity)},
                },
            }
        }
    },
}
