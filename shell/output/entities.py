"""The text of entities: one function per kind of entity (reference §7.3, §8.3).

A new entity needs a row in ENTITIES; others are shown as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Union

from ksql_spark.shell.output.figures import time_text
from ksql_spark.shell.output.flow import Tree, flow
from ksql_spark.shell.output.table import Table
from ksql_spark.shell.output.text import json_text

AT_LEAST_ONCE = "at_least_once"

Entity = Mapping[str, Any]

#: what the functions below yield: tables, trees and lines
Part = Union[Table, Tree, str]

#: how many rows and records a tree shows of each query
_MOST_IN_TREE = 5


def one_line(text: str) -> str:
    """``text`` without line breaks and indentation."""
    return " ".join(text.split())


def text(value: Any) -> str:
    """A member of an entity as text; empty for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return json_text(value)
    return str(value)


def label(name: str, value: Any) -> str:
    """``name                 : value``."""
    return f"{name:<20} : {text(value)}"


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]], right: Sequence[int] = ()) -> Table:
    """A Table of whatever is in ``rows``."""
    return Table(tuple(headers), [[text(cell) for cell in row] for row in rows], frozenset(right))


def schema_text(schema: Mapping[str, Any] | None) -> str:
    """A schema object (reference §7.3) as a SQL type.

    >>> schema_text({"type": "ARRAY", "memberSchema": {"type": "STRING"}})
    'ARRAY<STRING>'
    """
    if not schema:
        return ""
    kind = str(schema.get("type", ""))
    parameters = schema.get("parameters") or {}
    match kind:
        case "ARRAY":
            return f"ARRAY<{schema_text(schema.get('memberSchema'))}>"
        case "MAP":
            return f"MAP<STRING, {schema_text(schema.get('memberSchema'))}>"
        case "STRUCT":
            inner = ", ".join(f"{f['name']} {schema_text(f['schema'])}" for f in schema.get("fields") or [])
            return f"STRUCT<{inner}>"
        case "DECIMAL" if parameters:
            return f"DECIMAL({parameters.get('precision')}, {parameters.get('scale')})"
    return kind


def _message(entity: Entity) -> Iterator[Part]:
    yield table(["Message"], [[_first_line(entity)]])


def _first_line(entity: Entity) -> str:
    status = entity.get("commandStatus") or {}
    message = status.get("message") or entity.get("message") or status.get("status") or ""
    return str(message).split("\n")[0]


def command_done(entity: Entity) -> str:
    """What a statement of a script has done, in one line with the name of what it has changed.

    >>> command_done({"commandId": "stream/`RIDES`/create", "commandStatus": {"message": "Stream created"}})
    'RIDES: Stream created'
    """
    message = _first_line(entity)
    _, _, name = str(entity.get("commandId") or "").partition("/")
    name = name.rpartition("/")[0].strip("`")
    return f"{name}: {message}" if name and name not in message else message


def _terminated(entity: Entity) -> Iterator[Part]:
    done = entity.get("wasTerminated", True)
    yield table(
        ["Message"], [[f"Query {entity.get('queryId')} {'terminated' if done else 'was not running'}."]]
    )


def _connector(entity: Entity) -> Iterator[Part]:
    name = (entity.get("info") or {}).get("name") or entity.get("connectorName")
    verb = "Created" if entity.get("@type") == "connector_info" else "Dropped"
    yield table(["Message"], [[f"{verb} connector {name}"]])


