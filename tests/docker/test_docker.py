"""The image and the compose file, checked as far as that goes without a container engine."""

from __future__ import annotations

import fnmatch
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

from ksql_spark.config import Config, environment_properties
from ksql_spark.services.artifacts import MANIFEST
from tests.docker import compose_files

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docker"


class Instruction(NamedTuple):
    """One instruction of a Dockerfile, its continuation lines joined; ``stage`` counts the FROMs."""

    name: str
    text: str
    stage: int


def parse_dockerfile(text: str) -> list[Instruction]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    instructions: list[Instruction] = []
    for line in joined.splitlines():
        name, _, rest = line.strip().partition(" ")
        stage = sum(done.name == "FROM" for done in instructions) + (name == "FROM")
        instructions.append(Instruction(name, rest.strip(), stage))
    return instructions


def lint(text: str) -> list[str]:
    """What is wrong with a Dockerfile, by the main rules of the usual linters."""
    instructions = parse_dockerfile(text)
    complaints = []
    stages = [
        found[1] for i in instructions if (found := re.search(r" AS (\S+)$", i.text)) and i.name == "FROM"
    ]
    last = max(i.stage for i in instructions)
    for instruction in instructions:
        name, argument, _ = instruction
        if name == "FROM":
            image = argument.split()[0]
            tag = image.partition(":")[2]
            if image not in stages and (not re.search(r"\d", tag) or tag == "latest"):
                complaints.append(f"{image}: pin the version")
        elif name == "ADD":
            complaints.append("ADD: use COPY")
        elif name == "MAINTAINER":
            complaints.append("MAINTAINER: use LABEL")
        elif name == "COPY" and (source := re.search(r"--from=(\S+)", argument)) and source[1] not in stages:
            complaints.append(f"COPY --from={source[1]}: no such stage")
        elif name == "WORKDIR" and not argument.startswith("/"):
            complaints.append("WORKDIR: use an absolute path")
        elif name in ("CMD", "ENTRYPOINT") and not isinstance(json_or_none(argument), list):
            complaints.append(f"{name}: use the form of a JSON list")
        elif name == "RUN":
            complaints += lint_run(argument)
    names = [i.name for i in instructions if i.stage == last]
    for required in ("USER", "HEALTHCHECK", "ENTRYPOINT"):
        if required not in names:
            complaints.append(f"{required} is missing")
    for single in ("CMD", "ENTRYPOINT", "HEALTHCHECK"):
        if names.count(single) > 1:
            complaints.append(f"{single} is there more than once")
    users = [i.text for i in instructions if i.stage == last and i.name == "USER"]
    if users and users[-1].split(":")[0] in ("root", "0"):
        complaints.append("USER: the last one is root")
    return complaints


def lint_run(command: str) -> list[str]:
    complaints = []
    if re.search(r"\bsudo\b", command):
        complaints.append("RUN: no sudo")
    if re.search(r"\bcd /", command):
        complaints.append("RUN: use WORKDIR")
    if re.search(r"\bpip3? install\b", command) and "--no-cache-dir" not in command:
        complaints.append("RUN pip install: --no-cache-dir")
    if "apt-get install" in command:
        for needed in ("--no-install-recommends", "rm -rf /var/lib/apt/lists", " -y"):
            if needed not in command:
                complaints.append(f"RUN apt-get install: {needed.strip()}")
    if re.search(r"\bapt (install|update)\b", command):
        complaints.append("RUN apt: use apt-get")
    return complaints


def json_or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("FROM python", "python: pin the version"),
        ("FROM python:latest", "python:latest: pin the version"),
        ("FROM a:1 AS b\nFROM b\nADD x y", "ADD: use COPY"),
        ("FROM a:1\nRUN pip install x", "RUN pip install: --no-cache-dir"),
        (
            "FROM a:1\nRUN apt-get update \\\n && apt-get install -y x",
            "RUN apt-get install: rm -rf /var/lib/apt/lists",
        ),
        ("FROM a:1\nCMD x", "CMD: use the form of a JSON list"),
        ("FROM a:1\nUSER root", "USER: the last one is root"),
        ("FROM a:1 AS b\nUSER me\nFROM b", "USER is missing"),
        ("FROM a:1\nCOPY --from=x a b", "COPY --from=x: no such stage"),
    ],
)
def test_the_lint_sees(text, complaint):
    assert complaint in lint(text)


