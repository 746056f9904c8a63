"""The WITH clause: its properties, the statements that allow them, and their values (reference §2.1)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ksql_spark.analyzer.base import offset_text, settings, timestamp_text
from ksql_spark.analyzer.base.failures import failure, invalid
from ksql_spark.analyzer.base.serialization import PROPERTY_NAMES, require_format
from ksql_spark.analyzer.relations.windows import bind_calendar
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.formats import CAPABILITIES, ENVELOPES
from ksql_spark.grammar import nodes
from ksql_spark.grammar.with_properties import CREATE_AS, INSTEAD, PROPERTIES
from ksql_spark.grammar.words import CALENDAR_UNITS
from ksql_spark.metastore.sources import TABLE, FormatSpec, TimestampColumn, Windowing
from ksql_spark.plan.queries import Start, TopicOffset
from ksql_spark.schema import Role, Schema
from ksql_spark.schema_registry import STRATEGIES, TOPIC_NAME
from ksql_spark.types import BIGINT, HEADERS, STRING, TIMESTAMP


@dataclass(frozen=True)
class Check:
    """A condition of VERIFY.

    Args:
        what: 'rows', 'keys', 'values' or SELECT.
        tolerance: which share of the rows, of the keys, or of a number may differ.
        query: a SELECT over OLD(x) and NEW(x), which must return no rows.
    """

    what: str
    tolerance: float = 0.0
    query: str = ""

    def __str__(self) -> str:
        if self.query:
            return f"no rows of {self.query}"
        return f"{self.what} {self.tolerance:g}" if self.tolerance else self.what


@dataclass(frozen=True)
class Evolve:
    """The settings of EVOLVE: a request to change a running query.

    Args:
        way: 'backfill': a new version runs beside the old one until the swap; 'from-now': it begins, without
            history, where the old one ends; 'in-place': it goes on with its state.
        is_manual: SWAP = 'manual': the swap waits for the statement SWAP.
        keeps_history: HISTORY = 'keep': the rows that the old version has written to a stream stay.
        verify: what must hold of both versions' rows before the swap.
    """

    way: str
    is_manual: bool = False
    keeps_history: bool = False
    verify: tuple[Check, ...] = ()


EVENT_TIME = "event-time"
#: values of ORDER: by arrival, or by event time within a batch
ORDERS = ("arrival", EVENT_TIME)
#: the values of EVOLVE, SWAP and HISTORY
BACKFILL, FROM_NOW, AUTO, MANUAL, KEEP = "backfill", "from-now", "auto", "manual", "keep"
#: another value of EVOLVE
IN_PLACE = "in-place"
#: a condition of VERIFY that is a query
SELECT = "SELECT"
#: begins the query at the end of VERIFY's conditions
_QUERY = re.compile(r"\b(?:SELECT|WITH)\b", re.IGNORECASE)
#: one condition of VERIFY
_CHECK = re.compile(r"(rows|keys|values)(?:\s+(0?\.\d+|[01](?:\.0*)?))?", re.IGNORECASE)
_DELIMITERS = {"SPACE": " ", "TAB": "\t"}
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
#: START's offsets of one topic
_TOPIC_OFFSETS = re.compile(rf"({_TOPIC.pattern})\s+(\d+:.*)")
#: the end of the year 9999, the last moment that START may name
_LAST_MS = 253_402_300_799_999
#: properties of windows by a calendar (beyond ksqlDB)
_OF_CALENDARS = ("WINDOW_TIME_ZONE", "WINDOW_OFFSET")
_UNITS = {"MILLISECOND": 1, "SECOND": 1_000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}
_NULLABLE = ("OPTIONAL", "WRAPPER")
#: characters that DELIMITED reads as something else
_NO_DELIMITERS = ('"', "\r", "\n")
#: formats whose schemas are type names in other languages, and the pattern of such names
_NAMED_TYPES = ("AVRO", "PROTOBUF")
_FULL_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.A)
#: side -> the property that determines how subjects are named
_STRATEGY = {
    "KEY": "ksql.schema.registry.key.subject.name.strategy",
    "VALUE": "ksql.schema.registry.value.subject.name.strategy",
}


class Properties:
    """The checked properties of one WITH clause.

    The constructor raises KsqlError PROPERTY_IN_WITH with the property's position.
    """

    def __init__(self, written: Sequence[nodes.Property], statement: str) -> None:
        self._statement = statement
        self._values: dict[str, Any] = {}
        self._nodes: dict[str, nodes.Property] = {}
        for node in written:
            name = node.name.upper()
            self._nodes[name] = node
            self._values[name] = _checked(name, node, statement)
        if "SOURCE" in self._values:  # another name of LAKE
            if "LAKE" in self._values:
                raise invalid("SOURCE and LAKE are the same property.", self._nodes["SOURCE"])
            self._values["LAKE"], self._nodes["LAKE"] = self._values.pop("SOURCE"), self._nodes.pop("SOURCE")
        #: with LAKE, the format of the table that is read, not that of the topic
        self.lake_format = self._nodes.pop("FORMAT", None) if "LAKE" in self._values else None
        if self.lake_format is not None:
            del self._values["FORMAT"]

    def get(self, name: str) -> Any:
        """The value of ``name``, or None if it is not given."""
        return self._values.get(name)

    def node(self, name: str) -> nodes.Property | None:
        """The syntax node of ``name``, or None if it is not given."""
        return self._nodes.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    # ---- formats --------------------------------------------------------------------------------------

    def format_name(self, side: str) -> tuple[str | None, nodes.Property | None]:
        """The format for ``side`` (KEY or VALUE) and its syntax node; FORMAT sets both sides."""
        both, own = self.node("FORMAT"), self.node(f"{side}_FORMAT")
        if both is not None and own is not None:
            raise invalid(
                f"Cannot supply both '{side}_FORMAT' and 'FORMAT' properties, as 'FORMAT' sets both.", own
            )
        node = own or both
        if node is None:
            return None, None
        return require_format(str(self._values[node.name.upper()]), node), node

    def format_spec(self, side: str, name: str, inherited: FormatSpec | None = None) -> FormatSpec:
        """The format ``name`` of ``side`` with its properties; those not given come from ``inherited``.

        Raises:
            KsqlError: a property that the format does not know, or with a bad value.
        """
        delimiter = self._delimiter(side)
        full_name = self._full_name(side)
        nullable = self.get(f"{side}_PROTOBUF_NULLABLE_REPRESENTATION")
        values = {"delimiter": delimiter, "full_name": full_name, "nullable": nullable}
        refused = [k for k, v in values.items() if v is not None and k not in CAPABILITIES[name].properties]
        if refused:
            shown = ", ".join(PROPERTY_NAMES[k] for k in refused)
            raise invalid(f"{name} does not support the following configs: [{shown}].", self._side_node(side))
        if full_name is not None and name in _NAMED_TYPES and not _FULL_NAME.fullmatch(full_name):
            raise invalid(
                f"'{full_name}' is not a valid name of a schema, which has letters, digits, _ and dots, and "
                "no part that begins with a digit.",
                self._side_node(side),
            )
        if nullable is not None and str(nullable).upper() not in _NULLABLE:
            raise invalid(f"{side}_PROTOBUF_NULLABLE_REPRESENTATION must be one of {', '.join(_NULLABLE)}.")
        same = inherited is not None and inherited.name == name
        if same and inherited is not None:
            delimiter = delimiter or inherited.delimiter
            nullable = nullable or inherited.nullable
        return FormatSpec(
            name, delimiter, self.get("WRAP_SINGLE_VALUE") if side == "VALUE" else None, full_name,
            self.get(f"{side}_SCHEMA_ID"), None if nullable is None else str(nullable).upper(),
        )  # fmt: skip

    def envelope(self, value_format: str) -> str | None:
        """Return the envelope around the rows that ENVELOPE names (beyond ksqlDB); None without it.

        Raises:
            KsqlError: an unknown envelope, or one that has no records in ``value_format``; a property that is
                not for sources with envelopes.
        """
        name, node = self.get("ENVELOPE"), self.node("ENVELOPE")
        if name is None:
            return None
        envelope = ENVELOPES.get(name.lower())
        if envelope is None:
            raise self.none_of("ENVELOPE", name, ENVELOPES)
        if value_format not in envelope.formats:
            formats = " or ".join(envelope.formats)
            reason = f"'{name.lower()}' needs the VALUE_FORMAT {formats}, and it is {value_format}"
            raise failure("PROPERTY_IN_WITH", node, name="ENVELOPE", reason=reason)
        for other in ("WRAP_SINGLE_VALUE", "WINDOW_TYPE"):
            if other in self:
                raise invalid(f"'{other}' is not for sources with an ENVELOPE.", self.node(other))
        return str(name).lower()

    def _side_node(self, side: str) -> nodes.Property | None:
        names = (
            f"{side}_DELIMITER", f"{side}_AVRO_SCHEMA_FULL_NAME", f"{side}_SCHEMA_FULL_NAME",
            f"{side}_PROTOBUF_NULLABLE_REPRESENTATION",
        )  # fmt: skip
        return next((n for n in map(self.node, names) if n is not None), None)

    def _delimiter(self, side: str) -> str | None:
        value = self.get(f"{side}_DELIMITER")
        if value is None:
            return None
        name, node = f"{side}_DELIMITER", self.node(f"{side}_DELIMITER")
        if value.upper() in _DELIMITERS:
            return _DELIMITERS[value.upper()]
        if not value.strip():
            reason = (
                "Delimiter cannot be empty, if you meant to have a tab or space for delimiter, please use "
                "the special values 'TAB' or 'SPACE'\nExample valid value: ';'"
            )
            raise failure("PROPERTY_IN_WITH", node, name=name, reason=reason)
        if value in _NO_DELIMITERS:
            reason = "A quote or the end of a line cannot be the delimiter\nExample valid value: ';'"
            raise failure("PROPERTY_IN_WITH", node, name=name, reason=reason)
        if len(value) != 1:
            reason = (
                f"Invalid delimiter value: '{value}'. Delimiter must be a single character or TAB,SPACE\n"
                "Example valid value: ';'"
            )
            raise failure("PROPERTY_IN_WITH", node, name=name, reason=reason)
        return str(value)

    def _full_name(self, side: str) -> str | None:
        own, avro = self.get(f"{side}_SCHEMA_FULL_NAME"), self.get(f"{side}_AVRO_SCHEMA_FULL_NAME")
        if own is not None and avro is not None:
            raise invalid(
                f"Cannot supply both '{side}_AVRO_SCHEMA_FULL_NAME' and '{side}_SCHEMA_FULL_NAME' "
                "properties.",
                self._side_node(side),
            )
        value = own if own is not None else avro
        if value is not None and not str(value).strip():
            raise invalid(
                f"fullSchemaName cannot be empty. Format configuration: {{fullSchemaName={value.strip()}}}",
                self._side_node(side),
            )
        return None if value is None else str(value)

    def start(self) -> Start:
        """Return where a new query begins to read according to START (beyond ksqlDB); None without START.

        Raises:
            KsqlError: it is neither earliest, latest, a time nor offsets.
        """
        value, node = self.get("START"), self.node("START")
        if value is None:
            return None
        text = str(value).strip()
        match text.lower():
            case "earliest":
                return "earliest"
            case "latest":
                return "latest"
        if (offsets := _topic_offsets(text)) is not None:
            return offsets
        # up to four digits in quotes are a year
        is_number = isinstance(value, int) or re.fullmatch(r"[0-9]{5,50}", text)
        epoch_ms = int(text) if is_number else timestamp_text.epoch_ms(text)
        if epoch_ms is None or not 0 <= epoch_ms <= _LAST_MS:
            expected = "'earliest', 'latest', an ISO 8601 time, milliseconds since 1970 or 'topic 0:120,1:77'"
            reason = f"Expected {expected}, got {_shown(value)}"
            raise failure("PROPERTY_IN_WITH", node, name="START", reason=reason)
        return epoch_ms

    def by_event_time(self) -> bool:
        """Whether ORDER requests rows in order of event time (beyond ksqlDB).

        Raises:
            KsqlError: an unknown order.
        """
        order = self.get("ORDER")
        if order is None or order.lower() in ORDERS:
            return order is not None and order.lower() == EVENT_TIME
        raise self.none_of("ORDER", order, ORDERS)

    def none_of(self, name: str, value: str, allowed: Collection[str]) -> KsqlError:
        """The error about a value that a property does not have."""
        near = nearest(value, allowed)
        reason, hint = (
            f"'{value}' is none of {', '.join(allowed)}",
            f"Did you mean '{near}'?" if near else None,
        )
        return failure("PROPERTY_IN_WITH", self.node(name), name=name, reason=reason, hint=hint)

    def evolve(self) -> Evolve | None:
        """Return the settings of EVOLVE (beyond ksqlDB); None without EVOLVE.

        Raises:
            KsqlError: an unknown value; SWAP, HISTORY or START where they mean nothing.
        """
        allowed = (("EVOLVE", (BACKFILL, FROM_NOW, IN_PLACE)), ("SWAP", (AUTO, MANUAL)))
        for name, values in allowed:
            value = self.get(name)
            if value is not None and value.lower() not in values:
                raise self.none_of(name, value, values)
        way = self.get("EVOLVE")
        dependents = [name for name in ("SWAP", "VERIFY") if self.get(name) is not None]
        dependents += ["HISTORY"] if self._keeps_history else []
        if way is None:
            if dependents:
                raise invalid(f"'{dependents[0]}' needs 'EVOLVE' too.", self.node(dependents[0]))
            return None
        dependents += ["START"] if self.get("START") is not None else []
        if way.lower() in (FROM_NOW, IN_PLACE) and dependents:
            reason = (
                f"'{dependents[0]}' is not for EVOLVE = '{way.lower()}', which begins where the old one ends."
            )
            raise invalid(reason, self.node(dependents[0]))
        is_manual = (self.get("SWAP") or AUTO).lower() == MANUAL
        return Evolve(way.lower(), is_manual, self._keeps_history, self._verify())

    def _verify(self) -> tuple[Check, ...]:
        text, node = self.get("VERIFY"), self.node("VERIFY")
        if text is None:
            return ()
        start = _QUERY.search(text)
        words, query = (text, None) if start is None else (text[: start.start()], text[start.start() :])
        words = words.rstrip().removesuffix(";")
        if query and not words.strip():
            return (Check(SELECT, query=query.strip()),)
        matches = [_CHECK.fullmatch(part.strip()) for part in words.split(",")]
        checks = [Check(m[1].lower(), float(m[2] or 0)) for m in matches if m is not None]
        if len(checks) < len(matches) or len({check.what for check in checks}) < len(checks):
            reason = (
                "Expected rows, keys and values, each with a tolerance from 0 to 1 if it has one, as in "
                "'rows, values 0.01', and at the end a SELECT over OLD(x) and NEW(x) that must return no rows"
            )
            raise failure("PROPERTY_IN_WITH", node, name="VERIFY", reason=reason)
        return (*checks, Check(SELECT, query=query.strip())) if query else tuple(checks)

    def with_headers(self, schema: Schema, kind: str) -> Schema:
        """``schema`` with the column in HEADERS as the records' headers (beyond ksqlDB).

        Raises:
            KsqlError: a table; a column that does not exist, is a key, or does not have the type of headers.
        """
        name, node = self.get("HEADERS"), self.node("HEADERS")
        if name is None:
            return schema
        if kind == TABLE:
            raise invalid("HEADERS is for streams only.", node)
        column = schema.find(identifier(name))
        if column is None or column.role is not Role.VALUE:
            raise invalid(f"The HEADERS column set in the WITH clause is not a value column: '{name}'.", node)
        if column.type != HEADERS:
            raise invalid(f"Invalid type for HEADERS column: expected {HEADERS}, got {column.type}.", node)
        columns = tuple(replace(c, role=Role.HEADERS) if c is column else c for c in schema.columns)
        if not Schema(columns).value:
            raise invalid("The projection contains no value columns besides the headers.", node)
        return Schema(columns)

    def replicated(self, kind: str, window: Windowing | None) -> bool:
        """REPLICATED: every task of a join has the whole table (beyond ksqlDB).

        Raises:
            KsqlError: it is given for a stream or a windowed table.
        """
        if not self.get("REPLICATED"):
            return False
        if kind != TABLE or window is not None:
            raise invalid("REPLICATED is for tables without windows only.", self.node("REPLICATED"))
        return True

    # ---- windows, time --------------------------------------------------------------------------------

    def windowing(self) -> Windowing | None:
        """The window in the topic's keys, from WINDOW_TYPE, WINDOW_SIZE …; None without them.

        Raises:
            KsqlError: an unknown type; a size that is missing, invalid or not allowed.
        """
        kind, size = self.get("WINDOW_TYPE"), self.get("WINDOW_SIZE")
        if kind is None:
            for name in ("WINDOW_SIZE", *_OF_CALENDARS):
                if self.get(name) is not None:
                    raise invalid(f"'{name}' needs 'WINDOW_TYPE' too.", self.node(name))
            return None
        upper = kind.upper()
        if upper not in ("TUMBLING", "HOPPING", "SESSION", "CUMULATIVE", "SLIDING"):
            reason = f"'{kind}' is not one of SESSION, HOPPING, TUMBLING, CUMULATIVE, SLIDING"
            raise failure("PROPERTY_IN_WITH", self.node("WINDOW_TYPE"), name="WINDOW_TYPE", reason=reason)
        if upper != "TUMBLING":
            for name in _OF_CALENDARS:
                if self.get(name) is not None:
                    raise invalid(f"'{name}' is for TUMBLING windows only.", self.node(name))
        if Windowing(upper).has_end:
            if size is not None:
                raise invalid(
                    f"'WINDOW_SIZE' should not be set for {upper} windows.", self.node("WINDOW_SIZE")
                )
            return Windowing(upper)
        if size is None:
            raise invalid(
                f"'WINDOW_SIZE' is required for windows of type {upper}.", self.node("WINDOW_TYPE"),
                hint="For instance: WINDOW_SIZE = '10 SECONDS'.",
            )  # fmt: skip
        if upper == "TUMBLING":
            zone, offset = self.get("WINDOW_TIME_ZONE"), self.get("WINDOW_OFFSET")
            calendar = bind_calendar(
                self._span("WINDOW_SIZE", size),
                None if zone is None else self.node("WINDOW_TIME_ZONE"),
                None if offset is None else self._span("WINDOW_OFFSET", offset),
                zone,
            )
            if calendar is not None:
                return Windowing(upper, calendar=calendar)
        return Windowing(upper, self.duration("WINDOW_SIZE", size))

    def _span(self, name: str, text: str) -> nodes.TimeSpan:
        """A property such as '1 MONTH', which may be in units of the calendar. Raises KsqlError."""
        parts = text.upper().split()
        if parts[1:] and parts[1] in CALENDAR_UNITS:
            self.duration(name, f"{parts[0]} DAYS{''.join(parts[2:])}")  # checks the number
            unit = CALENDAR_UNITS[parts[1]]
        else:
            self.duration(name, text)
            unit = f"{parts[1].removesuffix('S')}S"
        node = self.node(name)
        return nodes.TimeSpan(int(parts[0]), unit, None if node is None else nodes.position(node))

    def lateness_ms(self, kind: str) -> int | None:
        """LATENESS: how late rows may be for windows without a GRACE PERIOD (beyond ksqlDB).

        Raises:
            KsqlError: a table; not a duration.
        """
        return self._of_streams("LATENESS", kind, "windows are over streams")

    def max_ahead_ms(self, kind: str) -> int | None:
        """MAX_AHEAD: how far event times may be ahead of the clock, ms (beyond ksqlDB).

        Raises:
            KsqlError: a table; not a duration.
        """
        return self._of_streams("MAX_AHEAD", kind, "pull queries read a table's topic as it is")

    def _of_streams(self, name: str, kind: str, reason: str) -> int | None:
        text = self.get(name)
        if text is not None and kind == TABLE:
            raise invalid(f"{name} is for streams only: {reason}.", self.node(name))
        return None if text is None else self.duration(name, text)

    def ttl_ms(self) -> int | None:
        """TTL: how long after its last change a row is deleted (beyond ksqlDB). Raises KsqlError."""
        text = self.get("TTL")
        return None if text is None else self.duration("TTL", text)

    @property
    def _keeps_history(self) -> bool:
        return str(self.get("HISTORY")).lower() == KEEP

    def history_ms(self, kind: str) -> int | None:
        """HISTORY of a table: how far its past can be read (beyond ksqlDB).

        Raises:
            KsqlError: not a duration, or of a stream anything but 'keep'.
        """
        text = self.get("HISTORY")
        if text is None or (self._keeps_history and self._statement == CREATE_AS):  # see evolve()
            return None
        if kind != TABLE:
            reason = f"expected '{KEEP}', got '{text}': a time is for tables"
            raise failure("PROPERTY_IN_WITH", self.node("HISTORY"), name="HISTORY", reason=reason)
        return self.duration("HISTORY", text)

    def duration(self, name: str, text: str) -> int:
        """The milliseconds of a property such as '10 SECONDS'. Raises KsqlError."""

        def bad(reason: str) -> Exception:
            return failure(
                "PROPERTY_IN_WITH", self.node(name), name=name,
                reason=f"Invalid duration: '{text}'. {reason}",
            )  # fmt: skip

        parts = text.split()
        if len(parts) != 2:
            raise bad("Expected a number and a time unit, for instance '10 SECONDS'")
        if not re.fullmatch(r"[0-9]*[1-9][0-9]*", parts[0]):
            raise bad(f"Not a positive number: '{parts[0]}'")
        unit = parts[1].upper()
        unit_ms = _UNITS.get(unit.removesuffix("S"))
        if unit_ms is None:
            raise bad(f"Unknown time unit: '{unit}'")
        duration_ms = int(parts[0]) * unit_ms if len(parts[0]) < 20 else 2**63
        if duration_ms >= 2**63:
            raise bad("Its milliseconds do not fit into 64 bits")
        return duration_ms

    def timestamp(self, schema: Schema, inherited: TimestampColumn | None = None) -> TimestampColumn | None:
        """The event time column, checked against ``schema`` (reference §5.7).

        Raises:
            KsqlError: a column that does not exist, or whose type cannot be a time.
        """
        name, pattern = self.get("TIMESTAMP"), self.get("TIMESTAMP_FORMAT")
        if name is None:
            if pattern is not None:
                raise invalid("'TIMESTAMP_FORMAT' needs 'TIMESTAMP' too.", self.node("TIMESTAMP_FORMAT"))
            return inherited
        column_name = identifier(name)
        column = schema.find(column_name)
        if column is None:
            near = nearest(column_name, (c.name for c in schema.columns))
            raise invalid(
                f"The TIMESTAMP column set in the WITH clause does not exist in the schema: '{column_name}'.",
                self.node("TIMESTAMP"), hint=f"Did you mean {near}?" if near else None,
            )  # fmt: skip
        if column.type == STRING:
            if pattern is None:
                raise invalid(
                    f"A String timestamp field, `{column_name}`, has been specified without also specifying "
                    "the timestamp_format.",
                    self.node("TIMESTAMP"),
                )
            problem = _pattern_problem(pattern)
            if problem is not None:
                raise failure(
                    "PROPERTY_IN_WITH", self.node("TIMESTAMP_FORMAT"), name="TIMESTAMP_FORMAT",
                    reason=f"Invalid date time format: {pattern}. {problem}",
                )  # fmt: skip
        elif column.type not in (BIGINT, TIMESTAMP):
            raise invalid(
                f"Timestamp column, `{column_name}`, should be LONG(INT64), TIMESTAMP, or a String with a "
                f"timestamp_format specified. It is {column.type}.",
                self.node("TIMESTAMP"),
            )
        elif pattern is not None:
            raise invalid(
                f"'TIMESTAMP_FORMAT' is set, but the column `{column_name}` is not a STRING.",
                self.node("TIMESTAMP_FORMAT"),
            )
        return TimestampColumn(column_name, pattern)


_QUOTED = re.compile(r"'[^']*'")
_PATTERN_LETTERS = frozenset("GuyDMLdQqYwWEecFaBhKkHmsSAnNVvzOXxZpg")


def _pattern_problem(pattern: str) -> str | None:
    """Return why Java's DateTimeFormatter would refuse ``pattern``; None if it accepts it."""
    bare = _QUOTED.sub("", pattern)
    if "'" in bare:
        return "a quote is not closed"
    letter = next((c for c in bare if c.isascii() and c.isalpha() and c not in _PATTERN_LETTERS), None)
    if letter is not None:
        return f"Unknown pattern letter: {letter} (quote literal text: ''{letter}'')"
    reserved = next((c for c in bare if c in "{}#"), None)
    return f"'{reserved}' is reserved" if reserved else None