def _evolution(entity: Entity) -> Iterator[Part]:
    members = (
        ("Name", "name"),
        ("State", "state"),
        ("Reason", "reason"),
        ("Query", "queryId"),
        ("Kafka topic", "topic"),
        ("Records left", "recordsLeft"),
        ("Keys changed", "keysChanged"),
        ("Keys removed", "keysRemoved"),
    )
    for name, member in members:
        if entity.get(member) is not None:
            yield label(name, entity[member])
    if entity.get("timestamp") is not None:
        yield label("Aborted", _moment(entity["timestamp"]))
    if entity.get("user"):
        yield label("User", entity["user"])
    if entity.get("rows"):
        yield label("Rows", "{:,} before, {:,} in the new version".format(*entity["rows"]))
    for name, count in (entity.get("columnsChanged") or {}).items():
        yield label(f"  {name}", f"differs for {count:,} key{'' if count == 1 else 's'}")
    yield from _samples(entity, "New version")
    if entity.get("isManual") and entity.get("state") in ("caught up", "verified"):
        subject = entity.get("name")
        if entity.get("reason"):
            yield (
                f"SWAP {subject}; is refused for this reason. "
                f"ABORT EVOLUTION {subject}; leaves everything as it was."
            )
        else:
            yield f"SWAP {subject}; lets the new version take over."


def _samples(entity: Entity, new: str) -> Iterator[Part]:
    samples = entity.get("samples") or []
    if samples:
        shown = [[json.dumps(s[part]) if s[part] else "-" for part in ("key", "old", "new")] for s in samples]
        yield table(["Key", "Before", new], shown)


def _reprocessed(entity: Entity) -> Iterator[Part]:
    yield from _message(entity)
    yield from _samples(entity, "Computed again")


def _forgotten(entity: Entity) -> Iterator[Part]:
    yield from _message(entity)
    columns = ("place", "name", "found", "outcome", "note")
    rows = [[each.get(column) for column in columns] for each in entity.get("places") or []]
    yield table([column.capitalize() for column in columns], rows, right=(2,))


def _versions(entity: Entity) -> Iterator[Part]:
    rows = [
        [
            version.get("number"),
            ("rollback, " if version.get("isRollback") else "") + str(version.get("way")),
            _moment(version.get("timestamp")),
            version.get("user"),
            version.get("queryId"),
            " ".join(str(version.get("statement")).split()),
        ]
        for version in entity.get("versions") or []
    ]
    yield table(["Version", "Way", "Since", "User", "Query", "Statement"], rows, right=(0,))


def _row_explanation(entity: Entity) -> Iterator[Part]:
    yield label("Query", entity.get("queryId"))
    yield label("Kafka topic", entity.get("topic"))
    yield label("Records used", entity.get("used"))
    for dropped in entity.get("dropped") or []:
        yield label("Dropped", f"{dropped.get('count')}: {dropped.get('reason')}")
    records = entity.get("records") or []
    why = ["Dropped, because"] if entity.get("isMissing") else []
    topics = ["Topic"] if "," in str(entity.get("topic")) else []
    rows = [
        [
            *([record.get("topic")] if topics else []),
            record.get("partition"),
            record.get("offset"),
            _moment(record.get("timestamp")),
            *([record.get("reason")] if why else []),
            record.get("columns"),
        ]
        for record in records
    ]
    if rows:
        numbers = (len(topics), len(topics) + 1)
        yield table([*topics, "Partition", "Offset", "Time", *why, "Record"], rows, right=numbers)
    shown = entity.get("used") if not entity.get("isMissing") else None
    if shown is not None and shown > len(records):
        yield f"The first and the last records of {shown}."
    yield from entity.get("notes") or []
    if upstream := entity.get("upstream"):
        yield Tree(f"{entity.get('name')} ({entity.get('queryId')})", [_traced(each) for each in upstream])


def count_of(count: int | None, what: str) -> str:
    """The count of some things.

    >>> count_of(1200, "row")
    '1,200 rows'
    """
    return f"{count or 0:,} {what}{'' if count == 1 else 's'}"


