"""Every property in one typed table, and its values from the file, the environment and requests.

Reference §9. Nothing else reads properties files or KSQL_* variables; all other code reads a Config.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ksql_spark.errors import KsqlError, nearest
from ksql_spark.security.masking import HIDDEN, is_secret, masked, secrets

Type = Literal["string", "boolean", "int", "long", "double", "list", "password"]
#: whether a property acts on single statements or only on the whole server
Level = Literal["query", "server"]
#: a kind of Kafka client
Client = Literal["consumer", "producer"]

#: longer numbers are rejected; Python itself rejects numbers of some thousand digits
_MAX_DIGITS = 50
#: how many characters of an invalid value an error shows
_MAX_SHOWN = 100
_BOUNDS = {"int": 2**31 - 1, "long": 2**63 - 1}


@dataclass(frozen=True)
class Property:
    """A property: its name, type, default value and description.

    Args:
        name: its canonical name.
        type: the type of its values; see parse().
        default: a value of that type, or None if leaving it unset has its own meaning.
        description: one sentence for users.
        level: ``query`` if it acts on single statements, ``server`` if only on the whole server.
        editable: whether a session or request may override it.
        choices: the allowed values; empty: any.
        minimum: the smallest number.
        in_force: whether any code reads it. Other properties are listed only so that ksqlDB's configurations are
            accepted: they have no effect, and a Config does not return their values.
    """

    name: str
    type: Type
    default: Any
    description: str
    level: Level = "query"
    editable: bool = True
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    in_force: bool = True

    def parse(self, value: Any) -> Any:
        """The typed value of a user's text or JSON value.

        Returns:
            a str, bool, int, float or list of str; None for None.

        Raises:
            KsqlError: PROPERTY_INVALID.
        """
        if value is None:
            return None
        text = str(value).strip()
        match self.type:
            case "boolean":
                if text.lower() not in ("true", "false"):
                    raise self._invalid(value, "it must be true or false")
                return text.lower() == "true"
            case "int" | "long":
                return self._number(value, text)
            case "double":
                return self._double(value, text)
            case "list":
                items = value if isinstance(value, list) else text.split(",")
                return [str(item).strip() for item in items if str(item).strip()]
        if self.choices:
            folded = {choice.lower(): choice for choice in self.choices}
            if text.lower() not in folded:
                raise self._invalid(value, f"it must be {' or '.join(self.choices)}")
            return folded[text.lower()]
        return text if isinstance(value, str) else _json_text(value)

    def _number(self, value: Any, text: str) -> int:
        bound = _BOUNDS[self.type]
        if isinstance(value, bool) or not re.fullmatch(r"[+-]?\d+", text):
            raise self._invalid(value, "it must be a whole number")
        number = int(text) if len(text) <= _MAX_DIGITS else None
        if number is None or not -bound - 1 <= number <= bound:
            raise self._invalid(value, f"it must be between {-bound - 1} and {bound}")
        self._check_minimum(value, number)
        return number

    def _double(self, value: Any, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self._invalid(value, "it must be a number")
        self._check_minimum(value, number)
        return number

    def _check_minimum(self, value: Any, number: float) -> None:
        if self.minimum is not None and number < self.minimum:
            raise self._invalid(value, f"it must be at least {self.minimum:g}")

    def _invalid(self, value: Any, reason: str) -> KsqlError:
        shown = _json_text(value)
        if len(shown) > _MAX_SHOWN:
            shown = f"{shown[:_MAX_SHOWN]}…"
        return KsqlError("PROPERTY_INVALID", name=self.name, value=shown, reason=reason)


def _json_text(value: Any) -> str:
    """A value as users write it: ``true``, not ``True``."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def share_of(most: int, share: float) -> int:
    """Return how many of ``most`` one client may have, if ``share`` is its part of them: at least one.

    >>> share_of(100, 0.8), share_of(1, 0.8), share_of(0, 0.8)
    (80, 1, 0)
    """
    return min(most, max(1, int(most * share)))


_INT_MAX, _LONG_MAX = _BOUNDS["int"], _BOUNDS["long"]
_HIDDEN_TOPICS = (
    "_confluent.*,__confluent.*,_schemas,__consumer_offsets,__transaction_state,"
    "connect-configs,connect-offsets,connect-status,connect-statuses"
)


def _server(
    name: str, type_: Type, default: Any, description: str, *, editable: bool = False, **more: Any
) -> Property:
    return Property(name, type_, default, description, "server", editable, **more)


