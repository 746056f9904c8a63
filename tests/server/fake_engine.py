"""An engine without Spark and Kafka, for the tests of server/ and shell/.

It knows a few statements by their looks, keeps what was sent to it, and has queries whose rows the test
feeds. Words in a statement make it misbehave: see ``execute`` and ``query``.
"""

from __future__ import annotations

import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ksql_spark import SERVER_VERSION
from ksql_spark.authorization import ALL_RIGHTS, Rights
from ksql_spark.config import warning
from ksql_spark.engine import Acknowledged, QueryStream, Request, ResultColumn, Row, Rows
from ksql_spark.engine.metrics import LAG, LATENCY, Figure
from ksql_spark.entities import Entity
from ksql_spark.entities.catalog import (
    ArgumentInfo,
    FunctionDescriptionList,
    FunctionInfo,
    FunctionNameList,
    PropertiesList,
    Property,
    SimpleFunctionInfo,
)
from ksql_spark.entities.commands import (
    CommandStatus,
    CommandStatusEntity,
    RowsChanged,
    RowsInserted,
    StateRebuilt,
    WarningEntity,
)
from ksql_spark.entities.connectors import ConnectorSetting, ConnectorSettings
from ksql_spark.entities.graph import (
    Culprit,
    Graph,
    GraphEdge,
    GraphNode,
    QueryFigures,
)
from ksql_spark.entities.queries import Queries, QueryDescription, QueryDescriptionEntity, RunningQuery
from ksql_spark.entities.query_details import (
    CheckpointReport,
    Histogram,
    PlanStep,
    QueryDetails,
    QueryTransition,
    RecordVolume,
    StateVolume,
    StepDetail,
    SubTopology,
)
from ksql_spark.entities.samples import (
    RawBytes,
    RawHeader,
    RawRecord,
    RawRecords,
    SchemaVersion,
    SourceSchemas,
    SubjectVersions,
)
from ksql_spark.entities.schemas import DecimalParameters, FieldInfo, SchemaInfo
from ksql_spark.entities.servers import (
    CommandRunnerHealth,
    DrainStatus,
    HealthCheckResponse,
    HealthDetails,
    HostInfo,
    HostStatus,
    KeyQueryMetadata,
    PartHealth,
    QueriesHealth,
    ServerInfo,
    StreamsMetadata,
)
from ksql_spark.entities.sources import (
    KafkaTopicInfo,
    KafkaTopicsList,
    SourceDescription,
    SourceDescriptionEntity,
    SourceDescriptionList,
    SourceInfo,
    StreamsList,
    TablesList,
)
from ksql_spark.errors import KsqlError, Position
from ksql_spark.spark.traffic import Times

UCASE = FunctionDescriptionList(
    statement_text="DESCRIBE FUNCTION UCASE",
    name="UCASE",
    description="Upper case.",
    author="",
    version="",
    path="internal",
    type="SCALAR",
    functions=(
        FunctionInfo(
            arguments=(ArgumentInfo(name="str", type="STRING", description="", is_variadic=False),),
            argument_types=("STRING",),
            return_type="STRING",
            description="Upper case.",
        ),
    ),
)
FIELDS = (
    FieldInfo("VENDORID", SchemaInfo("INTEGER"), "KEY"),
    FieldInfo("FARE_AMOUNT", SchemaInfo("DECIMAL", parameters=DecimalParameters(8, 2))),
    FieldInfo("ZONE", SchemaInfo("STRING")),
)


def described(name: str, kind: str) -> SourceDescription:
    """A stream or table with FIELDS."""
    return SourceDescription(
        name=name,
        window_type=None,
        read_queries=(),
        write_queries=(),
        fields=FIELDS,
        type=kind,
        timestamp="",
        statistics="",
        error_stats="",
        extended=False,
        key_format="KAFKA",
        value_format="JSON",
        topic=name.lower(),
        partitions=0,
        replication=0,
        statement="",
        query_offset_summaries=(),
        source_constraints=(),
        is_source=False,
    )