def _traced(rows: Entity) -> Tree:
    """Rows of a query, below them the records that these are made of."""
    records = rows.get("records") or []
    tree = Tree(
        f"{rows.get('name')} ({rows.get('queryId')}): {count_of(rows.get('rows'), 'row')} of "
        f"{count_of(rows.get('used'), 'record')}"
    )
    tree.below += (Tree(_record_line(record)) for record in records[:_MOST_IN_TREE])
    if (more := (rows.get("used") or 0) - _MOST_IN_TREE) > 0:
        tree.below.append(Tree(f"and {more:,} more"))
    tree.below += (Tree(str(note)) for note in rows.get("notes") or [])
    tree.below += map(_traced, rows.get("upstream") or [])
    return tree


def _record_line(record: Entity) -> str:
    """A record in one line, with the change of a database that it is."""
    origin = " ".join(f"{name} {value}" for name, value in (record.get("origin") or {}).items())
    place = f"{record.get('topic')} {record.get('partition')}/{record.get('offset')}"
    return f"{place} {_moment(record.get('timestamp'))} {_row(record.get('columns'))} {origin}".rstrip()


def _row(row: object) -> str:
    return "-" if row is None else json.dumps(row, ensure_ascii=False)


def _record_explanation(entity: Entity) -> Iterator[Part]:
    tree = Tree(_record_line(entity.get("record") or {}))
    tree.below += map(_effect, entity.get("queries") or [])
    yield tree
    if not tree.below:
        yield f"No query reads {', '.join(entity.get('names') or [])}."
    yield from entity.get("notes") or []


def _effect(effect: Entity) -> Tree:
    """What a record has changed in a query's result, below it what that has changed."""
    changed = effect.get("changed") or 0
    outcome = f"{count_of(changed, 'row')} changed" if changed else effect.get("outcome")
    sinks = "".join(f", in sink {name}" for name in effect.get("sinks") or [])
    tree = Tree(f"{effect.get('name')} ({effect.get('queryId')}): {outcome}{sinks}")
    tree.below += (Tree(str(text)) for text in effect.get("reasons") or [])
    for row in (effect.get("rows") or [])[:_MOST_IN_TREE]:
        place = "" if row.get("offset") is None else f"{row.get('partition')}/{row.get('offset')} "
        tree.below.append(Tree(f"{place}{_row(row.get('before'))} -> {_row(row.get('after'))}"))
    if changed > _MOST_IN_TREE:
        tree.below.append(Tree(f"and {changed - _MOST_IN_TREE:,} more"))
    tree.below += (Tree(str(text)) for text in effect.get("notes") or [])
    tree.below += map(_effect, effect.get("below") or [])
    return tree


def _rows_inserted(entity: Entity) -> Iterator[Part]:
    if columns := [column.get("name", "") for column in entity.get("columns") or []]:
        yield table(columns, entity.get("rows") or [])


def _moment(time_ms: int | None) -> str:
    if time_ms is None:
        return ""
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _sources(member: str, header: str) -> Callable[[Entity], Iterator[Part]]:
    def show_sources(entity: Entity) -> Iterator[Part]:
        yield table(
            [header, "Kafka Topic", "Key Format", "Value Format", "Windowed"],
            [
                [
                    s.get("name"),
                    s.get("topic"),
                    s.get("keyFormat"),
                    s.get("valueFormat"),
                    s.get("isWindowed", False),
                ]
                for s in entity.get(member) or []
            ],
        )

    return show_sources


def _topics(entity: Entity) -> Iterator[Part]:
    extended = entity.get("@type") == "kafka_topics_extended"
    # connectors that write a topic are only known if there is a Connect cluster
    with_connectors = any("connectors" in topic for topic in entity.get("topics") or [])
    rows = []
    for topic in entity.get("topics") or []:
        replicas = list(topic.get("replicaInfo") or [])
        shown = str(replicas[0]) if len(set(replicas)) == 1 else ", ".join(map(str, replicas))
        row = [topic.get("name"), len(replicas), shown]
        if extended:
            row += [topic.get("recordCount"), _retention(topic)]
            row += [topic.get("consumerCount"), topic.get("consumerGroupCount")]
        if with_connectors:
            row.append(", ".join(topic.get("connectors") or []))
        rows.append(row)
    headers = ["Kafka Topic", "Partitions", "Partition Replicas"]
    headers += ["Records", "Retention", "Consumers", "ConsumerGroups"] if extended else []
    headers += ["Written by"] if with_connectors else []
    yield table(headers, rows, (1, 2, 3, 5, 6))


