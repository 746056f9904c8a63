"""docker/, run: the image alone and the compose file, by podman; `make test-containers`.

The images that docker/ takes from a registry are stand-ins (base_images.py).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.docker import containers
from tests.docker.containers import COMPOSE, IMAGE, ROOT, podman

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(containers.why_not()), reason=containers.why_not()),
]

#: megabytes of the whole image
LARGEST_MB = 900
WAIT_S = 180
MANIFESTS = ROOT / "docker" / "kubernetes" / "ksql-spark.yaml"
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


@pytest.fixture(scope="module", autouse=True)
def image() -> Iterator[None]:
    """The image, built in the folder that TEST_CONTAINERS names, which is kept for the next run."""
    folder = Path(os.environ["TEST_CONTAINERS"])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in containers.environment(folder).items():
            patch.setenv(name, value)
        containers.build()
        yield


def pod() -> dict[str, object]:
    """The template of the pods of the Kubernetes manifest."""
    (found,) = (one for one in yaml.safe_load_all(MANIFESTS.read_text()) if one["kind"] == "StatefulSet")
    template: dict[str, object] = found["spec"]["template"]["spec"]
    return template


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_the_size_of_the_image() -> None:
    (described,) = json.loads(podman("image", "inspect", IMAGE))
    assert described["Size"] / 1e6 <= LARGEST_MB
    assert described["Config"]["User"] == "1001"


def test_nothing_of_this_machine_is_in_the_image() -> None:
    shown = podman("history", "--no-trunc", IMAGE) + podman("image", "inspect", IMAGE)
    mirrors = [os.environ[name] for name in ("KSQL_SPARK_MAVEN_URL", "PIP_INDEX_URL") if os.environ.get(name)]
    assert not [mirror for mirror in mirrors if mirror in shown]
    assert not re.search(r"://[^/\s\"]+:[^/\s\"]+@|(?i:password|secret|token)=", shown)
    files = "/etc/pip.conf /root/.config /root/.m2 /root/.ssh /opt/cache/ivy /opt/cache/trust /src"
    there = podman(
        "run", "--rm", "--user=0", "--entrypoint=sh", IMAGE, "-c", f"ls -d {files} 2>/dev/null || true"
    )
    # where an authority was mounted, an empty file may be left
    assert not [path for path in there.split() if path != "/etc/pip.conf"]
    conf = podman("run", "--rm", "--entrypoint=sh", IMAGE, "-c", "cat /etc/pip.conf 2>/dev/null || true")
    assert conf == ""


@pytest.fixture(scope="class")
def server() -> Iterator[str]:
    """A server on its own broker, as a pod's container would run on a small node; its name."""
    security = pod()["containers"][0]["securityContext"]  # type: ignore[index]
    dropped = [f"--cap-drop={name}" for name in security["capabilities"]["drop"]]
    assert security["allowPrivilegeEscalation"] is False
    name = "ksql-spark-test"
    podman("rm", "--force", name, check=False)
    podman(
        *("run", "--detach", "--name", name, *dropped, "--security-opt=no-new-privileges"),
        *(f"--user={pod()['securityContext']['runAsUser']}", "--read-only"),  # type: ignore[index]
        *("--tmpfs=/tmp", "--memory=2g"),
        *("--publish=127.0.0.1:18088:8088", IMAGE),
    )
    began, seen = time.monotonic(), threading.Event()
    while not answers("http://127.0.0.1:18088/info"):
        assert (
            time.monotonic() - began < WAIT_S
            and podman("inspect", "-f", "{{.State.Running}}", name) == "true"
        ), podman("logs", name)
        seen.wait(0.1)
    print(f"started in {time.monotonic() - began:.1f} s")
    yield name
    podman("rm", "--force", name, check=False)


class TestServer:
    def test_readmes_session(self, server: str) -> None:
        assert "7.0" in podman("exec", server, "ksql-spark", "-e", SESSION)
        assert "7.0" in podman("exec", server, "ksql-spark", "-e", LOOKUP)

    def test_probes_and_health(self, server: str) -> None:
        container = pod()["containers"][0]  # type: ignore[index]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert answers(f"http://127.0.0.1:18088{container[probe]['httpGet']['path']}"), probe
        podman("healthcheck", "run", server)
        mounted = [mount["mountPath"] for mount in container["volumeMounts"]]
        podman("exec", server, "sh", "-c", f"test -d {' -a -d '.join(mounted)}")

    def test_the_heap_fits_the_limit(self, server: str) -> None:
        shown = podman("exec", server, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep Xmx")
        assert "-Xmx1024m" in shown.split()
        assert podman("inspect", "-f", "{{.State.OOMKilled}}", server) == "false"

    def test_a_stop_by_signal(self, server: str) -> None:
        began = time.monotonic()
        podman("stop", "--time=60", server)
        print(f"stopped in {time.monotonic() - began:.1f} s")
        assert podman("inspect", "-f", "{{.State.ExitCode}}", server) == "0"
        assert podman("logs", server).endswith("stopped")


@pytest.mark.skipif(not COMPOSE.exists(), reason="without podman-compose: make test-containers")
class TestCompose:
    file = ROOT / "docker" / "compose.yaml"

    def compose(self, *arguments: str, text: str | None = None) -> str:
        command = [str(COMPOSE), "--file", str(self.file), *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def wait(self) -> None:
        began, seen = time.monotonic(), threading.Event()
        while not answers("http://127.0.0.1:8088/info"):
            assert time.monotonic() - began < WAIT_S, self.compose("logs", "server")
            seen.wait(0.2)

    def up(self) -> None:
        """Start everything; older versions of podman do not wait for healthy services themselves."""
        self.compose("up", "--detach", "--no-build", "broker")
        began, seen = time.monotonic(), threading.Event()
        check = ["podman", "healthcheck", "run", "ksql-spark_broker_1"]
        while subprocess.run(check, capture_output=True).returncode:
            assert time.monotonic() - began < WAIT_S, self.compose("logs", "broker")
            seen.wait(0.2)
        self.compose("up", "--detach", "--no-build", "server")
        self.wait()

    def shell(self, text: str) -> str:
        return self.compose("run", "--rm", "-T", "--no-deps", "shell", text=text)

    def test_a_session_restarts_and_down_and_up(self) -> None:
        try:
            self.up()
            assert "7.0" in self.shell(SESSION)
            for service in ("server", "broker"):
                self.compose("restart", service)
                self.wait()
                assert "7.0" in self.shell(LOOKUP), service
            self.compose("down")
            self.up()
            assert "7.0" in self.shell(LOOKUP)
        finally:
            self.compose("down", "--volumes")