# fmt: off
_TABLE: tuple[Property, ...] = (
    # ---- the server
    _server("bootstrap.servers", "string", None, "Kafka brokers; without them the server starts a broker of its own."),
    _server("listeners", "string", "http://127.0.0.1:8088", "Where the REST API listens."),
    _server("ksql.server.allowed.hosts", "list", [], "Host names that requests may be sent to, besides IP addresses, localhost, names without a dot, those of the listeners and of this machine; * for any."),
    _server("ksql.server.allowed.origins", "list", [], "Origins (http://HOST:PORT) of web pages that may use the REST API; pages of the server's own address always may; * for any."),
    _server("access.control.allow.origin", "list", [], "The same, as ksqlDB calls it; both lists count."),
    _server("access.control.allow.methods", "list", [], "Methods of HTTP that such pages may use; here GET and POST.", in_force=False),
    _server("access.control.allow.headers", "list", [], "Headers that such pages may send; here all.", in_force=False),
    _server("ksql.postgres.listener", "string", "", "Where clients of PostgreSQL connect, HOST:PORT; by default nowhere."),
    _server("ksql.console.enabled", "boolean", True, "Whether browsers get the console at /, and the server keeps the figures of the last hours for it (GET /metrics/history)."),
    _server("ksql.server.log.format", "string", "TEXT", "The form of the server's log: lines of text, or a JSON object for each event.", choices=("TEXT", "JSON")),
    _server("ksql.server.max.request.bytes", "long", 10_000_000, "The most bytes of a request's body.", minimum=1),
    _server("ksql.server.request.timeout.ms", "long", 60_000, "Within how many milliseconds a request's body has to be there; else it is refused with 408. That of /inserts-stream may take any time.", minimum=1),
    _server("ksql.server.header.timeout.ms", "long", 10_000, "Within how many milliseconds a connection has to send the header of a request, after it was opened or has sent the first byte of one; else it is closed. So long may a TLS handshake take, too.", minimum=1),
    _server("ksql.server.max.connections", "int", 1_000, "How many connections clients may have open at once; one more is answered with 429 and closed.", minimum=1),
    _server("ksql.server.max.concurrent.statements", "int", 256, "How many requests with statements (POST /ksql) may run or wait at once; more are answered with 429.", minimum=1),
    _server("ksql.server.send.timeout.ms", "int", 60_000, "For how many milliseconds a client may leave what it is sent untaken, or most of it; then its connection is closed, which ends its query.", minimum=1),
    _server("ksql.server.max.requests.per.second", "double", 0.0, "How many requests a user, or an address without authentication, may send a second; more are answered with 429. 0 for no limit.", minimum=0),
    _server("ksql.server.trusted.proxies", "list", [], "Addresses and networks (10.0.0.0/8) of proxies and load balancers whose headers X-Forwarded-For and X-Forwarded-Proto are believed. The client is then the last address in X-Forwarded-For that is none of them; limits of requests and of failed log-ins count by it."),
    _server("ksql.server.tls.certificate", "string", None, "A PEM file with the server's certificate and those above it, for listeners with https."),
    _server("ksql.server.tls.key", "string", None, "A PEM file with the key of that certificate."),
    _server("ksql.server.tls.key.password", "password", None, "The password of that file."),
    _server("ksql.server.tls.client.authorities", "string", None, "A PEM file with authorities: clients have to have a certificate of one of them (mutual TLS)."),
    _server("ksql.server.auth.users.file", "string", None, "A file of users, name:hash:roles on each line, for basic authentication; ksql-spark password writes such lines. A role may be followed by a pattern of names: reader:orders_*."),
    _server("ksql.server.auth.jwks", "string", None, "A file, or an https URL, with the public keys (JWKS) whose JSON Web Tokens are accepted as bearer tokens."),
    _server("ksql.server.auth.jwt.issuer", "string", None, "The issuer that a token has to name (iss)."),
    _server("ksql.server.auth.jwt.audience", "string", None, "The audience that a token has to name (aud)."),
    _server("ksql.server.auth.jwt.user.claim", "string", "sub", "The claim of a token that names the user."),
    _server("ksql.server.auth.jwt.role.claim", "string", "roles", "The claim of a token that names roles: a list, or a text with blanks between, of reader, developer and admin, or reader:orders_* for what a pattern names; others do not matter."),
    _server("authentication.skip.paths", "list", ["/healthcheck", "/v1/metadata", "/v1/metadata/id"], "Paths, * for any part, that need no authentication."),
    _server("ksql.statement.timeout.ms", "long", 60_000, "How long a statement may be planned before it is carried out; 0 for no limit.", minimum=0),
    _server("ksql.advertised.listener", "string", None, "The address at which other servers and their users reach this one, as host:port or a URL; by default the first of listeners."),
    _server("ksql.cluster.enabled", "boolean", False, "Whether several servers with the same ksql.service.id share the queries: each query runs on one of them, and on another one when that one is gone. Needs bootstrap.servers and ksql.state.dir."),
    _server("ksql.cluster.balance.interval.ms", "long", 300_000, "How long what a server runs must have been the same before it moves a query to a server that has less to do, where servers share queries; 0: it moves none.", minimum=0),
    _server("ksql.state.dir", "string", "", "The folder of the state of queries: a path, or the URI of a folder on any file system that Hadoop knows (file:, s3a:, hdfs:, abfs:, gs:); by default checkpoints in the data folder. Servers that share queries have to share it, and executors of a Spark cluster have to reach it. A query that does not find its state there begins anew."),
    _server("ksql.internal.listener", "string", None, "Where the server listens for other nodes.", in_force=False),
    _server("ksql.server.sni.check.enable", "boolean", False, "Whether the name that TLS asks for is checked.", in_force=False),
    _server("ksql.server.websockets.num.threads", "int", 5, "Threads for WebSockets.", minimum=1, in_force=False),
    _server("ksql.verticle.instances", "int", None, "Instances of the server's event loop.", minimum=1, in_force=False),
    _server("ksql.worker.pool.size", "int", 100, "Threads for requests.", minimum=1, in_force=False),
    _server("ksql.endpoint.logging.log.queries", "boolean", False, "Whether lines of the log about requests have the URL's query.", in_force=False),
    _server("ksql.endpoint.logging.ignored.paths.regex", "string", "", "Paths whose requests are not logged.", in_force=False),
    _server("ksql.websocket.connection.max.timeout.ms", "long", 0, "How long a WebSocket may stay open.", minimum=0, in_force=False),
    _server("ksql.fetch.remote.hosts.max.timeout.seconds", "long", 10, "How long other nodes may take to respond.", minimum=0, in_force=False), _server("ksql.shutdown.timeout.ms", "long", 300000, "How long the server waits for its threads on shutdown.", minimum=0, in_force=False),
    _server("ksql.service.id", "string", "default_", "The cluster's id, which is part of the names of its internal topics."),
    _server("ksql.queries.file", "string", None, "A file of statements. The server runs them and rejects all others (headless mode)."),
    _server("ksql.extension.dir", "string", "ext", "A directory of Python files with user functions; relative paths start at the data folder."),
    _server("ksql.extension.modules", "list", [], "Installed Python modules with user functions."),
    _server("ksql.create.function.enabled", "boolean", False, "Whether CREATE FUNCTION is allowed. Its code runs with the server's rights."),
    _server("ksql.spark.data.dir", "string", "", "The directory for all persistent data; by default in the user's home directory."),
    _server("ksql.spark.warm.up.enabled", "boolean", True, "Whether a server without queries warms up Spark at startup, so that the first query starts faster."),
    _server("ksql.spark.master", "string", "local", "Where Spark's tasks run, as in Spark's --master: local (in the server's own JVM, with as many task slots as queries need), spark://HOST:PORT, yarn, k8s://URL. Properties that begin with spark. are passed to Spark."),
    _server("ksql.spark.start.timeout.ms", "int", 300_000, "How long Spark's JVM may take to start, executors not included; after that it is killed and started again.", minimum=1),
    _server("ksql.spark.memory", "string", "2g", "Heap size of Spark's JVM, in the syntax of java -Xmx."),
    _server("ksql.state.cache.max.bytes", "long", 33_554_432, "Maximum size in bytes of the state cache in Spark's heap, for all queries together; 0 disables the cache. Results do not depend on it.", minimum=0),
    _server("ksql.internal.topic.replicas", "int", -1, "Replicas of the command log; -1 means the broker's default.", minimum=-1),
    _server("ksql.metastore.backup.location", "string", "", "A directory for a local copy of the command log.", in_force=False),
    _server("ksql.properties.overrides.denylist", "list", [], "Properties that sessions and requests may not override."),
    _server("ksql.hidden.topics", "list", _HIDDEN_TOPICS.split(","), "Name patterns of topics that SHOW TOPICS hides."),
    _server("ksql.readonly.topics", "list", _HIDDEN_TOPICS.split(","), "Name patterns of topics that statements may neither write nor delete."),
    _server("ksql.server.command.response.timeout.ms", "long", 5000, "How long a request waits until the command of its commandSequenceNumber has run.", editable=True, minimum=0),
    _server("ksql.idle.connection.timeout.seconds", "long", 86400, "Close an HTTP or WebSocket connection after this time without traffic in either direction, even during a push query; 0 means never. HTTP/2 pings count as traffic only while a request is open, and a connection that waits for a response to begin stays open. While this property is not set, connections without a request are closed after 75 s.", minimum=0),
    _server("ksql.max.push.queries", "int", 100, "The maximum number of running push queries.", minimum=0),
    _server("ksql.client.max.share", "double", 0.8, "The part of the push queries (ksql.max.push.queries), and of the connections to ksql.postgres.listener, that one client may have: a user, or an address without authentication. The rest is for others; 1 for all.", minimum=0),
    _server("ksql.query.push.memory.max.bytes", "long", 256 * 1024 * 1024, "The maximum number of bytes of records that the server buffers for the clients of all push queries together. For clients that fall behind, the server reads the topic again later.", minimum=1024 * 1024),
    _server("ksql.query.persistent.active.limit", "int", _INT_MAX, "The maximum number of running persistent queries.", minimum=0),
    _server("ksql.query.error.max.queue.size", "int", 10, "How many errors to keep per query.", editable=True, minimum=0),
    _server("ksql.error.classifier.regex", "string", "", "Patterns that classify errors as user or system errors.", in_force=False),
    _server("ksql.query.retry.backoff.initial.ms", "long", 15000, "The initial backoff before a failed query restarts.", editable=True, minimum=0),
    _server("ksql.query.retry.backoff.max.ms", "long", 900000, "The maximum backoff before a failed query restarts.", editable=True, minimum=0),
    _server("ksql.query.stop.timeout.ms", "long", 5000, "How long PAUSE and server shutdown wait for a query to finish the records that it has read. After that, the query stops anyway and repeats the work later.", editable=True, minimum=0),
    _server("ksql.heartbeat.enable", "boolean", False, "Whether nodes exchange heartbeats."),
    _server("ksql.heartbeat.send.interval.ms", "long", 100, "How often a node sends a heartbeat.", minimum=1, in_force=False),
    _server("ksql.heartbeat.check.interval.ms", "long", 200, "How often a node checks the heartbeats of others.", minimum=1, in_force=False),
    _server("ksql.heartbeat.window.ms", "long", 2000, "The window in which heartbeats are counted.", minimum=1),
    _server("ksql.heartbeat.missed.threshold.ms", "long", 3, "How many consecutive heartbeats may be missed.", minimum=1, in_force=False),
    _server("ksql.lag.reporting.enable", "boolean", False, "Whether nodes report their lag."),
    _server("ksql.lag.reporting.send.interval.ms", "long", 5000, "How often a server that shares queries reports its lag to the others.", minimum=1),
    _server("ksql.runtime.feature.shared.enabled", "boolean", False, "Whether ALTER SYSTEM is allowed. Queries never share a runtime in ksql-spark."),
    _server("ksql.connect.url", "string", "", "The Kafka Connect workers, separated by commas; set ksql.connect.ssl.* for TLS, with PEM files. If not set, the server starts a worker, with its files in the data folder, when a statement first needs one."),
    _server("ksql.connect.request.timeout.ms", "int", 5000, "How long Connect may take to respond.", minimum=1),
    _server("ksql.connect.basic.auth.credentials.source", "string", "NONE", "Where the credentials for Connect come from: FILE, USER_INFO or NONE.", choices=("NONE", "FILE", "USER_INFO")),
    _server("ksql.connect.basic.auth.credentials.file", "string", "", "A properties file with username and password. The server rereads it when it changes."),
    _server("ksql.connect.basic.auth.user.info", "password", None, "user:password for Connect."),
    _server("ksql.connect.worker.config", "string", "", "A properties file for a Connect worker, which the server then starts at once. The server adds missing settings."),
    _server("ksql.spark.connect.enabled", "boolean", True, "Whether to start a Connect worker when a statement needs one and ksql.connect.url is not set."),
    _server("ksql.spark.connect.plugins", "list", [], "Directories of connectors for that worker. Each contains a directory or a jar per connector."),
    _server("ksql.spark.connect.memory", "string", "512m", "Heap size of that worker, in the syntax of java -Xmx."),
    _server("ksql.schema.registry.url", "string", "", "The URL of the schema registry; set ksql.schema.registry.* for authentication. If not set, the server starts a registry, with its files in the data folder, when a statement first needs one."),
    Property("ksql.schema.registry.key.subject.name.strategy", "string", "TopicNameStrategy", "How the subjects of key schemas are named: TopicNameStrategy, RecordNameStrategy or TopicRecordNameStrategy."),
    Property("ksql.schema.registry.value.subject.name.strategy", "string", "TopicNameStrategy", "How the subjects of value schemas are named."),
    Property("ksql.spark.infer.records", "int", 1000, "How many of a topic's newest records CREATE … WITH (INFER = 'sample') reads to infer columns.", minimum=1),
    _server("ksql.spark.schema.registry.enabled", "boolean", True, "Whether to start a schema registry when a statement needs one and ksql.schema.registry.url is not set."),
    _server("ksql.functions.max.elements", "int", 1048576, "The maximum number of array and map elements, at all levels, in a function's result for one row. Beyond it, the result is NULL and the processing log has an entry. The default is about the number of bytes in a record of Kafka's default maximum size.", minimum=1),
    _server("ksql.functions.max.bytes", "int", 16777216, "The maximum size in bytes of the text or BYTES in a function's result for one row. Beyond it, the result is NULL and the processing log has an entry. The default is 16 times Kafka's record size limit.", minimum=1),
    _server("ksql.udfs.enabled", "boolean", True, "Whether to load user-defined functions."),
    _server("ksql.udf.collect.metrics", "boolean", False, "Whether to collect metrics of user-defined functions.", in_force=False),
    _server("ksql.udf.enable.security.manager", "boolean", True, "Whether to keep user-defined functions from ending the server.", in_force=False),
    _server("ksql.metrics.tags.custom", "string", "", "Tags for all metrics, as key:value pairs.", in_force=False),
    _server("ksql.query.pull.metrics.enabled", "boolean", True, "Whether to collect metrics of pull queries.", in_force=False),
    _server("ksql.endpoint.migrate.query", "boolean", True, "Whether /query uses the implementation of /query-stream.", in_force=False),
    _server("ksql.access.validator.enable", "string", "auto", "Whether to check access to topics.", choices=("auto", "on", "off"), in_force=False),
    # ---- logs
    _server("ksql.logging.processing.topic.auto.create", "boolean", False, "Whether to create the processing log's topic."),
    _server("ksql.logging.processing.topic.name", "string", "", "The processing log's topic; by default its name begins with the service id."),
    _server("ksql.logging.processing.topic.partitions", "int", 1, "Partitions of that topic.", minimum=1),
    _server("ksql.logging.processing.topic.replication.factor", "int", 1, "Replicas of that topic.", minimum=1),
    _server("ksql.logging.processing.rows.include", "boolean", False, "Whether the processing log includes records."),
    _server("ksql.logging.processing.stream.auto.create", "boolean", False, "Whether to create a stream over the processing log."),
    _server("ksql.logging.processing.stream.name", "string", "KSQL_PROCESSING_LOG", "The name of that stream."),
    # ---- feature gates
    Property("ksql.insert.into.values.enabled", "boolean", True, "Whether INSERT INTO ... VALUES is allowed."),
    Property("ksql.create.or.replace.enabled", "boolean", True, "Whether CREATE OR REPLACE is allowed."),
    Property("ksql.lambdas.enabled", "boolean", True, "Whether lambda functions are allowed."),
    _server("ksql.headers.columns.enabled", "boolean", True, "Whether header columns are allowed."),
    _server("ksql.source.table.materialization.enabled", "boolean", True, "Whether SOURCE tables answer pull queries."),
    Property("ksql.variable.substitution.enable", "boolean", True, "Whether to substitute ${variables}."),
    Property("ksql.sql.nulls", "string", "ksqldb", "What conditions give for NULL: ksqldb, where a comparison with NULL is false, or ansi, where it is NULL and AND, OR and NOT have three values. A query keeps the value with which it was created.", choices=("ksqldb", "ansi")),
    Property("ksql.suppress.enabled", "boolean", True, "Whether EMIT FINAL is allowed."),
    Property("ksql.suppress.lossy.jumps", "boolean", False, "Whether EMIT FINAL drops the windows that ksqlDB loses: tumbling and hopping windows whose end and grace period lie before the start of the window of the record that closes them. A query keeps the value with which it was created."),
    Property("ksql.suppress.buffer.size.bytes", "long", -1, "The maximum size of the rows that EMIT FINAL holds back; -1 means no limit.", minimum=-1, in_force=False),
    # ---- statements
    Property("ksql.output.topic.name.prefix", "string", "", "Prefix of the default names of sink topics."),
    Property("ksql.create.topic.inherit.source.replicas.enabled", "boolean", True, "Whether sink topics have as many replicas as their source."),
    Property("ksql.persistence.default.format.key", "string", "KAFKA", "The key format of statements without KEY_FORMAT."),
    Property("ksql.persistence.default.format.value", "string", None, "The value format of statements without VALUE_FORMAT."),
    Property("ksql.persistence.wrap.single.values", "boolean", None, "Whether a single value column is wrapped; by default the format decides."),
    Property("ksql.assert.topic.default.timeout.ms", "int", 1000, "How long ASSERT TOPIC waits.", minimum=0),
    Property("ksql.assert.schema.default.timeout.ms", "int", 1000, "How long ASSERT SCHEMA waits.", minimum=0),
    Property("ksql.timestamp.throw.on.invalid", "boolean", False, "Whether a record without a usable event time stops the query; otherwise it is skipped."),
    Property("ksql.fail.on.deserialization.error", "boolean", False, "Whether a record that cannot be read stops the query; otherwise it is skipped."),
    Property("ksql.fail.on.production.error", "boolean", False, "Whether a query stops if the broker rejects a record because of its time, its size, a missing key or the broker's own validation. Otherwise the query skips and counts the record and adds an entry to the processing log. ksqlDB's default is true."),
    Property("ksql.functions.collect_list.limit", "int", _INT_MAX, "The maximum number of elements of COLLECT_LIST. A query can resume from its state only with the limit with which it was created.", minimum=0),
    Property("ksql.functions.collect_set.limit", "int", _INT_MAX, "The maximum number of elements of COLLECT_SET. A query can resume from its state only with the limit with which it was created.", minimum=0),
    Property("ksql.functions.substring.legacy.args", "boolean", False, "Whether SUBSTRING counts from 0, as in KSQL before 5.1.", in_force=False),
    Property("ksql.rowpartition.rowoffset.enabled", "boolean", True, "Whether ROWPARTITION and ROWOFFSET exist.", in_force=False),
    Property("ksql.nested.error.set.null", "boolean", True, "Whether an error within an expression makes its value NULL.", in_force=False),
    # ---- how queries run
    Property("ksql.execution.mode", "string", None, "How queries run; by default in real time where possible.", choices=("realtime", "microbatch")),
    Property("ksql.idle.window.timeout", "long", 0, "After this many milliseconds without a record, windows of EMIT FINAL close and outer joins with GRACE PERIOD emit their unmatched rows, although stream time has not advanced; 0 means never, as in ksqlDB. A query keeps the value with which it was created.", minimum=0),
    Property("ksql.checkpoint.interval.ms", "long", 30000, "The checkpoint interval of real-time queries. Queries wait for a quiet moment, so while records keep coming an interval can be up to half as long again. After a crash, a query repeats the work since its last checkpoint.", minimum=5000),
    Property("ksql.on.data.loss", "string", "skip-and-record", "What a query does when it loses records because a topic that it reads or writes was deleted, recreated, or truncated by retention before the query had read it. skip-and-record: continues with the remaining records, recreates its output topics, and adds an entry to the processing log; fail: stays in ERROR until RESUME.", choices=("fail", "skip-and-record")),
    Property("ksql.on.partitions.change", "string", "fail", "What a query does when a topic that it reads gains partitions, if the query finds the state of a key by the partition of its records. fail: stops in ERROR until its state is rebuilt (ksql-spark state rebuild); rebuild: rebuilds the state itself, so a stream that it writes repeats its rows.", choices=("fail", "rebuild")),
    Property("ksql.emit.every.enabled", "boolean", True, "Whether EMIT CHANGES EVERY of a persistent query holds rows back until an interval ends; otherwise each change is written at once. ksql-spark run --batch turns it off."),
    Property("ksql.query.as.of.ms", "long", None, "The latest timestamp, in milliseconds since 1970, of records that a persistent query reads of its sources; later ones are left out. ksql-spark run --batch --as-of sets it.", minimum=0),
    Property("ksql.evolution.max.lag", "long", 10_000, "How many records the new version of a table (EVOLVE = 'backfill') may still have to read when it takes over, as of its last checkpoint.", minimum=0),
    Property("ksql.undrop.retention.ms", "long", 86_400_000, "For how long UNDROP can bring back a stream or table that was dropped.", minimum=0),
    Property("ksql.sink.linger.ms", "long", 0, "How long a result may wait to be written together with others. Higher values increase throughput and latency.", minimum=0),
    Property("ksql.sink.partitions", "int", None, "Deprecated in ksqlDB: the number of partitions of new topics. Use PARTITIONS in WITH.", in_force=False),
    Property("ksql.sink.replicas", "int", None, "Deprecated in ksqlDB: the number of replicas of new topics. Use REPLICAS in WITH.", in_force=False),
    # ---- pull and push queries
    _server("ksql.pull.queries.enable", "boolean", True, "Whether pull queries are allowed."),
    _server("ksql.pull.views", "string", "on-demand", "When to create the view that serves a table's pull queries: at its first query, or with the table.", choices=("on-demand", "eager")),
    _server("ksql.pull.views.max.bytes", "long", 107_374_182_400, "The maximum size of all view files together. The least recently used views are removed first and rebuilt from their topics when they are needed again.", minimum=1),
    Property("ksql.query.pull.table.scan.enabled", "boolean", True, "Whether pull queries may scan tables."),
    Property("ksql.query.pull.range.scan.enabled", "boolean", True, "Whether pull queries may read ranges of keys."),
    Property("ksql.query.pull.stream.enabled", "boolean", True, "Whether pull queries may read streams."),
    Property("ksql.query.pull.limit.clause.enabled", "boolean", True, "Whether pull queries may have a LIMIT."),
    Property("ksql.query.pull.interpreter.enabled", "boolean", True, "Whether pull queries evaluate expressions without compiling them.", in_force=False),
    Property("ksql.query.pull.enable.standby.reads", "boolean", False, "In ksqlDB, whether servers that do not run a query may serve pull queries from their standby state. Here every server does, from its own view, which is as fresh as the owner's: see ksql.query.pull.max.allowed.offset.lag.", in_force=False),
    Property("ksql.query.pull.max.allowed.offset.lag", "long", _LONG_MAX, "How many records per partition a result may lag behind the topic. If not set, the server asks the broker, and a result includes all records that existed when the query arrived. If set, a result is as fresh as the last fetch.", minimum=0),
    Property("ksql.query.pull.max.staleness.ms", "long", 20, "How long the server may reuse a topic's end offsets when lookups are frequent, instead of asking the broker for each lookup. Every result includes what was written through this server. With 0, a result includes all records that existed when the query arrived.", minimum=0),
    Property("ksql.query.pull.consistency.token.enabled", "boolean", False, "Whether results include a consistency token for later requests."),
    _server("ksql.query.pull.max.qps", "int", _INT_MAX, "The maximum number of pull queries per second. Further queries fail with code 42900.", minimum=0),
    _server("ksql.query.pull.max.concurrent.requests", "int", _INT_MAX, "The maximum number of concurrent pull queries. Further queries fail with code 42900. Lookups that need no thread do not count.", minimum=0),
    _server("ksql.query.pull.max.hourly.bandwidth.megabytes", "int", _INT_MAX, "The maximum megabytes per hour of pull query results.", minimum=0, in_force=False),
    _server("ksql.query.pull.forwarding.timeout.ms", "long", 20000, "How long another node may take to respond.", editable=True, minimum=0, in_force=False),
    _server("ksql.query.pull.thread.pool.size", "int", 50, "Number of threads for pull queries.", minimum=1, in_force=False),
    _server("ksql.query.pull.router.thread.pool.size", "int", 50, "Number of threads for pull queries to other nodes.", minimum=1, in_force=False),
    Property("ksql.query.push.v2.continuation.tokens.enabled", "boolean", False, "Whether push queries whose rows each come from one record of a stream return continuation tokens, from which a client can resume."),
    Property("ksql.query.push.v2.enabled", "boolean", False, "Whether push queries share a consumer.", in_force=False),
    # ---- Kafka Streams settings that have a meaning here
    Property("ksql.streams.auto.offset.reset", "string", "latest", "Where new queries start reading streams. Tables are always read from the beginning.", choices=("earliest", "latest")),
    Property("ksql.streams.processing.guarantee", "string", "at_least_once", "The processing guarantee of new persistent queries after a failure. at_least_once: results since the last checkpoint may be written again. exactly_once_v2: Kafka transactions commit results, state and offsets together; readers with isolation.level = read_committed see each result once. A query keeps the guarantee with which it was created.", choices=("at_least_once", "exactly_once_v2")),
    Property("ksql.streams.num.stream.threads", "int", 4, "The maximum number of parallel tasks of a query; never more than its topics have partitions or the machine has cores. A query keeps the value with which it was created.", minimum=1),
    Property("ksql.streams.commit.interval.ms", "long", 100, "The minimum time between the starts of two transactions of an exactly_once_v2 query. Higher values mean less work but delay results. The default is that of Kafka Streams. With 0, transactions follow each other immediately.", minimum=0),
    Property("ksql.transaction.max.records", "long", 1_000_000, "The maximum number of records of a topic in one transaction of an exactly_once_v2 query, so that a backlog takes several: the broker aborts transactions that take longer than transaction.timeout.ms. 0 means no limit; joins, and windows over grouped values, have none. With executors it is at most 100,000.", minimum=0),
    Property("ksql.streams.cache.max.bytes.buffering", "long", 10_000_000, "Memory for merging updates of the same key.", minimum=0, in_force=False),
    _server("ksql.streams.state.dir", "string", "/tmp/kafka-streams", "The directory for state stores.", in_force=False),
    Property("ksql.streams.num.standby.replicas", "int", 0, "Number of standby replicas of state.", minimum=0, in_force=False),
    Property("ksql.streams.replication.factor", "int", -1, "Replicas of internal topics; -1 means the broker's default.", minimum=-1),
    Property("ksql.streams.max.task.idle.ms", "long", 0, "A task processes records of several topics in timestamp order. This is how many milliseconds it waits for a topic without records while another has some; with 0, it waits only for records that the broker is known to have; with -1, it does not wait.", minimum=-1),
    Property("ksql.streams.task.timeout.ms", "long", 300000, "How long a task may go without progress.", minimum=0, in_force=False),
    Property("ksql.streams.producer.compression.type", "string", "none", "Compression of written records.", choices=("none", "gzip", "snappy", "lz4", "zstd")),
)
# fmt: on

