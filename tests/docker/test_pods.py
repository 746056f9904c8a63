"""The pods of docker/kubernetes, run as a node runs them; `make test-containers`.

What a node does is done by podman: it takes the container's environment, security context, limits and volumes
from the manifest, asks the probes, and stops a pod by `preStop` and SIGTERM.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from tests import waiting
from tests.docker.containers import (
    IMAGE,
    LOOKUP,
    MARKS,
    SESSION,
    answers,
    await_answer,
    logs,
    podman,
    state,
)

pytestmark = MARKS

FOLDER = Path(__file__).parents[2] / "docker"
MANIFESTS = list(yaml.safe_load_all((FOLDER / "kubernetes" / "ksql-spark.yaml").read_text()))
(CONFIG,) = (one["data"] for one in MANIFESTS if one["kind"] == "ConfigMap")
(STATEFUL,) = (one["spec"] for one in MANIFESTS if one["kind"] == "StatefulSet")
POD = STATEFUL["template"]["spec"]
(CONTAINER,) = POD["containers"]
#: the broker beside them, that of the compose file
BROKER = yaml.safe_load((FOLDER / "compose.cluster.yaml").read_text())["services"]["broker"]
NETWORK, KAFKA = "ksql-spark-pods", "broker:29092"
PODS = ("ksql-spark-0", "ksql-spark-1")


def volumes(name: str, folder: Path) -> Iterator[str]:
    """Arguments that mount a pod's volumes; those of claims are kept in ``folder``."""
    shared = {one["name"]: one for one in POD["volumes"]}
    for mount in CONTAINER["volumeMounts"]:
        if "emptyDir" in shared.get(mount["name"], {}):
            yield f"--tmpfs={mount['mountPath']}:mode=1777"
            continue
        own = folder / (mount["name"] if mount["name"] in shared else f"{mount['name']}-{name}")
        own.mkdir(exist_ok=True)
        # as a node makes them for fsGroup
        os.chown(own, 0, POD["securityContext"]["fsGroup"])
        own.chmod(0o2775)
        yield f"--volume={own}:{mount['mountPath']}"


def variables(name: str) -> Mapping[str, str]:
    """The environment of a pod's container."""
    own = {"POD_NAME": name}
    for variable in CONTAINER["env"]:
        if "value" in variable:
            own[variable["name"]] = variable["value"].replace("$(POD_NAME)", name)
    return {**CONFIG, "KSQL_BOOTSTRAP_SERVERS": KAFKA, **own}


def start(name: str, folder: Path) -> None:
    """Run a pod until it has started."""
    security = CONTAINER["securityContext"]
    assert security["allowPrivilegeEscalation"] is False and security["readOnlyRootFilesystem"]
    pods = POD["securityContext"]
    podman(
        *(
            "run",
            "--detach",
            "--restart=always",
            "--name",
            name,
            "--network",
            NETWORK,
            "--publish=127.0.0.1::8088",
        ),
        *("--network-alias", f"{name}.{STATEFUL['serviceName']}"),
        *(f"--user={pods['runAsUser']}", f"--group-add={pods['fsGroup']}", "--passwd=false"),
        *("--security-opt=no-new-privileges", "--read-only", "--read-only-tmpfs=false"),
        *(f"--cap-drop={one}" for one in security["capabilities"]["drop"]),
        f"--memory={CONTAINER['resources']['limits']['memory'].removesuffix('i').lower()}",
        *volumes(name, folder),
        *(f"--env={key}={value}" for key, value in variables(name).items()),
        IMAGE,
    )
    await_answer(probed(name, "startupProbe"), name)


def probed(name: str, probe: str) -> str:
    """The URL that a probe asks."""
    return f"http://{podman('port', name, '8088')}{CONTAINER[probe]['httpGet']['path']}"


def await_row(name: str, row: str) -> None:
    """Wait until a lookup in a pod finds the row."""
    waiting.until(lambda: row in shell(name, LOOKUP), lambda: logs(name))


def end(name: str) -> None:
    """Stop a pod and remove it; its volumes stay."""
    podman("exec", name, *CONTAINER["lifecycle"]["preStop"]["exec"]["command"])
    podman("stop", f"--time={POD['terminationGracePeriodSeconds']}", name)
    assert state(name)["ExitCode"] == 0, logs(name)
    podman("rm", name)


def shell(name: str, text: str) -> str:
    return podman("exec", name, "ksql-spark", "-e", text)


@pytest.fixture(scope="module", autouse=True)
def folder(image: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the volumes of pods that run beside a broker."""
    made = tmp_path_factory.mktemp("volumes")
    podman("network", "create", NETWORK)
    try:
        environment = (f"--env={key}={value}" for key, value in BROKER["environment"].items())
        named = ("--name", f"{NETWORK}-broker", "--network", NETWORK, "--network-alias", "broker")
        podman("run", "--detach", *named, *environment, BROKER["image"])
        for name in PODS:
            start(name, made)
        yield made
    finally:
        podman("rm", "--force", "--volumes", *PODS, f"{NETWORK}-broker", check=False)
        podman("network", "rm", NETWORK)


@pytest.mark.parametrize("probe", ["readinessProbe", "livenessProbe"])
@pytest.mark.parametrize("name", PODS)
def test_a_probe(name: str, probe: str) -> None:
    waiting.until(lambda: answers(probed(name, probe)), lambda: logs(name))


def test_a_pod_that_is_replaced(folder: Path) -> None:
    first, second = PODS
    assert "7.0" in shell(first, SESSION)
    await_row(second, "7.0")
    for name, other, price, revenue in ((first, second, "3.0", "10.0"), (second, first, "5.0", "15.0")):
        end(name)
        shell(other, f"INSERT INTO orders VALUES (4, 'tea', {price});")
        await_row(other, revenue)
        start(name, folder)
        await_row(name, revenue)
