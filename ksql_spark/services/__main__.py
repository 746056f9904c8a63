"""``python -m ksql_spark.services [java]``: prepare everything that a start needs; used by ``make setup``.

With ``java`` it only looks for Java; the exit code is 1 if there is none.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from ksql_spark.services.java import java_home


def main(arguments: Sequence[str]) -> int:
    """Find Java and fetch the JVM artifacts; on a terminal, progress is one line that changes.

    Returns:
        the exit code: 0, 1 for an error, 130 after Ctrl-C.
    """
    on_screen = sys.stdout.isatty()

    def report(text: str) -> None:
        print(f"\r\033[K{text}" if on_screen else text, end="" if on_screen else "\n", flush=True)

    try:
        home = java_home()
        if "java" not in arguments:
            report(f"Java: {home}\n" if on_screen else f"Java: {home}")
            artifacts.ensure(artifacts.needed_at_start(), report)
    except KsqlError as error:
        if on_screen:
            print()
        print(error.message, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print()
        return 130
    if on_screen and "java" not in arguments:
        print("\r\033[KJVM artifacts: complete")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
