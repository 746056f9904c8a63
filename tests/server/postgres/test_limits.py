"""What one client of PostgreSQL's port can do to the server: texts, messages and numbers of things."""

from __future__ import annotations

import contextlib
import copy
import gc
import random
import select
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from ksql_spark import deadline, grammar
from ksql_spark.engine import ResultColumn, Row
from ksql_spark.errors import KsqlError
from ksql_spark.server.postgres.session import execution, parameters, statements
from ksql_spark.server.postgres.text.relations import relations
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.values.failures import Failure
from ksql_spark.server.security.authentication import ANYBODY, Principal
from ksql_spark.types import BIGINT
from tests.server.fake_engine import FakeStream
from tests.server.postgres.port import SOON_S, Port

Make = Callable[[int], str]


def _joined(separator: str, part: str) -> Make:
    return lambda n: separator.join([part] * n)


def _around(before: str, opened: str, closed: str, after: str = "", most: int = 10**9) -> Make:
    return lambda n: before + opened * min(n, most) + "1" + closed * min(n, most) + after + " " * n


#: texts that grow with a number
TEXTS: dict[str, Make] = {
    "nested casts": _around("SELECT ", "(", "::int)", " FROM r"),
    "casts": lambda n: "SELECT " + ", ".join(f"a::int AS c{k}" for k in range(n)) + " FROM r",
    "a chain of casts": lambda n: "SELECT a" + "::int" * n + " FROM r",
    "casts of parameters": lambda n: "SELECT " + ", ".join(f"${k + 1}::int" for k in range(n)) + " FROM r",
    "array types": lambda n: "SELECT a::int" + "[]" * n + " FROM r",
    "types that do not end": lambda n: "SELECT " + "a::array< " * n,
    "lengths that do not end": lambda n: "SELECT " + "a::varchar( " * n,
    "FETCH and blanks": lambda n: "FETCH" + " " * n,
    "FETCH, blanks and more": lambda n: "FETCH" + " " * n + "x y",
    "COPY and blanks": lambda n: "COPY a" + " " * n,
    "COPY and brackets": lambda n: "COPY a " + "( " * n,
    "COPY and options": lambda n: "COPY a TO STDOUT (" + "x " * n,
    "SET and dots": lambda n: "SET " + "a." * n,
    "SHOW and blanks": lambda n: "SHOW a" + " " * n + "b",
    "DECLARE in DECLARE": lambda n: "DECLARE c CURSOR FOR " * n,
    "DECLARE and SCROLL": lambda n: "DECLARE c " + "SCROLL " * n,
    "comments that do not end": lambda n: "/* " * n,
    "comments in comments": lambda n: "/* " * n + "*/ " * n + "SELECT 1",
    "comments": lambda n: "-- a\n" * n + "SELECT 1 /* x */",
    "quotes": lambda n: "SELECT '" + "''" * n,
    "tags": lambda n: " ".join(f"$a{k}$" for k in range(n)),
    "ILIKE": lambda n: "SELECT 1 FROM r WHERE " + " OR ".join(["a ILIKE 'x'"] * n),
    "a chain of ILIKE": lambda n: "SELECT 1 FROM r WHERE a" + " ILIKE a" * n,
    "nested ILIKE": _around("SELECT 1 FROM r WHERE ", "(", " ILIKE 'x')"),
    "nested = ANY": _around("SELECT 1 FROM r WHERE ", "(", " = ANY (x))"),
    "= ANY on the right": _around("SELECT 1 FROM r WHERE ", "a = ANY (", ")"),
    "JSON": lambda n: "SELECT " + "'{}'::json, " * n + "1 FROM r",
    "schemas": lambda n: "SELECT " + "public." * n + "a FROM r",
    "sub-queries": _around("SELECT * FROM ", "(SELECT * FROM ", ")"),
    "IN": lambda n: "SELECT * FROM r WHERE a IN (" + "1, " * n + "1)",
    "CASE": _around("SELECT ", "CASE WHEN a THEN ", " END", " FROM r"),
    "brackets that do not end": lambda n: "SELECT " + "(" * n,
    "brackets that begin nowhere": lambda n: "SELECT " + ")" * n,
    "relations": lambda n: "SELECT * FROM " + ", ".join(["r"] * n),
    "INSERT": lambda n: "INSERT INTO r VALUES (" + ", ".join(f"${k + 1}" for k in range(n)) + ")",
    "parameters that are compared": lambda n: (
        "SELECT 1 FROM r WHERE " + " AND ".join(f"a = ${k + 1}" for k in range(n))
    ),
    "OR, for the catalog": lambda n: "SELECT 1 FROM pg_class WHERE " + " OR ".join(["oid = 1"] * n),
    "columns, for the catalog": lambda n: "SELECT " + ", ".join(["1"] * n),
    "brackets, for the catalog": _around("SELECT ", "(", ")", most=50),
    "casts, for the catalog": lambda n: "SELECT 1" + "::int" * n,
    "statements": _joined("; ", "SHOW TABLES"),
    "CREATE": lambda n: "CREATE " + "OR REPLACE SOURCE " * n + "STREAM " + "IF NOT EXISTS " * n,
}
#: and those of the grammar
KSQL: dict[str, Make] = {
    "IN": lambda n: "SELECT * FROM r WHERE a IN (" + "1, " * n + "1) EMIT CHANGES;",
    "OR": lambda n: "SELECT * FROM r WHERE " + " OR ".join(["a = 1"] * n) + " EMIT CHANGES;",
    "||": lambda n: "SELECT " + " || ".join(["a"] * n) + " FROM r EMIT CHANGES;",
    "WHEN": lambda n: "SELECT CASE " + "WHEN a THEN b " * n + "END FROM r EMIT CHANGES;",
    "columns": lambda n: "CREATE STREAM s (" + ", ".join(f"c{k} INT" for k in range(n)) + ");",
    "brackets": _around("SELECT ", "(", ")", " FROM r EMIT CHANGES;"),
    "CASE": _around("SELECT ", "CASE WHEN a THEN ", " END", " FROM r EMIT CHANGES;"),
    "calls": _around("SELECT ", "f(", ")", " FROM r EMIT CHANGES;"),
    "sub-queries": lambda n: "SELECT * FROM " + "(SELECT * FROM " * n + "r" + ")" * n + " EMIT CHANGES;",
    "a chain of casts": lambda n: "SELECT a" + "::INT" * n + " FROM r EMIT CHANGES;",
    "NOT": lambda n: "SELECT * FROM r WHERE " + "NOT " * n + "a EMIT CHANGES;",
    "types": lambda n: "CREATE STREAM s (c " + "ARRAY<" * n + "INT" + ">" * n + ");",
    "comments": lambda n: "/* " * n,
    "code": lambda n: "$$ " * (2 * n + 1),
    "statements": _joined("", "SHOW TABLES;"),
}
#: arrays as parameters
ARRAYS: dict[str, Make] = {
    "blanks": lambda n: "{" + " " * n + '"',
    "blanks in elements": lambda n: "{" + "a " * n + '"}',
    "elements": lambda n: "{" + "a, " * n + "b}",
    "quotes": lambda n: '{"' + "\\a" * n,
}