class TestImage:
    text = (FOLDER / "Dockerfile").read_text()

    def test_lint(self):
        assert lint(self.text) == []

    def test_what_is_copied_exists_and_is_in_the_context(self):
        shown = [
            line[1:]
            for line in (FOLDER / "Dockerfile.dockerignore").read_text().splitlines()
            if line[:1] == "!"
        ]
        for instruction in parse_dockerfile(self.text):
            if instruction.name == "COPY" and "--from" not in instruction.text:
                for source in instruction.text.split()[:-1]:
                    assert (ROOT / source).exists()
                    assert any(fnmatch.fnmatch(source, pattern) for pattern in shown)

    def test_what_the_package_links_to_is_copied(self):
        copies = [i.text for i in parse_dockerfile(self.text) if i.name == "COPY" and "--from" not in i.text]
        copied = {source for text in copies for source in text.split()[:-1]}
        links = [path for path in (ROOT / "ksql_spark").iterdir() if path.is_symlink()]
        assert links and {str(path.resolve().relative_to(ROOT)) for path in links} <= copied

    def test_environment_names_properties(self):
        set_here = re.findall(r"^\s*(?:ENV )?(KSQL_\w+)=(\S+)", self.text, re.MULTILINE)
        config = Config.load(environ=dict(set_here))
        assert config["listeners"] == "http://0.0.0.0:8088"
        assert f'VOLUME ["{config["ksql.spark.data.dir"]}"]' in self.text


class TestCompose:
    compose = compose_files.read("compose.yaml")

    def test_schema(self):
        jsonschema.validate(
            self.compose, json.loads((Path(__file__).parent / "compose-schema.json").read_text())
        )

    def test_names_agree(self):
        services = self.compose["services"]
        for name, service in services.items():
            assert set(service.get("depends_on", {})) <= set(services), name
            for volume in service.get("volumes", []):
                assert volume.split(":")[0] in self.compose["volumes"]
            for other, how in service.get("depends_on", {}).items():
                if how["condition"] == "service_healthy":
                    assert "healthcheck" in services[other] or services[other]["image"] == "ksql-spark:local"
            if build := service.get("build"):
                assert (FOLDER / build["context"] / build["dockerfile"]).is_file()

    def test_images_are_pinned(self):
        for service in self.compose["services"].values():
            assert not service["image"].endswith(":latest") and ":" in service["image"]

    def test_ports_are_open_to_this_machine_only(self):
        for service in self.compose["services"].values():
            assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))

    @pytest.mark.parametrize("name", ["compose.yaml", "compose.cluster.yaml"])
    def test_each_port_of_this_machine_has_a_variable(self, name):
        readme = (FOLDER / "README.md").read_text()
        usual = compose_files.variables(name)
        services, moved = (
            compose_files.read(name, **values)["services"]
            for values in ({}, {variable: f"1{port}" for variable, port in usual.items()})
        )
        assert all(f"`{variable}`" in readme and f"`{port}`" in readme for variable, port in usual.items())
        for service, there in services.items():
            for before, after in zip(there.get("ports", []), moved[service].get("ports", []), strict=True):
                host, port, inside = before.split(":")
                assert after == f"{host}:1{port}:{inside}"
        told = moved["broker"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
        assert told.endswith(f",HOST://localhost:1{usual['KAFKA_PORT']}")

    def test_the_broker_is_the_version_of_the_embedded_one(self):
        version = re.search(r'name="kafka_2\.13" rev="([\d.]+)"', MANIFEST.read_text())
        assert version
        assert self.compose["services"]["broker"]["image"] == f"apache/kafka:{version[1]}"

    def test_the_brokers_listeners_agree(self):
        broker = self.compose["services"]["broker"]["environment"]

        def listeners(name: str) -> dict[str, str]:
            return {
                listener: address.rpartition(":")[2]
                for listener, _, address in (part.partition("://") for part in broker[name].split(","))
            }

        heard, told = listeners("KAFKA_LISTENERS"), listeners("KAFKA_ADVERTISED_LISTENERS")
        assert told == {name: port for name, port in heard.items() if name != "CONTROLLER"}
        protocols = dict(
            pair.split(":") for pair in broker["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")
        )
        assert set(protocols) == set(heard)
        assert broker["KAFKA_CONTROLLER_QUORUM_VOTERS"] == f"1@broker:{heard['CONTROLLER']}"

    def test_the_server_finds_the_broker(self):
        server = self.compose["services"]["server"]["environment"]
        config = Config.load(environ=server)
        assert len(environment_properties(server)) == len(server)
        told = self.compose["services"]["broker"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
        assert f"INTERNAL://{config['bootstrap.servers']}" in told.split(",")
        assert config["auto.offset.reset"] == "earliest"