def with_naming(spec: FormatSpec, side: str, config: Mapping[str, Any]) -> FormatSpec:
    """``spec`` of ``side`` (KEY or VALUE) with the strategy that names the subject of its schemas.

    Raises:
        KsqlError: PROPERTY_INVALID for a strategy that is none of schema_registry.STRATEGIES.
    """
    setting = settings.text(config, _STRATEGY[side])
    if setting is None or not CAPABILITIES[spec.name].registry:
        return spec
    strategy = setting.strip().rpartition(".")[2]  # as in other programs, it may be a Java class
    if strategy not in STRATEGIES:
        reason = f"Expected one of {', '.join(STRATEGIES)}"
        raise KsqlError("PROPERTY_INVALID", name=_STRATEGY[side], value=setting, reason=reason)
    return replace(spec, naming=None if strategy == TOPIC_NAME else strategy)


def identifier(text: str) -> str:
    """A column's name in a property: in upper case unless quoted."""
    for quote in ("`", '"'):
        if len(text) >= 2 and text[0] == text[-1] == quote:
            return text[1:-1].replace(quote * 2, quote)
    return text.upper()


def check_topic_name(name: str, node: nodes.Property | None) -> None:
    """Check that Kafka supports a topic of this name.

    Raises:
        KsqlError: PROPERTY_IN_WITH.
    """
    if not _TOPIC.fullmatch(name) or name in (".", ".."):
        shown = _shown(name)
        expected = "up to 249 letters (a-z, A-Z), digits, '.', '_' and '-'"
        reason = f"Expected a topic's name, {expected}, got {shown}"
        raise failure("PROPERTY_IN_WITH", node, name="KAFKA_TOPIC", reason=reason)


