"""The statements of the how-to pages that say so run as they stand."""

from __future__ import annotations

import contextlib
import re
import shlex
import sqlite3
import subprocess
import textwrap
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from ksql_spark import grammar
from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.shell.main import main
from ksql_spark.spark.session import SparkProcess
from tests.server.live_server import LiveServer
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorial.md"
LAKE = Path(__file__).parents[3] / "docs" / "how-to" / "lake.md"
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "streaming-queries.md"
LOGGED = {
    "ksql.logging.processing.topic.auto.create": "true",
    "ksql.logging.processing.stream.auto.create": "true",
    "ksql.logging.processing.rows.include": "true",
}
#: pages that show results -> properties of the engine
SHOWING = {
    "change-a-query.md": {"ksql.checkpoint.interval.ms": "5000"},
    "failed-and-late-records.md": LOGGED,
    "operate.md": LOGGED,
}
#: pages that show how to do a job
JOBS = [PAGE.parent / "cookbook.md", *sorted((PAGE.parent / "jobs").glob("*.md"))]
#: what else the pages run
PROGRAMS = ("printf", "python3")
#: what may print something else at first
AGAIN = ("SELECT", "DESCRIBE", "EXPLAIN", "branch")
#: of the topics: those of other tests may be there
PREFIX = "how_to_"


@pytest.fixture
def own_engine(
    kafka_admin: KafkaAdmin, spark_process: SparkProcess, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """An engine that knows no other streams; its topics are deleted."""
    service_id = f"how_to_{uuid.uuid4().hex[:8]}_"
    config = {
        "bootstrap.servers": kafka_admin.servers,
        "ksql.spark.data.dir": str(tmp_path),
        "ksql.service.id": service_id,
        "ksql.output.topic.name.prefix": PREFIX,
        **getattr(request, "param", {}),
    }
    engine = Engine(Config(config), spark_process)
    try:
        engine.start()
        yield engine
    finally:
        engine.stop()
        own = (PREFIX, f"_confluent-ksql-{service_id}")
        kafka_admin.delete_topics(name for name in kafka_admin.topics() if name.startswith(own))


@pytest.mark.long
def test_streaming_queries(own_engine: Engine) -> None:
    properties: dict[str, str] = {}
    written: set[str] = set()
    for block in re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.S | re.M):
        text = _with_topics(block)
        written |= {
            name.upper() for name in re.findall(r"(?:STREAM|TABLE) (\w+) (?:WITH \(.*?\) )?AS\b", text)
        }
        own_engine.execute(Request(text, properties))
    queries = own_engine.services.queries.all()
    assert {"_".join(query.id.split("_")[1:-1]) for query in queries} == written and len(written) >= 5
    assert {query.state for query in queries} == {"RUNNING"}


@pytest.mark.long
def test_lake(own_engine: Engine, tmp_path: Path) -> None:
    for block in re.findall(r"^```sql\n(.*?)^```$", LAKE.read_text(encoding="utf-8"), flags=re.S | re.M):
        text = block.replace("/tmp/lake", str(tmp_path / "lake"))
        own_engine.execute(Request(_with_topics(text)))
    for name in ("orders", "stock"):
        path = str(tmp_path / "lake" / name)
        until(
            lambda p=path: DeltaTable.is_deltatable(p) and DeltaTable(p).to_pyarrow_table().num_rows,
            lambda: own_engine.execute(Request("SHOW SINKS;")),
        )
    assert DeltaTable(path).to_pyarrow_table().to_pylist()[-1]["ITEM"] == "tea"
    until(
        lambda: own_engine.services.sink_status("STOCK_DB").rows,
        lambda: own_engine.execute(Request("SHOW SINKS;")),
    )
    until(
        lambda: own_engine.services.origin_status("SHOP_STOCK").rows == 1,
        lambda: own_engine.execute(Request("DESCRIBE shop_stock;")),
    )
    with contextlib.closing(sqlite3.connect(tmp_path / "lake" / "shop.db")) as database:
        assert database.execute("SELECT item, n FROM stock").fetchall()[0][0] == "tea"


