"""The REST API of a real server: rows in, look-ups, figures, and the end of everything."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S

pytestmark = [pytest.mark.long, pytest.mark.kafka]

ROWS = 2000


def inserted(server: ServerProcess, target: str) -> list[dict[str, object]]:
    rows = "".join(f'{{"ID":{n % 100},"N":{n}}}\n' for n in range(ROWS))
    body = json.dumps({"target": target}) + "\n" + rows
    answer = httpx.post(f"{server.url}/inserts-stream", content=body, timeout=TIMEOUT_S)
    return [json.loads(line) for line in answer.text.splitlines()]


def test_rows_in_rows_out_and_the_end(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        server.ready()
        server.execute("""
            CREATE TABLE t (id INT PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON', PARTITIONS=2);
            CREATE TABLE kept WITH (KAFKA_TOPIC='kept') AS SELECT * FROM t WHERE n >= 0;
            CREATE TABLE gone WITH (KAFKA_TOPIC='gone') AS SELECT * FROM kept;
        """)
        assert inserted(server, "t") == [{"status": "ok", "seq": n} for n in range(ROWS)]
        # a look-up has what was acknowledged before it, once the queries have passed it on
        while server.rows("SELECT n FROM gone WHERE id = 7;") != [[ROWS - 93]]:
            assert httpx.get(f"{server.url}/healthcheck", timeout=TIMEOUT_S).json()["isHealthy"]
        assert server.rows("SELECT n FROM gone WHERE id = 8;") == [[ROWS - 92]]
        assert server.rows("SELECT n FROM gone WHERE id = 1000;") == []
        # the second is known but for its values
        for n in (1, 2):
            assert server.execute(f"INSERT INTO t VALUES (1000, {n});") == []
        while server.rows("SELECT n FROM gone WHERE id = 1000;") != [[2]]:
            assert httpx.get(f"{server.url}/healthcheck", timeout=TIMEOUT_S).json()["isHealthy"]
        if (metrics := httpx.get(f"{server.url}/metrics", timeout=TIMEOUT_S)).status_code == 200:
            figures = metrics.text
            assert 'ksql_spark_view_lag_records{table="GONE"} 0.0' in figures
            assert "ksql_spark_plan_cache_hits_total" in figures
            assert 'ksql_spark_query_state{query_id="CTAS_GONE_' in figures
        body = {"deleteTopicList": ["g.*", "t"]}
        (entity,) = httpx.post(f"{server.url}/ksql/terminate", json=body, timeout=TIMEOUT_S).json()
        assert entity["commandStatus"]["status"] == "SUCCESS"
        assert server.end()[0] == 0
        server.wait_until_alone()
    with ServerProcess(tmp_path) as server:
        server.ready()
        assert server.execute("SHOW QUERIES;")[0]["queries"] == []
        assert server.execute("SHOW TABLES;")[0]["tables"] == []
        topics = {topic["name"] for topic in server.execute("SHOW TOPICS;")[0]["topics"]}
        # t is nobody's sink
        assert topics >= {"t", "kept"} and "gone" not in topics
        assert server.stop()[0] == 0
