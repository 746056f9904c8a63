"""The line below the prompt: the state of server and session."""

from __future__ import annotations

from ksql_spark.shell.output.text import clip
from ksql_spark.shell.session import Session, duration

#: how much of a property's value is shown
VALUE_WIDTH = 24


def toolbar(session: Session, url: str, state: str, queries: int, progress: str = "") -> str | None:
    """The line; None if the user wants none.

    Args:
        session: the session.
        url: the server's address.
        state: the server's state.
        queries: how many queries run on the server.
        progress: how far queries are that were started here.
    """
    if not session.console.toolbar:
        return None
    parts = [f"{url} {state}".rstrip(), f"{queries} quer{'y' if queries == 1 else 'ies'}"]
    if progress:
        parts.append(progress)
    if session.last_took_s is not None:
        parts.append(f"last {duration(session.last_took_s)}")
    if session.console.form.value != "TABULAR":
        parts.append(f"output {session.console.form.value}")
    parts += [f"{name}={clip(value, VALUE_WIDTH, '…')}" for name, value in session.properties.items()]
    return " · ".join(parts)
