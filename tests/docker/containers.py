"""A container engine for tests: podman and buildah, with their storage in one folder, and our image."""

from __future__ import annotations

import configparser
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import waiting
from tests.docker import base_images, compose_files

ROOT = base_images.ROOT
#: podman-compose is installed in an environment of its own: `make test-containers`
COMPOSE = ROOT / "build" / "podman-compose" / "bin" / "podman-compose"
#: what runs containers, and Debian's packages with them and with what lets containers find each other by name
PROGRAMS = ("podman", "buildah", "runc", "debootstrap", "catatonit")
PACKAGES = (*PROGRAMS, "containernetworking-plugins", "golang-github-containernetworking-plugin-dnsname")
IMAGE = "localhost/ksql-spark:local"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
#: README's session
SESSION = """
CREATE STREAM orders (id INT KEY, item STRING, price DOUBLE)
  WITH (KAFKA_TOPIC = 'orders', PARTITIONS = 1, VALUE_FORMAT = 'JSON');
SET 'auto.offset.reset' = 'earliest';
CREATE TABLE sales AS
  SELECT item, COUNT(*) AS n, SUM(price) AS revenue FROM orders GROUP BY item;
INSERT INTO orders VALUES (1, 'tea', 3.5);
INSERT INTO orders VALUES (2, 'coffee', 4.0);
INSERT INTO orders VALUES (3, 'tea', 3.5);
SELECT * FROM sales EMIT CHANGES LIMIT 3;
"""
LOOKUP = "SELECT * FROM sales WHERE item = 'tea';"


def why_not() -> str:
    """Why containers do not run here; empty if they do."""
    if "TEST_CONTAINERS" not in os.environ:
        return "TEST_CONTAINERS names no folder for images: make test-containers"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"without {', '.join(missing)}: apt-get install {' '.join(PACKAGES)}"
    if os.getuid() != 0:
        return "only root may make and run these containers"
    return "" if COMPOSE.exists() else "without podman-compose: make test-containers"


#: of each test that runs containers
MARKS = [
    pytest.mark.long,
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.usefixtures("image"),
]


def environment(storage: Path) -> dict[str, str]:
    """Variables with which podman, buildah and podman-compose keep everything in ``storage``."""
    storage.mkdir(parents=True, exist_ok=True)
    (storage / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{storage}/graph"\nrunroot = "{storage}/run"\n'
    )
    (storage / "containers.conf").write_text(
        f'[containers]\ninit_path = "{shutil.which("catatonit") or ""}"\n'
        # podman's own are more than a container may allow that this runs in
        'default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n'
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
    )
    return {
        "CONTAINERS_STORAGE_CONF": str(storage / "storage.conf"),
        "CONTAINERS_CONF": str(storage / "containers.conf"),
        # other formats have no health checks
        "BUILDAH_FORMAT": "docker",
    }


def podman(*arguments: str, check: bool = True) -> str:
    """The output of a command of podman."""
    done = subprocess.run(["podman", *arguments], capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def state(container: str) -> dict[str, Any]:
    """What podman says about the state of a container."""
    (described,) = json.loads(podman("inspect", container))
    return dict(described["State"])


def logs(container: str) -> str:
    """What a container has printed, to standard error, too."""
    command = ["podman", "logs", container]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout.strip()


def is_healthy(container: str) -> bool:
    """Run a container's health check, as an engine does at intervals."""
    return subprocess.run(["podman", "healthcheck", "run", container], capture_output=True).returncode == 0


def answers(url: str) -> bool:
    """Whether a GET succeeds, as a probe does it."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def await_answer(url: str, container: str) -> None:
    """Wait until a container answers; fails at once if it ends and nothing starts it again."""

    def is_there() -> bool:
        (described,) = json.loads(podman("inspect", container))
        is_restarted = described["HostConfig"]["RestartPolicy"]["Name"] not in ("", "no")
        assert described["State"]["Running"] or is_restarted, f"{described['State']}\n{logs(container)}"
        return answers(url)

    waiting.until(is_there, lambda: logs(container))


def _is_taken(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return True
        return False


class Compose:
    """A compose file, run by podman-compose.

    Args:
        file: its name in docker/.
    """

    def __init__(self, file: str) -> None:
        self._command = [str(COMPOSE), "--file", str(base_images.FOLDER / file)]
        self._ports = list(map(int, compose_files.variables(file).values()))

    def up(self, *services: str) -> None:
        """Start the project, or some of its services, once its ports are free."""
        waiting.until(lambda: not any(map(_is_taken, self._ports)), lambda: f"taken: one of {self._ports}")
        self("up", "--detach", *services)

    def __call__(self, *arguments: str, text: str = "") -> str:
        """The output of a command with ``text`` as input."""
        done = subprocess.run([*self._command, *arguments], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def build() -> None:
    """Build the image with this machine's mirrors and certificates; steps with the same input are kept."""
    base_images.main()
    with _mounts() as mounts:
        arguments = [f"--build-arg={name}={os.environ[name]}" for name in _mirrors(os.environ)]
        command = [
            *(
                "buildah",
                "bud",
                "--layers",
                "--isolation",
                "chroot",
                "--file",
                "docker/Dockerfile",
                "--tag",
                IMAGE,
            ),
            *("--ignorefile", "docker/Dockerfile.dockerignore"),
            *(f"--volume={mount}" for mount in mounts),
            *arguments,
        ]
        subprocess.run([*command, "."], cwd=ROOT, check=True)


def _mirrors(variables: Mapping[str, str]) -> list[str]:
    return [name for name in ("KSQL_SPARK_MAVEN_URL", "PIP_INDEX_URL") if name in variables]


@contextlib.contextmanager
def _mounts() -> Iterator[list[str]]:
    """Mounts with this machine's certificates and pip's settings."""
    shown = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True
    ).stdout
    settings = dict(re.findall(r"(?:global|:env:)\.(index-url|timeout|cert)='(.*)'", shown))
    with tempfile.TemporaryDirectory(prefix="ksql-spark-build-") as folder:
        mounts = []
        if bundle := os.environ.get("SSL_CERT_FILE"):
            mounts.append(f"{bundle}:{CERTIFICATES}:ro")
            settings["cert"] = CERTIFICATES
        parser = configparser.ConfigParser(interpolation=None)
        parser["global"] = settings
        with (Path(folder) / "pip.conf").open("w") as file:
            parser.write(file)
        yield [*mounts, f"{folder}/pip.conf:/etc/pip.conf:ro"]
