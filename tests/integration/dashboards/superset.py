"""Apache Superset: a server of its own, set up by its REST API."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from ksql_spark.services.ports import free_port
from tests.integration.dashboards.sales import ROOT, program
from tests.waiting import TIMEOUT_S

#: the folder of Superset's programs
BIN = Path(os.environ.get("SUPERSET", ROOT / "build" / "superset" / "bin"))
_CONFIG = """
SECRET_KEY = "of a test that keeps no secrets"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
SUPERSET_DASHBOARD_PERIODICAL_REFRESH_WARNING_MESSAGE = None
"""
#: the range and the day of all charts with a time
RANGE = {"col": "sold_at", "op": "TEMPORAL_RANGE", "val": "2026-03-02 : 2026-03-30"}
DAYS = {
    "columnType": "BASE_AXIS", "expressionType": "SQL", "label": "sold_at", "sqlExpression": "sold_at",
    "timeGrain": "P1D",
}  # fmt: skip


class Superset:
    """A client of a Superset that runs.

    Attributes:
        url: of its pages.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx.Client(base_url=f"{url}/api/v1", timeout=TIMEOUT_S, follow_redirects=True)
        login = {"username": "admin", "password": "admin", "provider": "db"}
        token = self.send("POST", "/security/login", login)["access_token"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to a request. Raises AssertionError for an error."""
        answer = self._client.request(method, path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def sql(self, database: int, text: str) -> list[dict[str, Any]]:
        """What SQL Lab shows of a statement."""
        body = {"database_id": database, "sql": text, "schema": "public", "queryLimit": 1000}
        rows: list[dict[str, Any]] = self.send("POST", "/sqllab/execute/", body)["data"]
        return rows

    def rows(self, dataset: int, **query: Any) -> list[dict[str, Any]]:
        """The rows of a chart, whose query is as in its Explore."""
        body = {
            "datasource": {"id": dataset, "type": "table"},
            "force": True,
            "queries": [{"filters": [], "row_limit": 10_000, **query}],
            "result_type": query.pop("result_type", "full"),
        }
        (result,) = self.send("POST", "/chart/data", body)["result"]
        rows: list[dict[str, Any]] = result["data"]
        return rows

    def dashboard(self, title: str, dataset: int, charts: dict[str, dict[str, Any]]) -> int:
        """A dashboard with a filter of zones, which refreshes itself; the number of it.

        Args:
            charts: title -> what Explore sets, with the width and height of its place.
        """
        made = self.send("POST", "/dashboard/", {"dashboard_title": title, "published": True})["id"]
        rows: list[list[str]] = [[]]
        layout: dict[str, Any] = {}
        for name, form in charts.items():
            params = {**form, "datasource": f"{dataset}__table"}
            width, height = params.pop("place")
            body = {
                "slice_name": name,
                "viz_type": form["viz_type"],
                "datasource_id": dataset,
                "datasource_type": "table",
                "params": json.dumps(params),
                "dashboards": [made],
            }
            chart = self.send("POST", "/chart/", body)["id"]
            if sum(layout[one]["meta"]["width"] for one in rows[-1]) + width > 12:
                rows.append([])
            rows[-1].append(f"CHART-{chart}")
            meta = {"chartId": chart, "width": width, "height": height, "sliceName": name}
            layout[f"CHART-{chart}"] = {"type": "CHART", "id": f"CHART-{chart}", "children": [], "meta": meta}
        names = [f"ROW-{at}" for at, _ in enumerate(rows)]
        for row, children in zip(names, rows, strict=True):
            meta = {"background": "BACKGROUND_TRANSPARENT"}
            layout[row] = {"type": "ROW", "id": row, "children": children, "meta": meta}
        layout |= {
            "DASHBOARD_VERSION_KEY": "v2",
            "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
            "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": names},
            "HEADER_ID": {"type": "HEADER", "id": "HEADER_ID", "meta": {"text": title}},
        }
        zones = {
            "id": "NATIVE_FILTER-zones",
            "name": "Zone",
            "type": "NATIVE_FILTER",
            "filterType": "filter_select",
            "targets": [{"datasetId": dataset, "column": {"name": "zone"}}],
            "controlValues": {"multiSelect": True, "enableEmptyFilter": False},
            "defaultDataMask": {"extraFormData": {}, "filterState": {}},
            "cascadeParentIds": [],
            "scope": {"rootPath": ["ROOT_ID"], "excluded": []},
        }
        settings = {"refresh_frequency": 10, "native_filter_configuration": [zones]}
        body = {"position_json": json.dumps(layout), "json_metadata": json.dumps(settings)}
        self.send("PUT", f"/dashboard/{made}", body)
        return int(made)


@contextlib.contextmanager
def superset(folder: Path) -> Iterator[Superset]:
    """A Superset with its data in a folder, whose user is admin with the password admin."""
    config = folder / "superset_config.py"
    config.write_text(_CONFIG.format(folder=folder))
    environment = {"SUPERSET_CONFIG_PATH": str(config), "SUPERSET_HOME": str(folder), "FLASK_APP": "superset"}
    admin = ["fab", "create-admin", "--username", "admin", "--password", "admin"]
    for command in (
        ["db", "upgrade"],
        [*admin, "--firstname", "Ada", "--lastname", "Admin", "--email", "ada@localhost"],
        ["init"],
    ):
        done = subprocess.run(
            [str(BIN / "superset"), *command],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    url = f"http://127.0.0.1:{(port := free_port())}"
    serve = [str(BIN / "gunicorn"), "--threads", "8", "--timeout", "300", "--bind", f"127.0.0.1:{port}"]
    with program([*serve, "superset.app:create_app()"], f"{url}/health", folder, environment):
        yield Superset(url)
