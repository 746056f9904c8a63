"""What a server without extras may import."""

from __future__ import annotations

import subprocess
import sys

EXTRAS = ("deltalake", "duckdb", "pandas", "polars", "psycopg", "pyarrow", "pyiceberg", "sqlalchemy")


def test_the_engine_needs_no_extras() -> None:
    hidden = "; ".join(f"sys.modules[{name!r}] = None" for name in EXTRAS)
    code = f"import sys; {hidden}; import ksql_spark.engine, ksql_spark.server.app, ksql_spark.prepare"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