def _read_all(text: str) -> None:
    """What is done with a text before the engine has it."""
    found = statements.split(text)
    while (statement := statements.next_statement(found)) is not None:
        parameters.columns_of(statement)
        parameters.casts_of(statement)
        relations(statement.piece)


def _classify(text: str) -> list[object]:
    return [(one.verb, one.object, one.name, one.is_query, one.is_push) for one in grammar.split(text)]


@pytest.fixture(scope="module", autouse=True)
def frozen_objects() -> Iterator[None]:
    """Let a collection of garbage look only at what these tests make: thousands of tests ran before them."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def _seconds(work: Callable[[str], object], text: str) -> float:
    """The least time of several runs; errors are results, too."""
    found = []
    for _ in range(3):
        gc.collect()
        gc.disable()
        began = time.thread_time()
        with contextlib.suppress(Failure, KsqlError, ValueError, grammar.ParseFailed):
            work(text)
        found.append(time.thread_time() - began)
        gc.enable()
    return min(found)


def _check_growth(work: Callable[[str], object], make: Make) -> None:
    """Four times the text takes four times as long, and not sixteen times."""
    size = 250
    while (small := _seconds(work, make(size))) < 0.001 and size < 16_000:
        size *= 4
    for _ in range(3):  # others may disturb it
        if (large := _seconds(work, make(4 * size))) < 10 * small:
            return
        small = max(small, _seconds(work, make(size)))
    raise AssertionError(f"{4 * size}: {large:.3f} s, {size}: {small:.3f} s")


@pytest.mark.parametrize("name", TEXTS)
def test_texts_take_linear_time(name: str) -> None:
    _check_growth(_read_all, TEXTS[name])


@pytest.mark.parametrize("name", KSQL)
def test_ksql_takes_linear_time(name: str) -> None:
    _check_growth(grammar.parse, KSQL[name])


@pytest.mark.parametrize("name", TEXTS)
def test_statements_are_classified_in_linear_time(name: str) -> None:
    _check_growth(_classify, TEXTS[name])


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_take_linear_time(name: str) -> None:
    _check_growth(lambda text: values.parameter(text.encode(), 1009, False), ARRAYS[name])


# ---- the event loop, time and cancelling -------------------------------------------------------------------


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Reads texts with SLOW until they may not be read any more; set once one is read."""
    is_reading, found = threading.Event(), statements.statement

    def statement(piece: Any) -> Any:
        if "SLOW" in piece.text:
            is_reading.set()
            while True:
                deadline.check()
                time.sleep(0.001)
        return found(piece)

    monkeypatch.setattr(statements, "statement", statement)
    return is_reading