def test_tutorial(own_engine: Engine) -> None:
    for block in re.findall(r"^```sql\n(.*?)^```$", TUTORIAL.read_text(encoding="utf-8"), flags=re.S | re.M):
        for piece in grammar.split(block):
            request = Request(f"{piece.text};", {"auto.offset.reset": "earliest"})
            if not piece.text.startswith(("SELECT", "PRINT")):
                own_engine.execute(request)
                continue
            rows = []
            stream = own_engine.query(request)
            deadline = time.monotonic() + TIMEOUT_S
            while (batch := stream.read(1.0)) is not None:
                rows += batch
                assert time.monotonic() < deadline, f"it does not end: {piece.text}"
            stream.close()
            # a table may not have caught up with what was inserted just before
            limit = re.search(r"LIMIT (\d+)$", piece.text)
            assert limit is None or len(rows) >= int(limit[1])
    assert own_engine.services.metastore.sources() == []


@pytest.mark.long
@pytest.mark.parametrize("page, own_engine", SHOWING.items(), ids=SHOWING, indirect=["own_engine"])
def test_results_that_are_shown(page: str, own_engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    with LiveServer(own_engine) as server:
        _check_shown(PAGE.parent / page, server.url, capsys)


@pytest.mark.long
def test_jobs(own_engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with LiveServer(own_engine) as server:
        for page in JOBS:
            _check_shown(page, server.url, capsys, tmp_path)


def _check_shown(
    page: Path, url: str, capsys: pytest.CaptureFixture[str], files: Path = Path("/tmp")
) -> None:
    """What a page shows below statements or a command is what the last of them prints, sooner or later.

    Args:
        page: the page.
        url: of the server.
        capsys: what they print.
        files: the folder for the page's files in ``/tmp``.
    """

    def printed(arguments: list[str]) -> list[list[str]]:
        if arguments[0] in PROGRAMS:
            done = subprocess.run(arguments[1], shell=True, capture_output=True, text=True, timeout=TIMEOUT_S)
            return [_words(line) for line in done.stdout.splitlines()]
        main(arguments)
        shown = capsys.readouterr()
        return [_words(line) for line in (shown.out + shown.err).splitlines()]

    settings = "SET 'auto.offset.reset' = 'earliest';"
    last: list[str] = []
    found: list[list[str]] = []
    for text in _blocks(page.read_text(encoding="utf-8").replace("/tmp/", f"{files}/")):
        if text.startswith("ksql-spark"):
            _, *last = shlex.split(text)
            last += ["--server", url] if last[0] == "branch" else []
            last = [url, *last] if last[0] == "-e" else last
            found = printed(last)
        elif (program := text.partition(" ")[0]) in PROGRAMS:
            last = [program, text]
            found = printed(last)
        elif text.startswith("COPY"):
            last = [url, "-e", text]
            found = printed(last)
        elif text.startswith("```sql"):
            for piece in grammar.split(text.removeprefix("```sql").removesuffix("```")):
                if piece.verb in ("SET", "UNSET"):
                    settings += f"{piece.text};"
                    continue
                # the result of EXPLAIN is shown without what SET says
                before = "" if piece.text.startswith("EXPLAIN") else settings
                last = [url, "-e", f"{before}{_with_topics(piece.text)};"]
                found = printed(last)
        elif last:
            deadline = time.monotonic() + TIMEOUT_S
            while missing := [words for line in text.splitlines() if (words := _words(line)) not in found]:
                assert any(word in " ".join(last) for word in AGAIN), (last, missing, found)
                assert time.monotonic() < deadline, (last, missing, found)
                found = printed(last)


def _with_topics(text: str) -> str:
    return re.sub(r"(KAFKA_TOPIC =|EXPLAIN RECORD) '(\w+)'", rf"\1 '{PREFIX}\2'", text)


def _blocks(page: str) -> list[str]:
    """A page's statements in ```sql, and its indented blocks."""
    found = re.findall(r"^```sql$.*?^```$|^(?:    [^\n]*\n)+", page, flags=re.S | re.M)
    return [textwrap.dedent(block).strip("\n") for block in found]


def _words(line: str) -> list[str]:
    """A line's words without the lines of tables and trees, and without what differs each time."""
    line = re.sub(rf"{PREFIX}[0-9a-f]{{8}}_", "default_", line).replace(PREFIX, "")
    line = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z|, about [\d,]+ bytes", "", line)
    return re.sub(r"[-+]{3,}|\||[├└]─ |[+`]- ", " ", line).split()
