from __future__ import annotations

import io
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from ksql_spark.shell.output import answers, entities, exports, rows
from ksql_spark.shell.output.console import Console, Form
from ksql_spark.shell.output.table import Table, draw, fit
from ksql_spark.shell.output.text import clip, fold, json_text, value_text


def shown(*answer: dict[str, object]) -> list[str]:
    out = io.StringIO()
    answers.show(answer, Console(out, tty=False))
    return out.getvalue().splitlines()


def test_streams() -> None:
    stream = {
        "name": "RIDES",
        "topic": "rides",
        "keyFormat": "KAFKA",
        "valueFormat": "JSON",
        "isWindowed": False,
    }
    assert shown({"@type": "streams", "streams": [stream]}) == [
        " Stream Name | Kafka Topic | Key Format | Value Format | Windowed",
        "------------------------------------------------------------------",
        " RIDES       | rides       | KAFKA      | JSON         | false",
        "------------------------------------------------------------------",
    ]


def test_no_tables() -> None:
    assert shown({"@type": "tables", "tables": []}) == [
        " Table Name | Kafka Topic | Key Format | Value Format | Windowed",
        "-----------------------------------------------------------------",
        "-----------------------------------------------------------------",
    ]


def test_topics() -> None:
    topics = [{"name": "a", "replicaInfo": [1, 1]}, {"name": "long-name", "replicaInfo": [1, 3]}]
    assert shown({"@type": "kafka_topics", "topics": topics}) == [
        " Kafka Topic | Partitions | Partition Replicas",
        "-----------------------------------------------",
        " a           |          2 |                  1",
        " long-name   |          2 |               1, 3",
        "-----------------------------------------------",
    ]


def test_queries() -> None:
    query = {
        "id": "CSAS_A_1",
        "queryType": "PERSISTENT",
        "statusCount": {"RUNNING": 1},
        "sinks": ["A"],
        "sinkKafkaTopics": ["a"],
        "queryString": "CREATE STREAM A\n  AS x;",
    }
    assert shown({"@type": "queries", "queries": [query]}) == [
        " Query ID | Query Type | Status    | Sink Name | Sink Kafka Topic | Query String",
        "---------------------------------------------------------------------------------",
        " CSAS_A_1 | PERSISTENT | RUNNING:1 | A         | a                | CREATE STREAM A AS x;",
        "---------------------------------------------------------------------------------",
        "For detailed information on a query run: EXPLAIN <Query ID>;",
    ]


@pytest.mark.parametrize(
    "guarantee, status", [("at_least_once", "RUNNING:1"), ("exactly_once_v2", "RUNNING:1, exactly_once_v2")]
)
def test_queries_with_another_guarantee_than_the_usual_one(guarantee: str, status: str) -> None:
    query = {"id": "CSAS_A_1", "statusCount": {"RUNNING": 1}, "processingGuarantee": guarantee}
    row = shown({"@type": "queries", "queries": [query]})[2]
    assert row.split("|")[2].strip() == status
    source = {"name": "A", "type": "STREAM", "extended": True, "writeQueries": [query]}
    described = shown({"@type": "sourceDescription", "sourceDescription": source})
    assert f"CSAS_A_1 ({status}) : " in described


def test_a_query_whose_state_says_more_than_its_status() -> None:
    query = {"id": "CSAS_A_1", "statusCount": {"RUNNING": 1}, "state": "REGISTERED"}
    assert shown({"@type": "queries", "queries": [query]})[2].split("|")[2].strip() == "REGISTERED:1"


