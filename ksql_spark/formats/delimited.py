"""DELIMITED: one line of fields, quoted as CSV where needed (reference §5.2)."""

from __future__ import annotations

import base64
import functools
import re
import string as string_constants
from collections.abc import Sequence
from typing import Any, ClassVar

from ksql_spark.errors import KsqlError
from ksql_spark.formats.base import BadRecord, Serde
from ksql_spark.formats.binary_text import from_base64
from ksql_spark.formats.number_text import double_text, in_range, parse_decimal, parse_double, parse_integer
from ksql_spark.formats.spec import SerdeSpec
from ksql_spark.formats.temporal import NUMBER_OF, to_number
from ksql_spark.formats.utf8 import replaced
from ksql_spark.functions.casts import plain_decimal
from ksql_spark.functions.spark_text import string
from ksql_spark.schema import Column
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    STRING,
    Decimal,
    SqlType,
    quote_identifier,
)

#: named delimiters of KEY_DELIMITER and VALUE_DELIMITER
NAMED_DELIMITERS = {"SPACE": " ", "TAB": "\t"}


#: delimiters that may occur in fields of types other than STRING
_IN_PLAIN_FIELDS = frozenset("0123456789+-.=/") | frozenset(string_constants.ascii_letters)


class DelimitedSerde(Serde):
    """Fields in column order, separated by ``delimiter``; an empty field is NULL."""

    name: ClassVar[str] = "DELIMITED"

    def __init__(self, spec: SerdeSpec, registry: SchemaRegistry | None = None) -> None:
        super().__init__(spec, registry)
        self.delimiter = "," if spec.delimiter is None else _delimiter(spec.delimiter)

    # ---- in Python -----------------------------------------------------------------------------------

    def encode(self, values: Sequence[Any]) -> bytes | None:
        """One line without a line end; a single NULL becomes a null record."""
        if not self.columns or (len(self.columns) == 1 and values[0] is None):
            return None
        fields = []
        for i, (value, column) in enumerate(zip(values, self.columns, strict=True)):
            text = None if value is None else _write(value, column.type)
            fields.append("" if text is None else self._quoted(text, is_first=i == 0))
        return self.delimiter.join(fields).encode()

    def _quoted(self, text: str, is_first: bool) -> str:
        if not text:
            # an empty line would have no fields
            return '""' if is_first else ""
        needs = re.search(self._quote_pattern(is_first), text)
        return '"' + text.replace('"', '""') + '"' if needs else text

    def _quote_pattern(self, is_first: bool) -> str:
        """A pattern of fields that need quotes, by Commons CSV's minimal mode."""
        start = r"^[^0-9A-Za-z]" if is_first else r"^[\x00-#]"
        return rf'{start}|[\r\n"]|[{re.escape(self.delimiter)}]|[\x00- ]$'

    def decode(self, data: bytes) -> list[Any] | None:
        """One value for each field; as many fields as columns."""
        fields = self._fields(replaced(data).lstrip("\r\n"))
        if len(fields) != len(self.columns):
            raise BadRecord(
                f"Unexpected field count, csv line has {len(fields)}, schema has {len(self.columns)}"
            )
        return [_read(f, c) for f, c in zip(fields, self.columns, strict=True)]

    def _fields(self, line: str) -> list[str]:
        """The fields of a line, up to its end, as DelimitedDecoder.java finds them.

        Raises:
            BadRecord: there are none; a quote is not closed, or something follows a closing quote.
        """
        if not line:
            raise BadRecord("there are no fields in it")
        fields: list[str] = []
        at = 0
        while True:
            match = self._field.match(line, at)
            if match is None:
                raise BadRecord("a quoted field has no end")
            quoted, at = match["quoted"], match.end()
            fields.append(match["plain"] if quoted is None else quoted.replace('""', '"'))
            if at == len(line) or line[at] in "\r\n":
                return fields
            if line[at] != self.delimiter:
                raise BadRecord("something stands behind a quoted field")
            at += 1

    @functools.cached_property
    def _field(self) -> re.Pattern[str]:
        """A field: in quotes, optionally followed by blanks, or up to the next delimiter."""
        blank = re.escape(" \t".replace(self.delimiter, ""))
        plain = rf'(?P<plain>(?!")[^{re.escape(self.delimiter)}\r\n]*)'
        return re.compile(rf'"(?P<quoted>[^"]*(?:""[^"]*)*)"[{blank}]*|{plain}')

    # ---- in Spark SQL --------------------------------------------------------------------------------

    def decode_sql(self, data: str) -> str:
        """A call of DelimitedDecoder.java, with delimiter and schema in the function's name."""
        return self._call("decode_delimited", data)

    def explain_sql(self, data: str) -> str:
        """Return text with the decoder's message about a bad record."""
        return self._call("explain_delimited", data)

    def _call(self, function: str, data: str) -> str:
        return f"ksql.{quote_identifier(f'{function}:{self.delimiter}{self.columns_ddl}')}({data})"

    def encode_sql(self, texts: Sequence[str]) -> str:
        """The fields' texts, quoted where needed, joined; a single NULL becomes a null record."""
        if not self.columns:
            return "cast(NULL as binary)"
        fields = []
        for i, (text, column) in enumerate(zip(texts, self.columns, strict=True)):
            field = _text_sql(text, column.type)
            # numbers after the first field need no quotes, unless the delimiter may be part of a number
            if i == 0 or column.type == STRING or self.delimiter in _IN_PLAIN_FIELDS:
                name = f"quote_delimited{'_first' if i == 0 else ''}:{self.delimiter}"
                field = f"ksql.{quote_identifier(name)}({field})"
            fields.append(field if len(self.columns) == 1 else f"coalesce({field}, '')")
        if len(fields) == 1:
            return f"cast({fields[0]} as binary)"
        separator = f", {string(self.delimiter)}, "
        return f"cast(concat({separator.join(fields)}) as binary)"


def _delimiter(text: str) -> str:
    """The delimiter of a KEY_DELIMITER or VALUE_DELIMITER property.

    Raises:
        KsqlError: INVALID_STATEMENT if ``text`` is neither one character nor SPACE or TAB.
    """
    delimiter = NAMED_DELIMITERS.get(text.upper(), text)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        reason = f"Invalid delimiter value: '{text}'. Use one character, or SPACE or TAB."
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    return delimiter


def _write(value: Any, type_: SqlType) -> str:
    if type_ == BOOLEAN:
        return "true" if value else "false"
    if type_ == DOUBLE:
        return double_text(float(value))
    if type_ == BYTES:
        return base64.b64encode(value).decode()
    if isinstance(type_, Decimal):
        return f"{value:f}"
    return str(value)


def _read(text: str, column: Column) -> Any:
    type_ = column.type
    if not text:
        return None
    if type_ == STRING:
        return text
    if type_ == BOOLEAN:
        return text.lower() == "true"
    try:
        if type_ == DOUBLE:
            return parse_double(text)
        if isinstance(type_, Decimal):
            return parse_decimal(text, type_)
        if type_ == BYTES:
            return from_base64(text)
        return in_range(parse_integer(text, NUMBER_OF.get(type_, type_)), type_)
    except ValueError as error:
        raise BadRecord(f"column {quote_identifier(column.name)}: {error}") from None


def _text_sql(text: str, type_: SqlType) -> str:
    if type_ == BYTES:
        return f"base64({text})"
    if isinstance(type_, Decimal):
        return plain_decimal(text, type_)
    return text if type_ == STRING else f"cast({to_number(text, type_)} as string)"
