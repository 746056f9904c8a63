"""The image alone, built and run by podman; `make test-containers`.

The images that docker/ takes from a registry are stand-ins (base_images.py).
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator

import pytest

from tests.docker.containers import (
    IMAGE,
    LOOKUP,
    MARKS,
    SESSION,
    await_answer,
    is_healthy,
    logs,
    podman,
    state,
)

pytestmark = MARKS

#: megabytes of the whole image
LARGEST_MB = 900
#: what a build may not leave behind
LEFT = (
    "/root/.config /root/.m2 /root/.ssh /root/.cache /opt/cache/ivy /opt/cache/trust /src /home/ksql/.cache"
)
NAME = "ksql-spark-test"
#: a user of the image, and one that has no name, as OpenShift gives each project
USERS = ("1001", "12345")


def test_the_size_of_the_image() -> None:
    (described,) = json.loads(podman("image", "inspect", IMAGE))
    print(f"{described['Size'] / 1e6:.0f} MB")
    assert described["Size"] / 1e6 <= LARGEST_MB
    assert described["Config"]["User"] == "1001"
    assert described["Healthcheck"]["Test"][0] == "CMD"


def test_nothing_of_this_machine_is_in_the_image() -> None:
    shown = podman("history", "--no-trunc", IMAGE) + podman("image", "inspect", IMAGE)
    mirrors = [os.environ[name] for name in ("KSQL_SPARK_MAVEN_URL", "PIP_INDEX_URL") if os.environ.get(name)]
    assert not [mirror for mirror in mirrors if mirror in shown]
    assert not re.search(r"://[^/\s\"]+:[^/\s\"]+@|(?i:password|secret|token)=", shown)
    # where settings of pip were mounted, an empty file may be left
    script = f"ls -d {LEFT} 2>/dev/null; cat /etc/pip.conf 2>/dev/null; true"
    assert podman("run", "--rm", "--user=0", "--entrypoint=sh", IMAGE, "-c", script) == ""


@pytest.fixture(scope="class", params=USERS)
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server on its own broker, in 2 GB and with a root file system that it cannot write."""
    podman("rm", "--force", NAME, check=False)
    podman(
        *("run", "--detach", "--init", "--name", NAME, f"--user={request.param}", "--passwd=false"),
        *("--read-only", "--read-only-tmpfs=false", "--tmpfs=/tmp", "--memory=2g"),
        *("--cap-drop=all", "--security-opt=no-new-privileges", "--publish=127.0.0.1::8088", IMAGE),
    )
    try:
        began = time.monotonic()
        url = f"http://{podman('port', NAME, '8088')}"
        await_answer(f"{url}/info", NAME)
        print(f"started in {time.monotonic() - began:.1f} s")
        yield url
    finally:
        podman("rm", "--force", "--volumes", NAME)


class TestServer:
    def test_readmes_session(self, server: str) -> None:
        assert "7.0" in podman("exec", NAME, "ksql-spark", "-e", SESSION)
        assert "7.0" in podman("exec", NAME, "ksql-spark", "-e", LOOKUP)

    def test_it_is_healthy(self, server: str) -> None:
        assert is_healthy(NAME)

    def test_the_heap_fits_the_limit(self, server: str) -> None:
        shown = podman("exec", NAME, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep Xmx")
        assert "-Xmx1024m" in shown.split()
        assert not state(NAME)["OOMKilled"]

    def test_a_restart(self, server: str) -> None:
        podman("restart", "--time=60", NAME)
        await_answer(f"http://{podman('port', NAME, '8088')}/info", NAME)
        assert "7.0" in podman("exec", NAME, "ksql-spark", "-e", LOOKUP)

    def test_a_stop_by_signal(self, server: str) -> None:
        began = time.monotonic()
        podman("stop", "--time=60", NAME)
        print(f"stopped in {time.monotonic() - began:.1f} s")
        assert state(NAME)["ExitCode"] == 0
        assert logs(NAME).endswith("stopped")