#: canonical name -> property
PROPERTIES: dict[str, Property] = {entry.name: entry for entry in _TABLE}

STREAMS_PREFIX = "ksql.streams."

_KAFKA_SETTINGS = """
    acceptable.recovery.lag acks allow.auto.create.topics application.id application.server
    auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset batch.size bootstrap.servers
    buffer.memory buffered.records.per.partition built.in.metrics.version cache.max.bytes.buffering check.crcs
    client.dns.lookup client.id client.rack commit.interval.ms compression.type connections.max.idle.ms
    default.api.timeout.ms default.client.supplier default.deserialization.exception.handler default.dsl.store
    default.key.serde default.list.key.serde.inner default.list.value.serde.inner
    default.production.exception.handler default.timestamp.extractor default.value.serde
    delivery.timeout.ms enable.auto.commit enable.idempotence enable.metrics.push exclude.internal.topics
    fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol
    heartbeat.interval.ms interceptor.classes isolation.level key.deserializer key.serializer linger.ms
    max.block.ms max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms
    max.poll.records max.request.size max.task.idle.ms max.warmup.replicas metadata.max.age.ms
    metadata.max.idle.ms metric.reporters metrics.num.samples metrics.recording.level
    metrics.sample.window.ms num.standby.replicas num.stream.threads partition.assignment.strategy
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys poll.ms probing.rebalance.interval.ms processing.guarantee
    receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms repartition.purge.interval.ms
    replication.factor request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms
    rocksdb.config.setter security.protocol security.providers send.buffer.bytes session.timeout.ms
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms state.cleanup.delay.ms
    state.dir statestore.cache.max.bytes task.timeout.ms topology.optimization transaction.timeout.ms
    transactional.id upgrade.from value.deserializer value.serializer window.size.ms
    windowed.inner.class.serde windowstore.changelog.additional.retention.ms
    cleanup.policy compression.type delete.retention.ms max.message.bytes message.timestamp.type
    min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas retention.bytes retention.ms
    segment.bytes segment.ms
"""

