"""Generated events: the same by seed, plausible, and written where they belong."""

from __future__ import annotations

import http.server
import itertools
import json
import threading
from collections.abc import Iterator
from functools import partial
from random import Random

import pytest

from ksql_spark.datagen import SCHEMAS, command, main
from ksql_spark.datagen.schema import Event
from ksql_spark.datagen.taxi import zones
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader

NEW_YEAR_MS = 1_704_067_200_000
RIDE_COLUMNS = [
    "VendorID", "tpep_pickup_datetime", "tpep_dropoff_datetime", "passenger_count", "trip_distance",
    "RatecodeID", "store_and_fwd_flag", "PULocationID", "DOLocationID", "payment_type", "fare_amount",
    "extra", "mta_tax", "tip_amount", "tolls_amount", "improvement_surcharge", "total_amount",
    "congestion_surcharge",
]  # fmt: skip


def events(schema: str, count: int, seed: int = 1) -> list[Event]:
    made = SCHEMAS[schema].events(Random(seed), lambda number: NEW_YEAR_MS + 1000 * number)
    return list(itertools.islice(made, count))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_seed_decides_everything(schema):
    assert events(schema, 50) == events(schema, 50)
    if schema != "zones":
        assert events(schema, 50) != events(schema, 50, seed=2)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_values_are_what_the_statement_declares(schema):
    key, value, timestamp_ms = events(schema, 1)[0]
    declared = SCHEMAS[schema].statement.format(topic="t", partitions=1).lower()
    for column in json.loads(value):
        assert f"{column.lower()} " in declared
    assert ("key" in declared.split(") with")[0]) == (key is not None)
    assert timestamp_ms == NEW_YEAR_MS


@pytest.fixture(scope="module")
def rides():
    return [json.loads(event.value) for event in events("rides", 3000)]


class TestRides:
    def test_columns_are_those_of_the_data_set(self, rides):
        assert list(rides[0]) == RIDE_COLUMNS

    def test_amounts_add_up(self, rides):
        parts = ["fare_amount", "extra", "mta_tax", "tip_amount", "tolls_amount"]
        parts += ["improvement_surcharge", "congestion_surcharge"]
        for ride in rides:
            assert ride["total_amount"] == pytest.approx(sum(ride[part] for part in parts), abs=0.005)
            assert ride["total_amount"] == round(ride["total_amount"], 2) > 3

    def test_times_and_ways_agree(self, rides):
        for number, ride in enumerate(rides):
            assert ride["tpep_pickup_datetime"] == NEW_YEAR_MS + 1000 * number
            hours = (ride["tpep_dropoff_datetime"] - ride["tpep_pickup_datetime"]) / 3_600_000
            assert 0 < ride["trip_distance"] / hours < 60

    def test_airports_are_far_and_dear(self, rides):
        jfk = [ride for ride in rides if ride["RatecodeID"] == 2]
        assert jfk and all(ride["fare_amount"] == 70 for ride in jfk)
        assert all(132 in (ride["PULocationID"], ride["DOLocationID"]) for ride in jfk)
        short = [ride for ride in rides if ride["RatecodeID"] == 1 and ride["trip_distance"] < 3]
        assert len(short) > len(rides) / 3

    def test_the_taxi_story_has_both_sides(self, rides):
        dear = sum(ride["total_amount"] >= 40 for ride in rides)
        assert len(rides) / 20 < dear < len(rides) / 2
        assert {ride["VendorID"] for ride in rides} == {1, 2}

    def test_only_cards_tip(self, rides):
        assert all(ride["tip_amount"] == 0 for ride in rides if ride["payment_type"] != 1)
        assert any(ride["tip_amount"] > 0 for ride in rides)


def test_zones_come_once_each_with_their_ids_as_keys():
    made = events("zones", 1000)
    assert [int.from_bytes(event.key or b"", "big") for event in made] == list(range(1, 264))
    assert zones()[131] == (132, "Queens", "JFK Airport", "Airports")
    assert zones()[229] == (230, "Manhattan", "Times Sq/Theatre District", "Yellow Zone")
    assert all(len(event.key or b"") == 4 for event in made)


