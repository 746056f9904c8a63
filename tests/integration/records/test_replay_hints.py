"""Queries that REPLAY ERRORS refuses: the way that the error names makes their rows right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from ksql_spark.engine import Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.integration.records.logged_engine import EARLIEST, FUNCTION, LoggedEngine, logged_engine
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

#: the rows of a stream that do not fail; other kinds of queries that are refused are in
#: tests/statements/rows/test_errors_of.py
PAID = "(SELECT k, euros(t) AS n FROM {0}l WHERE euros(t) > 0) l"
TABLES = {
    "groups": "SELECT k, COUNT(*) AS n, SUM(euros(t)) AS total FROM {0}l GROUP BY k",
    "best": "SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY euros(t) DESC) AS place, "
    "euros(t) AS n FROM {0}l WHERE euros(t) > 0 QUALIFY place <= 2",
    "gliding": "SELECT k, COUNT(*) AS n, SUM(euros(t)) AS total FROM {0}l "
    "WINDOW SLIDING (SIZE 2 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k",
    "owned": "SELECT a.k AS k, name, euros(a.t) AS n FROM {0}a a JOIN {0}p p ON a.owner = p.k",
    "of_pairs": f"SELECT b, COUNT(*) AS n FROM {PAID} JOIN {{0}}r r WITHIN 2 SECONDS GRACE PERIOD 0 SECONDS "
    "ON l.k = r.k GROUP BY b",
}
STREAMS = {
    "climbs": f"SELECT * FROM {PAID} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ROWTIME MEASURES "
    "FIRST(n) AS least, LAST(n) AS most PATTERN (x dearer) WITHIN 1 HOUR DEFINE dearer AS n > PREV(n))",
    "enriched": f"SELECT l.k AS k, n, name FROM {PAID} LEFT JOIN {{0}}p p ON l.k = p.k",
    "once": "SELECT DISTINCT ON (euros(t)) k, euros(t) AS n FROM {0}l WITHIN 5 SECONDS",
    "paired_named": f"SELECT l.k AS k, n, b, name FROM {PAID} JOIN {{0}}r r WITHIN 2 SECONDS GRACE PERIOD 0 "
    "SECONDS ON l.k = r.k JOIN {0}p p ON l.k = p.k",
}
#: kind -> name -> SELECT over sources whose names begin with a prefix
KINDS = {"TABLE": TABLES, "STREAM": STREAMS}
SOURCES = {
    "STREAM l": "k STRING KEY, t STRING",
    "STREAM r": "k STRING KEY, b INT",
    "TABLE a": "k STRING PRIMARY KEY, t STRING, owner STRING",
    "TABLE p": "k STRING PRIMARY KEY, name STRING",
}
#: the properties of WITH that are not the default
WITH = {"best": " WITH (KEY_FORMAT = 'JSON')"}
#: a new version is swapped once a checkpoint has caught up
SETTINGS = EARLIEST | {"ksql.checkpoint.interval.ms": "5000"}
#: before the names of sources whose records never fail
GOOD = "good_"


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest,
    broker: EmbeddedBroker,
    spark_process: SparkProcess,
    kafka_admin: KafkaAdmin,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LoggedEngine]:
    """A server whose function has failed for records of queries, and is mended."""
    folder = tmp_path_factory.mktemp("hints")
    (folder / "ext").mkdir()
    (folder / "ext" / "amounts.py").write_text(FUNCTION.format("text"))
    producer = RecordProducer(broker.bootstrap_servers)
    with logged_engine(broker, spark_process, kafka_admin, folder) as made:
        service = made.engine.services.config["ksql.service.id"]
        for prefix in ("", GOOD):
            for name, columns in SOURCES.items():
                kind, short = name.split()
                topic = f"{service}_{prefix}{short}"
                made.run(
                    f"CREATE {kind} {prefix}{short} ({columns}) WITH (KAFKA_TOPIC = '{topic}',"
                    " VALUE_FORMAT = 'JSON', PARTITIONS = 2);"
                )

        def create(way: str, name: str, prefix: str) -> None:
            select = KINDS[request.param][name].format(prefix)
            made.engine.execute(Request(f"{way} AS {select} EMIT CHANGES;", SETTINGS))

        for name in KINDS[request.param]:
            create(f"CREATE {request.param} {name}{WITH.get(name, '')}", name, "")

        def send(numbers: range) -> None:
            for i in numbers:
                text = ("{}", "{} EUR", "-{} EUR", "n/a")[i // 5 % 4].format(1 + i * 7 % 11)
                for prefix, t in (("", text), (GOOD, text.split()[0])):
                    values = {"r": {"b": i}, "l": {"t": t}}
                    if i % 3 == 0:
                        values = {"p": {"name": f"name {i}"}, **values}
                    if i % 2 == 0:
                        values["a"] = {"t": t, "owner": f"k{(i + 1) % 5}"}
                    for name, value in values.items():
                        topic, data = f"{service}_{prefix}{name}", json.dumps(value).encode()
                        producer.send(topic, f"k{i % 5}".encode(), data, 1_000 + 700 * (i // 5))

        send(range(100))
        for query in made.engine.services.queries.all():
            find = f"SELECT COUNT(*) FROM ERRORS OF {query.id} WHERE stage = 'PROCESSING';"
            until(lambda find=find: made.rows(find)[0][0] >= 25, lambda find=find: (find, made.rows(find)))
        # idle workers of the JVM, which goes on here, keep what they have read from a file
        (folder / "ext" / "amounts.py").unlink()
        (folder / "ext" / "mended.py").write_text(FUNCTION.format("text.split(' ')[0]"))
        made.restart()
        send(range(100, 190))  # the last amounts of all keys can be read
        for name in KINDS[request.param]:
            create(way_of(made, name), name, "")
            create(f"CREATE {request.param} never_{name}{WITH.get(name, '')}", name, GOOD)
        yield made
    producer.close()


def way_of(server: LoggedEngine, name: str) -> str:
    """The beginning of the statement that the refusal of REPLAY ERRORS names."""
    (query,) = (q for q in server.engine.services.queries.all() if q.plan.sink.name == name.upper())
    with pytest.raises(KsqlError) as caught:
        server.run(f"REPLAY ERRORS OF {query.id};")
    found = re.match(r"(CREATE .*) AS the same SELECT", str(caught.value.hint))
    assert found is not None, caught.value.message
    more = WITH.get(name, " WITH (").removesuffix(")")
    return found[1].replace("…", f"{name}_again").replace(" WITH (", f"{more}, " if name in WITH else more)


@pytest.mark.parametrize(
    ("server", "name"), [(kind, name) for kind, names in KINDS.items() for name in names], indirect=["server"]
)
def test_the_way_that_the_error_names(server: LoggedEngine, name: str) -> None:
    again = name if name in TABLES else f"{name}_again"

    def state() -> tuple[str, str | None]:
        (described,) = server.run(f"DESCRIBE EVOLUTION {name};")
        return described.state, described.reason

    def rows(of: str) -> list[tuple[object, ...]]:
        return server.rows(f"SELECT * FROM {of};")

    if name in TABLES:
        until(lambda: state() == ("swapped", None), state)
    until(lambda: rows(again) == rows(f"never_{name}"), lambda: (rows(again), rows(f"never_{name}")))
    assert rows(again)
