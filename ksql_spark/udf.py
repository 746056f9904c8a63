"""Decorators for user functions, and the SQL types of type hints.

    from ksql_spark.udf import scalar_function

    @scalar_function
    def initials(name: str) -> str:
        \"\"\"The first letters of the words of a name.\"\"\"
        return "".join(word[0] for word in name.split())

With this file in the folder ``ksql.extension.dir``, SQL has a function ``INITIALS(name)``.
docs/how-to/python-functions.md explains everything. This module does not depend on Spark: workers import it.

=======================================  ==========================================================
type hint                                SQL type
=======================================  ==========================================================
``bool``                                 BOOLEAN
``Integer`` / ``int``, ``BigInt``        INTEGER / BIGINT
``float``                                DOUBLE
``Annotated[Decimal, Precision(10, 2)]`` DECIMAL(10, 2); a parameter that is a bare ``Decimal`` takes all
``str`` / ``bytes``                      STRING / BYTES
``date`` / ``time`` / ``datetime``       DATE / TIME / TIMESTAMP (in UTC)
``list[X]`` / ``dict[K, V]``             ARRAY<X> / MAP<K, V>
a dataclass or ``TypedDict``             STRUCT, field names in upper case
=======================================  ==========================================================

``X | None`` is the same type with NULL. A parameter without ``| None`` is never None: for a NULL argument the
result is NULL, without a call. A result without ``| None`` must not be None.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import inspect
import re
import types as python_types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

from ksql_spark import types
from ksql_spark.types import SqlType

T = TypeVar("T")

Integer = Annotated[int, types.INTEGER]
BigInt = Annotated[int, types.BIGINT]


@dataclass(frozen=True)
class Precision:
    """Digits of a DECIMAL: ``Annotated[Decimal, Precision(10, 2)]``."""

    precision: int
    scale: int


class Vector(Generic[T]):
    """A hint for vectorized scalar functions: a ``pyarrow.Array`` of ``T`` with all rows of a batch.

    Every parameter of such a function is a Vector, and so is its result, with the same length. The arrays
    contain NULLs.
    """


class InvalidFunction(Exception):
    """The decorated object cannot be a SQL function; the message says what to change."""


@dataclass(frozen=True)
class Hint:
    """The SQL meaning of a type hint.

    Args:
        type: the SQL type; None: DECIMAL of any precision.
        optional: whether it includes None.
        python: for a STRUCT, the class of its values: a dataclass, a TypedDict or ``dict``.
        inner: hints of an ARRAY's element, of a MAP's key and value, or of a STRUCT's fields.
        names: for a STRUCT, the fields' names in Python.
    """

    type: SqlType | None
    optional: bool = False
    python: Any = None
    inner: tuple[Hint, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function: its name in Python, its type, its description in the docstring."""

    name: str
    hint: Hint
    description: str = ""
    has_default: bool = False
    is_variadic: bool = False


@dataclass(frozen=True)
class Function:
    """The description of a decorated function; ``kind`` is SCALAR, AGGREGATE or TABLE."""

    name: str
    kind: str
    target: Any
    description: str
    parameters: tuple[Parameter, ...]
    result: Hint
    is_vectorized: bool = False
    is_deterministic: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)


#: the attribute that decorators set to a Function
MARK = "__ksql_function__"