@pytest.mark.parametrize("is_prepared", [False, True])
def test_a_text_holds_up_nobody_and_is_cancelled(
    port: Port, slow: threading.Event, is_prepared: bool
) -> None:
    with port.connect() as first, port.connect() as second:
        failed: list[Exception] = []

        def run() -> None:
            try:
                first.execute("SELECT 'SLOW' AS a", prepare=is_prepared or None)
            except psycopg.Error as error:
                failed.append(error)

        running = threading.Thread(target=run)
        running.start()
        assert slow.wait(SOON_S)
        assert second.execute("SELECT 1").fetchone() == (1,)
        first.cancel_safe()
        running.join(SOON_S)
        assert isinstance(failed[0], psycopg.errors.QueryCanceled)
        assert first.execute("SELECT 1").fetchone() == (1,)


def test_the_time_to_read_a_text_is_limited(port: Port, slow: threading.Event) -> None:
    port.host.statement_timeout_s = 0.2
    with port.connect() as connection:
        with pytest.raises(psycopg.errors.QueryCanceled, match=r"ksql\.statement\.timeout\.ms"):
            connection.execute("SELECT 'SLOW' AS a")
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_who_leaves_ends_what_reads_the_text(port: Port, slow: threading.Event) -> None:
    client = Client(port)
    client.send(b"Q", b"SELECT 'SLOW' AS a\0")
    assert slow.wait(SOON_S)
    client.close()
    workers = port.host._statements.pool
    freed = [workers.submit(lambda: None) for _ in range(50)]
    assert all(one.result(SOON_S) is None for one in freed)


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_query_without_rows_ends_when_its_client_goes_or_cancels(
    port: Port, monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    def query(request: Any) -> Any:
        begun.set()
        if request.cancelled.wait(SOON_S):
            cancelled.set()
        raise KsqlError("STATEMENT_CANCELLED")

    monkeypatch.setattr(port.engine, "query", query)
    connection = port.connect()
    connection.pgconn.send_query(b"SELECT * FROM slow ORDER BY 1")
    assert begun.wait(SOON_S)
    if is_closed:
        connection.close()
    else:
        connection.cancel_safe(timeout=SOON_S)
    assert cancelled.wait(SOON_S)
    connection.close()


def test_a_query_that_is_cancelled_when_it_has_just_started_ends(
    port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled(*_: object) -> None:
        raise KsqlError("STATEMENT_CANCELLED")

    monkeypatch.setattr(execution, "note_query", cancelled)
    with port.connect() as connection, pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT * FROM slow ORDER BY 1")
    (stream,) = port.engine.streams
    assert stream.closed.wait(SOON_S)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
        "SELECT oid FROM pg_class WHERE " + "(" * 200 + "1=1" + ")" * 200,
        "SELECT * FROM pg_class WHERE " + "NOT " * 50_000 + "true",
    ],
)
def test_depth_is_an_error(port: Port, text: str) -> None:
    with port.connect() as connection:
        with pytest.raises(psycopg.errors.StatementTooComplex, match="nested too deeply"):
            connection.execute(text)
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_statement_has_a_limit(port: Port) -> None:
    with port.connect() as connection:
        with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="too long"):
            connection.execute(f"SELECT '{';' * 1_100_000}'")
        assert connection.execute("SELECT 1").fetchone() == (1,)


