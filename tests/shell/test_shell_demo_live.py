"""The demo as a user runs it: a real broker, Spark, the generators."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.kafka

#: the whole story on a busy machine
MOST_S = 300


def test_demo_shows_all_four_results_and_leaves_nothing(tmp_path: Path) -> None:
    code = "import sys; from shell.main import main; sys.exit(main())"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KSQL_")}
    demo = subprocess.Popen(
        [sys.executable, "-c", code, "demo", "--rate", "20", "--seconds", str(MOST_S)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
    )
    assert demo.stdout is not None
    awaited = {"Rides by vendor", "One-minute windows", "Rides of $40 and more", "Where rides begin"}
    seen = []
    for line in demo.stdout:
        seen.append(line)
        awaited.discard(line.split(":")[0])
        if not awaited:
            demo.send_signal(signal.SIGINT)
            break
    _, err = demo.communicate(timeout=MOST_S)
    assert (demo.returncode, err, awaited) == (0, "", set()), "".join(seen)
    assert list(tmp_path.glob("ksql-spark-demo-*")) == []
