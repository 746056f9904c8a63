r"""psql's \d commands: short for SHOW and DESCRIBE."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ksql_spark.shell.commands.command import Command, Context, Script

#: name, its argument, the statements without and with it, help
_SHORTCUTS = (
    (
        r"\d",
        "NAME",
        "SHOW STREAMS; SHOW TABLES;",
        "DESCRIBE {};",
        "streams and tables, or the columns of one",
    ),
    (
        r"\d+",
        "NAME",
        "SHOW QUERIES EXTENDED;",
        "DESCRIBE {} EXTENDED;",
        "a source with its queries and offsets",
    ),
    (r"\dt", "NAME", "SHOW TABLES;", "DESCRIBE {};", "tables"),
    (r"\ds", "NAME", "SHOW STREAMS;", "DESCRIBE {};", "streams"),
    (r"\di", "TABLE", "SHOW INDEXES;", "SHOW INDEXES ON {};", "indexes, or those of a table"),
    (r"\dv", "NAME", "SHOW VIEWS;", "DESCRIBE {};", "views"),
    (
        r"\df",
        "NAME",
        "SHOW FUNCTIONS;",
        "DESCRIBE FUNCTION {};",
        "functions, or the page of one; so does NAME?",
    ),
    (r"\dq", "ID", "SHOW QUERIES;", "EXPLAIN {};", "queries, or how one runs"),
    (r"\c", "NAME", "SHOW CONNECTORS;", "DESCRIBE CONNECTOR {};", "connectors, or the tasks of one"),
    (r"\l", "", "SHOW TOPICS;", "", "topics"),
    (r"\services", "", "SHOW SERVICES;", "", "addresses of Kafka, the registry, Connect and the server"),
)


def _runs(of_all: str, of_one: str) -> Callable[[Context, Sequence[str]], Script]:
    return lambda _, arguments: Script(of_one.format(arguments[0]) if arguments else of_all)


COMMANDS = tuple(
    Command(
        name,
        f"{name} [{argument}]" if argument else name,
        text,
        _runs(of_all, of_one),
        most_arguments=1 if argument else 0,
    )
    for name, argument, of_all, of_one, text in _SHORTCUTS
)
#: the page of a function
FUNCTION = next(command for command in COMMANDS if command.name == r"\df")
