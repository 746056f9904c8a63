"""``python -m tests.timed COMMAND…`` runs a command and prints the processor time of all that it started.

Minutes by the clock differ between machines, and with what else they do; core-minutes (user and system)
less so.
A process counts once its parent has waited for it.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the command; its exit code, 130 after Ctrl-C."""
    began = time.monotonic()
    try:
        code = subprocess.call(argv)
    except KeyboardInterrupt:
        code = 130
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cores_min = (used.ru_utime + used.ru_stime) / 60
    print(f"== {(time.monotonic() - began) / 60:.1f} minutes, {cores_min:.1f} core-minutes", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
