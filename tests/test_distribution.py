"""What is built for users works without a checkout: the source distribution, and a wheel made of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: what setuptools needs of a checkout
PARTS = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "packaging", "ksql_spark", "grammar")
MORE = ("server", "shell", "examples", "console/dist")
BUILD = "import sys; sys.path.insert(0, 'packaging'); import backend; print(backend.build_sdist(sys.argv[1]))"

pytestmark = pytest.mark.long


def run(*command: object, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(folder: Path) -> Path:
    """The Python of an environment that has our dependencies, but not ksql-spark."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    own = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    # .pth files of the other folder are not read, so its editable ksql-spark is not there
    (Path(own) / "others.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that was built from a source distribution."""
    folder = tmp_path_factory.mktemp("build")
    checkout = folder / "checkout"
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", "classes-*.jar")
    for part in (*PARTS, *MORE):
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, checkout / part, symlinks=True, ignore=ignored)
        else:
            checkout.mkdir(exist_ok=True)
            shutil.copy(ROOT / part, checkout / part)
    python = environment(folder / "venv")
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
    run(*pip, "install", "setuptools>=77", cwd=folder)
    run(python, "-c", BUILD, folder, cwd=checkout)
    (source,) = folder.glob("*.tar.gz")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", source, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment with the wheel."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    python = environment(folder)
    run(python, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps", wheel, cwd=folder)
    return python.parent


def test_the_wheel_is_complete(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"ksql_spark"}
    assert len([name for name in names if name.startswith("ksql_spark/jvm/classes-")]) == 1
    for name in ("console/index.html", "examples/taxi/taxi.sql", "services/ivy.xml", "py.typed"):
        assert f"ksql_spark/{name}" in names


def test_it_needs_no_compiler(installed: Path) -> None:
    code = "from ksql_spark.services import artifacts as a; print(a.own_classes(), a.needed_at_start())"
    said = run(installed / "python", "-c", code, cwd=installed)
    assert str(installed.parent) in said and "'build'" not in said


def test_the_doctor_finds_nothing_bad(installed: Path, tmp_path: Path) -> None:
    said = run(installed / "ksql-spark", "doctor", "--data-dir", tmp_path, cwd=tmp_path)
    assert said.endswith("A server can start: ksql-spark\n")


@pytest.mark.kafka
def test_the_shell_answers(installed: Path, tmp_path: Path) -> None:
    statements = """
        CREATE STREAM s (k INT KEY, v STRING) WITH (KAFKA_TOPIC = 's', PARTITIONS = 1, VALUE_FORMAT = 'JSON');
        INSERT INTO s VALUES (1, 'first');
        SET 'auto.offset.reset' = 'earliest';
        SELECT * FROM s EMIT CHANGES LIMIT 1;
    """
    # a folder as data folder starts an engine of its own only where no server runs at the usual port
    said = run(installed / "ksql-spark", "-e", statements, cwd=tmp_path, XDG_DATA_HOME=str(tmp_path))
    assert "first" in said
