"""The WINDOW clause: checks and defaults (reference §2.6)."""

from __future__ import annotations

from ksql_spark.analyzer.failures import invalid
from ksql_spark.grammar import nodes
from ksql_spark.logical.nodes import WindowSpec

DAY_MS = 24 * 3_600_000
#: the maximum number of windows that may contain a record: a task keeps state and a result for each in memory
MAX_WINDOWS = 100_000


def bind_window(node: nodes.Window, emit_final: bool, lateness_ms: int | None = None) -> WindowSpec:
    """The window with its defaults filled in; all lengths in ms.

    Args:
        node: the clause.
        emit_final: with EMIT FINAL the grace period is 0 unless given.
        lateness_ms: the grace period unless given: LATENESS of the rows' source.

    Raises:
        KsqlError: INVALID_STATEMENT for invalid lengths.
    """
    size = node.size.milliseconds
    if size <= 0:
        what = "gap" if node.kind == "SESSION" else "SIZE"
        raise invalid(f"The window's {what} must be longer than zero.", node.size)
    advance = node.advance.milliseconds if node.advance is not None else None
    if advance is not None and not 0 < advance <= size:
        raise invalid("ADVANCE BY must be longer than zero and at most the SIZE of the window.", node.advance)
    if advance is not None and size // advance > MAX_WINDOWS:
        raise invalid(
            f"Each record would be in {size // advance} windows; the maximum is {MAX_WINDOWS}. Use a longer "
            f"ADVANCE BY.",
            node.advance,
        )
    if node.grace is not None:
        grace = node.grace.milliseconds
    elif lateness_ms is not None:
        grace = lateness_ms
    else:
        grace = 0 if emit_final else max(DAY_MS - size, 0)
    if node.retention is None:
        return WindowSpec(node.kind, size, advance, max(DAY_MS, size + grace), grace)
    retention = node.retention.milliseconds
    is_given = node.grace is not None or lateness_ms is not None
    least = size + (grace if is_given else 0)
    if retention < least:
        raise invalid(
            f"RETENTION must be at least the window's size plus its grace period: {least} ms, "
            f"got {retention} ms.",
            node.retention,
        )
    return WindowSpec(node.kind, size, advance, retention, min(grace, retention - size))
