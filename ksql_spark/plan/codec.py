"""Plans as JSON for the command log, so that a later release runs the same plan.

A document is ``{"version": 2, "values": […], "root": …}``. ``values`` lists each distinct dataclass value
once, its parts before it: ``{"@": class name, field: …}``; ``{"$": n}`` is a reference to the n-th of them.
Strings, integers, booleans and null stand for themselves, a list for a tuple; a value that JSON lacks is an
object with one member: ``{"decimal": "1.50"}``, ``{"double": "1.5"}``, ``{"bytes": …}``, ``{"set": […]}``.

The codec is generic over the frozen dataclasses of plans: a new node needs no code here. Plans that
releases have written must stay readable. So a class keeps its name, its fields and their meaning, and a new
field has a default that means the behavior before it. Anything else is a new class, or a new VERSION. A field
that has its default is left out, so that an older release reads plans that need nothing new: servers are
replaced one after the other.
"""

from __future__ import annotations

import base64
import dataclasses
import decimal
import functools
import json
import types as python_types
import typing
from collections.abc import Mapping
from enum import Enum
from types import ModuleType
from typing import Any

from ksql_spark import expressions, schema, types
from ksql_spark.errors import KsqlError
from ksql_spark.formats import spec
from ksql_spark.metastore import calendars, sources
from ksql_spark.plan import clauses, nodes, patterns, queries, stages

#: version of the format; documents of a later version cannot be read
VERSION = 2

_MODULES: tuple[ModuleType, ...] = (
    types, schema, expressions, calendars, sources, spec, patterns, clauses, nodes, queries, stages,
)  # fmt: skip


def _classes() -> dict[str, Any]:
    classes: dict[str, Any] = {}
    for module in _MODULES:
        for name, value in vars(module).items():
            if not isinstance(value, type) or value.__module__ != module.__name__:
                continue
            if dataclasses.is_dataclass(value) or issubclass(value, Enum):
                assert name not in classes, f"two classes of plans are called {name}"
                classes[name] = value
    return classes


#: name -> class, for every class that a plan may contain
CLASSES: Mapping[str, Any] = _classes()


def encode(value: Any) -> dict[str, Any]:
    """``value`` as a document, ready for json.dumps.

    Args:
        value: a plan, or a tuple of plans; parts that they share are written once.

    Raises:
        TypeError: something in it is neither a plain value nor of one of CLASSES.
    """
    encoder = _Encoder()
    root = encoder.encode(value)
    return {"version": VERSION, "values": encoder.values, "root": root}


class _Encoder:
    def __init__(self) -> None:
        self.values: list[dict[str, Any]] = []
        #: encoded form -> index in values; by form because equal values may differ (0.0 and -0.0)
        self._indexes: dict[str, int] = {}

    def encode(self, value: Any) -> Any:
        match value:
            case None | bool() | str():
                return value
            case Enum():
                return self._shared(type(value), {"name": value.name})
            case int():
                return value
            case float():
                return {"double": repr(value)}
            case decimal.Decimal():
                return {"decimal": str(value)}
            case bytes():
                return {"bytes": base64.b64encode(value).decode()}
            case tuple():
                return [self.encode(item) for item in value]
            case frozenset():
                return {"set": sorted((self.encode(item) for item in value), key=json.dumps)}
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            raise TypeError(f"a plan cannot hold a {type(value).__name__}: {value!r}")
        members = {
            field.name: self.encode(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if not _is_default(getattr(value, field.name), field.default)
        }
        return self._shared(type(value), members)

    def _shared(self, class_: type, members: Mapping[str, Any]) -> dict[str, int]:
        name = class_.__name__
        if CLASSES.get(name) is not class_:
            raise TypeError(f"{name} is not part of plans")
        body = {"@": name, **members}
        form = json.dumps(body)
        index = self._indexes.get(form)
        if index is None:
            index = self._indexes[form] = len(self.values)
            self.values.append(body)
        return {"$": index}


def _is_default(value: Any, default: Any) -> bool:
    # equal floats may differ: 0.0 and -0.0
    return type(value) is type(default) and not isinstance(value, float) and bool(value == default)


def decode(document: Mapping[str, Any]) -> Any:
    """The value from which ``encode`` made ``document``: ``decode(encode(plan)) == plan``.

    Raises:
        KsqlError: PLAN_UNREADABLE for a document of a later release, or a damaged one.
    """
    version = document.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise _newer(f"its version is {version}, but this release supports at most {VERSION}")
    values: list[Any] = []
    try:
        for body in document["values"]:
            values.append(_value(body, values))
        return _plain(document["root"], values)
    except KsqlError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError) as error:
        raise KsqlError("PLAN_UNREADABLE", reason=f"it is damaged: {error!r}") from None


def _value(body: Mapping[str, Any], values: list[Any]) -> Any:
    name = body["@"]
    class_ = CLASSES.get(name)
    if class_ is None:
        raise _newer(f"it has a {name}")
    if issubclass(class_, Enum):
        return class_[body["name"]]
    names = {field.name for field in dataclasses.fields(class_)}
    unknown = [member for member in body if member not in names and member != "@"]
    if unknown:
        raise _newer(f"{name} has {', '.join(unknown)}")
    members = {member: _plain(form, values) for member, form in body.items() if member != "@"}
    for member, value in members.items():
        if not _fits(value, _hints(class_)[member]):
            raise ValueError(f"{name}.{member} has a value of another type")
    return class_(**members)


@functools.cache
def _hints(class_: type) -> Mapping[str, Any]:
    return typing.get_type_hints(class_)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a field may have ``value``.

    Plans become texts of Spark SQL. In the place of a number, a text could be any code.
    """
    kind, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if kind in (typing.Union, python_types.UnionType):
        return any(_fits(value, each) for each in arguments)
    if kind is typing.Literal:
        return value in arguments
    if kind is frozenset:
        return isinstance(value, frozenset) and all(_fits(item, arguments[0]) for item in value)
    if kind is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[-1] is Ellipsis:
            return all(_fits(item, arguments[0]) for item in value)
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    return isinstance(value, hint)


def _plain(form: Any, values: list[Any]) -> Any:
    match form:
        case list():
            return tuple(_plain(item, values) for item in form)
        case {"$": int(index)}:
            return values[index]
        case {"double": str(text)}:
            return float(text)
        case {"decimal": str(text)}:
            return decimal.Decimal(text)
        case {"bytes": str(text)}:
            return base64.b64decode(text, validate=True)
        case {"set": list(items)}:
            return frozenset(_plain(item, values) for item in items)
        case dict() | float():
            raise ValueError(f"unknown value {form}")
    return form


def _newer(what: str) -> KsqlError:
    return KsqlError(
        "PLAN_UNREADABLE",
        reason=f"a newer release wrote it ({what})",
        hint="Use that release or a later one.",
    )


__all__ = ["CLASSES", "VERSION", "decode", "encode"]