def _topic_offsets(text: str) -> tuple[TopicOffset, ...] | None:
    """Parse START's offsets by topic and partition; return None if ``text`` has another form.

    >>> _topic_offsets("orders 0:120,1:77; sites 0:5")
    (('orders', 0, 120), ('orders', 1, 77), ('sites', 0, 5))
    """
    by_topic: dict[str, dict[int, int]] = {}
    for part in text.split(";"):
        topic = _TOPIC_OFFSETS.fullmatch(part.strip())
        offsets = offset_text.offsets(topic[2]) if topic is not None else None
        if topic is None or offsets is None or topic[1] in by_topic:
            return None
        by_topic[topic[1]] = offsets
    return tuple((topic, *place) for topic, offsets in by_topic.items() for place in offsets.items())


def _shown(value: Any) -> str:
    """An invalid value for an error message, truncated if long."""
    return repr(value if not isinstance(value, str) or len(value) <= 60 else f"{value[:57]}...")


def _checked(name: str, node: nodes.Property, statement: str) -> Any:
    rule = PROPERTIES.get(name)
    if rule is None:
        near = nearest(name, [k for k, r in PROPERTIES.items() if statement in r.where])
        hint = f"{INSTEAD[name]}." if name in INSTEAD else f"Did you mean {near}?" if near else None
        reason = "it is not a valid property name"
        raise failure("PROPERTY_IN_WITH", node, name=name, reason=reason, hint=hint)
    if statement not in rule.where:
        places = " and ".join(sorted(rule.where))
        raise failure("PROPERTY_IN_WITH", node, name=name, reason=f"it is only allowed in {places}")
    value = node.value

    def wrong(expected: str) -> Exception:
        return failure(
            "PROPERTY_IN_WITH", node, name=name, reason=f"Expected {expected}, got {_shown(value)}"
        )

    match rule.type:
        case "string":
            if not isinstance(value, str):
                raise wrong("a text in single quotes")
            if name == "KAFKA_TOPIC" and value.strip():
                check_topic_name(value, node)
            return value
        case "boolean":
            if isinstance(value, bool):
                return value
            if isinstance(value, str) and value.lower() in ("true", "false"):
                return value.lower() == "true"
            raise wrong("true or false")
        case "string or boolean":
            if not isinstance(value, (str, bool)):
                raise wrong("a text in single quotes, or true or false")
            return value
        case "string or integer":
            if isinstance(value, bool) or not isinstance(value, (str, int)):
                raise wrong("a text or an integer")
            return value
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,50}", value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong("an integer")
    if rule.least is not None and value < rule.least:
        raise wrong(f"at least {rule.least}")
    if rule.most is not None and value > rule.most:
        raise wrong(f"at most {rule.most}")
    return value
