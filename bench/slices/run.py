"""What slices save: CPU time per record of hopping windows with EMIT FINAL, in the operator alone.

    python bench/slices/run.py [--records 2000000] [--keys 1000] [--rounds 3] [--per-slice 2,10,100]

SUM by key in windows of five advances, with state of windows and of slices in turn, in one JVM, for
several numbers of records per key and slice. The store is a map in memory, behind a cache of state of 32 MiB;
what has changed is written after each 10,000 records. Prints microseconds per record, which include making
the record, and their ratio; round 0 warms up.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from ksql_spark.services import artifacts  # noqa: E402
from ksql_spark.services.java import java_binary  # noqa: E402
from ksql_spark.spark.session import JAVA_OPTIONS  # noqa: E402


def main() -> int:
    """Run it; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", default="2000000")
    parser.add_argument("--keys", default="1000")
    parser.add_argument("--rounds", default="3")
    parser.add_argument("--per-slice", default="2,10,100")
    arguments = parser.parse_args()
    artifacts.ensure(["spark", "build", "junit"])
    jars = [*sorted(artifacts.pyspark_jars().glob("*.jar")), *artifacts.jars("spark")]
    against = [artifacts.compile_java(ROOT / "ksql_spark" / "jvm"), *jars, *artifacts.jars("junit")]
    against.insert(0, artifacts.compile_java(ROOT / "tests" / "jvm", against))
    classes = artifacts.compile_java(HERE / "java", against)
    command = [
        str(java_binary()),
        *JAVA_OPTIONS,
        "-Xmx1g",
        "-cp",
        os.pathsep.join(map(str, [classes, *against])),
    ]
    command += [f"-Dlog4j2.configurationFile={ROOT / 'tests' / 'jvm' / 'log4j2.properties'}"]
    command += ["org.ksqlspark.state.SliceCosts", arguments.records, arguments.keys, arguments.rounds]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": ""}
    return subprocess.run(
        [*command, *arguments.per_slice.split(",")], check=False, env=environment
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
