"""Queries of every kind on a server, records for them, and whether their results are what they must be."""

from __future__ import annotations

import json
import struct
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer

#: how many partitions the topics of each set of queries have
PARTITIONS = (1, 3)
KEYS = [f"k{number}" for number in range(7)]
WINDOW_MS, STEP_MS, FIRST_MS = 10_000, 10, 1_700_000_000_000

STATEMENTS = """
CREATE STREAM s{n} (k STRING KEY, id BIGINT, v INT)
  WITH (KAFKA_TOPIC = 's{n}', VALUE_FORMAT = 'JSON', PARTITIONS = {n});
CREATE TABLE names{n} (k STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = 'names{n}', VALUE_FORMAT = 'JSON', PARTITIONS = {n});
CREATE STREAM a{n} (id BIGINT KEY, v INT)
  WITH (KAFKA_TOPIC = 'a{n}', VALUE_FORMAT = 'JSON', PARTITIONS = {n});
CREATE STREAM b{n} (id BIGINT KEY, v INT)
  WITH (KAFKA_TOPIC = 'b{n}', VALUE_FORMAT = 'JSON', PARTITIONS = {n});
{names}
CREATE STREAM copy{n} AS SELECT k, id, v * 2 AS w FROM s{n} EMIT CHANGES;
CREATE STREAM joined{n} AS SELECT s.k AS k, id, name FROM s{n} s JOIN names{n} t ON s.k = t.k EMIT CHANGES;
CREATE STREAM pairs{n} AS SELECT a.id AS key, AS_VALUE(a.id) AS id, a.v + b.v AS w
  FROM a{n} a JOIN b{n} b WITHIN 1 HOUR GRACE PERIOD 1 HOUR ON a.id = b.id EMIT CHANGES;
CREATE TABLE sums{n} AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s{n} GROUP BY k EMIT CHANGES;
CREATE TABLE windows{n} AS SELECT k, COUNT(*) AS n FROM s{n}
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
CREATE TABLE sessions{n} AS SELECT k, COUNT(*) AS n FROM s{n}
  WINDOW SESSION (1 HOUR, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
CREATE TABLE odd{n} AS SELECT k, n FROM sums{n} WHERE n % 2 = 1 EMIT CHANGES;
CREATE TABLE digits{n} AS SELECT v, COUNT(*) AS n FROM s{n} GROUP BY v EMIT CHANGES;
CREATE TABLE named{n} AS SELECT t.k AS k, n, name FROM sums{n} t JOIN names{n} u ON t.k = u.k EMIT CHANGES;
CREATE TABLE linked{n} AS SELECT t.k AS k, n, name FROM sums{n} t JOIN names{n} u
  ON CONCAT('k', CAST(t.n % 7 AS STRING)) = u.k EMIT CHANGES;
CREATE TABLE halves{n} AS SELECT v % 2 AS half, COUNT(*) AS digits, SUM(n) AS total
  FROM (SELECT v, COUNT(*) AS n FROM s{n} GROUP BY v) d GROUP BY v % 2 EMIT CHANGES;
CREATE TABLE met{n} AS SELECT name, COUNT(*) AS n FROM s{n} s JOIN names{n} t ON s.k = t.k
  GROUP BY name EMIT CHANGES;
CREATE TABLE timed_met{n} AS SELECT name, COUNT(*) AS n FROM s{n} s JOIN names{n} t ON s.k = t.k
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY name EMIT CHANGES;
"""
STREAMS = ("COPY", "JOINED", "PAIRS")
TABLES = ("SUMS", "WINDOWS", "SESSIONS", "ODD", "DIGITS", "NAMED", "LINKED", "HALVES", "MET", "TIMED_MET")
#: what only some faults need: statements, and the streams and tables that are compared
FUNCTIONS, SCHEMAS, TIMES, BRIEF, LINES = "functions", "schemas", "times", "brief", "lines"
GROUPS, KEPT = "groups", "kept"
FURTHER = {
    FUNCTIONS: """
CREATE STREAM twice{n} AS SELECT k, id, twice(v) AS w FROM s{n} EMIT CHANGES;
""",
    SCHEMAS: """
CREATE STREAM avro{n} WITH (VALUE_FORMAT = 'AVRO') AS SELECT k, id, v FROM s{n} EMIT CHANGES;
CREATE STREAM plain{n} WITH (VALUE_FORMAT = 'JSON') AS SELECT k, id, v FROM avro{n} EMIT CHANGES;
""",
    TIMES: """
CREATE STREAM timed{n} (k STRING KEY, id BIGINT, v INT)
  WITH (KAFKA_TOPIC = 'timed{n}', VALUE_FORMAT = 'JSON', PARTITIONS = {n}, TIMESTAMP = 'id');
CREATE STREAM dated{n} AS SELECT k, id, v FROM timed{n} EMIT CHANGES;
CREATE TABLE seconds{n} AS SELECT k, COUNT(*) AS n FROM timed{n}
  WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;
""",
    BRIEF: """
CREATE STREAM brief{n} AS SELECT k, id, v FROM s{n} EMIT CHANGES;
CREATE TABLE again{n} AS SELECT v, COUNT(*) AS n FROM s{n} GROUP BY v EMIT CHANGES;
""",
    # a row passes only if LAG gives the one before it, of rows that came once
    GROUPS: """
CREATE STREAM chained{n} AS SELECT k, id
  FROM (SELECT k, id, LAG(id, 1, id - 7) OVER (PARTITION BY k ORDER BY ROWTIME) AS before
    FROM (SELECT DISTINCT ON (k, id) k, id FROM s{n} WITHIN 1 HOUR WHERE k IS NOT NULL) o) x
  WHERE before = id - 7 EMIT CHANGES;
CREATE TABLE greatest{n} AS SELECT k, id FROM s{n}
  QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) = 1 EMIT CHANGES;
""",
    KEPT: "",  # activities.py has its statements
    LINES: """
CREATE STREAM lines{n} (id BIGINT, v INT)
  WITH (KAFKA_TOPIC = 'lines{n}', VALUE_FORMAT = 'JSON', PARTITIONS = {n});
CREATE STREAM loaded{n} AS SELECT id, v FROM lines{n} EMIT CHANGES;
CREATE SOURCE CONNECTOR from{n} WITH ("connector.class" = 'FileStreamSource', "file" = '{folder}/in{n}',
  "topic" = 'lines{n}', "value.converter" = 'org.apache.kafka.connect.storage.StringConverter');
CREATE SINK CONNECTOR to{n} WITH ("connector.class" = 'FileStreamSink', "file" = '{folder}/out{n}',
  "topics" = 'LOADED{n}', "value.converter" = 'org.apache.kafka.connect.storage.StringConverter');
""",
}
FURTHER_STREAMS = {
    FUNCTIONS: "TWICE", SCHEMAS: "PLAIN", TIMES: "DATED", BRIEF: "BRIEF", LINES: "LOADED", GROUPS: "CHAINED",
}  # fmt: skip
FURTHER_TABLES = {TIMES: "SECONDS", BRIEF: "AGAIN", GROUPS: "GREATEST"}
#: the topics of what does not read s
INPUTS = {"DATED": "timed", "SECONDS": "timed", "LOADED": "lines"}
FUNCTION = "CREATE FUNCTION twice (v INT) RETURNS INT LANGUAGE PYTHON AS $$ return 2 * v $$;"