# ---- messages ----------------------------------------------------------------------------------------------


class Client:
    """Speaks the protocol byte by byte."""

    def __init__(self, port: Port) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port.port), timeout=SOON_S)
        startup = b"\0\3\0\0user\0ada\0database\0ksql\0\0"
        self.sock.sendall(struct.pack("!i", len(startup) + 4) + startup)
        self.read()

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        self.sock.sendall(kind + struct.pack("!i", len(payload) + 4) + payload)

    def read(self) -> list[tuple[bytes, bytes]]:
        """All messages up to ReadyForQuery, or the end of the connection."""
        found = []
        with contextlib.suppress(ConnectionError):
            while head := self._exactly(5):
                kind, size = head[:1], struct.unpack("!i", head[1:])[0]
                found.append((kind, self._exactly(size - 4)))
                if kind == b"Z":
                    break
        return found

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            if not part:
                return b""
            data += part
        return data

    def failed(self) -> str:
        """The code of the first error of what comes."""
        return next((_code(payload) for kind, payload in self.read() if kind == b"E"), "")

    def close(self) -> None:
        self.sock.close()


def _code(payload: bytes) -> str:
    fields = {part[:1]: part[1:].decode() for part in payload.split(b"\0") if part}
    return fields[b"C"]


def _parse(text: bytes, name: bytes = b"", types: tuple[int, ...] = ()) -> bytes:
    return name + b"\0" + text + b"\0" + struct.pack(f"!H{len(types)}I", len(types), *types)


def _bind(
    values_: tuple[bytes | None, ...] = (),
    formats: tuple[int, ...] = (),
    results: tuple[int, ...] = (),
    portal: bytes = b"",
    name: bytes = b"",
) -> bytes:
    given = b"".join(
        struct.pack("!i", -1) if one is None else struct.pack("!i", len(one)) + one for one in values_
    )
    return b"".join((
        portal, b"\0", name, b"\0", struct.pack(f"!H{len(formats)}H", len(formats), *formats),
        struct.pack("!H", len(values_)), given, struct.pack(f"!H{len(results)}H", len(results), *results),
    ))  # fmt: skip


@pytest.fixture
def client(port: Port) -> Iterator[Client]:
    made = Client(port)
    yield made
    made.close()


@pytest.mark.parametrize("number", ["0", "65536", "99999", "9" * 5000])
def test_a_parameter_has_a_possible_number(client: Client, number: str) -> None:
    client.send(b"P", _parse(f"SELECT ${number}".encode()))
    client.send(b"S")
    assert client.failed() == "42P02"
    client.send(b"Q", f"SELECT ${number}\0".encode())
    assert client.failed() == "42P02"