QUERY = {
    "id": "CTAS_RIDES_PER_MINUTE_6",
    "queryType": "PERSISTENT",
    "statusCount": {"RUNNING": 1},
    "sinks": ["RIDES_PER_MINUTE"],
    "sinkKafkaTopics": ["RIDES_PER_MINUTE"],
    "queryString": "CREATE TABLE rides_per_minute AS SELECT * FROM rides;",
}


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 120, 200])
def test_queries_fit_the_terminal(columns: int, out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    answers.show([{"@type": "queries", "queries": [QUERY]}], Console(out, tty=True, columns=columns))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= columns
    assert any("CTAS_RIDES_PER_MINUTE_6" in line for line in lines), "no id is broken"
    if columns == 120:
        assert lines[2].endswith(" │ RIDES_PER_MINUTE │ RIDES_PER_MINUTE │ CREATE TABLE rides_per_minut…")
    if columns == 60:
        assert lines[1:4] == [
            " Query ID         │ CTAS_RIDES_PER_MINUTE_6",
            " Query Type       │ PERSISTENT",
            " Status           │ RUNNING:1",
        ]


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_explain_is_broken_at_words(columns: int, out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    words = [f"word{n}" for n in range(60)]
    query = {"id": "CSAS_A_1", "statementText": " ".join(words), "executionPlan": " > " + ", ".join(words)}
    answer = {"@type": "queryDescription", "queryDescription": query}
    answers.show([answer], Console(out, tty=True, columns=columns))
    assert max(map(len, out.getvalue().splitlines())) <= columns
    assert set(words) <= set(out.getvalue().replace(",", " ").split())


def test_status_shows_the_first_line_of_its_message() -> None:
    status = {
        "@type": "currentStatus",
        "commandStatus": {"status": "SUCCESS", "message": "Stream created\nmore"},
    }
    assert shown(status) == [" Message", "----------------", " Stream created", "----------------"]


def test_changed_rows_are_a_line() -> None:
    told = {"@type": "rows_changed", "operation": "UPDATE", "count": 2, "message": "2 rows of T updated"}
    assert shown(told) == ["2 rows of T updated"]


def test_several_entities_are_preceded_by_their_statements() -> None:
    status = {
        "@type": "warning_entity",
        "message": "Cannot add stream",
        "statementText": "CREATE  STREAM\n x;",
    }
    assert shown(status, status)[:3] == ["", "CREATE STREAM x;", " Message"]


def test_warnings() -> None:
    out, err = io.StringIO(), io.StringIO()
    answer = {"@type": "warning_entity", "message": "m", "warnings": [{"message": "Careful."}]}
    answers.show([answer], Console(out, tty=False, err=err))
    assert out.getvalue().splitlines()[-2:] == [" m", "---------"]
    assert err.getvalue() == "WARNING: Careful.\n"


def test_describe() -> None:
    fields = [
        {"name": "K", "schema": {"type": "INTEGER"}, "type": "KEY"},
        {"name": "H", "schema": {"type": "BYTES"}, "type": "HEADER", "headerKey": "k"},
        {
            "name": "V",
            "schema": {
                "type": "MAP",
                "memberSchema": {
                    "type": "STRUCT",
                    "fields": [
                        {"name": "A", "schema": {"type": "ARRAY", "memberSchema": {"type": "STRING"}}},
                        {
                            "name": "B",
                            "schema": {"type": "DECIMAL", "parameters": {"precision": 4, "scale": 2}},
                        },
                    ],
                },
            },
        },
    ]
    description = {"name": "T", "type": "TABLE", "windowType": "TUMBLING", "fields": fields}
    assert shown({"@type": "sourceDescription", "sourceDescription": description}) == [
        "Name                 : T",
        " Field | Type",
        "---------------------------------------------------------------",
        " K     | INTEGER (primary key) (Window type: TUMBLING)",
        " H     | BYTES (header('k'))",
        " V     | MAP<STRING, STRUCT<A ARRAY<STRING>, B DECIMAL(4, 2)>>",
        "---------------------------------------------------------------",
        "For runtime statistics and query details run: DESCRIBE <Stream,Table> EXTENDED;",
    ]


def test_describe_extended() -> None:
    offsets = [{"partition": 0, "logStartOffset": 0, "logEndOffset": 9, "consumerOffset": 7}]
    description = {
        "name": "S",
        "type": "STREAM",
        "extended": True,
        "fields": [],
        "keyFormat": "KAFKA",
        "valueFormat": "JSON",
        "topic": "s",
        "partitions": 2,
        "replication": 1,
        "statement": "CREATE STREAM S;",
        "readQueries": [{"id": "CSAS_A_1", "state": "RUNNING", "queryString": "CREATE\nSTREAM A;"}],
        "queryOffsetSummaries": [
            {"groupId": "g", "topicSummaries": [{"kafkaTopic": "s", "offsets": offsets}]},
        ],
    }
    lines = shown({"@type": "sourceDescription", "sourceDescription": description})
    assert lines[:7] == [
        "Name                 : S",
        "Type                 : STREAM",
        "Timestamp field      : Not set - using <ROWTIME>",
        "Key format           : KAFKA",
        "Value format         : JSON",
        "Kafka topic          : s (partitions: 2, replication: 1)",
        "Statement            : CREATE STREAM S;",
    ]
    assert "CSAS_A_1 (RUNNING) : CREATE STREAM A;" in lines
    assert "         0 |            0 |          9 |      7 |   2" in lines


def test_explain() -> None:
    query = {
        "id": "CSAS_A_1",
        "queryType": "PERSISTENT",
        "statementText": "CREATE STREAM A AS SELECT * FROM S;",
        "fields": [],
        "sources": ["S"],
        "sinks": ["A"],
        "executionPlan": " > project\n   > source",
        "ksqlHostQueryStatus": {"h:1": "RUNNING"},
        "overriddenProperties": {"auto.offset.reset": "earliest"},
    }
    lines = shown({"@type": "queryDescription", "queryDescription": query})
    assert lines[:4] == [
        "ID                   : CSAS_A_1",
        "Query Type           : PERSISTENT",
        "SQL                  : CREATE STREAM A AS SELECT * FROM S;",
        "Host Query Status    : h:1 RUNNING",
    ]
    assert lines[lines.index("Execution plan") :][:4] == [
        "Execution plan",
        "--------------",
        " > project",
        "   > source",
    ]
    assert " auto.offset.reset | earliest" in lines


def test_properties() -> None:
    answer = {
        "@type": "properties",
        "properties": [
            {"name": "b", "scope": "KSQL", "value": "1"},
            {"name": "a", "scope": "KSQL", "value": None},
            {"name": "c", "scope": "KSQL", "value": "2"},
        ],
        "overwrittenProperties": ["b"],
        "defaultProperties": ["a"],
    }
    assert shown(answer)[2:5] == [
        " a        | KSQL  |                  | NULL",
        " b        | KSQL  | SESSION          | 1",
        " c        | KSQL  | SERVER           | 2",
    ]


@pytest.mark.parametrize(
    ("entity", "line"),
    [
        ({"@type": "function_names", "functions": [{"name": "F", "type": "X"}]}, " F             | X"),
        ({"@type": "type_list", "types": {"T": {"type": "STRING"}}}, " T         | STRING"),
        ({"@type": "variables", "variables": [{"name": "v", "value": "x"}]}, " v             | x"),
        ({"@type": "terminate_query", "queryId": "Q", "wasTerminated": True}, " Query Q terminated."),
        ({"@type": "drop_connector", "connectorName": "C"}, " Dropped connector C"),
        ({"@type": "connector_info", "info": {"name": "C"}}, " Created connector C"),
        ({"@type": "assert_topic", "topicName": "t", "exists": True}, " Topic t exists."),
        ({"@type": "assert_schema", "id": 3, "exists": False}, " Schema with id 3 does not exist."),
        ({"@type": "connector_list", "connectors": [{"name": "C"}]}, " C              |      |       |"),
        ({"@type": "connector_plugins_list", "connectorsPlugins": [{"className": "P"}]}, " P     |      |"),
        ({"@type": "evolution_description", "user": "ann"}, "User                 : ann"),
        ({"@type": "evolution_description", "recordsLeft": 0}, "Records left         : 0"),
        ({"@type": "evolution_description", "rows": [1200, 3]},
         "Rows                 : 1,200 before, 3 in the new version"),
        ({"@type": "evolution_description", "columnsChanged": {"N": 2}},
         "  N                  : differs for 2 keys"),
        ({"@type": "evolution_description", "isManual": True, "state": "caught up", "name": "T"},
         "SWAP T; lets the new version take over."),
        ({"@type": "evolution_description", "name": "T", "state": "caught up", "isManual": True,
          "reason": "rows"},
         "SWAP T; is refused for this reason. ABORT EVOLUTION T; leaves everything as it was."),
        ({"@type": "versions", "versions": [
            {"number": 2, "way": "in-place", "isRollback": True, "timestamp": 0, "statement": "DROP\n x;"}]},
         "       2 | rollback, in-place | 1970-01-01T00:00:00Z |      |       | DROP x;"),
        ({"@type": "row_explanation", "used": 3, "records": [
            {"partition": 1, "offset": 7, "timestamp": 0, "columns": {"K": "a"}}]},
         '         1 |      7 | 1970-01-01T00:00:00Z | {"K": "a"}'),
        ({"@type": "row_explanation", "name": "T", "queryId": "Q2", "used": 1, "upstream": [
            {"name": "S", "queryId": "Q1", "rows": 1, "used": 7, "upstream": [], "notes": [], "records": [
                {"topic": "a", "partition": 1, "offset": 7, "timestamp": 0, "columns": {"K": "a"},
                 "origin": {"table": "shop.orders", "transaction": "5"}}]}]},
         '   +- a 1/7 1970-01-01T00:00:00Z {"K": "a"} table shop.orders transaction 5'),
        ({"@type": "row_explanation", "name": "T", "queryId": "Q2", "used": 1, "upstream": [
            {"name": "S", "queryId": "Q1", "rows": 1, "used": 7, "records": [{}] * 7}]},
         "   `- and 2 more"),
        ({"@type": "record_explanation", "record": {"topic": "a"}, "names": ["A", "B"], "queries": []},
         "No query reads A, B."),
        ({"@type": "record_explanation", "record": {"topic": "a"}, "queries": [
            {"name": "T", "queryId": "Q", "outcome": "changed", "changed": 1, "sinks": ["LAKE"], "rows": [
                {"partition": 0, "offset": 3, "before": {"N": 1}, "after": {"N": 2}}]}]},
         "`- T (Q): 1 row changed, in sink LAKE"),
        ({"@type": "record_explanation", "record": {"topic": "a"}, "queries": [
            {"name": "T", "queryId": "Q", "changed": 6, "rows": [
                {"partition": 0, "offset": 3, "before": None, "after": {"N": 2}}] * 6}]},
         '   +- 0/3 - -> {"N": 2}'),
        ({"@type": "record_explanation", "record": {"topic": "a"}, "queries": [
            {"name": "T", "queryId": "Q", "outcome": "late", "reasons": ["it came 5 SECONDS behind"]}]},
         "   `- it came 5 SECONDS behind"),
        ({"@type": "something_new", "x": 1}, '  "x": 1'),
    ],
)  # fmt: skip
def test_other_entities(entity: dict[str, object], line: str) -> None:
    assert line in shown(entity)


def test_extended_topics() -> None:
    rows = [
        {
            "name": "a",
            "replicaInfo": [1, 1],
            "recordCount": 7,
            "retentionMs": 604800000,
            "isCompacted": False,
        },
        {"name": "b", "replicaInfo": [1], "recordCount": 2, "retentionMs": -1, "isCompacted": True},
        {"name": "c", "replicaInfo": [1], "recordCount": 0, "retentionMs": -1, "isCompacted": False},
        {"name": "d", "replicaInfo": [1], "recordCount": 0, "retentionMs": 3600000, "isCompacted": True},
    ]
    counts = {"consumerCount": 3, "consumerGroupCount": 1}
    lines = shown({"@type": "kafka_topics_extended", "topics": [{**row, **counts} for row in rows]})
    assert [[cell.strip() for cell in line.split("|")][3:5] for line in lines if "|" in line] == [
        ["Records", "Retention"], ["7", "168 h"], ["2", "latest of each key"], ["0", "no limit"],
        ["0", "latest of each key, 1 h"],
    ]  # fmt: skip


def test_describe_function() -> None:
    variation = {
        "arguments": [{"name": "col", "type": "STRING", "description": "the text", "isVariadic": True}],
        "returnType": "STRING",
        "description": "Upper case.",
    }
    entity = {"@type": "describe_function", "name": "UCASE", "type": "SCALAR", "functions": [variation]}
    assert shown(entity) == [
        "Name        : UCASE",
        "Type        : SCALAR",
        "Variations  :",
        "",
        "  Variation   : UCASE(col STRING[])",
        "  Returns     : STRING",
        "  Description : Upper case.",
        "  col         : the text",
    ]


def test_every_entity_is_shown_even_when_its_members_are_missing() -> None:
    for name in entities.ENTITIES:
        shown({"@type": name})


def test_json_form() -> None:
    out = io.StringIO()
    console = Console(out, tty=False)
    console.form = Form.JSON
    answers.show([{"@type": "x", "n": Decimal("1.10")}], console)
    assert out.getvalue() == '[\n  {\n    "@type": "x",\n    "n": 1.10\n  }\n]\n'


def row_lines(
    console: Console, out: io.StringIO, schema: str, *columns: list[object], first: bool = False
) -> list[str]:
    frames = [{"columns": values} for values in columns]
    printer = rows.printer(console, {"schema": schema}, frames if first else (), more=not first)
    printer.header()
    printer.rows(frames)
    printer.footer()
    return out.getvalue().splitlines()


def test_rows_in_a_pipe_are_never_broken(console: Console, out: io.StringIO) -> None:
    long = "x" * 40
    assert row_lines(console, out, "`ID` INTEGER, `V` STRING", [1, long], [22, None]) == [
        "+----------+------------------+",
        "|       ID | V                |",
        "+----------+------------------+",
        f"|        1 | {long} |",
        "|       22 | null             |",
        "+----------+------------------+",
    ]


def test_rows_at_hand_set_the_widths(console: Console, out: io.StringIO) -> None:
    assert row_lines(console, out, "`V` STRING", ["abcdefgh"], first=True) == [
        "+----------+",
        "| V        |",
        "+----------+",
        "| abcdefgh |",
        "+----------+",
    ]


def test_rows_on_a_terminal(out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(out, tty=True, columns=30)
    lines = row_lines(console, out, "`N` BIGINT, `TEXT` STRING", [12, "one two three four five"], first=True)
    assert lines == [
        "┌───────┬────────────────────┐",
        "│     N │ TEXT               │",
        "├───────┼────────────────────┤",
        "│    12 │ one two three four │",
        "│       │ five               │",
        "└───────┴────────────────────┘",
    ]


def test_rows_with_too_many_columns_take_a_line_for_each(
    out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(out, tty=True, columns=30)
    lines = row_lines(
        console, out, "`PICKUP_TIME` BIGINT, `PASSENGERS` STRING, `N` STRING", [1, ("a b " * 7).strip(), None]
    )
    assert lines == [
        "PICKUP_TIME, PASSENGERS, N",
        "─[ 1 ]───────────────────",
        " PICKUP_TIME │ 1",
        " PASSENGERS  │ a b a b a b a b",
        "             │ a b a b a b",
        " N           │ null",
    ]


def test_rows_cut_instead_of_wrapped(out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(out, tty=True, columns=30)
    console.wrap = False
    lines = row_lines(console, out, "`N` BIGINT, `TEXT` STRING", [12, "one two three four five"], first=True)
    assert lines[3] == "│    12 │ one two three f... │"


def test_fixed_column_width(console: Console, out: io.StringIO) -> None:
    console.column_width = 6
    lines = row_lines(console, out, "`V` STRING, `W` STRING", ["abcdefgh", "a"])
    assert lines[3:-1] == ["| abcdef | a      |", "| gh     |        |"]


def test_tombstone(console: Console, out: io.StringIO) -> None:
    printer = rows.printer(console, {"schema": "`K` STRING, `V` INTEGER"})
    printer.rows([{"columns": ["k", None], "tombstone": True}])
    assert out.getvalue().split() == ["|", "k", "|", "<TOMBSTONE>", "|"]


def test_rows_as_json(console: Console, out: io.StringIO) -> None:
    console.form = Form.JSON
    lines = row_lines(console, out, "`K` STRING", ["a"])
    assert "".join(line.strip() for line in lines) == (
        '{"header": {"schema": "`K` STRING"}}{"row": {"columns": ["a"]}}'
    )


def test_every_format_has_its_forms() -> None:
    """Rows and answers can be shown in each format, and no format has two texts."""
    assert set(rows.PRINTERS) == set(answers.SHOWN) == set(Form)
    assert not set(exports.EXPORTS) & {Form.TABULAR, Form.JSON, Form.VERTICAL}


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (Form.NDJSON, ['{"N": 1, "TEXT": "a,\\"b\\"\\n|"}', '{"N": null, "TEXT": ""}']),
        (Form.CSV, ["N,TEXT", '1,"a,""b""', '|"', ',""']),
        (Form.TSV, ["N\tTEXT", '1\ta,"b"\\n|', "\\N\t"]),
        (Form.MARKDOWN, ["| N | TEXT |", "| ---: | --- |", '| 1 | a,"b"<br>\\| |', "| *null* |  |"]),
        (
            Form.VERTICAL,
            [
                "N, TEXT",
                "-[ 1 ]------------",
                " N    | 1",
                ' TEXT | a,"b"',
                "      | |",
                "-[ 2 ]------------",
                " N    | null",
                " TEXT | ",
            ],
        ),
    ],
)
def test_rows_in_other_formats(form: Form, lines: list[str], console: Console, out: io.StringIO) -> None:
    console.form = form
    assert row_lines(console, out, "`N` BIGINT, `TEXT` STRING", [1, 'a,"b"\n|'], [None, ""]) == lines


@pytest.mark.parametrize("form", [Form.CSV, Form.TSV, Form.MARKDOWN, Form.NDJSON])
def test_a_deleted_row_in_other_formats(form: Form, console: Console, out: io.StringIO) -> None:
    console.form = form
    printer = rows.printer(console, {"schema": "`K` STRING, `V` INTEGER"})
    printer.rows([{"columns": ["k", None], "tombstone": True}])
    assert "TOMBSTONE" in out.getvalue()


STREAMS = {
    "@type": "streams",
    "streams": [{"name": "A", "topic": "a", "keyFormat": "KAFKA", "valueFormat": "JSON"}],
}


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (Form.CSV, ["Stream Name,Kafka Topic,Key Format,Value Format,Windowed", "A,a,KAFKA,JSON,false"]),
        (
            Form.MARKDOWN,
            [
                "| Stream Name | Kafka Topic | Key Format | Value Format | Windowed |",
                "| --- | --- | --- | --- | --- |",
                "| A | a | KAFKA | JSON | false |",
            ],
        ),
        (
            Form.VERTICAL,
            [
                "-" * 40,
                " Stream Name  | A",
                " Kafka Topic  | a",
                " Key Format   | KAFKA",
                " Value Format | JSON",
                " Windowed     | false",
                "-" * 40,
            ],
        ),
        (Form.NDJSON, [json_text(STREAMS)]),
    ],
)
def test_answers_in_other_formats(form: Form, lines: list[str], console: Console, out: io.StringIO) -> None:
    console.form = form
    answers.show([STREAMS], console)
    assert out.getvalue().splitlines() == lines


def test_an_answer_without_a_table_is_its_lines(console: Console, out: io.StringIO) -> None:
    console.form = Form.CSV
    answers.show([{"@type": "describe_function", "name": "UCASE", "type": "SCALAR"}], console)
    assert out.getvalue().splitlines() == ["Name        : UCASE", "Type        : SCALAR", "Variations  :"]


def test_null_is_fainter_than_text(out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    console = Console(out, tty=True, columns=30)
    lines = row_lines(console, out, "`A` STRING, `B` STRING", ["null", None], first=True)
    assert " null  " in lines[3] and "\x1b[2mnull \x1b[0m" in lines[3]


def test_vertical_only_if_wanted(out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(out, tty=True, columns=20)
    console.auto_vertical = False
    assert row_lines(console, out, "`FIRST_NAME` STRING, `LAST_NAME` STRING", ["a", "b"])[0][0] == "┌"
    answers.show([{"@type": "queries", "queries": [QUERY]}], console)
    assert " CTAS_RIDES_PER_MINUTE_6" not in out.getvalue()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (None, "null"),
        (True, "true"),
        (Decimal("1E+2"), "1E+2"),
        ({"A": [1, None, Decimal("0.10")]}, '{"A": [1, null, 0.10]}'),
        ("a\x1b[31mb\tc\nd", "a\\x1b[31mb\\tc\nd"),
        ("a\x9b31mb\x85c", "a\\x9b31mb\\x85c"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ({"A": "\x1b[2J\x9b31m\u202e"}, '{"A": "\\u001b[2J\\u009b31m\\u202e"}'),
    ],
)
def test_value_text(value: object, text: str) -> None:
    assert value_text(value) == text


EVIL = "\x1b[31ma\x9b2Jb\x07\r\u202ec"


@pytest.mark.parametrize("form", [Form.TABULAR, Form.VERTICAL])
def test_what_others_named_does_not_act_on_the_terminal(form: Form) -> None:
    """A statement, a name or a message of somebody else may have escape sequences in it."""
    out, err = io.StringIO(), io.StringIO()
    console = Console(out, tty=False, err=err)
    console.form = form
    query = {"id": EVIL, "statusCount": {"RUNNING": 1}, "sinks": [EVIL], "queryString": f"SELECT\t'{EVIL}';"}
    field = {"name": EVIL, "schema": {"type": "STRING"}}
    source = {"name": EVIL, "fields": [field], "statement": f"SELECT\n'{EVIL}';", "readQueries": [query]}
    evil: list[dict[str, object]] = [
        {"@type": "queries", "queries": [query]},
        {"@type": "sourceDescription", "sourceDescription": source, "warnings": [{"message": EVIL}]},
        {"@type": "currentStatus", "commandStatus": {"status": "SUCCESS", "message": EVIL}},
    ]
    answers.show(evil, console)
    printer = rows.printer(console, {"schema": f"`{EVIL}` STRING"})
    printer.header()
    printer.rows([{"columns": [EVIL]}])
    console.error(EVIL)
    shown = out.getvalue() + err.getvalue()
    assert shown.count("a") > 5
    assert not set(shown) & set("\x1b\x9b\x07\r\u202e")
    assert "\\x1b[31ma" in err.getvalue()


def test_wide_characters() -> None:
    assert fold("日本語テキスト", 6) == ["日本語", "テキス", "ト"]
    assert clip("日本語テキスト", 9) == "日本語..."
    assert (
        draw(Table(("A",), [["日本"], ["x"]]), Console(io.StringIO(), tty=False)).splitlines()[1] == "------"
    )


def test_fit() -> None:
    assert fit([5, 10], 20, [5, 5]) == [5, 10]
    assert fit([5, 100], 40, [4, 6]) == [5, 35]
    assert fit([100, 100], 60, [4, 6]) == [30, 30]
    assert sum(fit([100, 100], 3, [4, 6])) == 10


def test_json_text_keeps_decimals() -> None:
    assert json_text({"a": Decimal("1.100")}) == '{"a": 1.100}'


def test_spool_has_no_colours(tmp_path, out: io.StringIO) -> None:
    console = Console(out, tty=True, columns=80)
    console.spool(tmp_path / "s")
    console.spool_input("show x;")
    console.error("wrong")
    console.spool(None)
    console.line("not in it")
    assert (tmp_path / "s").read_text() == "ksql> show x;\nwrong\n"


VALUES = "`K` STRING KEY, `T` TIMESTAMP, `N` BIGINT, `P` DECIMAL(9, 2), `WINDOWSTART` BIGINT"
ROW = ["1234567", "2026-07-01T22:30:00.5", 1234567, Decimal("-9876.50"), 1782945000000]


def cells(console: Console, form: Form = Form.TABULAR) -> list[str]:
    console.form = form
    made = rows.printer(console, {"schema": VALUES}, [{"columns": ROW}], False)
    made.header()
    made.rows([{"columns": ROW}])
    return console._out.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_the_zone_of_times() -> None:
    console = Console(io.StringIO(), tty=False)
    zone = ZoneInfo("Europe/Berlin")
    console.in_zone = lambda moment: moment.astimezone(zone)
    assert cells(console)[-1].split() == [
        "|", "1234567", "|", "2026-07-02T00:30:00.500+02:00", "|", "1234567", "|", "-9876.50", "|",
        "2026-07-02T00:30:00.000+02:00", "|",
    ]  # fmt: skip
    # beyond what Python's times can hold
    far = {"columns": ["", "+20260-01-01T00:00:00", None, None, 10**18]}
    made = rows.printer(console, {"schema": VALUES}, [far], False)
    made.rows([far])
    assert "+20260-01-01T00:00:00" in console._out.getvalue()  # type: ignore[attr-defined]


def test_other_programs_get_times_and_numbers_as_they_are() -> None:
    console = Console(io.StringIO(), tty=False)
    console.in_zone, console.thousands = lambda moment: moment.astimezone(), True
    assert cells(console, Form.CSV)[-1] == "1234567,2026-07-01T22:30:00.5,1234567,-9876.50,1782945000000"


def test_separated_thousands() -> None:
    console = Console(io.StringIO(), tty=False)
    console.thousands = True
    last = cells(console)[-1]
    assert last.split()[1::2] == [
        "1234567",
        "2026-07-01T22:30:00.5",
        "1,234,567",
        "-9,876.50",
        "2026-07-01T22:30:00.000",
    ]


def test_plain_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    console = Console(io.StringIO(), tty=True, columns=40)
    console.set_plain(True)
    console.status("running")
    console.line(console.cyan("x"))
    console.line(draw(Table(("A", "B"), [("1", "2"), ("3", "4")]), console))
    assert cells(console, console.form) == [
        "x", " A | B", "-------", " 1 | 2", " 3 | 4", "-------",
        "K, T, N, P, WINDOWSTART", "Row 1", "K: 1234567", "T: 2026-07-01T22:30:00.5", "N: 1234567",
        "P: -9876.50", "WINDOWSTART: 2026-07-01T22:30:00.000",
    ]  # fmt: skip
    out = io.StringIO()
    console._out = out
    answers.show([{"@type": "kafka_topics", "topics": [{"name": "a", "replicaInfo": [1]}]}], console)
    assert out.getvalue() == "Kafka Topic: a\nPartitions: 1\nPartition Replicas: 1\n\n"
    console.set_plain(False)
    assert console.form is Form.TABULAR and console.cyan("x") != "x"


@pytest.mark.parametrize(("background", "code"), [("15;0", "36"), ("0;15", "38;5;24"), ("", "36")])
def test_colours_for_the_background(background: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLORFGBG", background)
    assert Console(io.StringIO(), tty=True).cyan("x") == f"\x1b[{code}mx\x1b[0m"