#: settings of Kafka's clients and of Kafka Streams: accepted with or without a prefix, values unchecked
KAFKA_SETTINGS = frozenset(_KAFKA_SETTINGS.split())

_CLIENT_PREFIXES = (
    "consumer.",
    "main.consumer.",
    "restore.consumer.",
    "global.consumer.",
    "producer.",
    "admin.",
    "topic.",
)

_PREFIXES_OF: dict[Client, tuple[str, ...]] = {
    "consumer": ("consumer.", "main.consumer."),
    "producer": ("producer.",),
}

_BOTH = """
    client.dns.lookup connections.max.idle.ms enable.metrics.push metadata.max.age.ms metric.reporters
    receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms
    retry.backoff.max.ms retry.backoff.ms send.buffer.bytes
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
"""
_CONSUMER = """
    check.crcs client.rack default.api.timeout.ms fetch.max.bytes fetch.max.wait.ms fetch.min.bytes
    isolation.level max.partition.fetch.bytes max.poll.records
"""
_PRODUCER = """
    acks batch.size buffer.memory compression.type delivery.timeout.ms enable.idempotence linger.ms max.block.ms
    max.in.flight.requests.per.connection max.request.size metadata.max.idle.ms retries transaction.timeout.ms
"""

#: By default Kafka's clients report each metric twice, for JMX and for a plug-in of the broker. A query has
#: several clients with some 150 metrics each; GET /metrics has the query's own metrics.
_NO_REPORTS = {"metric.reporters": "", "enable.metrics.push": "false"}

