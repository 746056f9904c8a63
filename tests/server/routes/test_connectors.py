"""GET /connector-plugins/<class> and POST /connectors/<name>/restart."""

from __future__ import annotations

from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine


def test_the_settings_of_a_plugin(client: AppClient) -> None:
    body = client.get("/connector-plugins/File").json()
    assert body["className"] == "File"
    assert body["settings"][0] == {
        "name": "file",
        "type": "STRING",
        "required": True,
        "defaultValue": None,
        "importance": "HIGH",
        "group": None,
        "documentation": "Where it reads.",
    }


def test_a_plugin_that_is_not_there(client: AppClient) -> None:
    response = client.get("/connector-plugins/Fil")
    assert response.status_code == 404 and "no plugin Fil" in response.json()["message"]


def test_a_restart(client: AppClient, engine: FakeEngine) -> None:
    assert client.post("/connectors/my%20own/restart", json={}).status_code == 200
    assert engine.restarted == "my own"