def _retention(topic: Entity) -> str:
    """For how long a topic keeps records."""
    if "retentionMs" not in topic:
        return ""
    ms, is_compacted = topic["retentionMs"], topic.get("isCompacted")
    time = time_text(ms / 1000) if ms >= 0 else "" if is_compacted else "no limit"
    return ", ".join(filter(None, ("latest of each key" if is_compacted else "", time)))


def _queries(entity: Entity) -> Iterator[Part]:
    queries = entity.get("queries") or []
    rows = [
        [
            text(q.get("id")),
            text(q.get("queryType")),
            _status(q),
            ",".join(q.get("sinks") or []),
            ",".join(q.get("sinkKafkaTopics") or []),
            one_line(q.get("queryString") or ""),
        ]
        for q in queries
    ]
    headers = ("Query ID", "Query Type", "Status", "Sink Name", "Sink Kafka Topic", "Query String")
    yield Table(headers, rows, cut=5)
    for q in queries:
        if q.get("error"):
            yield f"{text(q.get('id'))} is in ERROR: {text(q['error'])}"
    if queries:
        yield "For detailed information on a query run: EXPLAIN <Query ID>;"


def _status(query: Entity) -> str:
    """Return a query's state, and its guarantee unless that is the default."""
    guarantee = query.get("processingGuarantee") or AT_LEAST_ONCE
    return _status_counts(query) + (f", {guarantee}" if guarantee != AT_LEAST_ONCE else "")


def _status_counts(query: Entity) -> str:
    counts, state = query.get("statusCount") or {}, query.get("state")
    if len(counts) == 1 and state and state not in counts:
        counts = {state: 1}  # our own, more precise state: REGISTERED
    return ",".join(f"{k}:{v}" for k, v in counts.items()) or text(query.get("state"))


def _properties(entity: Entity) -> Iterator[Part]:
    overwritten = set(entity.get("overwrittenProperties") or [])
    defaults = set(entity.get("defaultProperties") or [])
    rows = []
    for p in sorted(entity.get("properties") or [], key=lambda p: str(p.get("name"))):
        name = p.get("name")
        override = "SESSION" if name in overwritten else ("" if name in defaults else "SERVER")
        value = p.get("value")
        rows.append([name, p.get("scope"), override, "NULL" if value in (None, "") else value])
    yield table(["Property", "Scope", "Default override", "Effective Value"], rows)


def _functions(entity: Entity) -> Iterator[Part]:
    rows = [[f.get("name"), f.get("category") or f.get("type")] for f in entity.get("functions") or []]
    yield table(["Function Name", "Category"], sorted(rows))
    yield "For detailed information about a function run: DESCRIBE FUNCTION <Function Name>;"


def _function(entity: Entity) -> Iterator[Part]:
    names = ("Name", "Author", "Version", "Overview", "Type", "Jar")
    members = ("name", "author", "version", "description", "type", "path")
    for name, member in zip(names, members, strict=True):
        if entity.get(member):
            yield f"{name:<12}: {one_line(str(entity[member]))}"
    yield "Variations  :"
    for variation in entity.get("functions") or []:
        arguments = variation.get("arguments") or []
        signature = ", ".join(
            f"{a.get('name', '')} {a.get('type', '')}{'[]' if a.get('isVariadic') else ''}".strip()
            for a in arguments
        )
        yield f"\n  Variation   : {entity.get('name')}({signature})"
        yield f"  Returns     : {text(variation.get('returnType'))}"
        if variation.get("description"):
            yield f"  Description : {one_line(variation['description'])}"
        for argument in arguments:
            if argument.get("description"):
                yield f"  {argument.get('name', ''):<12}: {one_line(argument['description'])}"


