"""Caches plans of pull queries by the text of their statements, so that the same lookup is bound once.

The key is a text's template, which is the text without its literals (grammar.literals). Whether the plan is
the same for all values is tested, not assumed: the template is bound a second time with other values, and
substituting the first values into that plan must give the first plan.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Literal, Members
from ksql_spark.grammar.literals import Template, Value, put_in, take_out
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.queries import Lookup

#: longer texts are bound each time
MAX_CHARACTERS = 10_000
#: values that stand for others of the same type; each statement has few
_INTS, _BIGINTS, _STRING = 1_970_000_000, 8_970_000_000_000_000_000, "\ue000{}\ue000"
_MAX_VALUES = 100_000

Values = Sequence[Value]
#: makes a plan, or a part of it, from the values of a statement
Make = Callable[[Values], Any]


class CachedPlan:
    """A cached plan: for all values of its template, or for one text.

    Args:
        make: makes the plan for given values.
        pattern: the plan with placeholder values.
        places: placeholder -> the index of the statement's value.
    """

    def __init__(self, make: Make, pattern: Lookup, places: Mapping[Value, int]) -> None:
        self.make = make
        self.pattern = pattern
        self.places = places
        #: the runtime's compiled form of the pattern; dropped with the plan
        self.compiled: Any = None


class CacheHit(NamedTuple):
    """A cached plan, and the values of the statement for which it was found."""

    cached: CachedPlan
    values: Values

    @property
    def plan(self) -> Lookup:
        """The plan of the statement."""
        plan: Lookup = self.cached.make(self.values)
        return plan


class PlanCache:
    """The most recently used plans. Thread-safe.

    Args:
        size: the maximum number of plans.
    """

    def __init__(self, size: int = 1000) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._of: Hashable = None
        #: template, or whole text, and settings -> the plan
        self._plans: OrderedDict[Hashable, CachedPlan] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def find(self, of: object, settings: Hashable, text: str) -> CacheHit | None:
        """The plan of the statement ``text``; None if it is not cached.

        Args:
            of: the catalog and configuration: those for another object are dropped.
            settings: what else the plan depends on.
            text: the statement.
        """
        if not is_cacheable(text):
            return None
        return self._find(of, settings, text, take_out(text))

    def _find(self, of: object, settings: Hashable, text: str, template: Template) -> CacheHit | None:
        """Return what find() returns, for a statement whose ``template`` is already computed."""
        with self._lock:
            if self._of is not of:
                self._of = of
                self._plans.clear()
            for key in ((template.text, settings), (text, settings)):
                cached = self._plans.get(key)
                if cached is not None:
                    self._plans.move_to_end(key)
                    self.hits += 1
                    return CacheHit(cached, template.values)
            self.misses += 1
            return None

    def note(
        self, of: object, settings: Hashable, text: str, plan: Lookup, bind: Callable[[str], object]
    ) -> None:
        """Cache ``plan``, the plan of the statement ``text``.

        Args:
            of: as for find().
            settings: as for find().
            bind: returns the plan of another text.
        """
        if not is_cacheable(text):
            return
        template = take_out(text)
        cached = _for_all_values(template, plan, bind)
        key = (text if cached is None else template.text, settings)
        with self._lock:
            if self._of is not of:
                return
            self._plans[key] = cached or CachedPlan(lambda _: plan, plan, {})
            while len(self._plans) > self._size:
                self._plans.popitem(last=False)


def is_cacheable(text: str, max_characters: int = MAX_CHARACTERS) -> bool:
    """Whether the template of ``text`` cannot be another text's: NUL begins the placeholders of templates."""
    return len(text) <= max_characters and "\0" not in text


def _for_all_values(template: Template, plan: Lookup, bind: Callable[[str], object]) -> CachedPlan | None:
    """The plan for any values; None if it depends on the values in other ways."""
    others = tuple(_other(value, i) for i, value in enumerate(template.values))
    if len(others) > _MAX_VALUES or set(others) & set(template.values):
        return None
    try:
        second = bind(put_in(Template(template.text, others)))
    except KsqlError:  # a value that needs some form, such as a date
        return None
    places = {other: i for i, other in enumerate(others)}
    used: set[int] = set()
    make = _maker(second, places, used) or (lambda _: second)
    if len(used) < len(others) or make(template.values) != plan:
        return None
    assert isinstance(second, Lookup)  # like the first plan
    return CachedPlan(make, second, places)


def _other(value: Value, number: int) -> Value:
    if isinstance(value, str):
        return _STRING.format(number)
    return number + (_INTS if value < 2**31 else _BIGINTS)


def _maker(part: object, places: dict[Value, int], used: set[int]) -> Make | None:
    """A function from values to ``part`` with them; None if it contains no value. Records which were
    ``used``.
    """
    match part:
        case Literal(value, type_) if _is_place(value, places):
            place = places[value]
            used.add(place)
            return lambda values: Literal(values[place], type_)
        case Members(members, type_) if any(_is_place(member, places) for member in members):
            indexes = [places[m] if _is_place(m, places) else None for m in members]
            used.update(i for i in indexes if i is not None)
            both = list(zip(indexes, members, strict=True))
            return lambda values: Members(tuple(m if i is None else values[i] for i, m in both), type_)
        case tuple():
            inner = [(_maker(item, places, used), item) for item in part]
            if all(make is None for make, _ in inner):
                return None
            return lambda values: tuple(item if make is None else make(values) for make, item in inner)
        case DataSource() | Literal() | Members():
            return None
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        return None
    fields = {f.name: _maker(getattr(part, f.name), places, used) for f in dataclasses.fields(part) if f.init}
    changing = {name: make for name, make in fields.items() if make is not None}
    if not changing:
        return None
    return lambda values: dataclasses.replace(part, **{n: make(values) for n, make in changing.items()})


def _is_place(value: object, places: dict[Value, int]) -> bool:
    return type(value) in (int, str) and value in places