#: settings, other than security, that are passed to the clients that read and write records
_PASSED_ON: dict[Client, frozenset[str]] = {
    "consumer": frozenset((_BOTH + _CONSUMER).split()),
    "producer": frozenset((_BOTH + _PRODUCER).split()),
}

#: prefixes of security settings: every such name is passed to Kafka's clients
_SECURITY = ("ssl.", "sasl.")

#: prefixes of settings that other programs define; their names are not checked
_FAMILIES = (
    "ksql.schema.registry.", "ksql.connect.", "ksql.functions.", "ksql.authentication.", "ksql.security.",
    "ksql.internal.", "authentication.", "connect.", "confluent.", "spark.", "fs.",
)  # fmt: skip

#: settings of Kafka's clients that requests may override, besides editable rows of the table: sizes, times and
#: counts. Only the server may set what names a class, a host, a file, an identity or a secret.
CLIENTS_MAY_SET = frozenset(
    [
        "acceptable.recovery.lag",
        "acks",
        "auto.offset.reset",
        "batch.size",
        "buffer.memory",
        "buffered.records.per.partition",
        "cache.max.bytes.buffering",
        "check.crcs",
        "client.rack",
        "commit.interval.ms",
        "compression.type",
        "connections.max.idle.ms",
        "default.api.timeout.ms",
        "delivery.timeout.ms",
        "enable.auto.commit",
        "enable.idempotence",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "heartbeat.interval.ms",
        "isolation.level",
        "linger.ms",
        "max.block.ms",
        "max.in.flight.requests.per.connection",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "max.poll.records",
        "max.request.size",
        "max.task.idle.ms",
        "max.warmup.replicas",
        "metadata.max.age.ms",
        "metadata.max.idle.ms",
        "num.standby.replicas",
        "num.stream.threads",
        "poll.ms",
        "probing.rebalance.interval.ms",
        "processing.guarantee",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "replication.factor",
        "request.timeout.ms",
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "send.buffer.bytes",
        "session.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "state.cleanup.delay.ms",
        "statestore.cache.max.bytes",
        "task.timeout.ms",
        "topology.optimization",
        "transaction.timeout.ms",
        "cleanup.policy",
        "delete.retention.ms",
        "max.message.bytes",
        "message.timestamp.type",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "min.insync.replicas",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "segment.ms",
    ]
)