@dataclass
class Difference:
    """How results differ from what they must be: rows that are missing, wrong, or there again."""

    lost: int = 0
    wrong: int = 0
    repeated: int = 0
    where: list[str] = field(default_factory=list)
    #: the rows that have come more than once, since the first fault
    again: list[str] = field(default_factory=list)
    #: the number of a row that a stream lacks
    first: int | None = None


class Scene:
    """The scene on one server.

    Args:
        servers: of Kafka.
        further: which of FURTHER there are, too.
        partitions: of the topics of each set of queries.
        folder: for the files of connectors.
    """

    def __init__(
        self, servers: str, further: Collection[str], partitions: Sequence[int], folder: Path
    ) -> None:
        self.servers = servers
        self.partitions = partitions
        self._further = further
        self._folder = folder
        self._streams = (*STREAMS, *(FURTHER_STREAMS[each] for each in further if each in FURTHER_STREAMS))
        self._tables = (*TABLES, *(FURTHER_TABLES[each] for each in further if each in FURTHER_TABLES))
        # what is not taken at once must be taken later: else the truth would not be what was sent
        self._producer = self._connected()
        self._refused: list[KsqlError] = []
        #: how many records each set of queries has been sent
        self.sent = 0
        self._readers: dict[str, TopicReader] = {}
        #: topic of a stream -> how often each id has come; of a table -> key -> its last row
        self._ids: dict[str, Counter[int]] = {}
        self._rows: dict[str, dict[bytes, Any]] = {}
        #: how often Kafka has each record that we sent, by topic: where a broker was killed, our producer may
        #: have written some twice, whatever it promises
        self._inputs: dict[str, Counter[int]] = {}
        #: what else adds to the difference
        self.also: list[Callable[[Difference], None]] = []
        #: how many rows of streams came again before the fault that is tried now
        self._known_repeats = 0

    def _connected(self) -> RecordProducer:
        return RecordProducer(self.servers, {"message.timeout.ms": "300000"}, linger_ms=5)

    def reconnect(self) -> None:
        """Send with another producer, which knows the partitions that there are now."""
        self.flush()
        self._producer.close()
        self._producer = self._connected()

    @property
    def inputs_of_all(self) -> list[str]:
        """The topics that are sent to."""
        return [f"{name}{n}" for n in self.partitions for name in ("s", "a", "b", "names")]

    def make(self, execute: Callable[[str], Any]) -> None:
        """Create everything."""
        if FUNCTIONS in self._further:
            execute(FUNCTION)
        for n in self.partitions:
            # older than all that is joined with them: a backlog is read in the order of time
            names = "".join(
                f"INSERT INTO names{n} (ROWTIME, k, name) VALUES (1, '{k}', 'name of {k}');\n" for k in KEYS
            )
            text = STATEMENTS.format(n=n, names=names)
            for each in self._further:
                if each == LINES:
                    (self._folder / f"in{n}").touch()
                text += FURTHER[each].format(n=n, folder=self._folder)
            for statement in statements(text):
                execute(statement)

    def send(self, count: int) -> None:
        """Send ``count`` records, spread over about a second, to each set of queries."""
        for number in range(self.sent, self.sent + count):
            time_ms = FIRST_MS + number * STEP_MS
            for n in self.partitions:
                self._send(f"s{n}", KEYS[number % len(KEYS)].encode(), _s_value(number), time_ms)
                for topic in ("a", "b"):
                    self._send(f"{topic}{n}", struct.pack(">q", number), _ab_value(number), time_ms)
                if TIMES in self._further:
                    self._send(f"timed{n}", KEYS[number % len(KEYS)].encode(), _s_value(number), time_ms)
                if KEPT in self._further and n == self.partitions[-1]:
                    self._send(f"kept{n}", KEYS[number % len(KEYS)].encode(), _s_value(number), time_ms)
                if LINES in self._further:
                    with (self._folder / f"in{n}").open("ab") as file:
                        file.write(_s_value(number) + b"\n")
            if number % 50 == 0:
                time.sleep(0.05)  # a backlog would come in few, large batches
        self.sent += count

    def flush(self) -> None:
        """Wait until Kafka has all that was sent."""
        deadline = time.monotonic() + 300
        while self._producer.flush(5):
            if time.monotonic() > deadline:
                raise TimeoutError("Kafka does not take records")
        if self._refused:
            raise self._refused[0]

    def _send(self, topic: str, key: bytes | None, value: bytes | None, time_ms: int | None) -> None:
        def delivered(error: KsqlError | None) -> None:
            if error is not None:
                self._refused.append(error)

        self._producer.send_async(topic, key, value, time_ms, on_delivery=delivered)

    def spoil(self, value: bytes | None, key: bytes | None = b"k0", stream: str = "s") -> None:
        """Send a record that cannot be read to the topic of each of these streams."""
        for n in self.partitions:
            self._send(f"{stream}{n}", key, value, FIRST_MS + self.sent * STEP_MS)

    def name_again(self, padding: int = 0) -> None:
        """Send the rows of the tables ``names`` once more, as old as they were, since joins go by time.

        ``padding``: how many bytes each has in a column that nobody reads.
        """
        for n in self.partitions:
            for key in KEYS:
                value = json.dumps({"NAME": f"name of {key}", "PADDING": " " * padding}).encode()
                self._send(f"names{n}", key.encode(), value, 1)

    def forget(self, topic: str) -> None:
        """Read a topic of results from its beginning again, because it is another one now."""
        if (reader := self._readers.pop(topic, None)) is not None:
            reader.close()
        self._ids.pop(topic, None)
        self._rows.pop(topic, None)

    def bury(self, count: int) -> None:
        """Send tombstones of keys that nobody has to each table ``names``."""
        for number in range(count):
            for n in self.partitions:
                self._send(f"names{n}", b"nobody%d" % number, None, None)
            if number % 10_000 == 0:
                self.flush()

    def close(self) -> None:
        """Free the connections."""
        for reader in self._readers.values():
            reader.close()
        self._producer.close()

    # ---- results ------------------------------------------------------------------------------------------

    def difference(self) -> Difference:
        """Compare the results that are there now with the truth."""
        result = Difference()
        for n in self.partitions:
            left, right = (self._input(f"{name}{n}") for name in "ab")
            pairs = Counter({each: count * right[each] for each, count in left.items()})
            for name in self._streams:
                ids, times = self._stream(f"{name}{n}"), pairs if name == "PAIRS" else self._sent(name, n)
                missing = sorted(set(range(self.sent)) - ids.keys())
                self._add(result, f"{name}{n}", len(missing), 0, missing[:5])
                result.wrong += sum(1 for each in ids if not 0 <= each < self.sent)
                if again := [each for each, count in sorted(ids.items()) if count > max(1, times[each])]:
                    result.again.append(f"{name}{n}: {len(again)} again {again[:5]}…{again[-1]}")
                result.repeated += sum(ids[each] - max(1, times[each]) for each in again)
            if LINES in self._further:
                written = self._written(n)
                self._add(result, f"out{n}", self.sent - len(written & set(range(self.sent))), 0)
            for name in self._tables:
                truth = dict(self._truth(name, self._sent(name, n)))
                rows = self._table(f"{name}{n}")
                absent = sum(1 for key in truth if key not in rows)
                wrong = [(key, row, truth.get(key)) for key, row in rows.items() if truth.get(key) != row]
                self._add(result, f"{name}{n}", absent, len(wrong))
                result.where.extend(f"{key!r}: {row} instead of {right}" for key, row, right in wrong[:2])
        for compare in self.also:
            compare(result)
        result.repeated -= self._known_repeats
        return result

    def times(self, topic: str) -> Counter[int]:
        """How often a topic of ours has each number."""
        return self._input(topic)

    def table(self, topic: str) -> dict[bytes, Any]:
        """The rows of a table, by key."""
        return self._table(topic)

    def truth(self, table: str) -> dict[bytes, Mapping[str, Any]]:
        """The rows that one of TABLES must have, by key; its name ends with the number of partitions."""
        name = table.rstrip("0123456789")
        return dict(self._truth(name, self._sent(name, int(table.removeprefix(name)))))

    def new_rows(self, topic: str) -> Iterator[dict[str, Any]]:
        """The rows of a stream that have come since the last call."""
        return (json.loads(record.value) for record in self._new(topic))

    def accept_repeats(self) -> None:
        """Count only repetitions from now on."""
        self._known_repeats += self.difference().repeated

    @staticmethod
    def _add(difference: Difference, where: str, lost: int, wrong: int, which: Sequence[int] = ()) -> None:
        difference.lost += lost
        difference.wrong += wrong
        if lost or wrong:
            if which and difference.first is None:
                difference.first = which[0]
            difference.where.append(f"{where}: {lost} missing {list(which)}, {wrong} wrong")

    def inputs(self, number: int) -> dict[str, list[tuple[int, int]]]:
        """Where the records of one number are: topic -> (partition, offset) of each."""
        places: dict[str, list[tuple[int, int]]] = {}
        for topic in (f"{name}{n}" for n in self.partitions for name in "sab"):
            for record in self._all(topic):
                if record.timestamp_ms == FIRST_MS + number * STEP_MS:
                    places.setdefault(topic, []).append((record.partition, record.offset))
        return places

    def count(self, topic: str) -> int:
        """How many records a topic has."""
        return len(self._all(topic))

    def gaps(self, topic: str) -> int:
        """How many records were removed from a topic, so far as later ones of their partition show."""
        offsets: dict[int, list[int]] = {}
        for record in self._all(topic):
            offsets.setdefault(record.partition, []).append(record.offset)
        return sum(max(each) + 1 - len(each) for each in offsets.values())

    def _all(self, topic: str) -> list[Any]:
        with TopicReader(self.servers, topic) as reader:
            return [record for records in reader.read_to_end() for record in records]

    def _new(self, topic: str) -> Iterator[Any]:
        if topic not in self._readers:
            self._readers[topic] = TopicReader(self.servers, topic)
        for records in self._readers[topic].read_to_end():
            yield from records

    def _stream(self, topic: str) -> Counter[int]:
        ids = self._ids.setdefault(topic, Counter())
        ids.update(json.loads(record.value)["ID"] for record in self._new(topic))
        return ids

    def _table(self, topic: str) -> dict[bytes, Any]:
        rows = self._rows.setdefault(topic, {})
        for record in self._new(topic):
            if record.value is None:
                rows.pop(record.key, None)
            else:
                rows[record.key] = json.loads(record.value)
        return rows

    def _sent(self, name: str, n: int) -> Counter[int]:
        """How often Kafka has each record that results are made from."""
        return self._input(f"{INPUTS.get(name, 's')}{n}")

    def _written(self, n: int) -> set[int]:
        """The numbers in the file of a connector; Connect may write them more than once."""
        file = self._folder / f"out{n}"
        lines = file.read_text().splitlines() if file.exists() else []
        return {json.loads(line)["ID"] for line in lines if line.endswith("}")}

    def _input(self, topic: str) -> Counter[int]:
        """How often a topic of ours has each number that it may have; what spoils it does not count."""
        counts = self._inputs.setdefault(topic, Counter())
        for record in self._new(topic):
            if topic.startswith("lines"):  # the time is when Connect has read it
                counts[json.loads(record.value)["ID"]] += 1
                continue
            number, rest = divmod(record.timestamp_ms - FIRST_MS, STEP_MS)
            if rest == 0 and record.value in (_s_value(number), _ab_value(number)):
                counts[number] += 1
        return counts

    def _truth(self, name: str, sent: Mapping[int, int]) -> Iterator[tuple[bytes, Mapping[str, Any]]]:
        counts: Counter[bytes] = Counter()
        totals: Counter[bytes] = Counter()
        ends: dict[bytes, int] = {}
        greatest: dict[bytes, int] = {}
        for number in range(self.sent):
            key = KEYS[number % len(KEYS)].encode()
            if name in ("MET", "TIMED_MET"):
                key = b"name of " + key
            if name in ("WINDOWS", "TIMED_MET"):
                time_ms = FIRST_MS + number * STEP_MS
                key += struct.pack(">q", time_ms - time_ms % WINDOW_MS)
            elif name == "SECONDS":
                key += struct.pack(">q", number - number % 1000)
            elif name in ("DIGITS", "AGAIN"):
                key = struct.pack(">i", number % 10)
            elif name == "HALVES":
                key = struct.pack(">i", number % 2)
            elif name == "SESSIONS":
                # one session for each key, which grows
                first_ms = FIRST_MS + number % len(KEYS) * STEP_MS
                time_ms = FIRST_MS + number * STEP_MS
                key += struct.pack(">q", first_ms)
                ends[key] = time_ms
            greatest[key] = number
            times = max(1, sent[number])
            counts[key] += times
            totals[key] += number % 10 * times
        for key, count in counts.items():
            if name == "SESSIONS":
                yield key[:-8] + struct.pack(">q", ends[key]) + key[-8:], {"N": count}
            elif name == "LINKED":
                yield key, {"N": count, "NAME": f"name of k{count % len(KEYS)}"}
            elif name == "GREATEST":
                yield key, {"ID": greatest[key]}
            elif name == "HALVES":
                digits = {number % 10 for number in range(self.sent)}
                half = struct.unpack(">i", key)[0]
                yield key, {"DIGITS": sum(1 for each in digits if each % 2 == half), "TOTAL": count}
            elif name == "SUMS":
                yield key, {"N": count, "TOTAL": totals[key]}
            elif name == "NAMED":
                yield key, {"N": count, "NAME": f"name of {key.decode()}"}
            elif name != "ODD" or count % 2 == 1:
                yield key, {"N": count}


def statements(text: str) -> list[str]:
    """Each statement of a text by itself: a busy machine takes long for all of them."""
    return [f"{each};" for each in text.split(";\n") if each.strip()]


def _s_value(number: int) -> bytes:
    return json.dumps({"ID": number, "V": number % 10}).encode()


def _ab_value(number: int) -> bytes:
    return json.dumps({"V": number % 10}).encode()
