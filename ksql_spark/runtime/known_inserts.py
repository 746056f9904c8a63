"""INSERT VALUES whose statement is known but for its values: not parsed again, and no thread waits for it.

A statement is known by its template: what is left without its literals (grammar.literals). Where each value
goes is found out, not assumed: the template is bound a second time with other values.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from grammar.literals import Template, Value, put_in, take_out
from ksql_spark import consistency
from ksql_spark.analyzer import BoundRow
from ksql_spark.analyzer.plan_cache import is_cacheable
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Cast, Expression, Literal
from ksql_spark.formats import CAPABILITIES
from ksql_spark.formats.base import Serde
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.metastore.serdes import writing_serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.freshness import OnReached
from ksql_spark.schema import ROWTIME
from ksql_spark.types import BIGINT, DOUBLE, INTEGER, STRING

#: longer statements are parsed each time
MOST_CHARACTERS = 2_000
#: values that stand for others of the same type
_INT, _BIGINT, _STRING = 1_970_000_000, 8_970_000_000_000_000_000, "\ue000{}\ue000"

#: a column's value, from the values of a statement
Make = Callable[[Sequence[Value]], Any]


class InsertPlan:
    """Makes records of a statement's values.

    Args:
        source: what is written to.
        make: what makes each column's value; other columns are NULL.
        serdes: of its keys and values.
    """

    def __init__(self, source: DataSource, make: dict[str, Make], serdes: tuple[Serde, Serde]) -> None:
        self.source = source
        self._key, self._value = serdes
        self._keys = [make.get(c.name, _null) for c in source.schema.key]
        self._values = [make.get(c.name, _null) for c in source.schema.value]
        self._rowtime = make.get(ROWTIME, _null)

    def record(self, values: Sequence[Value]) -> tuple[bytes | None, bytes | None, int]:
        """Key, value and timestamp of a record.

        Raises:
            ValueError: a value is none of its column's format.
        """
        key = [make(values) for make in self._keys]
        if None in key and (self.source.is_table or any(v is not None for v in key)):
            raise ValueError("the statement itself says what is wrong")
        value = self._value.encode([make(values) for make in self._values])
        rowtime = self._rowtime(values)
        at = int(time.time() * 1000) if rowtime is None else int(rowtime)
        if at <= 0:
            raise ValueError("the producer takes other times")
        return (self._key.encode(key) if key and None not in key else None), value, at


class Insert:
    """A record to write.

    Args:
        topic: its topic.
        record: its key, value and timestamp.
        producer: of the cluster.
        statement: for errors.
    """

    def __init__(
        self,
        topic: str,
        record: tuple[bytes | None, bytes | None, int],
        producer: RecordProducer,
        statement: str,
    ) -> None:
        self._topic = topic
        self._record = record
        self._producer = producer
        self._statement = statement
        self._written: tuple[int, int] | None = None

    def write(self, on_written: OnReached) -> None:
        """Call back, in another thread, once the cluster has the record, or with the error; does not wait."""

        def tell(error: KsqlError | None, partition: int, offset: int) -> None:
            if error is None:
                self._written = partition, offset + 1
            else:
                error.statement = self._statement
            on_written(error)

        self._producer.offer(self._topic, *self._record, tell)

    @property
    def token(self) -> str:
        """Says that the client knows of the record, once it is written; see ksql_spark.consistency."""
        assert self._written is not None
        return consistency.encode({self._topic: dict([self._written])})


class KnownInserts:
    """The plans used last. Thread-safe.

    Args:
        size: how many plans are kept.
    """

    def __init__(self, size: int = 1_000) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._of: object = None
        #: template and settings -> the plan; None: there is none
        self._plans: OrderedDict[Hashable, InsertPlan | None] = OrderedDict()

    def find(self, of: object, settings: Hashable, text: str) -> tuple[InsertPlan, Sequence[Value]] | None:
        """The plan of the statement ``text`` and its values; None if it is not known.

        Args:
            of: the catalog and configuration: plans for another object are dropped.
            settings: what else the plan depends on.
            text: the statement.
        """
        if not is_cacheable(text, MOST_CHARACTERS):
            return None
        template = take_out(text, with_decimals=True)
        with self._lock:
            self._keep_for(of)
            plan = self._plans.get((template.text, settings))
            if plan is None:
                return None
            self._plans.move_to_end((template.text, settings))
        return plan, template.values

    def note(
        self,
        of: object,
        settings: Hashable,
        text: str,
        bind: Callable[[str], BoundRow],
    ) -> None:
        """Keep the plan of the statement ``text``, which has been carried out.

        Args:
            of: as for find().
            settings: as for find().
            bind: returns the row of a text.
        """
        if not is_cacheable(text, MOST_CHARACTERS):
            return
        template = take_out(text, with_decimals=True)
        key = (template.text, settings)
        with self._lock:
            self._keep_for(of)
            if key in self._plans:
                return
        plan = _plan(template, bind)
        with self._lock:
            if self._of is of:
                self._plans[key] = plan
                while len(self._plans) > self._size:
                    self._plans.popitem(last=False)

    def _keep_for(self, of: object) -> None:
        if self._of is not of:
            self._of = of
            self._plans.clear()


def plain(expression: Expression) -> tuple[Any, Callable[[Any], Any]] | None:
    """The value of a literal, and what widens it to its column's type; None: Spark has to evaluate it."""
    match expression:
        case Literal(None, _) | Cast(Literal(None, _), _):
            return None, _same
        case Literal(bool(value), _):
            return value, _same
        case Literal(value, type_) if type_ in (STRING, INTEGER, BIGINT, DOUBLE):
            return value, _same
        case Cast(Literal(int(value), _), type_) if type_ == BIGINT:
            return value, _same
        case Cast(Literal(value, _), type_) if type_ == DOUBLE and not isinstance(value, str):
            return value, float
    return None


