"""A container engine for tests: podman and buildah, with their storage in one folder, and our image."""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.docker import base_images

ROOT = base_images.ROOT
#: podman-compose is installed in an environment of its own: `make test-containers`
COMPOSE = ROOT / "build" / "podman-compose" / "bin" / "podman-compose"
IMAGE = "localhost/ksql-spark:local"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def why_not() -> str:
    """Why containers do not run here; empty if they do."""
    if "TEST_CONTAINERS" not in os.environ:
        return "TEST_CONTAINERS names no folder for images: make test-containers"
    missing = [name for name in ("podman", "buildah", "runc", "debootstrap") if shutil.which(name) is None]
    if missing:
        return f"without {', '.join(missing)}: apt-get install podman buildah runc debootstrap catatonit"
    return "" if os.getuid() == 0 else "only root may make and run these containers"


def environment(storage: Path) -> dict[str, str]:
    """Variables with which podman, buildah and podman-compose keep everything in ``storage``."""
    storage.mkdir(parents=True, exist_ok=True)
    (storage / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{storage}/graph"\nrunroot = "{storage}/run"\n'
    )
    (storage / "containers.conf").write_text(
        f'[containers]\ninit_path = "{shutil.which("catatonit") or ""}"\n'
        # as low as any machine allows
        'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
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
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip()


def build() -> None:
    """Build the image, unless it is there, with this machine's mirrors and certificates."""
    if subprocess.run(["podman", "image", "exists", IMAGE]).returncode == 0:
        return
    base_images.main()
    with _mounts() as mounts:
        arguments = [f"--build-arg={name}={os.environ[name]}" for name in _mirrors(os.environ)]
        command = [
            *("buildah", "bud", "--isolation", "chroot", "--file", "docker/Dockerfile", "--tag", IMAGE),
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