def _types(entity: Entity) -> Iterator[Part]:
    types = entity.get("types") or {}
    rows = [[name, t if isinstance(t, str) else schema_text(t)] for name, t in sorted(types.items())]
    yield table(["Type Name", "Schema"], rows)


def _indexes(entity: Entity) -> Iterator[Part]:
    rows = [
        [each.get("name"), each.get("table"), ", ".join(each.get("columns") or ()), text(each.get("ready"))]
        for each in entity.get("indexes") or []
    ]
    yield table(["Index", "Table", "Columns", "Ready"], rows)


def _views(entity: Entity) -> Iterator[Part]:
    yield table(["View", "Query"], [[v.get("name"), v.get("query")] for v in entity.get("views") or []])


def _variables(entity: Entity) -> Iterator[Part]:
    yield table(
        ["Variable Name", "Value"], [[v.get("name"), v.get("value")] for v in entity.get("variables") or []]
    )


def _services(entity: Entity) -> Iterator[Part]:
    yield table(
        ["Service", "Address", "Started by"],
        [
            [
                one.get("name"),
                one.get("address") or "(starts when it is needed)",
                "this server" if one.get("startedHere") else "others",
            ]
            for one in entity.get("services") or []
        ],
    )


def _connectors(entity: Entity) -> Iterator[Part]:
    yield table(
        ["Connector Name", "Type", "Class", "Status"],
        [
            [c.get("name"), c.get("type"), c.get("className"), c.get("state")]
            for c in entity.get("connectors") or []
        ],
    )


def _sinks(entity: Entity) -> Iterator[Part]:
    yield table(
        ["Sink Name", "Source", "Type", "Path", "State", "Lag"],
        [
            [s.get("name"), s.get("source"), s.get("type"), s.get("path"), s.get("state"), s.get("lag")]
            for s in entity.get("sinks") or []
        ],
        (5,),
    )
    for sink in entity.get("sinks") or []:
        if sink.get("reason"):
            yield f"{sink.get('name')}: {sink['reason']}"


def _sink(entity: Entity) -> Iterator[Part]:
    sink = entity.get("sink") or {}
    for name, member in (
        ("Name", "name"), ("Source", "source"), ("Type", "type"), ("Path", "path"), ("Table", "table"),
        ("State", "state"), ("Reason", "reason"), ("Records left", "lag"),
    ):  # fmt: skip
        if sink.get(member) is not None:
            yield label(name, sink[member])
    if entity.get("partitionBy"):
        yield label("Partitioned by", ", ".join(entity["partitionBy"]))
    yield label("Commit interval", f"{int(entity.get('intervalMs') or 0) / 1000:g} s")
    yield label("Kafka topic", entity.get("topic"))
    yield label("Commits", f"{entity.get('commits')} with {entity.get('rows')} rows since the server's start")
    for name, member in (
        ("Unreadable records", "recordsUnreadable"), ("Refused rows", "recordsRefused"),
        ("Removed records", "recordsRemoved"),
    ):  # fmt: skip
        if entity.get(member):
            yield label(name, entity[member])
    rows = [[p.get("partition"), p.get("offset"), p.get("end")] for p in entity.get("positions") or []]
    if rows:
        yield table(["Partition", "Next offset", "End"], rows, (0, 1, 2))


def _plugins(entity: Entity) -> Iterator[Part]:
    plugins = entity.get("connectorsPlugins") or []
    yield table(
        ["Class", "Type", "Version"], [[p.get("className"), p.get("type"), p.get("version")] for p in plugins]
    )


def _source(entity: Entity) -> Iterator[Part]:
    yield from _describe(entity.get("sourceDescription") or {})


