"""Loading functions of jars at the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksql_spark.config import Config
from ksql_spark.functions.jars import JarLowering
from ksql_spark.metastore.store import MetaStore
from ksql_spark.services import java_functions
from ksql_spark.services.java_functions import JavaFunctions
from ksql_spark.services.python_functions import PythonFunctions
from ksql_spark.statements.definitions import functions


def described(*names: str, problems: tuple[str, ...] = (), returns: Any = "BIGINT") -> dict[str, Any]:
    variant = {"method": "m()", "description": "", "parameters": [], "returns": returns}
    return {
        "functions": [
            {"class": "C", "kind": "SCALAR", "name": name, "description": "", "variants": [variant]}
            for name in names
        ],
        "problems": list(problems),
    }


def load(
    folder: Path, monkeypatch: pytest.MonkeyPatch, jars: dict[str, dict[str, Any]], **config: Any
) -> tuple[MetaStore, list[str]]:
    for name in jars:
        (folder / name).touch()
    monkeypatch.setattr(JavaFunctions, "describe", lambda _, jar: jars[jar.name])
    metastore, reports = MetaStore(), []
    functions.load(PythonFunctions(folder, (), folder / "x"), metastore, Config(config), reports.append)
    return metastore, reports


def test_without_jars_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_functions, "artifacts", None)
    for folder in (tmp_path, tmp_path / "missing"):
        reports: list[str] = []
        functions.load(PythonFunctions(folder, (), folder), MetaStore(), Config(), reports.append)
        assert not reports


def test_the_first_jar_by_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars = {"b.jar": described("one", "two"), "a.jar": described("One", "abs")}
    metastore, reports = load(tmp_path, monkeypatch, jars)
    a, b = tmp_path / "a.jar", tmp_path / "b.jar"
    found = {name: spec.origin.path for name, spec in metastore.functions().items() if spec.origin}
    assert found == {"ONE": str(a), "TWO": str(b)}
    assert reports == [
        "loading user functions of a.jar",
        f"Cannot load functions from {a}: abs: The function ABS already exists: it comes with the server."
        " Choose another name.",
        "loading user functions of b.jar",
        f"Cannot load functions from {b}: one: The function ONE already exists: it is defined in {a}.",
        "loaded 2 user functions",
    ]


def test_what_is_bad_in_a_jar_is_told_and_the_rest_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jars = {
        "a.jar": {"error": "zip END header not found"},
        "b.jar": described("one", problems=("C.m(): no",)),
        "c.jar": described("two", returns={"schema": "STRUCT<"}),
        "d.jar": described(),
    }
    metastore, reports = load(tmp_path, monkeypatch, jars)
    assert list(metastore.functions()) == ["ONE"]
    told = [text.partition(".jar: ")[2] for text in reports if text.startswith("Cannot")]
    assert told[:2] == ["zip END header not found.", "C.m(): no."]
    assert told[2].startswith("two: ")
    assert told[3].startswith("it has no class with @UdfDescription")


def test_a_function_gets_its_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"ksql.functions.one.a": "1", "ksql.functions._global_.b": "2", "ksql.functions.two.c": "3"}
    metastore, _ = load(tmp_path, monkeypatch, {"a.jar": described("One")}, **values)
    lowering = metastore.functions()["ONE"].spark
    assert isinstance(lowering, JarLowering)
    assert lowering.function.properties == {"ksql.functions.one.a": "1", "ksql.functions._global_.b": "2"}
