"""``python -m ksql_spark.services [java]``: get ready all that a start needs; used by ``make setup``.

With ``java`` it only looks for Java: exit code 1 where there is none.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from ksql_spark.services.java import java_home


def main(arguments: Sequence[str]) -> int:
    """Find Java, fetch the JVM artifacts; one line of progress that changes on a terminal."""
    on_screen = sys.stdout.isatty()

    def report(text: str) -> None:
        print(f"\r\033[K{text}" if on_screen else text, end="" if on_screen else "\n", flush=True)

    try:
        home = java_home()
        if "java" not in arguments:
            report(f"Java: {home}\n" if on_screen else f"Java: {home}")
            artifacts.ensure(report=report)
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