class TestOptions:
    def test_a_start_makes_times_the_same_in_each_run(self):
        options = command._parser().parse_args(
            ["rides", "--rate", "50/s", "--seed", "3", "--count", "3", "--start", "2024-01-01T00:00:00"]
        )
        made = list(command._events(SCHEMAS["rides"], options, options.rate))
        assert [event.timestamp_ms - NEW_YEAR_MS for event in made] == [0, 20, 40]

    @pytest.mark.parametrize(
        ("argv", "complaint"),
        [
            (["cars"], "invalid choice: 'cars'"),
            (["rides", "--rate", "fast"], "'fast' is not a number of events per second"),
            (["rides", "--count", "0"], "'0' is not a positive number"),
            (["rides", "--start", "noon"], "'noon' is not a time"),
        ],
    )
    def test_wrong_options(self, argv, complaint, capsys):
        assert main(argv) == 2
        assert complaint in capsys.readouterr().err

    def test_the_statement_is_printed(self, capsys):
        assert main(["zones", "--sql", "--topic", "z2", "--partitions", "3"]) == 0
        assert "KAFKA_TOPIC = 'z2', PARTITIONS = 3, " in capsys.readouterr().out

    @pytest.mark.parametrize("schema", SCHEMAS)
    def test_the_statement_makes_the_topic_where_it_is_missing(self, schema, capsys):
        assert main([schema, "--sql"]) == 0
        assert f"KAFKA_TOPIC = '{schema}', PARTITIONS = 1, " in capsys.readouterr().out

    def test_no_kafka_is_one_line(self, capsys, monkeypatch):
        monkeypatch.setattr(command, "KafkaAdmin", partial(KafkaAdmin, timeout_s=0.5))
        assert main(["rides", "--bootstrap-servers", "127.0.0.1:1", "--count", "1"]) == 1
        told = capsys.readouterr().err
        assert told.startswith("ksql-spark datagen: Kafka at 127.0.0.1:1 does not answer")
        assert told.count("\n") == 1


@pytest.fixture
def server() -> Iterator[http.server.HTTPServer]:
    """A ksql-spark server that answers SHOW PROPERTIES with what the test puts into ``answer``."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.path == "/ksql" and asked == {"ksql": "SHOW PROPERTIES;"}
            body = json.dumps(self.server.answer).encode()  # type: ignore[attr-defined]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


class TestWhereKafkaIs:
    def test_the_server_is_asked(self, server):
        properties = [
            {"name": "a", "value": "b"},
            {"name": "ksql.streams.bootstrap.servers", "value": "h:9092"},
        ]
        server.answer = [{"@type": "properties", "properties": properties}]
        assert command._ask_server(f"http://127.0.0.1:{server.server_port}/") == "h:9092"

    def test_a_server_that_does_not_say(self, server, capsys):
        server.answer = [{"@type": "properties", "properties": []}]
        assert main(["rides", "--server", f"http://127.0.0.1:{server.server_port}"]) == 1
        assert "where its Kafka is: its response names no brokers" in capsys.readouterr().err

    def test_a_server_that_is_not_there(self, capsys):
        assert main(["rides", "--server", "http://127.0.0.1:1"]) == 1
        assert "where its Kafka is" in capsys.readouterr().err

    def test_the_default_one_may_be_absent(self, monkeypatch):
        monkeypatch.setattr(command, "DEFAULT_SERVER", "http://127.0.0.1:1")
        assert command._ask_server(None) == "localhost:9092"


@pytest.mark.kafka
def test_events_arrive(broker, kafka_admin, topic_names, capsys):
    topic = topic_names("rides")
    argv = ["rides", "--topic", topic, "--bootstrap-servers", broker.bootstrap_servers, "--rate", "0"]
    argv += ["--count", "500", "--seed", "7", "--start", str(NEW_YEAR_MS), "--partitions", "2"]
    assert main(argv) == 0
    assert f"500 events to topic {topic} in" in capsys.readouterr().err
    assert kafka_admin.topic(topic).partitions == 2
    assert kafka_admin.config(topic)["retention.ms"] == "-1"
    with TopicReader(broker.bootstrap_servers, topic) as reader:
        records = [record for batch in reader.read_to_end() for record in batch]
    expected = SCHEMAS["rides"].events(Random(7), lambda number: NEW_YEAR_MS + 100 * number)
    assert sorted((record.timestamp_ms, record.value) for record in records) == [
        (event.timestamp_ms, event.value) for event in itertools.islice(expected, 500)
    ]