def _source_list(entity: Entity) -> Iterator[Part]:
    for description in entity.get("sourceDescriptions") or []:
        yield ""
        yield from _describe(description)


def _constraints(source: Entity) -> Iterator[Part]:
    if source.get("constraints"):
        yield table(["Constraint"], [[constraint] for constraint in source["constraints"]])


def _indexes_of(source: Entity) -> Iterator[Part]:
    if source.get("indexes"):
        yield from _indexes(source)


def _origin(source: Entity) -> Iterator[Part]:
    origin = source.get("origin")
    if not origin:
        return
    table = f", table {origin['table']}" if origin.get("table") else ""
    yield label("Follows", f"{text(origin.get('path'))} ({text(origin.get('format'))}{table})")
    yield label("State", origin.get("state"))
    if origin.get("reason"):
        yield label("Reason", origin["reason"])
    yield label("Refreshed every", f"{int(origin.get('refreshMs') or 0) / 1000:g} s")
    if origin.get("lastRefreshMs"):
        at = datetime.fromtimestamp(origin["lastRefreshMs"] / 1000, UTC)
        yield label("Last refresh", at.isoformat(timespec="seconds").replace("+00:00", "Z"))
    if origin.get("rows") is not None:
        without = f", {origin['withoutKey']} without a key are left out" if origin.get("withoutKey") else ""
        yield label("Rows", f"{origin['rows']}{without}")
    yield label(
        "Changes", f"{origin.get('written')} written, {origin.get('removed')} removed since the start"
    )


def _topics_found(source: Entity) -> Iterator[Part]:
    """Yield the topics that the pattern of a stream over many topics matches now."""
    if (topics := source.get("topics")) is not None:
        yield label("Topics found", ", ".join(map(text, topics)) or "none yet")


def _describe(source: Entity) -> Iterator[Part]:
    yield label("Name", source.get("name"))
    if source.get("comment"):
        yield label("Comment", source["comment"])
    if not source.get("extended"):
        yield _fields(source.get("fields") or [], source.get("type"), source.get("windowType"))
        yield from _constraints(source)
        yield from _indexes_of(source)
        yield from _topics_found(source)
        yield from _origin(source)
        if source.get("type") == "VIEW":
            yield label("Statement", source.get("statement"))
        else:
            yield "For runtime statistics and query details run: DESCRIBE <Stream,Table> EXTENDED;"
        return
    yield label("Type", source.get("type"))
    yield label("Timestamp field", source.get("timestamp") or "Not set - using <ROWTIME>")
    yield label("Key format", source.get("keyFormat"))
    yield label("Value format", source.get("valueFormat"))
    if source.get("latenessMs"):
        yield label("Lateness", f"{text(source['latenessMs'])} ms")
    if source.get("envelope"):
        yield label("Envelope", source.get("envelope"))
    replication = (
        f"partitions: {text(source.get('partitions'))}, replication: {text(source.get('replication'))}"
    )
    yield label("Kafka topic", f"{text(source.get('topic'))} ({replication})")
    yield from _topics_found(source)
    yield label("Statement", source.get("statement"))
    yield ""
    yield _fields(source.get("fields") or [], source.get("type"), source.get("windowType"))
    yield from _constraints(source)
    yield from _indexes_of(source)
    yield from _origin(source)
    if source.get("sourceConstraints"):
        yield "\nSources that have a DROP constraint on this source"
        yield "\n".join(map(str, source["sourceConstraints"]))
    yield from _query_list(
        "Queries that read from this " + str(source.get("type")), source.get("readQueries")
    )
    yield from _query_list(
        "Queries that write from this " + str(source.get("type")), source.get("writeQueries")
    )
    statistics = [text(source[member]) for member in ("statistics", "errorStats") if source.get(member)]
    if statistics:
        yield "\nLocal runtime statistics\n------------------------"
        yield from statistics
    for summary in source.get("queryOffsetSummaries") or []:
        yield "\nConsumer Groups summary:"
        if summary.get("groupId"):
            yield "\n" + label("Consumer Group", summary["groupId"])
        for topic in summary.get("topicSummaries") or []:
            yield f"\n{label('Kafka topic', topic.get('kafkaTopic'))}"
            yield _offsets(topic.get("offsets") or [])