#: settings of CLIENTS_MAY_SET with an upper limit for requests: each query allocates this much memory
_MAX_FOR_CLIENTS = {
    "batch.size": 16 * 2**20,
    "buffer.memory": 128 * 2**20,
    "fetch.max.bytes": 128 * 2**20,
    "max.partition.fetch.bytes": 128 * 2**20,
    "max.request.size": 128 * 2**20,
    "receive.buffer.bytes": 16 * 2**20,
    "send.buffer.bytes": 16 * 2**20,
}

_YES_OR_NO = ("true", "false")
#: settings of CLIENTS_MAY_SET that are texts, with their allowed values; empty if their reader validates them
_TEXTS_OF_CLIENTS: dict[str, tuple[str, ...]] = {
    "acks": ("all", "-1", "0", "1"),
    "auto.offset.reset": (),
    "check.crcs": _YES_OR_NO,
    "cleanup.policy": (),
    "client.rack": (),
    "compression.type": (),
    "enable.auto.commit": _YES_OR_NO,
    "enable.idempotence": _YES_OR_NO,
    "isolation.level": ("read_committed", "read_uncommitted"),
    "message.timestamp.type": (),
    "min.cleanable.dirty.ratio": (),
    "processing.guarantee": (),
    "topology.optimization": (),
}

#: prefixes of settings that are passed to the program that defines them
_PASSED = ("ksql.schema.registry.", "ksql.connect.", "spark.", "fs.")

#: variables of ksqlDB's images, of Kubernetes, or our own, that are not properties
_NO_PROPERTIES = re.compile(
    r"KSQL_(SPARK_.*|HISTORY|OPTS|HEAP_OPTS|JMX_(OPTS|PORT|HOSTNAME)|JVM_PERFORMANCE_OPTS|GC_LOG_OPTS|LOG4J_.*|LOGGING_.*"
    r"|CLASSPATH|HOME|DIR|LOG_DIR|CONFIG_DIR|DEBUG|CUB_.*|HOST_NAME|PORT(_.*)?|SERVICE_HOST|SERVICE_PORT.*|VERSION)"
)


def canonical(name: str) -> str | None:
    """The canonical name of a property that may have several names, or None if no property has ``name``.

    >>> canonical("auto.offset.reset"), canonical("ksql.streams.auto.offset.reset")
    ('ksql.streams.auto.offset.reset', 'ksql.streams.auto.offset.reset')
    >>> canonical("ksql.streams.bootstrap.servers"), canonical("nonsense")
    ('bootstrap.servers', None)
    """
    name = name.strip()
    if name in PROPERTIES:
        return name
    bare = name.removeprefix(STREAMS_PREFIX)
    if bare == "bootstrap.servers":
        return bare
    setting = _setting(name)
    if setting in KAFKA_SETTINGS or setting.startswith(_SECURITY):
        return name if setting.startswith(_SECURITY) and setting == name else STREAMS_PREFIX + bare
    if name.startswith(_FAMILIES) and name not in _FAMILIES:
        return name
    return None


def _setting(name: str) -> str:
    """A Kafka client setting without its prefix, such as ``ksql.streams.consumer.`` or ``producer.``."""
    bare = name.removeprefix(STREAMS_PREFIX)
    return next((bare.removeprefix(p) for p in _CLIENT_PREFIXES if bare.startswith(p)), bare)


def _is_security(setting: str) -> bool:
    return setting == "security.protocol" or setting.startswith(_SECURITY)