def _plan(template: Template, bind: Callable[[str], BoundRow]) -> InsertPlan | None:
    """The plan of ``template``; None if its values have to be looked at."""
    others = tuple(_other(value, i) for i, value in enumerate(template.values))
    try:
        row, other_row = bind(put_in(template)), bind(put_in(Template(template.text, others)))
    except KsqlError:
        return None
    source = row.source
    if any(CAPABILITIES[f.name].registry for f in (source.key_format, source.value_format)):
        return None  # which is asked for each record
    found = [plain(e) for _, e in row.values]
    found_with_others = [plain(e) for _, e in other_row.values]
    places = {other: i for i, other in enumerate(others)}
    made: dict[str, Make] = {}
    used: set[int] = set()
    for (name, _), given, other in zip(row.values, found, found_with_others, strict=True):
        if given is None or other is None:
            return None
        value, convert = other
        made[name] = _maker(value, convert, places, used)
        if made[name](template.values) != given[1](given[0]):
            return None
    if len(used) < len(others):
        return None
    return InsertPlan(source, made, writing_serdes(source, None))


def _other(value: Value, number: int) -> Value:
    match value:
        case str():
            return _STRING.format(number)
        case Decimal():
            return Decimal(f"{_INT + number}.5")
    return number + (_INT if value < 2**31 else _BIGINT)


def _maker(value: Any, convert: Callable[[Any], Any], places: Mapping[Value, int], used: set[int]) -> Make:
    """What makes a column's value, ``value`` in the row with other values. Notes which were ``used``."""
    is_number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
    if (isinstance(value, str) or is_number) and (place := places.get(value)) is not None:
        used.add(place)
        return lambda values: convert(values[place])
    if is_number and (negated := places.get(-value)) is not None:
        used.add(negated)
        return lambda values: convert(-values[negated])  # type: ignore[operator]
    constant = None if value is None else convert(value)
    return lambda values: constant


def _same(value: Any) -> Any:
    return value


def _null(values: Sequence[Value]) -> None:
    return None