def _query_list(title: str, queries: Sequence[Entity] | None) -> Iterator[Part]:
    if queries:
        yield f"\n{title}\n{'-' * len(title)}"
        for query in queries:
            yield f"{query.get('id')} ({_status(query)}) : {one_line(query.get('queryString') or '')}"
        yield "\nFor query topology and execution plan run: EXPLAIN <QueryId>;"


def _offsets(offsets: Sequence[Entity]) -> Table:
    rows = [
        [
            o.get("partition"),
            o.get("logStartOffset"),
            o.get("logEndOffset"),
            o.get("consumerOffset"),
            int(o.get("logEndOffset") or 0) - int(o.get("consumerOffset") or 0),
        ]
        for o in offsets
    ]
    return table(["Partition", "Start Offset", "End Offset", "Offset", "Lag"], rows, range(5))


def _fields(fields: Sequence[Entity], source_type: Any = None, window: Any = None) -> Table:
    rows = []
    for field in fields:
        kind = schema_text(field.get("schema"))
        match field.get("type"):
            case "KEY":
                kind += " (primary key)" if source_type == "TABLE" else " (key)"
                kind += f" (Window type: {window})" if window else ""
            case "HEADER" if field.get("headerKey"):
                kind += f" (header('{field['headerKey']}'))"
            case "TOPIC":
                kind += " (topic)"
            case "HEADER":
                kind += " (headers)"
        rows.append([field.get("name"), kind, text(field.get("comment") or "")])
    if any(comment for *_, comment in rows):
        return table(["Field", "Type", "Comment"], rows)
    return table(["Field", "Type"], [row[:2] for row in rows])


def _query_description(entity: Entity) -> Iterator[Part]:
    yield from _explain(entity.get("queryDescription") or {})


def _freshness(entity: Entity) -> Iterator[Part]:
    freshness = entity.get("freshness") or {}
    stages = freshness.get("stages") or []
    if stages:
        rows = [
            (stage["name"], stage["state"] or stage["kind"], seconds(stage["delaySeconds"]), evidence)
            for stage in stages
            for evidence in stage["evidence"] or [""]
        ]
        yield table(("Stage", "State", "Adds", "Evidence"), rows, right=(2,))
    yield freshness.get("verdict") or ""


def seconds(value: float | None) -> str:
    """A duration: ``1.25 s``; empty if it is unknown."""
    return "" if value is None else f"{value:,.2f} s"


def _query_descriptions(entity: Entity) -> Iterator[Part]:
    for description in entity.get("queryDescriptions") or []:
        yield ""
        yield from _explain(description)


def _explain(query: Entity) -> Iterator[Part]:
    yield label("ID", query.get("id"))
    if query.get("queryType"):
        yield label("Query Type", query["queryType"])
    yield label("SQL", query.get("statementText"))
    if query.get("ksqlHostQueryStatus"):
        states = (f"{host} {state}" for host, state in query["ksqlHostQueryStatus"].items())
        yield label("Host Query Status", ", ".join(states))
    if query.get("fields"):
        yield ""
        yield _fields(query["fields"], None, query.get("windowType"))
    if (tree := flow(query, query.get("graph") or {})) is not None:
        yield "\nFlow\n----"
        yield tree
    for title, names in (
        ("Sources that this query reads from:", query.get("sources")),
        ("For source description please run: DESCRIBE [EXTENDED] <SourceId>", None),
        ("Sinks that this query writes to:", query.get("sinks")),
    ):
        if names:
            yield f"\n{title}\n{'-' * len(title)}"
            yield "\n".join(map(str, names))
    for title, content in (
        ("Execution plan", query.get("executionPlan")),
        ("Processing topology", query.get("topology")),
    ):
        if content:
            yield f"\n{title}\n{'-' * len(title)}"
            yield text(content).rstrip("\n")
    if query.get("overriddenProperties"):
        yield "\nOverridden Properties\n---------------------"
        yield table(["Property", "Value"], sorted(query["overriddenProperties"].items()))
    for error in query.get("queryErrors") or []:
        yield "\n" + label("Error Date", error.get("timestamp"))
        yield label("Error Details", error.get("errorMessage"))
        yield label("Error Type", error.get("type"))