def _check_of_client(entry: Property, value: str) -> None:
    """Raise PROPERTY_INVALID for a value that a Kafka client would reject, so that no query starts with it."""
    choices = _TEXTS_OF_CLIENTS.get(_setting(entry.name))
    if choices is None:
        Property(entry.name, "long", None, "").parse(value)
    elif choices:
        Property(entry.name, "string", None, "", choices=choices).parse(value)


def is_valid_property(name: str) -> bool:
    """Whether ``name`` is one of the names of a property."""
    return canonical(name) is not None


def find(name: str, source: str | None = None) -> Property:
    """The property called ``name``.

    Args:
        name: any name of the property.
        source: where the name was read, for the error message.

    Raises:
        KsqlError: PROPERTY_UNKNOWN with the nearest name.
    """
    property_name = canonical(name)
    if property_name is None:
        hints = [f"It is in {source}."] if source else []
        bare = (entry.removeprefix(STREAMS_PREFIX) for entry in PROPERTIES)
        near = nearest(name, [*PROPERTIES, *bare, *KAFKA_SETTINGS])
        if near:
            hints.append(f"Did you mean '{near}'?")
        raise KsqlError("PROPERTY_UNKNOWN", name=name, hint=" ".join(hints) or None)
    if property_name in PROPERTIES:
        return PROPERTIES[property_name]
    kind: Type = "password" if is_secret(property_name) else "string"
    return Property(
        property_name,
        kind,
        None,
        "Passed on unchanged.",
        editable=_setting(property_name) in CLIENTS_MAY_SET,
        in_force=_is_passed_on(property_name),
    )


def _is_passed_on(name: str) -> bool:
    """Whether a name outside the table is passed to a Kafka client, Spark or a schema registry."""
    bare = name.removeprefix(STREAMS_PREFIX)
    if _is_security(_setting(name)) or name.startswith(_PASSED):
        return True
    for client, settings in _PASSED_ON.items():
        prefix = next((p for p in _PREFIXES_OF[client] if bare.startswith(p)), "")
        if bare.removeprefix(prefix) in settings:
            return True
    return False


def warning(name: str, value: Any) -> str | None:
    """A warning for a user who sets a property that has no effect; None if it has one.

    Raises:
        KsqlError: PROPERTY_UNKNOWN, PROPERTY_INVALID.
    """
    entry = find(name)
    if entry.in_force or entry.parse(value) == entry.default:
        return None
    return f"Property '{name}' has no effect: ksql-spark accepts it for compatibility with ksqlDB."


