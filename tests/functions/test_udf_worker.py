"""The process of user functions, by its frames; no JVM is needed."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ksql_spark import udf_worker
from ksql_spark.udf_worker import AGGREGATE, CALL, MERGE, OPEN, RESULT, UNDO, Worker

pa = pytest.importorskip("pyarrow")

CODE = '''
import datetime
import sys
from dataclasses import dataclass

import pyarrow.compute

from ksql_spark.udf import Integer, Vector, aggregate_function, scalar_function, table_function


@scalar_function
def half(number: int) -> int:
    """Half of an even number."""
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


@scalar_function
def ends(code: int) -> str:
    sys.exit(code)


@scalar_function
def says(text: str | None, *more: str) -> str | None:
    print("this goes nowhere")
    return None if text is None else text + "".join(more)


@scalar_function
def wrong(text: str) -> int:
    return text


@scalar_function
def nothing() -> int:
    return None


@scalar_function
def later(time: datetime.time) -> datetime.time:
    return time.replace(hour=time.hour + 1)


@scalar_function
def inverse(numbers: Vector[int]) -> Vector[int]:
    if pyarrow.compute.any(pyarrow.compute.equal(numbers, 0)).as_py():
        raise ZeroDivisionError("a zero")
    return pyarrow.compute.divide(100, numbers)


@scalar_function
def too_few(numbers: Vector[int]) -> Vector[int]:
    return numbers[:0]


@dataclass
class Pair:
    key: str
    many: dict[str, Integer]


@scalar_function
def swap(pair: Pair) -> Pair:
    return Pair(pair.key[::-1], {k: -v for k, v in pair.many.items()})


@table_function
def letters(text: str) -> list[str]:
    return list(text)


@aggregate_function
class Total:
    def initialize(self) -> int:
        return 0

    def aggregate(self, state: int, number: int) -> int:
        if number == 13:
            raise ValueError("no 13")
        return state + number

    def undo(self, state: int, number: int) -> int:
        return state - number

    def merge(self, state: int, other: int) -> int:
        return state + other

    def result(self, state: int) -> int | None:
        return state or None
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_text(CODE)
    return path


def frame(kind: int, body: bytes) -> bytes:
    return struct.pack("!ii", kind, len(body)) + body


def conversation(*frames: bytes) -> list[tuple[int, bytes]]:
    """What a worker answers to each frame: (status, body)."""
    sink = io.BytesIO()
    Worker(io.BytesIO(b"".join(frames)), sink).run()  # type: ignore[arg-type]
    answers, text = [], sink.getvalue()
    while text:
        status, length = struct.unpack("!ii", text[:8])
        answers.append((status, text[8 : 8 + length]))
        text = text[8 + length :]
    return answers


def opening(file: Path, name: str, arguments: Any, results: Any) -> bytes:
    source = json.dumps({"folder": str(file.parent), "file": str(file), "name": name}).encode()
    parts = [source, arguments.serialize().to_pybytes(), results.serialize().to_pybytes()]
    return frame(OPEN, b"".join(struct.pack("!i", len(p)) + p for p in parts))


def call(file: Path, name: str, rows: list[dict[str, Any]], arguments: Any, result: Any) -> list[Any]:
    """(value, error) of each row."""
    results = pa.schema([("value", result), ("error", pa.string())])
    batch = pa.RecordBatch.from_pylist(rows, arguments) if len(arguments) else None
    if batch is None:  # a function without parameters: only the number of rows counts
        batch = pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
    body = struct.pack("!i", 0) + batch.serialize().to_pybytes()
    opened, (status, answer) = conversation(opening(file, name, arguments, results), frame(CALL, body))
    assert opened == (0, b"")
    assert status == 0, answer
    made = pa.ipc.read_record_batch(pa.py_buffer(answer), results)
    return [(row["value"], row["error"]) for row in made.to_pylist(maps_as_pydicts="strict")]


def test_what_a_row_raises_is_that_rows_error(file: Path) -> None:
    rows = [{"c0": n} for n in (2, 3, None, 4)]
    made = call(file, "HALF", rows, pa.schema([("c0", pa.int64())]), pa.int64())
    assert [value for value, _ in made] == [1, None, None, 2]
    assert made[1][1].startswith("ValueError: 3 is odd (code.py, line ")
    assert [error for _, error in made if error is None] == [None] * 3


def test_code_that_ends_its_process_does_not(file: Path) -> None:
    (made,) = call(file, "ENDS", [{"c0": 1}], pa.schema([("c0", pa.int64())]), pa.string())
    assert made[0] is None and made[1].startswith("SystemExit: 1")


def test_none_where_the_hint_says_so(file: Path) -> None:
    text = pa.schema([("c0", pa.string()), ("c1", pa.string()), ("c2", pa.string())])
    rows = [dict(zip(("c0", "c1", "c2"), row, strict=True)) for row in (("a", "b", "c"), (None, "b", "c"))]
    assert call(file, "SAYS", rows, text, pa.string()) == [("abc", None), (None, None)]


def test_results_that_do_not_fit(file: Path) -> None:
    rows = [{"c0": "x"}]
    ((value, error),) = call(file, "WRONG", rows, pa.schema([("c0", pa.string())]), pa.int64())
    assert value is None and "the result 'x' does not fit" in error
    ((value, error),) = call(file, "NOTHING", [{}], pa.schema([]), pa.int64())
    assert value is None and "returned None" in error


def test_times_are_milliseconds(file: Path) -> None:
    rows = [{"c0": 1500}]
    assert call(file, "LATER", rows, pa.schema([("c0", pa.int32())]), pa.int32()) == [(3_601_500, None)]


def test_vectors(file: Path) -> None:
    numbers = pa.schema([("c0", pa.int64())])
    assert call(file, "INVERSE", [{"c0": 4}, {"c0": None}], numbers, pa.int64()) == [(25, None), (None, None)]
    made = call(file, "INVERSE", [{"c0": 4}, {"c0": 0}, {"c0": 5}], numbers, pa.int64())
    assert [value for value, _ in made] == [25, None, 20]
    assert [error is None for _, error in made] == [True, False, True]
    ((value, error),) = call(file, "TOO_FEW", [{"c0": 4}], numbers, pa.int64())
    assert value is None and "0 results for 1 rows" in error


def test_structs_and_maps(file: Path) -> None:
    pair = pa.struct([("KEY", pa.string()), ("MANY", pa.map_(pa.string(), pa.int32()))])
    rows = [{"c0": {"KEY": "ab", "MANY": [("x", 1)]}}, {"c0": None}]
    made = call(file, "SWAP", rows, pa.schema([("c0", pair)]), pair)
    assert made == [({"KEY": "ba", "MANY": {"x": -1}}, None), (None, None)]


def test_table_functions_give_arrays(file: Path) -> None:
    rows = [{"c0": "ab"}, {"c0": ""}]
    made = call(file, "LETTERS", rows, pa.schema([("c0", pa.string())]), pa.list_(pa.string()))
    assert made == [(["a", "b"], None), ([], None)]


def test_aggregates(file: Path) -> None:
    arguments = pa.schema(
        [("op", pa.int32()), ("state", pa.binary()), ("other", pa.binary()), ("c0", pa.int64())]
    )
    results = pa.schema([("state", pa.binary()), ("value", pa.int64()), ("error", pa.string())])
    three, four = pickle.dumps(3), pickle.dumps(4)
    rows = [
        (AGGREGATE, None, None, 5),
        (AGGREGATE, three, None, 5),
        (AGGREGATE, three, None, None),
        (AGGREGATE, three, None, 13),
        (UNDO, three, None, 3),
        (MERGE, three, four, None),
        (MERGE, None, four, None),
        (RESULT, None, None, None),
    ]
    batch = pa.RecordBatch.from_pylist([dict(zip(arguments.names, r, strict=True)) for r in rows], arguments)
    body = struct.pack("!i", 0) + batch.serialize().to_pybytes()
    _, (status, answer) = conversation(opening(file, "TOTAL", arguments, results), frame(CALL, body))
    assert status == 0, answer
    made = pa.ipc.read_record_batch(pa.py_buffer(answer), results).to_pylist()
    assert [row["value"] for row in made] == [5, 8, 3, 3, None, 7, 4, None]
    assert [pickle.loads(row["state"]) for row in made] == [5, 8, 3, 3, 0, 7, 4, 0]
    assert [bool(row["error"]) for row in made] == [False, False, False, True, False, False, False, False]


def other_process(code: str, *arguments: str, seed: int) -> str:
    """What a Python process of its own prints; ``seed``: of its hashes."""
    root = str(Path(udf_worker.__file__).parent.parent)
    environment = os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": root}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_states_of_own_classes_are_read_in_any_process_and_folder(file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "moved" / file.parent.name / file.name
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_text(CODE)
    load = (
        "import pickle, sys; from ksql_spark.udf_worker import load;"
        "module = load({'file': sys.argv[1], 'folder': ''});"
    )
    saved = other_process(f"{load} print(pickle.dumps(module.Pair('a', {{}})).hex())", str(file), seed=1)
    shown = f"{load} print(pickle.loads(bytes.fromhex(sys.argv[2])) == module.Pair('a', {{}}))"
    assert other_process(shown, str(file), saved, seed=2) == "True"
    assert other_process(shown, str(elsewhere), saved, seed=3) == "True"


def test_files_of_the_same_name_are_different_modules(tmp_path: Path) -> None:
    modules = []
    for number in (1, 2):
        path = tmp_path / str(number) / "same" / "code.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"NUMBER = {number}")
        modules.append(udf_worker.load({"file": str(path)}))
    assert [module.NUMBER for module in modules] == [1, 2]


def test_a_function_that_is_not_there(file: Path) -> None:
    schema = pa.schema([("c0", pa.int64())])
    ((status, reason),) = conversation(opening(file, "GONE", schema, schema))
    assert status == 1 and b"has no function GONE" in reason


def test_describing_tells_what_is_wrong_and_where(tmp_path: Path) -> None:
    texts = {
        "syntax": "x = (\n",
        "raises": "x = 1\ny = x / 0\n",
        "ends": "raise SystemExit('enough')\n",
        "hint": "from ksql_spark.udf import scalar_function\n@scalar_function\ndef f(x): ...\n",
        "helped": "from _mine import f\n",
        "_mine": "from ksql_spark.udf import scalar_function\n@scalar_function\ndef f(x: int) -> int: ...\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    sources = [{"folder": str(tmp_path), "file": str(tmp_path / f"{name}.py")} for name in texts]
    found = dict(zip(texts, udf_worker.describe(sources), strict=True))
    assert "SyntaxError" in found["syntax"]["error"] and "line 1" in found["syntax"]["error"]
    assert found["raises"]["error"] == "ZeroDivisionError: division by zero (raises.py, line 2)"
    assert found["ends"]["error"].startswith("SystemExit: enough")
    assert "parameter x: a type hint is missing" in found["hint"]["error"]
    assert [f["name"] for f in found["helped"]["functions"]] == ["F"]
