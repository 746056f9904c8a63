from __future__ import annotations

import re
import threading

import pytest

from ksql_spark import SERVER_VERSION, __version__
from ksql_spark.server.host import Host
from ksql_spark.shell.version import release
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine


def test_info(client: AppClient) -> None:
    assert client.get("/info").json() == {
        "KsqlServerInfo": {
            "version": SERVER_VERSION,
            "kafkaClusterId": "fake-cluster",
            "ksqlServiceId": "default_",
            "serverStatus": "RUNNING",
        }
    }


def test_root_leads_to_info(client: AppClient) -> None:
    response = client.get("/")
    assert (response.status_code, response.headers["location"]) == (307, "/info")


def test_healthcheck(client: AppClient) -> None:
    body = client.get("/healthcheck").json()
    assert body["isHealthy"] is True
    assert set(body["details"]) == {"metastore", "kafka", "commandRunner", "spark", "queries"}


@pytest.mark.parametrize("path", ["/healthcheck", "/info", "/metrics", "/v1/metadata"])
def test_monitors_are_answered_while_all_other_threads_are_busy(
    client: AppClient, host: Host, path: str
) -> None:
    released = threading.Event()
    found = [getattr(one, "pool", one) for name, one in vars(host).items() if name != "_checks"]
    pools = [pool for pool in found if hasattr(pool, "submit")]
    assert len(pools) == 4
    try:
        for pool in pools:
            for _ in range(2 * pool._max_workers):
                pool.submit(released.wait)
        assert client.get(path).status_code == 200
    finally:
        released.set()


def test_statuses(client: AppClient) -> None:
    assert client.get("/status").json() == {"commandStatuses": {"stream/`RIDES`/create": "SUCCESS"}}


def test_one_status(client: AppClient) -> None:
    assert client.get("/status/stream/`RIDES`/create").json()["message"] == "Stream created"
    response = client.get("/status/stream/`X`/create")
    assert (response.status_code, response.json()["error_code"]) == (404, 40400)


def test_metadata(client: AppClient) -> None:
    cluster = {
        "id": "",
        "scope": {"path": [], "clusters": {"kafka-cluster": "fake-cluster", "ksql-cluster": "default_"}},
    }
    assert client.get("/v1/metadata").json() == {"version": SERVER_VERSION, "clusterId": cluster}
    assert client.get("/v1/metadata/id").json() == cluster


def test_is_valid_property(client: AppClient) -> None:
    assert client.get("/is_valid_property/auto.offset.reset").json() is True
    response = client.get("/is_valid_property/nonsense")
    assert (response.status_code, response.json()["error_code"]) == (400, 40000)
    assert "'nonsense'" in response.json()["message"]


@pytest.mark.parametrize("path", ["/nope", "/serverInfo"])
def test_unknown_path(client: AppClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert response.json() == {
        "@type": "generic_error",
        "error_code": 40400,
        "message": f"Resource {path} does not exist.",
    }


def test_a_slash_at_the_end_of_a_path_changes_nothing(client: AppClient) -> None:
    assert client.post("/ksql/", json={"ksql": "SHOW TOPICS;"}).json()[0]["@type"] == "kafka_topics"
    assert client.get("/info/").json() == client.get("/info").json()
    response = client.get("/ksql/")
    assert (response.status_code, response.json()["error_code"]) == (405, 40500)
    assert client.get("/nope/").json()["message"] == "Resource /nope does not exist."


@pytest.mark.parametrize("start", ["http://localhost:8088", "https://localhost", "/http://localhost:8088"])
def test_a_path_may_have_the_form_of_an_address(client: AppClient, start: str) -> None:
    assert client.post(f"{start}/ksql", json={"ksql": "SHOW TOPICS;"}).json()[0]["@type"] == "kafka_topics"
    assert client.get(f"{start}/nope").json()["message"] == "Resource /nope does not exist."


def test_wrong_method(client: AppClient) -> None:
    response = client.get("/ksql")
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert response.json() == {
        "@type": "generic_error",
        "error_code": 40500,
        "message": "/ksql does not support GET, only POST.",
    }


def test_starting_server_is_not_ready(client: AppClient, engine: FakeEngine) -> None:
    engine.state = "STARTING"
    for response in (
        client.get("/info"),
        client.post("/ksql", json={"ksql": "SHOW STREAMS;"}),
        client.get("/nope"),
    ):
        assert response.status_code == 503
        assert response.json()["error_code"] == 50302
        assert response.headers["retry-after"] == "10"
    assert client.get("/chc/live").json() == {}
    assert client.get("/chc/ready").json() == {}


def test_server_without_an_engine_yet_is_not_ready(client: AppClient, host: Host) -> None:
    host.engine = None
    assert client.get("/healthcheck").json()["error_code"] == 50302


def test_stopping_server_says_so(client: AppClient, host: Host) -> None:
    host.stopping = True
    assert (client.get("/info").status_code, client.get("/info").json()["error_code"]) == (503, 50303)


def test_clients_of_ksqldb_take_the_version() -> None:
    found = re.fullmatch(r"v?([0-9]+)\.([0-9]+)\..*", SERVER_VERSION)
    # from 6.0 on they take a server, from 6.1 on they ask for several keys at once
    assert found is not None and (int(found[1]), int(found[2])) >= (6, 1)
    assert release(SERVER_VERSION) == __version__


def test_what_properties_are_for(client: AppClient) -> None:
    found = {one["name"]: one for one in client.get("/properties").json()["properties"]}
    assert found["ksql.streams.auto.offset.reset"]["choices"] == ["earliest", "latest"]
    assert found["ksql.query.pull.max.qps"]["editable"] is False
    assert all(one["description"] for one in found.values())
