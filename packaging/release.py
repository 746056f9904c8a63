"""Build what a release has into dist, check it, and run the wheel where nothing else is installed.

    make release                       # the version of ksql_spark/__init__.py, which CHANGELOG.md must date
    make release ARGS=--dry-run        # the same before it has a date, or with changes that are not committed

It needs network access, and Node for the editor extension. Afterwards dist has the wheel, the source
distribution, dbt's adapter, the extension of VS Code, and SHA256SUMS.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
ADAPTER = ROOT / "packaging" / "dbt-ksql-spark"
EXTENSION = ROOT / "packaging" / "vscode"
#: run by the installed wheel; the last statement must print RESULT
STATEMENTS = """
CREATE STREAM orders (id INT KEY, item STRING, price DOUBLE)
  WITH (KAFKA_TOPIC = 'orders', PARTITIONS = 1, VALUE_FORMAT = 'JSON');
INSERT INTO orders VALUES (1, 'tea', 3.5);
INSERT INTO orders VALUES (2, 'tea', 3.5);
SET 'auto.offset.reset' = 'earliest';
CREATE TABLE sales AS SELECT item, COUNT(*) AS n, SUM(price) AS revenue FROM orders GROUP BY item;
SELECT item, n, revenue FROM sales EMIT CHANGES LIMIT 2;
"""
RESULT = re.compile(r"tea\W+2\W+7\.0")


def main() -> int:
    """Build and check a release; 1 with the reason on standard error if it cannot be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="need no date and no clean checkout")
    options = parser.parse_args()
    version = versions()["ksql_spark/__init__.py"]
    if problems := blockers(version, dry_run=options.dry_run):
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    shutil.rmtree(DIST, ignore_errors=True)
    run("the wheel and the source distribution", sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    run("dbt's adapter", sys.executable, "-m", "build", "--outdir", DIST, ADAPTER)
    build_extension(version)
    packages = sorted(path for path in DIST.iterdir() if path.suffix in (".whl", ".gz"))
    run("metadata", sys.executable, "-m", "twine", "check", "--strict", *packages)
    try_wheel(DIST / f"ksql_spark-{version}-py3-none-any.whl")
    write_checksums()
    print(f"== {version} is in {DIST.relative_to(ROOT)}:", *sorted(os.listdir(DIST)), sep="\n")
    return 0


def versions() -> dict[str, str]:
    """The version that each file of the repository states, by the file's path."""
    pattern = re.compile(r'^(?:__version__|version) = "(.+)"$', re.MULTILINE)
    files = [
        ROOT / "ksql_spark" / "__init__.py",
        ADAPTER / "dbt" / "adapters" / "ksqlspark" / "__version__.py",
    ]
    stated = {str(path.relative_to(ROOT)): pattern.findall(path.read_text())[0] for path in files}
    package = json.loads((EXTENSION / "package.json").read_text())
    return {**stated, "packaging/vscode/package.json": package["version"]}


def blockers(version: str, *, dry_run: bool) -> list[str]:
    """Why this version cannot be released now; empty if it can."""
    problems = [f"{path} has version {v}, not {version}." for path, v in versions().items() if v != version]
    if shutil.which("npm") is None:
        problems.append("npm, which builds the editor extension, is not installed. Install Node 20 or newer.")
    if dry_run:
        return problems
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d{{2}}-\d{{2}}\)$", changes, re.MULTILINE):
        problems.append(f"CHANGELOG.md has no date for {version}. Write '## {version} (YYYY-MM-DD)'.")
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, check=True).stdout:
        problems.append("There are changes that are not committed. Commit or stash them.")
    return problems


def build_extension(version: str) -> None:
    """Package the extension of VS Code, with the library that it needs, from a copy of its folder."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(EXTENSION, Path(folder) / "vscode")
        shutil.copy(ROOT / "LICENSE", copy)
        run("the editor extension", "npm", "install", "--silent", "--no-audit", "--no-fund", cwd=copy)
        target = DIST / f"ksql-spark-{version}.vsix"
        run(
            "",
            "npx",
            "--yes",
            "@vscode/vsce",
            "package",
            "--allow-missing-repository",
            "--out",
            target,
            cwd=copy,
        )


def try_wheel(wheel: Path) -> None:
    """Install the wheel where nothing else is, and run statements on the engine that it starts.

    Raises SystemExit if they do not give the result.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        run("an empty environment", python, "-m", "pip", "install", "--quiet", f"{wheel}[server]")
        print("== statements, run by the wheel", flush=True)
        done = subprocess.run(
            [environment / "bin" / "ksql-spark", "--data-dir", Path(folder) / "data"],
            input=STATEMENTS, text=True, capture_output=True, cwd=folder, check=False,
            env={"HOME": folder, "PATH": os.environ["PATH"]},
        )  # fmt: skip
    if done.returncode != 0 or not RESULT.search(done.stdout):
        raise SystemExit(
            f"The wheel does not run (exit code {done.returncode}):\n{done.stdout}\n{done.stderr}"
        )


def write_checksums() -> None:
    """Write SHA256SUMS, which `sha256sum --check` reads."""
    files = sorted(DIST.iterdir())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (DIST / "SHA256SUMS").write_text("".join(lines))


def run(what: str, *command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command under a heading; end the program with its exit code if it fails."""
    if what:
        print(f"== {what}", flush=True)
    done = subprocess.run([str(part) for part in command], cwd=cwd, check=False)
    if done.returncode != 0:
        raise SystemExit(done.returncode)


if __name__ == "__main__":
    sys.exit(main())
