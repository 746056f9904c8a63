"""/openapi.json and /docs say what there is."""

from __future__ import annotations

import json

import pytest
from app_client import AppClient


def paths(client: AppClient) -> dict[str, dict[str, dict[str, object]]]:
    return dict(client.get("/openapi.json").json()["paths"])


def test_every_endpoint_says_what_it_takes_and_gives(client: AppClient) -> None:
    for path, methods in paths(client).items():
        for method, entry in methods.items():
            assert entry.get("description"), path
            assert "default" in json.dumps(entry["responses"]) or path == "/", path
            if method == "post":
                assert "requestBody" in entry, path
            assert "422" not in entry["responses"], path  # type: ignore[operator]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ksql", {"ksql": "SHOW TOPICS;"}),
        ("/query", {"ksql": "SELECT 1;"}),
        ("/query-stream", {"sql": "SELECT 1;"}),
        ("/inserts-stream", {"target": "RIDES"}),
        ("/ksql/terminate", {}),
        ("/state/rebuild", {"queryId": "CTAS_T_1"}),
    ],
)
def test_answers_have_the_media_types_that_are_described(
    client: AppClient, path: str, body: dict[str, str]
) -> None:
    content = client.get("/openapi.json").json()["paths"][path]["post"]["responses"]["200"]["content"]
    for media_type in content:
        if media_type.startswith("text/"):
            continue
        response = client.post(path, json=body, headers={"Accept": media_type})
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] in content


def test_the_page_shows_every_endpoint_and_loads_nothing(client: AppClient) -> None:
    response = client.get("/docs")
    assert response.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in response.headers["content-security-policy"]
    for path in paths(client):
        assert f"{path}</code>" in response.text
    assert "<script" not in response.text and "http://" not in response.text