def _connector_description(entity: Entity) -> Iterator[Part]:
    status = entity.get("status") or {}
    connector = status.get("connector") or {}
    yield label("Name", status.get("name"))
    yield label("Class", entity.get("connectorClass"))
    yield label("Type", status.get("type"))
    yield label("State", connector.get("state"))
    yield label("WorkerId", connector.get("worker_id"))
    tasks = status.get("tasks") or []
    if tasks:
        yield ""
        yield table(
            ["Task ID", "State", "Error Trace"],
            [[t.get("id"), t.get("state"), _messages(t.get("trace"))] for t in tasks],
        )
    topics = entity.get("topics") or []
    if topics:
        yield ""
        yield table(["Related Topics"], [[topic] for topic in topics])


def _messages(trace: str | None) -> str:
    """The exceptions of a Java stack trace, without the calls."""
    return "\n".join(line for line in (trace or "").splitlines() if line and not line[0].isspace())


def _assert_topic(entity: Entity) -> Iterator[Part]:
    verb = "exists" if entity.get("exists", True) else "does not exist"
    yield table(["Message"], [[f"Topic {entity.get('topicName')} {verb}."]])


def _assert_schema(entity: Entity) -> Iterator[Part]:
    verb = "exists" if entity.get("exists", True) else "does not exist"
    what = " ".join(
        f"{name} {entity[member]}"
        for name, member in (("subject", "subject"), ("id", "id"))
        if entity.get(member)
    )
    yield table(["Message"], [[f"Schema with {what} {verb}."]])


def unknown(entity: Entity) -> Iterator[Part]:
    """An entity that has no row in ENTITIES, as JSON."""
    yield json_text(dict(entity), indent=2)


#: @type -> its text
ENTITIES: dict[str, Callable[[Entity], Iterator[Part]]] = {
    "assert_schema": _assert_schema,
    "assert_topic": _assert_topic,
    "connector_description": _connector_description,
    "connector_info": _connector,
    "connector_list": _connectors,
    "connector_plugins_list": _plugins,
    "currentStatus": _message,
    "describe_function": _function,
    "drop_connector": _connector,
    "errors_replayed": _message,
    "rows_forgotten": _forgotten,
    "rows_reprocessed": _reprocessed,
    "evolution_description": _evolution,
    "freshness": _freshness,
    "function_names": _functions,
    "kafka_topics": _topics,
    "kafka_topics_extended": _topics,
    "properties": _properties,
    "queries": _queries,
    "queryDescription": _query_description,
    "query_descriptions": _query_descriptions,
    "record_explanation": _record_explanation,
    "row_explanation": _row_explanation,
    "rows_changed": lambda entity: iter([text(entity.get("message"))]),
    "rows_inserted": _rows_inserted,
    "services": _services,
    "sink_description": _sink,
    "sinks": _sinks,
    "sourceDescription": _source,
    "source_descriptions": _source_list,
    "streams": _sources("streams", "Stream Name"),
    "tables": _sources("tables", "Table Name"),
    "terminate_query": _terminated,
    "type_list": _types,
    "variables": _variables,
    "indexes": _indexes,
    "views": _views,
    "versions": _versions,
    "warning_entity": _message,
}