_PLAIN: dict[Any, SqlType] = {
    bool: types.BOOLEAN,
    int: types.BIGINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    datetime.date: types.DATE,
    datetime.time: types.TIME,
    datetime.datetime: types.TIMESTAMP,
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GENERATORS = (
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.Generator,
    collections.abc.Sequence,
)


# ---- decorators ---------------------------------------------------------------------------------------


def scalar_function(target: Any = None, /, *, name: str | None = None, deterministic: bool = True,
                    author: str = "", version: str = "") -> Any:  # fmt: skip
    """Make a Python function a scalar function of SQL: one value for each row.

    It is called row by row, or with a batch of rows at once if its hints are ``Vector[...]``.

    Args:
        target: the function.
        name: its name in SQL; by default its Python name in upper case.
        deterministic: False if equal arguments may give different results, so that no call is optimized away.
        author: for DESCRIBE FUNCTION.
        version: for DESCRIBE FUNCTION.

    Raises:
        InvalidFunction: a hint is missing or has no SQL type.
    """

    def mark(function: Any) -> Any:
        parameters = _parameters(function, skip=0)
        result = _hints(function).get("return")
        vectors = [_is_vector(h) for h in (*_raw(function), result)]
        if any(vectors) and not all(vectors):
            raise InvalidFunction(f"{function.__name__}: if one hint is a Vector, all must be.")
        described = Function(
            _sql_name(name or function.__name__),
            "SCALAR",
            function,
            _description(function),
            parameters,
            _hint(result, f"the result of {function.__name__}"),
            is_vectorized=any(vectors),
            is_deterministic=deterministic,
            options={"author": author, "version": version},
        )
        _check_result(described)
        setattr(function, MARK, described)
        return function

    return mark if target is None else mark(target)


def table_function(target: Any = None, /, *, name: str | None = None, deterministic: bool = True,
                   author: str = "", version: str = "") -> Any:  # fmt: skip
    """Make a Python function a table function of SQL: any number of rows for each row.

    Its result is ``list[X]`` or, for one that yields, ``Iterator[X]``; X is the type of the rows' column.

    Args:
        target: the function.
        name: its name in SQL; by default its Python name in upper case.
        deterministic: as for ``scalar_function``.
        author: for DESCRIBE FUNCTION.
        version: for DESCRIBE FUNCTION.

    Raises:
        InvalidFunction: a hint is missing or has no SQL type.
    """

    def mark(function: Any) -> Any:
        returned = _hints(function).get("return")
        if typing.get_origin(returned) not in (list, *_GENERATORS):
            raise InvalidFunction(
                f"{function.__name__}: a table function's result is list[X] or Iterator[X], X a row."
            )
        row = _hint(typing.get_args(returned)[0], f"the rows of {function.__name__}")
        if row.type is None:
            raise InvalidFunction(_bare_decimal(function.__name__))
        described = Function(
            _sql_name(name or function.__name__),
            "TABLE",
            function,
            _description(function),
            _parameters(function, skip=0),
            Hint(types.Array(row.type), inner=(row,)),
            is_deterministic=deterministic,
            options={"author": author, "version": version},
        )
        setattr(function, MARK, described)
        return function

    return mark if target is None else mark(target)


def aggregate_function(target: Any = None, /, *, name: str | None = None, author: str = "",
                       version: str = "") -> Any:  # fmt: skip
    """Make a class an aggregate function of SQL.

    Its methods, whose ``state`` is anything that can be pickled (plain values and collections survive changes
    of the code best):

    - ``initialize(self) -> state``: the state of a new group;
    - ``aggregate(self, state, *arguments) -> state``: adds a row; its hints are the function's parameters;
    - ``result(self, state) -> value``: its hint is the type of the result;
    - ``merge(self, state, other) -> state``: merges the states of two groups; needed for session windows;
    - ``undo(self, state, *arguments) -> state``: removes a row that was added; needed over tables.

    Args:
        target: the class; it is instantiated without arguments, once for each query and task.
        name: its name in SQL; by default the class name in upper case, with underscores between words.
        author: for DESCRIBE FUNCTION.
        version: for DESCRIBE FUNCTION.

    Raises:
        InvalidFunction: a method or a hint is missing.
    """

    def mark(cls: Any) -> Any:
        for method in ("initialize", "aggregate", "result"):
            if not callable(getattr(cls, method, None)):
                raise InvalidFunction(f"{cls.__name__}: an aggregate function needs the method {method}.")
        described = Function(
            _sql_name(name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__)),
            "AGGREGATE",
            cls,
            _description(cls),
            _parameters(cls.aggregate, skip=2, owner=cls),
            _hint(_hints(cls.result).get("return"), f"the result of {cls.__name__}.result"),
            options={
                "author": author,
                "version": version,
                "merge": callable(getattr(cls, "merge", None)),
                "undo": callable(getattr(cls, "undo", None)),
            },
        )
        if any(p.has_default or p.is_variadic for p in described.parameters):
            raise InvalidFunction(f"{cls.__name__}.aggregate: no defaults and no *arguments here.")
        _check_result(described)
        setattr(cls, MARK, described)
        return cls

    return mark if target is None else mark(target)


def functions_in(module: Any) -> list[Function]:
    """The decorated functions that a module defines or imports, sorted by name."""
    by_name: dict[str, Function] = {}
    for value in vars(module).values():
        described = getattr(value, MARK, None)
        if isinstance(described, Function) and described.target is value:
            by_name[described.name] = described
    return [by_name[name] for name in sorted(by_name)]


