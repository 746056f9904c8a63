"""``python -m tests.jvm.tools lint|format|test|pom``: formatter, lint and unit tests of the JVM classes.

``lint`` compares the format with google-java-format's and compiles with ecj's warnings as errors; ``format``
rewrites the files; ``test`` runs the JUnit tests below ``tests/jvm``; ``pom`` writes a ``pom.xml`` with which
an IDE opens classes and tests, against the same jars. The tools come from Maven Central on
first use. google-java-format needs a JDK; where Java is only a runtime, or there is none, we say what was not
checked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from ksql_spark.services.java import java_binary
from ksql_spark.spark.session import HEAP_OPTIONS, JAVA_OPTIONS

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "ksql_spark" / "jvm"
TESTS = ROOT / "tests" / "jvm"

#: Warnings of ecj that are off: matters of taste, and what is wrong more often than right here (a pool's or
#: Arrow's objects live longer than the method; Spark serialises classes between equal builds only).
OFF = (
    "all-static-method",
    "boxing",
    "emptyBlock",
    "hiding",
    "nls",
    "null",
    "paramAssign",
    "resource",
    "serial",
    "static-method",
    "super",
    "syntheticAccess",
    "unqualifiedField",
    "unusedExceptionParam",
    "unusedParam",
)

POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.ksqlspark</groupId>
  <artifactId>ksql-spark-jvm</artifactId>
  <version>0</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <build>
    <directory>${{java.io.tmpdir}}/ksql-spark-jvm</directory>
    <sourceDirectory>${{project.basedir}}</sourceDirectory>
    <testSourceDirectory>{tests}</testSourceDirectory>
  </build>
  <dependencies>
{dependencies}  </dependencies>
</project>
"""

#: packages of javac that google-java-format uses
EXPORTS = ("api", "code", "file", "parser", "tree", "util")


def main(arguments: Sequence[str]) -> int:
    """Run the tools that the arguments name; returns the exit code."""
    tools = {"lint": lint, "format": reformat, "test": test, "pom": write_pom}
    if not arguments or not set(arguments) <= set(tools):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        java_binary()
    except KsqlError as error:
        print(f"The JVM classes were not checked. {error.message}")
        return 0
    try:
        return max(tools[name]() for name in arguments)
    except KsqlError as error:
        print(error.message, file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # Java gets it, too
        return 130


def lint() -> int:
    """Check format and warnings; returns the exit code."""
    return max(_formatter("--dry-run", "--set-exit-if-changed"), _warnings())


def reformat() -> int:
    """Format all files; returns the exit code."""
    return _formatter("--replace")


def write_pom() -> int:
    """Write ``ksql_spark/jvm/pom.xml``, which names this machine's jars; returns the exit code."""
    artifacts.ensure(["spark", "junit"])
    dependencies = "".join(
        f"    <dependency><groupId>jar</groupId><artifactId>{jar.stem}</artifactId><version>1</version>"
        f"<scope>system</scope><systemPath>{escape(str(jar))}</systemPath></dependency>\n"
        for jar in _classpath()
    )
    (PRODUCT / "pom.xml").write_text(POM.format(tests=TESTS, dependencies=dependencies), encoding="utf-8")
    print(f"{PRODUCT / 'pom.xml'}: open it in an IDE, or mvn -f it test-compile")
    return 0


def _classpath() -> list[Path]:
    """The jars that classes and tests are compiled against."""
    spark = sorted(artifacts.pyspark_jars().glob("*.jar"))
    return [*spark, *artifacts.jars("spark"), *artifacts.jars("junit")]


def _sources(root: Path) -> list[str]:
    return [str(path) for path in sorted(root.rglob("*.java"))]


def _java(*arguments: str) -> int:
    # without the address Spark looks for this machine's, and warns of what it finds
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [str(java_binary()), "-XX:TieredStopAtLevel=1", *arguments]
    return subprocess.run(command, check=False, env=environment).returncode


def _formatter(*options: str) -> int:
    modules = subprocess.run(
        [str(java_binary()), "--list-modules"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    if "jdk.compiler" not in modules:
        print(
            "The format of the Java files was not checked: google-java-format needs a JDK, and this is a JRE."
        )
        return 0
    artifacts.ensure(["format"])
    exports = [f"--add-exports=jdk.compiler/com.sun.tools.javac.{name}=ALL-UNNAMED" for name in EXPORTS]
    files = _sources(PRODUCT) + _sources(TESTS)
    classpath = os.pathsep.join(map(str, artifacts.jars("format")))
    main_class = "com.google.googlejavaformat.java.Main"
    result = _java(*exports, "-cp", classpath, main_class, "--aosp", *options, *files)
    if result and "--set-exit-if-changed" in options:
        print("\nThe Java files above are not formatted: make fmt", file=sys.stderr)
    return result


def _warnings() -> int:
    artifacts.ensure(["spark", "build", "junit"])
    (compiler,) = artifacts.jars("build")
    classpath = _classpath()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        lines = ["-17", "-proc:none", "-failOnWarning", "-encoding", "UTF-8", "-d", "none"]
        lines += [
            f"-warn:all,{','.join(f'-{name}' for name in OFF)}",
            "-cp",
            os.pathsep.join(map(str, classpath)),
        ]
        file.write("\n".join(f'"{line}"' for line in [*lines, *_sources(PRODUCT), *_sources(TESTS)]))
        file.flush()
        return _java("-jar", str(compiler), f"@{file.name}")


def test() -> int:
    """Run the unit tests; returns the exit code."""
    artifacts.ensure(["spark", "build", "junit"])
    product = artifacts.compile_java(PRODUCT)
    against = [
        product,
        *_classpath(),
    ]
    tests = artifacts.compile_java(TESTS, against)
    classpath = os.pathsep.join(map(str, [tests, *against]))
    return _java(
        *JAVA_OPTIONS,
        *HEAP_OPTIONS,
        f"-Dlog4j2.configurationFile={ROOT / 'tests' / 'jvm' / 'log4j2.properties'}",
        f"-Dksql.python={sys.executable}",
        f"-Dksql.root={ROOT}",
        *("-cp", classpath, "org.junit.platform.console.ConsoleLauncher", "execute"),
        *("--scan-classpath", str(tests), "--disable-banner", "--details=none", "--disable-ansi-colors"),
        "--fail-if-no-tests",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