def test_the_highest_number_of_a_parameter(client: Client) -> None:
    client.send(b"P", _parse(b"SELECT $65535 AS a"))
    client.send(b"D", b"S\0")
    client.send(b"S")
    answers = dict(client.read())
    assert struct.unpack("!H", answers[b"t"][:2]) == (65535,)


@pytest.mark.parametrize(
    ("bind", "code"),
    [
        (_bind((b"1",), formats=(0, 0)), "08P01"),
        (_bind((b"1",), formats=(7,)), "22023"),
        (_bind((b"1",), results=(3,)), "22023"),
        (_bind((b"1", b"2")), "08P01"),
        (_bind(()), "08P01"),
        (_bind((b"1",), results=(0,) * 60_000), "08P01"),
        (_bind((b"one",)), "22P02"),
        (_bind((b"\xff",)), "22P02"),
        (_bind((b"1",), formats=(1,)), "22P02"),
        (_bind((b"1",), name=b"nothing"), "26000"),
    ],
)
def test_what_bind_refuses(client: Client, bind: bytes, code: str) -> None:
    client.send(b"P", _parse(b"SELECT $1::int AS a", types=(23,)))
    client.send(b"B", bind)
    client.send(b"E", b"\0\0\0\0\0")
    client.send(b"S")
    assert client.failed() == code
    client.send(b"Q", b"SELECT 1\0")
    assert client.failed() == ""


@pytest.mark.parametrize(
    "payload",
    [
        b"\0\0\0\0\0\1\xff\xff\xff\xf0\0\0",  # a negative length
        b"\0\0\0\0\0\1\x7f\xff\xff\xff\0\0",  # one behind the end
        b"\0\0\xff\xff",
        b"",
        b"no end",
    ],
)
def test_messages_that_are_none(client: Client, payload: bytes) -> None:
    client.send(b"P", _parse(b"SELECT $1::int AS a"))
    client.send(b"B", payload)
    client.send(b"S")
    assert client.failed() in ("08P01", "22P02", "")  # the end of the connection may overtake the error


def test_prepared_statements_are_counted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_MAX_NAMED", 3)
    for number in range(4):
        client.send(b"P", _parse(b"SELECT 1", name=b"s%d" % number))
    client.send(b"S")
    assert client.failed() == "53400"
    client.send(b"P", _parse(b"SELECT 1", name=b"s0"))
    client.send(b"S")
    assert client.failed() == "42P05"
    client.send(b"C", b"Ss0\0")
    client.send(b"P", _parse(b"SELECT 1", name=b"s4"))
    client.send(b"S")
    assert client.failed() == ""


def test_prepared_statements_and_values_have_a_size(port: Port, client: Client) -> None:
    port.host.most_request_bytes = 100_000
    text = f"SELECT '{'x' * 40_000}', $1".encode()
    for number in range(3):
        client.send(b"P", _parse(text, name=b"s%d" % number))
    client.send(b"S")
    assert client.failed() == "53400"
    for number in range(3):
        client.send(b"B", _bind((b"x" * 40_000,), portal=b"p%d" % number, name=b"s0"))
    client.send(b"S")
    assert client.failed() == "53400"


