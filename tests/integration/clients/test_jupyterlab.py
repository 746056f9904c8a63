"""%ksql in a real JupyterLab and a real browser, on a real server (make test-jupyter)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ksql_spark.services.ports import free_port
from tests.integration.clients.browser import run
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S

ROOT = Path(__file__).parents[3]
LAB = Path(os.environ.get("JUPYTER_LAB", ROOT / "build" / "jupyter" / "bin" / "jupyter-lab"))

pytestmark = [
    pytest.mark.long,
    pytest.mark.kafka,
    pytest.mark.skipif(not LAB.is_file(), reason="JupyterLab is not installed: make test-jupyter"),
]

CELLS = (
    "%load_ext ksql_spark\n%ksql --connect {url}",
    "%ksql SELECT * FROM sales",
    "%%ksql\nSELECT * FROM sales EMIT CHANGES",
    "%%ksql --chart bars --limit 1\nSELECT * FROM sales EMIT CHANGES",
    "%ksql SELECT nothing FROM sales",
    "%ksql SELECT * FROM sal",
)


def test_a_notebook_in_a_browser(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        server.ready()
        server.execute("""
            SET 'auto.offset.reset' = 'earliest';
            CREATE STREAM orders (id INT KEY, item STRING, price DOUBLE)
              WITH (KAFKA_TOPIC = 'orders', PARTITIONS = 1, VALUE_FORMAT = 'JSON');
            CREATE TABLE sales AS SELECT item, COUNT(*) AS n, SUM(price) AS revenue FROM orders GROUP BY item;
            INSERT INTO orders VALUES (1, 'tea', 3.5);
        """)
        notebooks = tmp_path / "notebooks"
        notebooks.mkdir()
        cells = [
            {
                "cell_type": "code",
                "id": f"c{number}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": text.format(url=server.url),
            }
            for number, text in enumerate(CELLS)
        ]
        kernel = {"name": "ksql", "display_name": "ksql", "language": "python"}
        notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        (notebooks / "sales.ipynb").write_text(json.dumps(notebook))
        spec = tmp_path / "jupyter" / "kernels" / "ksql"
        spec.mkdir(parents=True)
        (spec / "kernel.json").write_text(
            json.dumps(
                {
                    "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                    "display_name": "ksql",
                    "language": "python",
                }
            )
        )
        port = free_port()
        command = [str(LAB), "--no-browser", "--allow-root", f"--port={port}", "--ServerApp.port_retries=0"]
        lab = subprocess.Popen(
            [*command, "--IdentityProvider.token=", f"--ServerApp.root_dir={notebooks}"],
            env={
                **os.environ,
                "JUPYTER_PATH": str(tmp_path / "jupyter"),
                "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
                "JUPYTER_DATA_DIR": str(tmp_path / "own"),
                "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
                "IPYTHONDIR": str(tmp_path / "ipython"),
                "PYTHONPATH": str(ROOT),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert lab.stdout is not None
            said = ""
            for line in lab.stdout:
                said += line
                if re.search(rf"http://\S+:{port}/lab", line):
                    break
            else:
                pytest.fail(said)
            run("jupyter", server.url, JUPYTER_URL=f"http://127.0.0.1:{port}/lab/tree/sales.ipynb")
        finally:
            lab.terminate()
            lab.communicate(timeout=TIMEOUT_S)
        server.stop()
