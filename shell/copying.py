"""COPY: rows of a file into a stream or table, and results of a query into a file (beyond ksqlDB).

    COPY orders FROM 'orders.csv';
    COPY (SELECT * FROM sales) TO 'sales.json';

The shell reads and writes the files, so they are on its machine. The ending of a file's name tells its form:
csv with a line of column names, json (an array, or one object a line), or parquet, which is only read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksql_spark import row_files
from ksql_spark.client.packages import install
from ksql_spark.shell.client import ClientError, ServerError
from ksql_spark.shell.output.console import Form

if TYPE_CHECKING:
    from ksql_spark import grammar

#: how a server names a row that it refuses, from 0
_ROW = re.compile(r"row (\d+): (.*)", re.DOTALL)
USAGE = "COPY name FROM 'file.csv|json|parquet'; or COPY (SELECT …) TO 'file.csv|json|tsv|md';"
_READ = {
    ".csv": row_files.CSV, ".tsv": row_files.TSV, ".json": row_files.JSON, ".jsonl": row_files.JSON,
    ".ndjson": row_files.JSON, ".parquet": row_files.PARQUET,
}  # fmt: skip
_FORMS = {
    ".csv": Form.CSV, ".tsv": Form.TSV, ".json": Form.NDJSON, ".jsonl": Form.NDJSON, ".ndjson": Form.NDJSON,
    ".md": Form.MARKDOWN,
}  # fmt: skip


@dataclass(frozen=True)
class Copy:
    """One COPY: a stream or table that takes a file, or a query whose result a file takes."""

    file: Path
    target: str | None
    query: grammar.StatementText | None

    @property
    def form(self) -> Form:
        """The form in which a result is written. Raises ClientError."""
        if (form := _FORMS.get(self.file.suffix.lower())) is None:
            raise ClientError(f"COPY cannot write {self.file.name}: it writes {', '.join(_FORMS)}.")
        return form


def parsed(text: str) -> Copy:
    """Parse a COPY. Raises ClientError."""
    from sqlglot.tokenizer_core import TokenType

    from ksql_spark import grammar

    part = grammar.split(text)[0]
    tokens = part.tokens
    if len(tokens) > 3 and tokens[-1].token_type == TokenType.STRING and tokens[-1].text:
        file = Path(tokens[-1].text).expanduser()
        match tokens[-2].text, [token.token_type for token in tokens[1:-2]]:
            case "FROM", [TokenType.VAR | TokenType.IDENTIFIER]:
                return Copy(file, part.source_of(tokens[1:2]), None)
            case "TO", [TokenType.L_PAREN, _, *_, TokenType.R_PAREN]:
                return Copy(file, None, grammar.split(part.source_of(tokens[2:-3]))[0])
    raise ClientError(f"This is no COPY: {USAGE}")


def rows_of(file: Path, fields: Mapping[str, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The rows of a file, by the names of its columns.

    Args:
        file: csv, json or parquet.
        fields: as for row_files.rows_of.

    Raises:
        ClientError: the file cannot be read, or a value is not of its column's type, with its line.
    """
    form = _READ.get(file.suffix.lower())
    if form is None:
        raise ClientError(f"COPY cannot read {file.name}: it reads {', '.join(_READ)}.")
    try:
        with file.open("rb") as data:
            for _, row in row_files.rows_of(data, form, fields):
                yield row
    except row_files.Misfit as misfit:
        raise ClientError(f"{file}: {misfit}") from None
    except OSError as error:
        raise ClientError(f"Cannot read {file}: {error.strerror}.") from None
    except ModuleNotFoundError:
        raise ClientError(f"pyarrow is not installed: {install('ksql-spark[frames]')}") from None


def refused(error: ServerError, file: Path) -> ClientError:
    """The error of a server that has refused a row, with the row's place in the file."""
    match = _ROW.match(error.message)
    if match is None:
        return error
    with file.open("rb") as data:
        rows = row_files.READERS[_READ[file.suffix.lower()]](data)
        place, _ = next(islice(rows, int(match[1]), None))
    return ClientError(f"{file}: {place}: {match[2]}")
