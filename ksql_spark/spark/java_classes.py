"""Classes of Spark's JVM."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

#: what was looked up, by the view of the JVM that py4j gives
_KNOWN: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def java_class(jvm: Any, name: str) -> Any:
    """A class of the JVM.

    ``jvm.org.example.Name`` asks the JVM about each part of the name, which looks for a class ``org`` in all
    of its jars; this asks once, for the whole name.

    Args:
        jvm: a session's or a Spark context's ``_jvm``.
        name: with its package, as ``org.example.Name``.

    Raises:
        Py4JError: there is no such class, or no such JVM any more.
    """
    known = _KNOWN.setdefault(jvm, {})
    found = known.get(name)
    if found is None:
        found = known[name] = getattr(jvm, name)
    return found
