"""The server's metadata, fetched in the background so that completion never waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ksql_spark.shell.client import Client, ClientError

#: one request each, because a server may reject one of them
_QUESTIONS = (
    "SHOW QUERIES;", "SHOW TOPICS;", "SHOW TYPES;", "SHOW FUNCTIONS;",
)  # fmt: skip
#: these do not change while a server runs
_LASTING = ("SHOW PROPERTIES;",)


@dataclass(frozen=True)
class Metadata:
    """The server's metadata, as far as it is known.

    Attributes:
        streams, tables: name -> names of its columns (empty while unknown).
        schemas: source -> column -> its schema, an object of the REST API.
        keys: source -> its key columns.
        signatures: function -> how it is called, and what it does.
    """

    streams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)

    @property
    def sources(self) -> dict[str, tuple[str, ...]]:
        """Streams and tables."""
        return {**self.streams, **self.tables}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, each once."""
        return tuple(dict.fromkeys(name for names in self.sources.values() for name in names))

    @cached_property
    def column_types(self) -> dict[str, str]:
        """Column -> its type; empty if sources differ."""
        from ksql_spark.client.values import type_text  # which loads the HTTP client

        types: dict[str, str] = {}
        for columns in self.schemas.values():
            for name, schema in columns.items():
                text = type_text(schema)
                types[name] = text if types.get(name, text) == text else ""
        return types


class MetadataCache:
    """Keeps a Metadata up to date.

    ``refresh`` may be called at any time: at most one update runs, and at most one more waits.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.current = Metadata()
        #: called after each change of ``current``, in another thread
        self.on_change: Callable[[], None] = lambda: None
        self._lasting: dict[str, Any] = {}
        self._signatures: dict[str, str] = {}
        self._requested = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def refresh(self) -> None:
        """Update soon."""
        self._requested.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="metadata", daemon=True)
            self._thread.start()

    def moved(self, client: Client) -> None:
        """Use another server from now on."""
        self.client = client
        self._lasting.clear()
        self._signatures = {}
        self.refresh()

    def close(self) -> None:
        """Stop updating."""
        self._closed = True
        self._requested.set()

    def _work(self) -> None:
        while True:
            self._requested.wait()
            self._requested.clear()
            if self._closed:
                return
            for metadata in self._parts():
                _ = metadata.columns, metadata.column_types  # here, so that no key press waits for it
                self.current = metadata
                self.on_change()

    def fetch(self) -> Metadata:
        """Fetch everything now; what the server does not return is empty."""
        *_, all_of_it = self._parts()
        return all_of_it

    def _parts(self) -> Iterator[Metadata]:
        """Yield what the server has, more each time; what people ask for most comes first."""
        current = self.current
        answers: dict[str, Any] = {}
        for question in ("SHOW STREAMS;", "SHOW TABLES;", "SHOW VIEWS;"):
            answers |= self._ask(question) or {}
        # FROM takes views as it takes streams
        streams = [str(s["name"]) for what in ("streams", "views") for s in answers.get(what) or []]
        tables = [str(s["name"]) for s in answers.get("tables") or []]
        yield replace(
            current,
            streams={name: current.streams.get(name, ()) for name in streams},
            tables={name: current.tables.get(name, ()) for name in tables},
        )
        fields = self._fields([*streams, *tables])
        columns = {name: tuple(str(one["name"]) for one in metadata) for name, metadata in fields.items()}
        metadata = replace(
            current,
            streams={name: columns.get(name, ()) for name in streams},
            tables={name: columns.get(name, ()) for name in tables},
            schemas={
                name: {str(one["name"]): one.get("schema") or {"type": "STRING"} for one in of_source}
                for name, of_source in fields.items()
            },
            keys={
                name: tuple(str(one["name"]) for one in of_source if one.get("type") == "KEY")
                for name, of_source in fields.items()
            },
        )
        yield metadata
        for question in _LASTING:
            if question not in self._lasting:
                answer = self._ask(question)
                if answer is not None:
                    self._lasting[question] = answer
        for question in _QUESTIONS:
            answers |= self._ask(question) or {}
        services = (self._ask("SHOW SERVICES;") or {}).get("services") or []
        # the question would start a Connect worker that nobody has needed yet
        if any(one.get("name") == "Connect" and one.get("address") for one in services):
            answers |= self._ask("SHOW CONNECTORS;") or {}
        for answer in self._lasting.values():
            answers |= answer
        functions = tuple(str(f["name"]) for f in answers.get("functions") or [])
        self._sign(functions)
        yield replace(
            metadata,
            functions=functions,
            signatures=self._signatures,
            queries=tuple(str(q["id"]) for q in answers.get("queries") or []),
            topics=tuple(str(t["name"]) for t in answers.get("topics") or []),
            connectors=tuple(str(one["name"]) for one in answers.get("connectors") or []),
            properties=tuple(str(p["name"]) for p in answers.get("properties") or []),
            types=tuple(str(name) for name in answers.get("types") or {}),
        )

    def _ask(self, question: str) -> Mapping[str, Any] | None:
        """The members of the answer, or None if there is none."""
        try:
            return {name: value for entity in self.client.run(question) for name, value in entity.items()}
        except (ClientError, RuntimeError):
            # RuntimeError: the client was closed meanwhile.
            return None

    def _sign(self, functions: Sequence[str]) -> None:
        """Learn how functions are called that were not known yet."""
        new = [name for name in functions if name not in self._signatures]
        self._signatures = {**self._signatures, **dict.fromkeys(new, "")}
        try:
            answer = self.client.run("".join(f"DESCRIBE FUNCTION {name};" for name in new)) if new else []
        except (ClientError, RuntimeError):
            return
        for entity in answer:
            if entity.get("name") in self._signatures:
                self._signatures[str(entity["name"])] = _signature(entity)

    def _fields(self, names: list[str]) -> dict[str, list[dict[str, Any]]]:
        if not names:
            return {}
        try:
            answer = self.client.run("".join(f"DESCRIBE `{name}`;" for name in names))
        except (ClientError, RuntimeError):
            return {}
        described = [entity.get("sourceDescription") or {} for entity in answer]
        return {str(source.get("name")): list(source.get("fields") or []) for source in described}


def _signature(function: Mapping[str, Any]) -> str:
    """Describe how a function is called, with the first sentence of what it does.

    >>> _signature({"functions": [{"arguments": [{"type": "STRING"}], "returnType": "INTEGER"}]})
    '(STRING) → INTEGER'
    """
    variations = function.get("functions") or []
    if not variations:
        return ""
    first = variations[0]
    arguments = [
        f"{one.get('name', '')} {one.get('type', '')}{'…' if one.get('isVariadic') else ''}".strip()
        for one in first.get("arguments") or []
    ]
    more = f" (+{len(variations) - 1})" if len(variations) > 1 else ""
    description = str(function.get("description") or first.get("description") or "").split(". ")[0].strip()
    text = f"({', '.join(arguments)}) → {first.get('returnType', '')}{more}"
    return f"{text}  {description}" if description else text