# ---- reading hints ------------------------------------------------------------------------------------


def _sql_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidFunction(f"{name!r} is not a function name: use letters, digits and underscores only.")
    return name.upper()


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidFunction(f"{function.__qualname__}: a type hint is not defined: {error}.") from None


def _raw(function: Any) -> list[Any]:
    hints = _hints(function)
    return [hints.get(name) for name in inspect.signature(function).parameters]


def _parameters(function: Any, *, skip: int, owner: Any = None) -> tuple[Parameter, ...]:
    hints = _hints(function)
    explained = {**_explained(owner), **_explained(function)}
    parameters = []
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        where = f"{function.__qualname__}, parameter {parameter.name}"
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            raise InvalidFunction(f"{where}: SQL passes arguments by position only.")
        is_variadic = parameter.kind is parameter.VAR_POSITIONAL
        parameters.append(
            Parameter(
                parameter.name,
                _hint(hints.get(parameter.name), where),
                explained.get(parameter.name, ""),
                has_default=parameter.default is not parameter.empty,
                is_variadic=is_variadic,
            )
        )
    if any(p.has_default for p in parameters) and any(p.is_variadic for p in parameters):
        raise InvalidFunction(f"{function.__qualname__}: either defaults or *arguments, not both.")
    return tuple(parameters)


def _is_vector(hint: Any) -> bool:
    return hint is Vector or typing.get_origin(hint) is Vector


def _hint(hint: Any, where: str) -> Hint:
    """The SQL meaning of a type hint; ``where`` is for error messages."""
    if hint is None or hint is inspect.Parameter.empty:
        raise InvalidFunction(f"{where}: a type hint is missing, such as str or list[int].")
    if _is_vector(hint):
        inner = typing.get_args(hint)
        if not inner:
            raise InvalidFunction(f"{where}: a Vector of what? Write Vector[float], for instance.")
        return _hint(inner[0], where)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _annotated(arguments, where)
    if origin in (typing.Union, python_types.UnionType):
        rest = [a for a in arguments if a is not type(None)]
        if len(rest) == 1 and len(arguments) == 2:
            return dataclasses.replace(_hint(rest[0], where), optional=True)
        raise InvalidFunction(f"{where}: {hint} is not one SQL type; of unions, only X | None is allowed.")
    if hint in _PLAIN:
        return Hint(_PLAIN[hint])
    if hint is decimal.Decimal:
        return Hint(None)
    if origin is list:
        element = _inner(arguments[0], where)
        return Hint(types.Array(_required_type(element, where)), inner=(element,))
    if origin is dict:
        key, value = (_inner(a, where) for a in arguments)
        return Hint(types.Map(_required_type(key, where), _required_type(value, where)), inner=(key, value))
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or typing.is_typeddict(hint)):
        return _struct(hint, where)
    raise InvalidFunction(f"{where}: no SQL type for the hint {getattr(hint, '__name__', hint)}.")


def _annotated(arguments: tuple[Any, ...], where: str) -> Hint:
    base, *notes = arguments
    for note in notes:
        if isinstance(note, Precision):
            if not 1 <= note.precision <= 38 or not 0 <= note.scale <= note.precision:
                raise InvalidFunction(f"{where}: a precision is 1 to 38, a scale is 0 to the precision.")
            return Hint(types.Decimal(note.precision, note.scale))
        if isinstance(note, (types.Primitive, types.Decimal, types.Array, types.Map, types.Struct)):
            return _of_type(note)
    return _hint(base, where)


def _of_type(type_: SqlType) -> Hint:
    """The hint of a SQL type; a STRUCT is a dict with the SQL names as keys."""
    match type_:
        case types.Array(element):
            return Hint(type_, inner=(_of_type(element),))
        case types.Map(key, value):
            return Hint(type_, inner=(_of_type(key), _of_type(value)))
        case types.Struct(fields):
            names = tuple(f.name for f in fields)
            return Hint(type_, python=dict, inner=tuple(_of_type(f.type) for f in fields), names=names)
    return Hint(type_)


def _inner(hint: Any, where: str) -> Hint:
    return _hint(hint, where)


def _required_type(hint: Hint, where: str) -> SqlType:
    if hint.type is None:
        raise InvalidFunction(_bare_decimal(where))
    return hint.type


def _bare_decimal(where: str) -> str:
    return f"{where}: a DECIMAL needs its digits here: Annotated[Decimal, Precision(10, 2)]."


