"""The examples of docs/how-to/python.md, on an engine that connect() starts; the fixture ksql."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ksql_spark
from tests.waiting import TIMEOUT_S

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "python.md"
pytest_plugins = ["pytester"]


@pytest.fixture(scope="module")
def namespace(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("engine")
    opened = []

    def connect() -> ksql_spark.Database:
        opened.append(ksql_spark.connect(data_dir=folder, engine={"ksql.create.function.enabled": "true"}))
        return opened[-1]

    yield {"ksql_spark": SimpleNamespace(connect=connect), "opened": opened}
    for database in opened:
        database.close()


def test_the_page(namespace: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(name)
    text = PAGE.read_text(encoding="utf-8")
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```$", text, flags=re.S | re.M)):
        # a function's source is read from its file
        file = tmp_path / f"block_{number}.py"
        file.write_text(block.replace("import ksql_spark\n", ""))
        exec(compile(file.read_text(), str(file), "exec"), namespace)
    db = namespace["db"]
    shown = capsys.readouterr().out.splitlines()
    assert sorted(shown) == ["coffee 1 4.0", "tea 1 3.5", "tea 2 7.0"]
    loud = {row.loud for row in db.sql("SELECT SHOUT(item) AS loud FROM sales;")}
    assert loud == {"TEA!", "COFFEE!"}
    # the page's first orders are older than its items, so only later ones surely meet them
    db.stream("orders").insert([{"id": 5, "item": "coffee", "price": 4.0}])
    joined = db.sql(
        "SELECT o.id, i.origin FROM orders o JOIN items i ON o.item = i.item EMIT CHANGES LIMIT 2;"
    ).df(timeout=TIMEOUT_S)
    assert set(joined["ORIGIN"]) == {"Assam", "Peru"}


def test_the_fixture(pytester: pytest.Pytester, namespace: dict[str, Any]) -> None:
    db = namespace["opened"][0] if namespace["opened"] else namespace["ksql_spark"].connect()
    pytester.makeconftest(
        f"""
        import pytest
        @pytest.fixture(scope="session")
        def ksql_url():
            return {db.url!r}
        """
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("run", [1, 2])
        def test_its_own_topics(ksql, run):
            ksql.register([{"id": run, "item": "tea"}], "fixture_orders")
            ksql.sql("CREATE STREAM fixture_copy AS SELECT * FROM fixture_orders;")
            (row,) = ksql.sql("SELECT * FROM fixture_copy EMIT CHANGES LIMIT 1;")
            assert row == (run, "tea")
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2)
    assert not [row for row in db.sql("SHOW STREAMS;") if row.name.startswith("FIXTURE")]