class FakeStream(QueryStream):
    """A QueryStream whose rows are put into ``rows``."""

    def __init__(
        self,
        kind: str,
        columns: Iterable[ResultColumn],
        rows: Iterable[Row] = (),
        *,
        query_id: str = "transient_RIDES_1",
        ends: bool = True,
        final_message: str | None = None,
        error: Exception | None = None,
    ) -> None:
        self.kind = kind
        self.columns = list(columns)
        self.query_id = query_id
        self.final_message = final_message
        self.closed = threading.Event()
        self.error = error
        self._ends = ends
        self.rows: queue.Queue[Row | None] = queue.Queue()
        for row in rows:
            self.rows.put(row)

    def end(self, final_message: str | None = None) -> None:
        """No more rows."""
        self.final_message = final_message
        self._ends = True
        self.rows.put(None)

    def read(self, timeout_s: float) -> Rows | None:
        rows = Rows()
        while not self.closed.is_set():
            empty = self.rows.empty()
            if empty and (rows or self.error or self._ends):
                break
            try:
                row = self.rows.get(timeout=timeout_s)
            except queue.Empty:
                return rows
            if row is None:
                break
            rows.append(row)
        if rows:
            return rows
        if self.error is not None:
            raise self.error
        return None

    def close(self) -> None:
        self.closed.set()
        self.rows.put(None)


class LiveStream(FakeStream):
    """A push query that has caught up, so that reading needs no thread, without rows until it is closed."""

    is_live = True

    def __init__(self, columns: Iterable[ResultColumn], query_id: str) -> None:
        super().__init__("PUSH", columns, ends=False, query_id=query_id)
        self._on_arrival: list[Callable[[], None]] = []

    def when_arrived(self, on_arrival: Callable[[], None]) -> None:
        self._on_arrival.append(on_arrival)

    def read(self, timeout_s: float) -> Rows | None:
        return None if self.closed.is_set() else Rows()

    def close(self) -> None:
        super().close()
        for call in self._on_arrival:
            call()


class FakeInserter:
    """As RowInserter; a row with "bad" in it fails."""

    def __init__(self, on_news: Callable[[], None], is_whole: bool) -> None:
        self.is_whole = is_whole
        self.is_finished = False
        self.rows: list[bytes] = []
        names = {"VENDORID": "INTEGER", "FARE_AMOUNT": "DECIMAL", "ZONE": "STRING"}
        self.fields = {name: {"type": type_} for name, type_ in names.items()}
        self.closed = False
        self._on_news = on_news
        self._reported = 0
        self._error: KsqlError | None = None

    def insert(self, lines: Iterable[bytes]) -> bool:
        for line in lines:
            if b"bad" in line:
                self._error = KsqlError("BAD_REQUEST", reason="a bad row")
                break
            self.rows.append(line)
        self._on_news()
        return self._error is None

    def acknowledged(self) -> Acknowledged:
        first, self._reported = self._reported, len(self.rows)
        return Acknowledged(first, self._reported, self._error)

    @property
    def is_idle(self) -> bool:
        return self._reported == len(self.rows)

    def finish(self) -> None:
        self.is_finished = True

    def close(self) -> None:
        self.closed = True


class FakeCluster:
    """As Cluster."""

    def __init__(self) -> None:
        self.has_heartbeats = self.has_lags = False
        self.heard: dict[str, Any] = {}
        self.lags: dict[str, Any] = {}

    def status(self) -> dict[str, HostStatus]:
        return {
            server: HostStatus(
                host_alive=True,
                last_status_update_ms=at,
                active_standby_per_query={},
                host_store_lags=self.lags.get(server, {}),
            )
            for server, at in self.heard.items()
        }

    def metadata_for_key(self, table: str, key: Any) -> KeyQueryMetadata:
        return KeyQueryMetadata(
            table=table, topic="t", partition=len(key), active_host=HostInfo("a", 8088), standby_hosts=()
        )

    def all_metadata(self) -> list[StreamsMetadata]:
        return [StreamsMetadata(host_info=HostInfo("a", 8088), state_store_names=(), topic_partitions=())]

    def drain(self) -> DrainStatus:
        return DrainStatus(host="a:8088", drained=True, message="done")

    def serve(self) -> DrainStatus:
        return DrainStatus(host="a:8088", drained=False, message="done")

    def heartbeat(self, server: str, timestamp_ms: int) -> None:
        self.heard[server] = timestamp_ms

    def report(self, server: str, lags: Any) -> None:
        self.heard.setdefault(server, 0)
        self.lags[server] = lags