def test_long_parameters_are_worked_on_in_a_thread(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(port.engine, "look_up", lambda *given: asked.append(given[2]))
    with port.connect() as connection:
        for value in ("x", "x" * 50_000):
            connection.execute("SELECT * FROM r WHERE s = %s", [value])
            connection.execute("DECLARE c CURSOR FOR SELECT * FROM r WHERE s = %s", [value])
            connection.execute("CLOSE c")
    assert [list(one.values()) for one in asked] == [["x"], ["x"]]


def test_portals_end_with_their_transaction(client: Client) -> None:
    for is_in_transaction in (False, True):
        if is_in_transaction:
            client.send(b"Q", b"BEGIN\0")
            client.read()
        client.send(b"P", _parse(b"SELECT 1 AS a"))
        client.send(b"B", _bind(portal=b"p"))
        client.send(b"S")
        client.read()
        client.send(b"E", b"p\0\0\0\0\0")
        client.send(b"S")
        assert client.failed() == ("" if is_in_transaction else "34000")
    client.send(b"Q", b"COMMIT\0")
    client.read()
    client.send(b"E", b"p\0\0\0\0\0")
    client.send(b"S")
    assert client.failed() == "34000"


def test_settings_have_a_size(port: Port) -> None:
    with port.connect() as connection:
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
            connection.execute(f"SET application_name = '{'x' * 100_000}'")
        connection.execute("SET application_name = 'it''s me'")
        assert connection.execute("SHOW application_name").fetchone() == ("it's me",)


def test_who_does_not_send_a_whole_message_is_dismissed(port: Port) -> None:
    port.host.request_timeout_s = 0.2
    client = Client(port)
    client.sock.sendall(b"Q\0\0\1\0SELECT")
    assert client.read() == []
    client.close()


def test_messages_without_sense(port: Port) -> None:
    """Each mutated message is answered or ends the connection, and none is an internal error."""
    port.engine.stream = lambda: FakeStream("PULL", [ResultColumn.of("A", BIGINT)], [Row([1])])
    dice = random.Random(7)
    for _ in range(120):
        client = Client(port)
        with contextlib.suppress(ConnectionError):  # of a client that has been dismissed
            for _ in range(dice.randrange(1, 6)):
                client.send(*_mutated(dice))
            client.send(b"S")
        with contextlib.suppress(OSError):
            client.sock.shutdown(socket.SHUT_WR)
        found = []
        while part := client.read():
            found += part
        assert "XX000" not in [_code(payload) for kind, payload in found if kind == b"E"]
        client.close()


_TEXTS = (
    b"SELECT $1::int AS a", b"SELECT * FROM rides WHERE i = $1", b"FETCH 2 FROM c", b"SET a = 'b'", b"",
    b"DECLARE c CURSOR FOR SELECT 1", b"COPY (SELECT 1) TO STDOUT (FORMAT csv)", b"SHOW a.b", b"BEGIN",
    b"SELECT relname FROM pg_class WHERE oid = ANY ($1)", b"INSERT INTO r VALUES ($1)", b"COMMIT",
)  # fmt: skip
_PARTS = (b"(", b")", b"'", b"$1", b"::", b"/*", b";", b"\xff", b"[", b"$", b".")


def _mutated(dice: random.Random) -> tuple[bytes, bytes]:
    """A message with some bytes changed, and with a text to which something was added."""
    text = bytearray(dice.choice(_TEXTS))
    for _ in range(dice.randrange(3)):
        at = dice.randrange(len(text) + 1)
        text[at:at] = dice.choice(_PARTS)
    few, given = dice.randrange(3), (b"1", None)
    kind, payload = dice.choice(
        (
            (b"P", _parse(bytes(text), dice.choice((b"", b"s")), (23,) * few)),
            (b"B", _bind(given[:few], (dice.randrange(2),), (1,) * dice.randrange(3))),
            (b"D", dice.choice((b"S\0", b"P\0", b"Ss\0", b"X\0"))),
            (b"E", b"\0" + struct.pack("!I", few)),
            (b"Q", bytes(text) + b"\0"),
            (b"C", b"Ss\0"),
            (b"d", b"x"),
            (b"F", b"\0\0\0\1"),
        )
    )
    data = bytearray(payload)
    for _ in range(dice.choice((0, 0, 0, 1, 3)) if data else 0):
        data[dice.randrange(len(data))] = dice.choice((0, 1, 255, dice.randrange(256)))
    return kind, bytes(data)


def test_what_prepared_statements_keep_is_about_their_text() -> None:
    for text in (f"SELECT {'1, ' * 2_000}1", f"SELECT * FROM r WHERE i IN ({'1, ' * 2_000}1)"):
        for whole in (text, f"DECLARE c CURSOR FOR {text}", f"COPY ({text}) TO STDOUT"):
            read = statements.statement_of(whole)
            tracemalloc.start()
            try:
                kept = copy.deepcopy(read.without_tree())
                assert tracemalloc.get_traced_memory()[0] < 10 * len(whole)
            finally:
                tracemalloc.stop()
            catalogs, again = kept.inner or kept, read.inner or read
            assert catalogs.kind != statements.Kind.CATALOG or statements.catalog_tree(catalogs) == again.tree


def test_results_that_cursors_hold_have_a_size(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_MAX_HELD_BYTES", 2_000_000)
    with port.connect() as connection, connection.transaction():
        query = "SELECT hex(zeroblob(50000)) FROM generate_series(1, 10) g"
        connection.execute(f"DECLARE a CURSOR FOR {query}")
        for _ in range(3):  # those that are closed do not count
            connection.execute(f"DECLARE b CURSOR FOR {query.replace('10', '5')}")
            connection.execute("CLOSE b")
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="open results"):
            connection.execute(f"DECLARE b CURSOR FOR {query}")


def test_rows_of_fetch_are_sent_as_they_come(port: Port) -> None:
    rows, goes_on = [Row([n]) for n in range(3)], threading.Event()

    class Endless(FakeStream):
        def read(self, timeout_s: float) -> Any:
            return [rows.pop()] if rows else ([] if not goes_on.wait(timeout_s) else None)

    port.engine.stream = lambda: Endless("PUSH", [ResultColumn.of("N", BIGINT)], [])
    with port.connect() as connection:
        connection.execute("DECLARE c CURSOR FOR SELECT * FROM r EMIT CHANGES")
        cursor = connection.cursor()
        assert [next(found) for found in [cursor.stream("FETCH ALL FROM c")] for _ in range(3)] == [
            (2,),
            (1,),
            (0,),
        ]
        goes_on.set()


@pytest.fixture
def bearer(port: Port, monkeypatch: pytest.MonkeyPatch) -> Principal:
    """Who connects to the port: a client whose token expires soon."""
    bearer = replace(ANYBODY, name="ada", expires=time.time() + 2)

    async def principal(*_: Any) -> Principal:
        return bearer

    logins = SimpleNamespace(is_on=True, principal=principal)
    monkeypatch.setattr(port._listener, "_logins", logins)
    return bearer


@pytest.mark.parametrize("text", ["SELECT pg_sleep(600)", "SELECT * FROM rides EMIT CHANGES", ""])
def test_a_connection_ends_with_its_token(port: Port, bearer: Principal, text: str) -> None:
    stream = FakeStream("PUSH", [ResultColumn("K", "STRING")], ends=False)
    port.engine.stream = lambda: stream
    with (
        port.connect(user="bearer", password="token") as connection,
        pytest.raises(psycopg.OperationalError, match=r"The token has expired. Connect again"),
    ):
        if not text:  # it waits for nothing until then
            assert select.select([connection.fileno()], [], [], SOON_S)[0]
        connection.execute(text or "SELECT 1")
    if text.endswith("CHANGES"):
        assert stream.closed.wait(SOON_S)


def test_a_client_that_reads_nothing_keeps_no_query_beyond_its_token(
    port: Port, bearer: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port._listener, "_limits", port._listener._limits._replace(send_s=3))
    rows = [Row(["x" * 100_000]) for _ in range(300)]
    stream = FakeStream("PUSH", [ResultColumn("K", "STRING")], rows, ends=False)
    port.engine.stream = lambda: stream
    with contextlib.closing(port.connect(user="bearer", password="token")) as connection:
        connection.pgconn.send_query(b"SELECT * FROM rides EMIT CHANGES")
        assert stream.closed.wait(SOON_S)
