"""Deployment of several servers: compose and Kubernetes, by schema and by what a user would notice."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ksql_spark.config import Config, environment_properties
from ksql_spark.server.app import MODULES
from tests.docker import compose_files

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docker"
COMPOSE = compose_files.read("compose.cluster.yaml")
MANIFESTS = list(yaml.safe_load_all((FOLDER / "kubernetes" / "ksql-spark.yaml").read_text()))
SERVERS = ("server1", "server2", "server3")
PATHS = {route.path for module in MODULES for route in module.router.routes}


def configured(environment: dict[str, str]) -> Config:
    """What a server with these variables is; each of them is a property."""
    mine = {name: value for name, value in environment.items() if name.startswith("KSQL_")}
    assert len(environment_properties(mine)) == len(mine)
    return Config.load(environ=mine)


def check_shares(config: Config) -> None:
    assert config["ksql.cluster.enabled"] and config["ksql.state.dir"] and config["bootstrap.servers"]
    assert config["listeners"] == "http://0.0.0.0:8088"


class TestCompose:
    services = COMPOSE["services"]

    def test_schema(self) -> None:
        jsonschema.validate(COMPOSE, json.loads((Path(__file__).parent / "compose-schema.json").read_text()))

    def test_servers_differ_in_name_port_and_data_only(self) -> None:
        ports, folders = set(), set()
        for name in SERVERS:
            config = configured(self.services[name]["environment"])
            check_shares(config)
            assert config["ksql.advertised.listener"] == f"http://{name}:8088"
            own, shared = self.services[name]["volumes"]
            assert shared == f"state:{config['ksql.state.dir']}"
            ports |= set(self.services[name]["ports"])
            folders.add(own)
        assert len(ports) == len(folders) == len(SERVERS)
        same = [
            {name: value for name, value in self.services[server]["environment"].items()}
            for server in SERVERS
        ]
        for environment in same:
            del environment["KSQL_KSQL_ADVERTISED_LISTENER"]
        assert same[0] == same[1] == same[2]

    def test_what_servers_ask_is_there(self) -> None:
        config = configured(self.services["server1"]["environment"])
        broker = self.services["broker"]["environment"]
        assert f"INTERNAL://{config['bootstrap.servers']}" in broker["KAFKA_ADVERTISED_LISTENERS"].split(",")
        for name, url in (
            ("registry", config["ksql.schema.registry.url"]),
            ("connect", config["ksql.connect.url"]),
        ):
            assert url.split("//")[1].split(":")[0] == self.services[name]["hostname"] == name
            assert f":{url.rpartition(':')[2]}" in self.services[name]["ports"][0]

    def test_the_broker_is_that_of_the_other_file(self) -> None:
        other = compose_files.read("compose.yaml")["services"]["broker"]
        assert self.services["broker"] == other

    def test_names_agree(self) -> None:
        for name, service in self.services.items():
            assert set(service.get("depends_on", {})) <= set(self.services), name
            for volume in (text.split(":")[0] for text in service.get("volumes", [])):
                assert (FOLDER / volume).is_file() if "/" in volume else volume in COMPOSE["volumes"]
            assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
            assert not service["image"].endswith(":latest") and ":" in service["image"]


def manifest(kind: str, name: str = "ksql-spark") -> dict[str, Any]:
    (found,) = (one for one in MANIFESTS if one["kind"] == kind and one["metadata"]["name"] == name)
    return dict(found)


class TestKubernetes:
    pods = manifest("StatefulSet")["spec"]["template"]
    (container,) = pods["spec"]["containers"]

    def test_schema(self) -> None:
        validator = pytest.importorskip("kubernetes_validate")
        for one in MANIFESTS:
            validator.validate(one, "1.33", strict=True)

    def test_servers_share_their_queries(self) -> None:
        given = manifest("ConfigMap")["data"]
        assert self.container["envFrom"] == [{"configMapRef": {"name": "ksql-spark"}}]
        own = {variable["name"]: variable.get("value", "pod") for variable in self.container["env"]}
        config = configured(given | own)
        check_shares(config)
        service = manifest("StatefulSet")["spec"]["serviceName"]
        assert manifest("Service", service)["spec"]["clusterIP"] == "None"
        assert config["ksql.advertised.listener"] == f"http://$(POD_NAME).{service}:8088"
        mounted = {mount["name"]: mount["mountPath"] for mount in self.container["volumeMounts"]}
        assert mounted["state"] == config["ksql.state.dir"]
        dockerfile = (FOLDER / "Dockerfile").read_text()
        assert f'VOLUME ["{mounted["data"]}"]' in dockerfile and mounted["state"] in dockerfile
        (state,) = (one for one in self.pods["spec"]["volumes"] if one["name"] == "state")
        claim = manifest("PersistentVolumeClaim", state["persistentVolumeClaim"]["claimName"])
        assert claim["spec"]["accessModes"] == ["ReadWriteMany"]

    def test_selectors_find_the_pods(self) -> None:
        labels = self.pods["metadata"]["labels"].items()
        for service in ("ksql-spark", "ksql-spark-servers"):
            assert manifest("Service", service)["spec"]["selector"].items() <= labels
        for kind in ("PodDisruptionBudget", "StatefulSet"):
            assert manifest(kind)["spec"]["selector"]["matchLabels"].items() <= labels
        assert manifest("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1

    @pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
    def test_probes_ask_endpoints_that_are_there(self, probe: str) -> None:
        asked = self.container[probe]["httpGet"]
        assert asked["path"] in PATHS
        assert asked["port"] in [port["name"] for port in self.container["ports"]]

    def test_a_pod_is_drained_before_it_is_stopped(self) -> None:
        command = self.container["lifecycle"]["preStop"]["exec"]["command"]
        assert command[:2] == ["python", "-c"]
        compile(command[2], shlex.join(command), "exec")
        assert "http://127.0.0.1:8088/cluster/drain" in command[2] and "/cluster/drain" in PATHS
        config = configured(manifest("ConfigMap")["data"])
        drains_s = float(config["ksql.query.stop.timeout.ms"]) / 1000
        assert self.pods["spec"]["terminationGracePeriodSeconds"] > drains_s
