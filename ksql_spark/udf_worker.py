"""The process that runs user functions: ``python -m ksql_spark.udf_worker``, started by PythonWorker.java.

It reads frames from standard input and answers each on standard output: a kind or status (int32,
big-endian), a length (int32), that many bytes.

=========  ===============================================================================================
OPEN = 1   a JSON text {"file" or "module", "name", "folder"} and the Arrow schemas of arguments and of
           results, each after its length (int32). The answer is empty; functions are numbered in this order.
CALL = 2   a function's number (int32) and a record batch of arguments. The answer is a batch of results.
=========  ===============================================================================================

Status 0 is an answer, 1 the text of an error. The last column of results is ``error``, a text for rows that
failed. A scalar or table function's results are (value, error). An aggregate's arguments are (op, state,
other, …) and its results (state, value, error): see ``_Aggregate``.

``--describe`` writes the functions of files and modules as JSON (``describe``).
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import pickle
import struct
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ksql_spark import types, udf
from ksql_spark.udf import Function, Hint

OPEN, CALL = 1, 2
#: operations of an aggregate: values of the column op
AGGREGATE, UNDO, MERGE, RESULT = 0, 1, 2, 3

_HEAD = struct.Struct("!ii")
_INT = struct.Struct("!i")


# ---- loading ------------------------------------------------------------------------------------------


def load(source: dict[str, str]) -> ModuleType:
    """Import a ``file`` (with its ``folder`` on the path, for modules beside it) or ``module``."""
    folder = source.get("folder")
    if folder and folder not in sys.path:
        sys.path.append(folder)  # at the end: a text.py in the folder hides no other module
    if "module" in source:
        return importlib.import_module(source["module"])
    path = Path(source["file"])
    # the same name in every process, wherever the folder is: it is in pickled states
    name = f"ksql_user_functions_{path.parent.name}_{path.stem}"
    while (loaded := sys.modules.get(name)) is not None:
        if loaded.__file__ == str(path):
            return loaded
        name += "_"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickle and dataclasses look classes' modules up here
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def explain(error: BaseException, path: str | None = None) -> str:
    """One line: the exception, and where in user code it was raised."""
    at = ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename not in (__file__, udf.__file__) and (path is None or frame.filename == path):
            at = f" ({Path(frame.filename).name}, line {frame.lineno})"
            break
    text = " ".join(str(error).split())
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"{type(error).__name__}: {error.msg} (line {error.lineno})"
    return f"{type(error).__name__}{': ' if text else ''}{text}{at}"


def _described(function: Function) -> dict[str, Any]:
    return {
        "name": function.name,
        "kind": function.kind,
        "description": function.description,
        "parameters": [
            {
                "name": p.name,
                "type": None if p.hint.type is None else str(p.hint.type),
                "optional": p.hint.optional,
                "description": p.description,
                "default": p.has_default,
                "variadic": p.is_variadic,
            }
            for p in function.parameters
        ],
        "returns": str(function.result.type),
        "returns_optional": function.result.optional,
        "deterministic": function.is_deterministic,
        **function.options,
    }


def describe(sources: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
    """Return for each source {"functions": […]}, or {"error": one line} if it cannot be loaded."""
    descriptions: list[dict[str, Any]] = []
    for source in sources:
        try:
            functions = [_described(f) for f in udf.functions_in(load(source))]
            descriptions.append({"functions": functions})
        except udf.InvalidFunction as error:
            descriptions.append({"error": str(error)})
        except BaseException as error:  # whatever user code raises, SystemExit too
            descriptions.append({"error": explain(error, source.get("file"))})
    return descriptions


# ---- calling ------------------------------------------------------------------------------------------


class _Arrow:
    """pyarrow, imported on first use: describing functions does not need it."""

    def __init__(self) -> None:
        import pyarrow

        self.pa = pyarrow

    def columns(self, batch: Any) -> list[list[Any]]:
        return [column.to_pylist(maps_as_pydicts="lossy") for column in batch.columns]

    def array(self, values: list[Any], type_: Any, errors: list[str | None]) -> Any:
        """``values`` as an array; a value that does not fit the type becomes NULL and an error of its row."""
        try:
            return self.pa.array(values, type_)
        except Exception:
            for i, value in enumerate(values):
                try:
                    self.pa.array([value], type_)
                except Exception as error:
                    values[i] = None
                    reason = str(error).splitlines()[0]
                    errors[i] = f"{type(error).__name__}: the result {value!r:.200} does not fit: {reason}"
            return self.pa.array(values, type_)


class _Opened:
    """An open function: takes batches of arguments, returns batches of results."""

    def __init__(self, function: Function, arguments: Any, results: Any, arrow: _Arrow) -> None:
        self.arguments = arguments
        self._results = results
        self._function = function
        self._arrow = arrow
        self._call = self._choose()

    def _choose(self) -> Callable[[Any], Any]:
        if self._function.kind == "AGGREGATE":
            return _Aggregate(self._function, self._results, self._arrow)
        return self._vectors if self._function.is_vectorized else self._rows

    def __call__(self, batch: Any) -> Any:
        return self._call(batch)

    def _hints(self, count: int) -> list[Hint]:
        hints = [p.hint for p in self._function.parameters]
        if self._function.parameters and self._function.parameters[-1].is_variadic:
            hints = hints[:-1] + [hints[-1]] * (count - len(hints) + 1)
        return hints[:count]

    def _rows(self, batch: Any) -> Any:
        columns = self._arrow.columns(batch)
        hints = self._hints(len(columns))
        required = [i for i, h in enumerate(hints) if not h.optional]
        readers = [(i, read) for i, h in enumerate(hints) if (read := udf.reader(h)) is not None]
        rows = zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)
        values: list[Any] = []
        errors: list[str | None] = []
        call = _caller(self._function)
        for row in rows:
            value = error = None
            if not any(row[i] is None for i in required):
                try:
                    value = call(_read(row, readers))
                except BaseException as raised:  # SystemExit too: a row must not end the worker
                    error = explain(raised)
            values.append(value)
            errors.append(error)
        return self._batch(self._arrow.array(values, self._results.field(0).type, errors), errors)

    def _vectors(self, batch: Any) -> Any:
        errors: list[str | None] = [None] * batch.num_rows
        try:
            return self._batch(self._vector(batch), errors)
        except BaseException as whole:
            if batch.num_rows == 1:
                nothing = self._arrow.pa.nulls(1, self._results.field(0).type)
                return self._batch(nothing, [explain(whole)])
        parts = []
        for i in range(batch.num_rows):
            try:
                parts.append(self._vector(batch.slice(i, 1)))
            except BaseException as raised:
                errors[i] = explain(raised)
                parts.append(self._arrow.pa.nulls(1, self._results.field(0).type))
        return self._batch(self._arrow.pa.concat_arrays(parts), errors)

    def _vector(self, batch: Any) -> Any:
        pa = self._arrow.pa
        hints = self._hints(batch.num_columns)
        columns = [
            c.view(pa.time32("ms")) if h.type == types.TIME else c
            for c, h in zip(batch.columns, hints, strict=True)
        ]
        result = self._function.target(*columns)
        expected = self._results.field(0).type
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        if not isinstance(result, pa.Array):
            result = pa.array(result)
        if self._function.result.type == types.TIME:
            result = result.cast(pa.time32("ms")).view(pa.int32())
        if result.type != expected:
            result = result.cast(expected)
        if len(result) != batch.num_rows:
            raise ValueError(f"{len(result)} results for {batch.num_rows} rows")
        return result

    def _batch(self, values: Any, errors: list[str | None]) -> Any:
        pa = self._arrow.pa
        return pa.RecordBatch.from_arrays([values, pa.array(errors, pa.string())], schema=self._results)


def _caller(function: Function) -> Callable[[Sequence[Any]], Any]:
    """A function that calls ``function`` with a row and returns a value that Arrow accepts."""
    target, write = function.target, udf.writer(function.result)
    is_optional = function.result.optional

    def call(row: Sequence[Any]) -> Any:
        value = target(*row)
        if value is None:
            if not is_optional:
                raise TypeError("it returned None, but its hint does not include None")
            return None
        return value if write is None else write(value)

    return call


def _read(row: Sequence[Any], readers: list[tuple[int, Callable[[Any], Any]]]) -> Sequence[Any]:
    if not readers:
        return row
    read = list(row)
    for i, change in readers:
        if read[i] is not None:
            read[i] = change(read[i])
    return read


class _Aggregate:
    """Calls an aggregate: from (op, state, other, arguments…) to (state, value, error).

    States are pickled; a NULL state begins a new group. A call that fails leaves the state unchanged.
    """

    def __init__(self, function: Function, results: Any, arrow: _Arrow) -> None:
        self._function = function
        self._results = results
        self._arrow = arrow
        self._instance = function.target()
        hints = [p.hint for p in function.parameters]
        self._required = [i for i, h in enumerate(hints) if not h.optional]
        self._readers = [(i, read) for i, h in enumerate(hints) if (read := udf.reader(h)) is not None]
        self._write = udf.writer(function.result)

    def __call__(self, batch: Any) -> Any:
        pa = self._arrow.pa
        ops, states, others, *arguments = self._arrow.columns(batch)
        rows = list(zip(*arguments, strict=True)) if arguments else [()] * batch.num_rows
        saved_states: list[bytes | None] = []
        values: list[Any] = []
        errors: list[str | None] = []
        for op, saved, other, row in zip(ops, states, others, rows, strict=True):
            error = value = None
            try:
                state = self._changed(op, self._state(saved), other, row)
                saved = pickle.dumps(state, 5)
            except BaseException as raised:
                error, state = explain(raised), None
            try:
                if error is not None:  # what failed may have changed half of its state
                    state = self._state(saved)
                value = self._instance.result(state)
                if value is not None and self._write is not None:
                    value = self._write(value)
            except BaseException as raised:
                value, error = None, error or explain(raised)
            saved_states.append(saved)
            values.append(value)
            errors.append(error)
        results = self._arrow.array(values, self._results.field(1).type, errors)
        arrays = [pa.array(saved_states, pa.binary()), results, pa.array(errors, pa.string())]
        return pa.RecordBatch.from_arrays(arrays, schema=self._results)

    def _changed(self, op: int, state: Any, other: bytes | None, row: Sequence[Any]) -> Any:
        if op == MERGE:
            return state if other is None else self._instance.merge(state, pickle.loads(other))
        if op == RESULT or any(row[i] is None for i in self._required):
            return state
        change = self._instance.undo if op == UNDO else self._instance.aggregate
        return change(state, *_read(row, self._readers))

    def _state(self, saved: bytes | None) -> Any:
        return self._instance.initialize() if saved is None else pickle.loads(saved)


class Worker:
    """Answers frames until the input ends."""

    def __init__(self, source: io.BufferedIOBase, sink: io.BufferedIOBase) -> None:
        self._source = source
        self._sink = sink
        self._opened: list[_Opened] = []
        self._arrow: _Arrow | None = None

    def run(self) -> None:
        """Serve until the other side closes."""
        while True:
            head = self._source.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return
            kind, length = _HEAD.unpack(head)
            body = memoryview(self._source.read(length))
            try:
                answer: Any = self._open(body) if kind == OPEN else self._call(body)
                status = 0
            except BaseException as error:
                answer, status = explain(error).encode(), 1
            self._sink.write(_HEAD.pack(status, len(answer)))
            self._sink.write(answer)
            self._sink.flush()

    def _open(self, body: memoryview) -> bytes:
        try:
            self._arrow = self._arrow or _Arrow()
        except ImportError:
            raise RuntimeError("user functions need pyarrow 20 or newer: pip install 'pyarrow>=20'") from None
        pa = self._arrow.pa
        parts, at = [], 0
        for _ in range(3):
            (length,) = _INT.unpack(body[at : at + 4])
            parts.append(body[at + 4 : at + 4 + length])
            at += 4 + length
        source = json.loads(bytes(parts[0]))
        arguments, results = (pa.ipc.read_schema(pa.py_buffer(part)) for part in parts[1:])
        functions = [f for f in udf.functions_in(load(source)) if f.name == source["name"]]
        if not functions:
            raise RuntimeError(f"{source.get('file') or source['module']} has no function {source['name']}")
        self._opened.append(_Opened(functions[0], arguments, results, self._arrow))
        return b""

    def _call(self, body: memoryview) -> Any:
        assert self._arrow is not None
        (number,) = _INT.unpack(body[:4])
        opened = self._opened[number]
        pa = self._arrow.pa
        batch = pa.ipc.read_record_batch(pa.py_buffer(body[4:]), opened.arguments)
        return memoryview(opened(batch).serialize())


def main(arguments: Sequence[str]) -> None:
    """Answer frames, or with ``--describe JSON`` write the functions of the sources."""
    # output that user code prints must not get between the frames
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if arguments[:1] == ["--describe"]:
        channel.write(json.dumps(describe(json.loads(arguments[1]))).encode())
        channel.close()
        return
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        Worker(os.fdopen(os.dup(0), "rb"), channel).run()


if __name__ == "__main__":
    main(sys.argv[1:])