class Config(Mapping[str, Any]):
    """Values of properties: those that were set, and the table's defaults. Immutable.

    ``config[name]`` is the typed value of a property under any of its names: the value that was set, else its
    default, else None. A name that no property has is a KeyError. Only properties in force can be read.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._set = {entry.name: entry.parse(value) for entry, value in _pairs(values or {}, None)}

    @classmethod
    def load(
        cls,
        properties_file: str | Path | None = None,
        environ: Mapping[str, str] | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Config:
        """The server's configuration from file, environment and overrides; a later source wins.

        Args:
            properties_file: a file in the syntax of Java properties.
            environ: variables; those that start with KSQL_ are properties (see environment_properties()).
            overrides: values from the command line, by property name.

        Raises:
            KsqlError: PROPERTY_UNKNOWN, PROPERTY_INVALID, BAD_REQUEST for a file that cannot be read.
        """
        merged: dict[str, Any] = {}
        sources: list[tuple[Mapping[str, Any], str | None]] = []
        if properties_file is not None:
            sources.append((read_properties(properties_file), f"the file {properties_file}"))
        sources.append((environment_properties(environ or {}), "the environment, as a variable KSQL_…"))
        sources.append((overrides or {}, None))
        for values, source in sources:
            for entry, value in _pairs(values, source):
                merged[entry.name] = entry.parse(value)
        return cls(merged)

    def __getitem__(self, name: str) -> Any:
        full_name = canonical(name)
        if full_name is None:
            raise KeyError(name)
        assert find(full_name).in_force, f"{full_name} is read, so its row must have in_force=True"
        return self._value(full_name)

    def _value(self, name: str) -> Any:
        if name in self._set:
            return self._set[name]
        if name == "ksql.spark.data.dir":
            return str(default_data_dir())
        return PROPERTIES[name].default if name in PROPERTIES else None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*PROPERTIES, *self._set}))

    def __len__(self) -> int:
        return len({*PROPERTIES, *self._set})

    def is_set(self, name: str) -> bool:
        """Whether the property was set, even to its default."""
        return canonical(name) in self._set

    def with_values(self, values: Mapping[str, Any]) -> Config:
        """Return this configuration with some values replaced, even those that requests may not override."""
        return Config({**self._set, **Config(values)._set})

    def with_overrides(self, overrides: Mapping[str, Any]) -> Config:
        """The configuration of a request: this one with the request's overrides.

        Raises:
            KsqlError: as validate_override().
        """
        return self.with_values({name: self.validate_override(name, overrides[name]) for name in overrides})

    def check_editable(self, name: str) -> Property:
        """The property that a client wants to set, if the table or CLIENTS_MAY_SET allows it and the server's
        configuration does not deny it.

        Raises:
            KsqlError: PROPERTY_UNKNOWN, PROPERTY_FIXED.
        """
        entry = find(name)
        denied = {canonical(item) or item for item in self["ksql.properties.overrides.denylist"]}
        if not entry.editable or entry.name in denied:
            raise KsqlError("PROPERTY_FIXED", name=name)
        return entry

    def validate_override(self, name: str, value: Any) -> Any:
        """The typed value of an override from SET or ``streamsProperties`` (reference §2.13, §9.1).

        Args:
            name: any name of the property.
            value: text, or a JSON value.

        Raises:
            KsqlError: PROPERTY_UNKNOWN, PROPERTY_INVALID; PROPERTY_FIXED if only the server's configuration
                may set it.
        """
        entry = self.check_editable(name)
        parsed = entry.parse(value)
        maximum = _MAX_FOR_CLIENTS.get(_setting(entry.name))
        if maximum is not None and not (
            re.fullmatch(r"-?[0-9]{1,20}", str(parsed)) and int(parsed) <= maximum
        ):
            reason = f"it must be a whole number, and in a request at most {maximum}"
            raise KsqlError("PROPERTY_INVALID", name=name, value=str(value)[:_MAX_SHOWN], reason=reason)
        if entry.name not in PROPERTIES and parsed is not None:
            _check_of_client(entry, str(parsed))
        scans = "ksql.query.pull.table.scan.enabled"
        if entry.name == scans and parsed and not self[scans]:
            raise KsqlError(
                "PROPERTY_INVALID", name=name, value="true", reason="the server has disabled table scans"
            )
        return parsed

    def text(self, name: str) -> str | None:
        """The value as SHOW PROPERTIES shows it, with secrets hidden; None if it has no value."""
        entry = find(name)
        value = self._value(entry.name)
        if value is None:
            return None
        if entry.type == "password":
            return HIDDEN
        return masked(",".join(value) if isinstance(value, list) else _json_text(value))

    def secrets(self) -> frozenset[str]:
        """The configured secrets, to be hidden everywhere: passwords, including those in URLs."""
        return secrets(self._set)

    def with_prefix(self, prefix: str) -> dict[str, Any]:
        """The values set under names that start with ``prefix``, for example ``spark.``, by full name."""
        return {name: value for name, value in self._set.items() if name.startswith(prefix)}

    def client_settings(self, client: Client) -> dict[str, str]:
        """Settings of the Kafka clients on the JVM that read or write records.

        These are ``bootstrap.servers`` and the settings below ``ksql.streams.`` for all clients or for this kind,
        except those that the engine controls: serializers, offsets, groups, interceptors. By default, consumers
        read only committed records (isolation.level), and clients do not report metrics (metric.reporters,
        enable.metrics.push).
        """
        everyone: dict[str, str] = {}
        own: dict[str, str] = {}
        for name, value in self._set.items():
            bare = name.removeprefix(STREAMS_PREFIX)
            prefix = next((p for p in _PREFIXES_OF[client] if bare.startswith(p)), "")
            setting = bare.removeprefix(prefix)
            if setting in _PASSED_ON[client] or _is_security(setting):
                (own if prefix else everyone)[setting] = str(value)
        settings = {"bootstrap.servers": str(self["bootstrap.servers"]), **_NO_REPORTS, **everyone, **own}
        if client == "consumer":
            settings.setdefault("isolation.level", "read_committed")
        for store in ("truststore", "keystore"):
            if settings.get(f"ssl.{store}.location", "").endswith(_PEM_NAMES):
                settings.setdefault(f"ssl.{store}.type", "PEM")
        return settings

    def kafka_security_settings(self) -> dict[str, str]:
        """Security settings for Kafka's clients on the JVM, under their own names."""
        return {n: value for n, value in self.client_settings("consumer").items() if _is_security(n)}

    def kafka_client_settings(self) -> dict[str, str]:
        """Security settings for our own Kafka clients, under librdkafka's names.

        Raises:
            KsqlError: PROPERTY_INVALID for a login module, or a trust store, that librdkafka cannot use.
        """
        security = self.kafka_security_settings()
        settings = {
            theirs: security[ours]
            for ours, theirs in _LIBRDKAFKA_NAMES.items()
            if security.get(ours) is not None
        }
        authorities = settings.get("ssl.ca.location", ".pem")
        if not authorities.endswith(_PEM_NAMES):
            raise KsqlError(
                "PROPERTY_INVALID",
                name="ssl.truststore.location",
                value=authorities,
                reason=f"it must be a PEM file named {', '.join(_PEM_NAMES)}; keytool -list -rfc writes one",
            )
        if security.get("ssl.endpoint.identification.algorithm") == "":
            settings["ssl.endpoint.identification.algorithm"] = "none"
        if jaas := security.get("sasl.jaas.config"):
            found = dict(re.findall(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"', jaas))
            if len(found) != 2:
                raise KsqlError(
                    "PROPERTY_INVALID",
                    name="sasl.jaas.config",
                    value=HIDDEN,
                    reason="it must have a username and a password",
                )
            settings |= {f"sasl.{name}": re.sub(r"\\(.)", r"\1", text) for name, text in found.items()}
        return settings


class CurrentConfig:
    """The server's current configuration, which ALTER SYSTEM replaces. Thread-safe."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def __call__(self) -> Config:
        return self.config


_PEM_NAMES = (".pem", ".crt", ".cer")

_LIBRDKAFKA_NAMES = {
    "security.protocol": "security.protocol",
    "sasl.mechanism": "sasl.mechanism",
    "ssl.keystore.location": "ssl.keystore.location",
    "ssl.keystore.password": "ssl.keystore.password",
    "ssl.key.password": "ssl.key.password",
    # for librdkafka a trust store is a PEM file
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
}


def _pairs(values: Mapping[str, Any], source: str | None) -> Iterator[tuple[Property, Any]]:
    for name, value in values.items():
        yield find(name, source), value


def default_data_dir() -> Path:
    """The default data folder: $XDG_DATA_HOME/ksql-spark or ~/.local/share/ksql-spark."""
    shared = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(shared).expanduser().absolute() / "ksql-spark"


def environment_properties(environ: Mapping[str, str]) -> dict[str, str]:
    """The properties that the environment sets, by the rule of ksqlDB's images.

    The first KSQL_ is removed, letters become lower case; ``_`` is a dot, ``__`` an underscore, ``___`` a dash.

    >>> environment_properties({"KSQL_LISTENERS": "http://0.0.0.0:8088", "KSQL_KSQL_SERVICE_ID": "a_"})
    {'listeners': 'http://0.0.0.0:8088', 'ksql.service.id': 'a_'}
    """
    separators = {"_": ".", "__": "_", "___": "-"}
    return {
        re.sub("___|__|_", lambda found: separators[found[0]], name.removeprefix("KSQL_").lower()): value
        for name, value in environ.items()
        if name.startswith("KSQL_") and not _NO_PROPERTIES.fullmatch(name)
    }


def read_properties(file: str | Path) -> dict[str, str]:
    """The names and values in a file with the syntax of Java's properties files.

    Raises:
        KsqlError: BAD_REQUEST if it cannot be read.
    """
    try:
        text = Path(file).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise KsqlError("BAD_REQUEST", reason=f"Cannot read the properties file {file}: {reason}.") from None
    return parse_properties(text)


def parse_properties(text: str) -> dict[str, str]:
    r"""The names and values in a text with the syntax of Java's properties files.

    >>> parse_properties("# a comment\nlisteners = http://h:1\nlong: a \\\n  b\n! another\nflag")
    {'listeners': 'http://h:1', 'long': 'a b', 'flag': ''}
    """
    properties = {}
    for line in _logical_lines(re.split(r"\r\n?|\n", text)):
        match = re.match(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", line, re.DOTALL)
        assert match is not None  # every part of it may be empty
        properties[_unescape(match[1])] = _unescape(match[2])
    return properties


def _logical_lines(lines: Iterable[str]) -> Iterator[str]:
    """Lines without comments and blank lines; a line that ends with a backslash is joined with the next."""
    joined: str | None = None
    for line in lines:
        stripped = line.lstrip(" \t\f")
        if joined is None and (not stripped or stripped[0] in "#!"):
            continue
        joined = (joined or "") + stripped
        trailing = len(joined) - len(joined.rstrip("\\"))
        if trailing % 2:
            joined = joined[:-1]
        else:
            yield joined
            joined = None
    if joined is not None:
        yield joined


def _unescape(text: str) -> str:
    named = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|(.))",
        lambda match: chr(int(match[1], 16)) if match[1] else named.get(match[2], match[2]),
        text,
        flags=re.DOTALL,
    )


__all__ = [
    "CLIENTS_MAY_SET",
    "PROPERTIES",
    "Config",
    "Property",
    "canonical",
    "default_data_dir",
    "environment_properties",
    "find",
    "is_valid_property",
    "parse_properties",
    "read_properties",
    "warning",
]
