"""The demo as a user runs it: a real broker, Spark, the generators."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ksql_spark.tools.demo import stories
from ksql_spark.tools.demo.stories import Show

pytestmark = pytest.mark.kafka

#: the whole story on a busy machine
MAX_S = 300
TOLD = stories.names() if os.environ.get("STORIES") == "all" else ["taxi"]


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.long
def test_demo_shows_all_results_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    code = "import sys; from ksql_spark.shell.main import main; sys.exit(main())"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KSQL_")}
    demo = subprocess.Popen(
        [sys.executable, "-c", code, "demo", name, "--seconds", str(MAX_S)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
    )
    assert demo.stdout is not None
    awaited = {step.title for step in stories.load(name).steps if isinstance(step, Show)}
    seen = []
    for line in demo.stdout:
        seen.append(line)
        awaited = {title for title in awaited if not line.startswith(f"{title}: ")}
        if not awaited:
            demo.send_signal(signal.SIGINT)
            break
    _, err = demo.communicate(timeout=MAX_S)
    print("".join(line for line in seen if "first result" in line), end="")
    assert (demo.returncode, err, awaited) == (0, "", set()), "".join(seen)
    assert list(tmp_path.glob("ksql-spark-demo-*")) == []