def _struct(cls: type, where: str) -> Hint:
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise InvalidFunction(f"{where}: a type hint of {cls.__name__} is not defined: {error}.") from None
    names = tuple(f.name for f in dataclasses.fields(cls)) if dataclasses.is_dataclass(cls) else tuple(hints)
    inner = tuple(_hint(hints[name], f"{where}, field {name}") for name in names)
    fields = tuple(
        types.Field(n.upper(), _required_type(h, f"{where}, field {n}"))
        for n, h in zip(names, inner, strict=True)
    )
    return Hint(types.Struct(fields), python=cls, inner=inner, names=names)


def _check_result(described: Function) -> None:
    if described.result.type is None:
        raise InvalidFunction(_bare_decimal(f"the result of {described.name}"))


# ---- docstrings ---------------------------------------------------------------------------------------


def _description(target: Any) -> str:
    """The docstring up to its sections, as one paragraph."""
    text = inspect.cleandoc(target.__doc__ or "")
    lines: list[str] = []
    for line in text.splitlines():
        if re.fullmatch(r"(Args|Arguments|Returns|Yields|Raises|Examples?):", line.strip()):
            break
        lines.append(line.strip())
    return " ".join(" ".join(lines).split())


def _explained(target: Any) -> dict[str, str]:
    """Parameter -> its description in the docstring's ``Args:``."""
    lines = inspect.cleandoc(getattr(target, "__doc__", None) or "").splitlines()
    descriptions: dict[str, str] = {}
    name = None
    inside = False
    for line in lines:
        if re.fullmatch(r"(Args|Arguments):", line.strip()):
            inside = True
        elif inside and line and not line[0].isspace():
            inside = False
        elif inside and (match := re.match(r"    \*{0,2}(\w+)(?: \([^)]*\))?: *(.*)", line)):
            name = match[1]
            descriptions[name] = match[2].strip()
        elif inside and name and line.strip():
            descriptions[name] = f"{descriptions[name]} {line.strip()}".strip()
    return descriptions


# ---- values -------------------------------------------------------------------------------------------


def reader(hint: Hint) -> Callable[[Any], Any] | None:
    """A function from Arrow's value (a STRUCT is a dict by SQL name) to the hint's type; None: as is."""
    if hint.type == types.TIME:
        return _time
    inner = [reader(h) for h in hint.inner]
    if isinstance(hint.type, types.Array) and inner[0]:
        read = inner[0]
        return lambda items: [None if i is None else read(i) for i in items]
    if isinstance(hint.type, types.Map) and any(inner):
        read_key, read_value = (read or _same for read in inner)
        return lambda entries: {read_key(k): None if v is None else read_value(v) for k, v in entries.items()}
    if isinstance(hint.type, types.Struct) and hint.python is not None:
        fields = [
            (n, f.name, read or _same) for n, f, read in zip(hint.names, hint.type.fields, inner, strict=True)
        ]
        make = hint.python
        return lambda row: make(
            **{name: None if row[key] is None else read(row[key]) for name, key, read in fields}
        )
    return None


def writer(hint: Hint) -> Callable[[Any], Any] | None:
    """The inverse of reader: from a function's result to a value that Arrow accepts; None: no change."""
    if hint.type == types.TIME:
        return _milliseconds
    inner = [writer(h) for h in hint.inner]
    if isinstance(hint.type, types.Array):
        write = inner[0] or _same
        return lambda items: [None if i is None else write(i) for i in items]
    if isinstance(hint.type, types.Map):
        write_key, write_value = (write or _same for write in inner)
        return lambda entries: [
            (write_key(k), None if v is None else write_value(v)) for k, v in entries.items()
        ]
    if isinstance(hint.type, types.Struct) and hint.python is not None:
        fields = [
            (n, f.name, write or _same)
            for n, f, write in zip(hint.names, hint.type.fields, inner, strict=True)
        ]
        get = getattr if dataclasses.is_dataclass(hint.python) else _item
        return lambda row: {
            key: None if (v := get(row, name, None)) is None else write(v) for name, key, write in fields
        }
    return None


def _same(value: Any) -> Any:
    return value


def _item(row: Mapping[str, Any], name: str, default: Any) -> Any:
    return row.get(name, default)


def _time(milliseconds: int) -> datetime.time:
    return (datetime.datetime.min + datetime.timedelta(milliseconds=milliseconds)).time()


def _milliseconds(value: datetime.time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000