class FakeEngine:
    """See the module; each method is as that of Engine."""

    def __init__(self, config: object = None) -> None:
        self.state = "RUNNING"
        self.requests: list[Request] = []
        self.closed_by: tuple[Rights, str | None] | None = None
        self.validated: list[str] = []
        self.streams: list[FakeStream] = []
        self.next_stream: FakeStream | None = None
        #: query in ERROR -> why
        self.failures: dict[str, str] = {}
        self.sources: dict[str, str] = {"RIDES": "STREAM", "ZONES": "TABLE"}
        self.cluster = FakeCluster()
        self.inserter_made: FakeInserter | None = None
        self.terminated: list[str] | None = None
        self._sequence = 0
        self.records_read = 0

    def start(self, report: Callable[[str], None], serving: Callable[[], None]) -> None:
        report("broker: a fake one")
        serving()

    def stop(self) -> bool:
        self.state = "STOPPING"
        return True

    def execute(self, request: Request) -> list[Entity]:
        """Answer statements; BOOM raises something unexpected, NOWHERE is an unknown source."""
        self.requests.append(request)
        entities: list[Entity] = []
        for text in filter(None, (part.strip() for part in request.text.split(";"))):
            try:
                entities += self._one(text)
            except KsqlError as error:
                error.entities = entities
                raise
        return entities

    def validate(self, request: Request) -> int:
        """As execute, without its answers."""
        self.validated.append(request.text)
        return len([self._one(part.strip()) for part in request.text.split(";") if part.strip()])

    def _one(self, text: str) -> list[Entity]:
        if "BOOM" in text:
            raise RuntimeError("boom\nsecond line")
        if "NOWHERE" in text:
            text = text.removeprefix("EXPLAIN ")  # places are relative to the statement in it
            column = text.index("NOWHERE") - (text.rfind("\n", 0, text.index("NOWHERE")) + 1) + 1
            line = text[: text.index("NOWHERE")].count("\n") + 1
            raise KsqlError(
                "SOURCE_UNKNOWN",
                position=Position(line, column, 7),
                statement=text,
                kind="Source",
                name="NOWHERE",
            )
        if text.upper().startswith(("SELECT", "PRINT")):
            raise KsqlError("QUERY_IN_KSQL", statement=text)
        shown = text + ";"
        words = text.upper().split()
        match words[:2]:
            case ["SHOW", "STREAMS" | "TABLES" as which]:
                kind = which[:-1]
                listed = [
                    SourceInfo(
                        type=kind,
                        name=name,
                        topic=name.lower(),
                        key_format="KAFKA",
                        value_format="JSON",
                        is_windowed=False,
                    )
                    for name, its_kind in self.sources.items()
                    if its_kind == kind
                ]
                if kind == "STREAM":
                    return [StreamsList(statement_text=shown, streams=tuple(listed))]
                return [TablesList(statement_text=shown, tables=tuple(listed))]
            case ["SHOW", "TOPICS"]:
                topics = (KafkaTopicInfo(name="rides", replica_info=(1, 1)),)
                return [KafkaTopicsList(statement_text=shown, topics=topics)]
            case ["SHOW", "QUERIES"]:
                query = RunningQuery(
                    query_string="CREATE STREAM BIG AS\n  SELECT *\n  FROM RIDES WHERE FARE_AMOUNT >= 40;",
                    sinks=("BIG",),
                    sink_kafka_topics=("big",),
                    id="CSAS_BIG_1",
                    status_count={"RUNNING": 1},
                    query_type="PERSISTENT",
                    state="RUNNING",
                    processing_guarantee="at_least_once",
                )
                return [Queries(statement_text=shown, queries=(query,))]
            case ["SHOW", "PROPERTIES"]:
                values = {"auto.offset.reset": "latest", "bootstrap.servers": "127.0.0.1:9092"}
                properties = [
                    Property(name=name, scope="KSQL", value=value, editable="auto" in name, level="SERVER")
                    for name, value in values.items()
                ]
                return [
                    PropertiesList(
                        statement_text=shown,
                        properties=tuple(properties),
                        overwritten_properties=(),
                        default_properties=("auto.offset.reset",),
                    )
                ]
            case ["SHOW", "FUNCTIONS"]:
                functions = (SimpleFunctionInfo("UCASE", "SCALAR", "STRING"),)
                return [FunctionNameList(statement_text=shown, functions=functions)]
            case ["DESCRIBE", ("STREAMS" | "TABLES" | "VIEWS") as kind]:
                kind_of_source = kind.removesuffix("S")
                descriptions = tuple(
                    described(name, of) for name, of in self.sources.items() if of == kind_of_source
                )
                return [SourceDescriptionList(statement_text=shown, source_descriptions=descriptions)]
            case ["DESCRIBE", "FUNCTION"]:
                return [UCASE]
            case ["DESCRIBE", name]:
                name = name.strip("`")
                if name not in self.sources:
                    raise KsqlError("SOURCE_UNKNOWN", statement=text, kind="Source", name=name)
                description = described(name, self.sources[name])
                return [SourceDescriptionEntity(statement_text=shown, source_description=description)]
            case ["EXPLAIN", "SELECT", *_]:
                descriptions = QueryDescription(
                    statement_text=text,
                    window_type=None,
                    fields=FIELDS,
                    sources=("RIDES",),
                    execution_plan="a plan",
                    query_type="PULL",
                )
                return [QueryDescriptionEntity(statement_text=shown, query_description=descriptions)]
            case ["SET", quoted]:
                name = quoted.strip("'").lower()
                if message := warning(name, text.split("'")[3]):
                    return [WarningEntity(statement_text=shown, message=message)]
                if not self.is_valid_property(name):
                    raise KsqlError("PROPERTY_UNKNOWN", statement=text, name=name)
                return []
            case ["INSERT", _] if "RETURNING" in text.upper():
                fields = (FIELDS[0], FIELDS[2], FieldInfo("Where", SchemaInfo("STRING")))
                rows = ((1, "a", "a"), (2, "b", "b"))
                return [RowsInserted(statement_text=shown, count=2, columns=fields, rows=rows)]
            case ["INSERT", _]:
                return []
            case ["UPDATE" | "DELETE" | "TRUNCATE" as operation, _]:
                message = f"2 rows of RIDES {'updated' if operation == 'UPDATE' else 'deleted'}"
                return [RowsChanged(statement_text=shown, operation=operation, count=2, message=message)]
        match = re.match(r"CREATE\s+(STREAM|TABLE)\s+(\w+)", text, re.I)
        if match:
            self.sources[match[2].upper()] = match[1].upper()
        self._sequence += 1
        what = match[1].capitalize() if match else "Statement"
        return [
            CommandStatusEntity(
                statement_text=shown,
                command_id="stream/`X`/create",
                command_status=CommandStatus("SUCCESS", f"{what} created", None),
                command_sequence_number=self._sequence,
            )
        ]

    def query(self, request: Request) -> FakeStream:
        """Start what ``next_stream`` holds, or something that fits the statement."""
        self.requests.append(request)
        if "NOWHERE" in request.text or "BOOM" in request.text:
            self._one(request.text)
        stream = self.next_stream or self._stream(request.text)
        self.next_stream = None
        self.streams.append(stream)
        return stream

    def _stream(self, text: str) -> FakeStream:
        columns = [ResultColumn("VENDORID", "INTEGER", True), ResultColumn("ZONE", "STRING")]
        rows = [Row([1, "Astoria"]), Row([2, "Jamaica Bay"])]
        if text.upper().startswith("PRINT"):
            lines = [
                "Key format: KAFKA_INT",
                "rowtime: 2026/01/01 00:00:00.000 Z, key: 1, value: {}, partition: 0",
            ]
            return FakeStream("PRINT", [ResultColumn("LINE", "STRING")], [Row([line]) for line in lines])
        if "EMIT CHANGES" not in text.upper():
            return FakeStream("PULL", columns, rows)
        if "LIMIT" in text.upper():
            return FakeStream("PUSH", columns, rows, final_message="Limit Reached")
        return FakeStream("PUSH", columns, rows, ends=False)

    def look_up(self, *_: Any) -> None:
        """No look-up has a plan here."""

    def inserter(
        self,
        target: str,
        properties: Any,
        on_news: Callable[[], None],
        rights: Rights = ALL_RIGHTS,
        is_whole: bool = False,
    ) -> FakeInserter:
        """As Engine.inserter; there is only RIDES."""
        if (name := target.strip("`").upper()) != "RIDES":
            raise KsqlError("INSERT_UNKNOWN", name=name, similar="")
        self.inserter_made = FakeInserter(on_news, is_whole)
        self.inserter_rights = rights
        return self.inserter_made

    def terminate_cluster(self, topics: Any) -> list[Entity]:
        self.terminated = list(topics)
        return self._one("TERMINATE CLUSTER")

    def rebuild_state(self, query_id: str) -> StateRebuilt:
        """As Engine.rebuild_state; there is only CTAS_T_1."""
        if query_id.upper() != "CTAS_T_1":
            raise KsqlError("QUERY_UNKNOWN", id=query_id)
        return StateRebuilt("CTAS_T_1", "The state of CTAS_T_1 is rebuilt.")

    def close_query(self, query_id: str, rights: Rights = ALL_RIGHTS, user: str | None = None) -> bool:
        self.closed_by = (rights, user)
        open_streams = [s for s in self.streams if s.query_id == query_id and not s.closed.is_set()]
        for stream in open_streams:
            stream.close()
        return bool(open_streams)

    def info(self) -> ServerInfo:
        return ServerInfo(
            version=SERVER_VERSION,
            kafka_cluster_id="fake-cluster",
            ksql_service_id="default_",
            server_status="RUNNING",
        )

    def health(self) -> HealthCheckResponse:
        details = HealthDetails(
            metastore=PartHealth(True),
            kafka=PartHealth(True),
            command_runner=CommandRunnerHealth(True, ()),
            spark=PartHealth(True),
            queries=QueriesHealth(
                is_healthy=not self.failures,
                in_error=tuple(self.failures),
                reasons=self.failures,
                starting=(),
                problem=None,
            ),
        )
        return HealthCheckResponse(is_healthy=True, details=details, server_state=self.state)

    def figures(self) -> list[Figure]:
        times = Times((0.001, 0.01), (3, 2, 1), 1.5)
        return [Figure(LAG, ("CTAS_T_1", "rides"), 3), Figure(LATENCY, ("CTAS_T_1", "T"), times)]

    def connector_settings(self, class_: str) -> ConnectorSettings | None:
        """As Engine.connector_settings: of File, which has a file."""
        if class_ != "File":
            return None
        file = ConnectorSetting(
            name="file",
            type="STRING",
            required=True,
            default_value=None,
            importance="HIGH",
            group=None,
            documentation="Where it reads.",
        )
        return ConnectorSettings(class_name=class_, settings=(file,))

    def restart_connector(self, name: str) -> None:
        """As Engine.restart_connector: keeps the name."""
        self.restarted = name

    def graph(self, rights: Rights = ALL_RIGHTS) -> Graph:
        """As Engine.graph: RIDES, and a query that falls behind."""
        self.graph_rights = rights
        role = rights.role.label if rights.role is not None else None
        figures = QueryFigures(read_per_s=10.5, lag_records=3, errors={"late": 1})
        nodes = (
            GraphNode(id="topic:rides", kind="TOPIC", name="rides"),
            GraphNode(
                id="stream:RIDES", kind="STREAM", name="RIDES", topic="rides", formats=("KAFKA", "JSON")
            ),
            GraphNode(
                id="query:BIG_1", kind="QUERY", name="BIG_1", state="RUNNING", figures=figures, role=role
            ),
        )
        edges = (GraphEdge("topic:rides", "stream:RIDES"), GraphEdge("stream:RIDES", "query:BIG_1"))
        culprits = (Culprit("BIG_1", "It falls behind."),)
        return Graph(time_ms=1, nodes=nodes, edges=edges, culprits=culprits)

    def query_details(self, query_id: str, rights: Rights = ALL_RIGHTS) -> QueryDetails:
        """As Engine.query_details: of BIG_1, which filters RIDES and has failed once."""
        self.details_asked = query_id, rights
        if query_id.upper() != "BIG_1":
            raise KsqlError("QUERY_UNKNOWN", id=query_id, hint="SHOW QUERIES lists all queries.")
        self.records_read += 100
        read = PlanStep(
            id="0", title="Stream Source", details=(StepDetail("", "RIDES"),), inputs=(), topic="rides",
            volume=RecordVolume(self.records_read, 10 * self.records_read),
        )  # fmt: skip
        where = PlanStep(
            id="1", title="Stream Filter", details=(StepDetail("Where", "FARE_AMOUNT > 40"),), inputs=("0",)
        )
        sink = PlanStep(
            id="2", title="Sink", details=(StepDetail("Topic", "BIG"),), inputs=("1",), topic="BIG",
            volume=RecordVolume(self.records_read // 2, 5 * self.records_read),
        )  # fmt: skip
        checkpoints = tuple(
            CheckpointReport(
                batch=n, time_ms=n * 5000, took_ms=5000, records=10 * n, parts_ms={"commitOffsets": n}
            )
            for n in (1, 2, 3)
        )
        stage = SubTopology(
            number=0,
            execution="in micro-batches: a fake runs it",
            steps=(read, where, sink),
            state=StateVolume(rows=2, bytes=30, at="2026-01-01T00:00:00.000Z"),
            checkpoints=checkpoints,
        )
        return QueryDetails(
            id="BIG_1",
            state="RUNNING",
            time_ms=int(time.time() * 1000),
            logical=(replace(read, volume=None), where),
            sub_topologies=(stage,),
            latencies={"BIG": Histogram((0.001, 0.01), (3, 2, 1), 1.5)},
            reached={"rides": {"0": 12}},
            pauses=Histogram((0.001, 0.01), (0, 4, 0), 0.02),
            graces=Histogram((60.0, 3600.0), (40, 9, 0)),
            transitions=(
                QueryTransition(time_ms=1000, event="start", state="RUNNING"),
                QueryTransition(time_ms=2000, event="fail", state="ERROR", reason="The disk is full."),
                QueryTransition(time_ms=9000, event="start", state="RUNNING"),
            ),
        )

    def raw_records(
        self, topic: str, partition: int, offset: int | None, limit: int, rights: Rights = ALL_RIGHTS
    ) -> RawRecords:
        """As Engine.raw_records: one whose value is no text."""
        self.raw_asked = topic, partition, offset, limit
        key, value = RawBytes("Nw==", 1), RawBytes("/wAB/g==", 4)
        header = RawHeader("trace", None)
        record = RawRecord(offset=offset or 9, time_ms=1000, key=key, value=value, headers=(header,))
        return RawRecords(
            topic=topic, partition=partition, partitions=3, first_offset=2, end_offset=10, records=(record,)
        )

    def source_schemas(self, name: str, rights: Rights = ALL_RIGHTS) -> SourceSchemas:
        """As Engine.source_schemas: of values, in two versions."""
        versions = tuple(
            SchemaVersion(version=n, id=10 + n, type="AVRO", schema='{"type": "string"}') for n in (2, 1)
        )
        return SourceSchemas(None, SubjectVersions(f"{name.lower()}-value", versions))

    def statuses(self) -> dict[str, str]:
        return {"stream/`RIDES`/create": "SUCCESS"}

    def status(self, type: str, entity: str, action: str) -> CommandStatus | None:
        if (type, entity, action) != ("stream", "`RIDES`", "create"):
            return None
        return CommandStatus("SUCCESS", "Stream created", None)

    def is_valid_property(self, name: str) -> bool:
        return name == "auto.offset.reset"


class SlowEngine(FakeEngine):
    """Takes until ``stop`` or for ``seconds`` to start."""

    seconds = 600.0

    def __init__(self, config: object = None) -> None:
        super().__init__(config)
        self.state = "STARTING"
        self._stopped = threading.Event()

    def start(self, report: Callable[[str], None], serving: Callable[[], None]) -> None:
        """As Engine.start; raises when stopped on the way, as the real one does."""
        report("broker: not quite there")
        if self._stopped.wait(self.seconds):
            raise KsqlError("INTERNAL", reason="stopped while starting")
        self.state = "RUNNING"
        serving()

    def stop(self) -> bool:
        self._stopped.set()
        return super().stop()


class NewEngine(FakeEngine):
    """Has carried out nothing yet."""

    def statuses(self) -> dict[str, str]:
        return {}


class FailingEngine(FakeEngine):
    """Cannot start."""

    def start(self, report: Callable[[str], None], serving: Callable[[], None]) -> None:
        raise KsqlError("BROKER_UNREACHABLE", servers="kafka:9092", reason="connection refused")


class RestartingEngine(FakeEngine):
    """Asks for another process, unless it runs in that already."""

    def start(self, report: Callable[[str], None], serving: Callable[[], None]) -> None:
        super().start(report, serving)
        if os.environ.pop("RESTART", None):
            self.restart("the clock was set back by 3600 s")


class LiveEngine(FakeEngine):
    """Feeds its push queries by itself: for trying the shell by hand, and for the console in a browser."""

    def query(self, request: Request) -> FakeStream:
        """As FakeEngine.query, with ten rows a second, or as many as a comment ``-- 5000/s`` says."""
        stream = super().query(request)
        if stream.kind == "PUSH" and not stream.final_message:
            rate = re.search(r"-- (\d+)/s", request.text)
            per_s = int(rate.group(1)) if rate else 10
            threading.Thread(target=self._feed, args=(stream, per_s), daemon=True).start()
        return stream

    def _feed(self, stream: FakeStream, per_s: int) -> None:
        number, begun = 0, time.monotonic()
        while not stream.closed.is_set():
            for _ in range(int((time.monotonic() - begun) * per_s) + 1 - number):
                number += 1
                stream.rows.put(Row([number % 4, f"zone {number}"]))
            time.sleep(min(0.1, 10 / per_s))
