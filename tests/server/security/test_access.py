"""Who may send what: authentication, roles, rate limits."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from ksql_spark.authorization import (
    ALL_RIGHTS,
    Rights,
    Role,
    role_for_statement,
)
from ksql_spark.config import Config
from ksql_spark.engine import ResultColumn
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements import RULES
from ksql_spark.server.app import MODULES, create_app
from ksql_spark.server.endpoints import Endpoints
from ksql_spark.server.host import Host
from ksql_spark.server.protocol.http import trusted_proxies
from ksql_spark.server.security import access, authentication, passwords
from ksql_spark.server.security.access import Buckets
from ksql_spark.server.security.authentication import Authenticator, Principal, Refused, Tokens
from ksql_spark.shell.main import main as ksql_spark
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import LiveServer
from tests.waiting import TIMEOUT_S

ENDPOINTS = Endpoints(module.router for module in MODULES)
PASSWORDS = {"rita": "reads", "dora": "develops", "ada": "admin:with:colons"}
ROLES = {"rita": Role.READER, "dora": Role.DEVELOPER, "ada": Role.ADMIN}
#: longer than any test runs
FOREVER_S = 60
SKIPPED = {"/healthcheck", "/v1/metadata", "/v1/metadata/id", "/chc/live", "/chc/ready"}


def basic(name: str, password: str | None = None) -> dict[str, str]:
    text = f"{name}:{PASSWORDS[name] if password is None else password}"
    return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(passwords, "_N", 2**4)  # the cost is not what is tested
    lines = [f"{n}:{passwords.hash_password(p)}:{ROLES[n].name.lower()}" for n, p in PASSWORDS.items()]
    file = tmp_path / "users"
    file.write_text("\n".join(["# a comment", "", *lines]), encoding="utf-8")
    return file


@pytest.fixture
def client(host: Host, users: Path) -> AppClient:
    return AppClient(host, **{"ksql.server.auth.users.file": str(users)})


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One wrong password of each user is too many."""
    monkeypatch.setattr(access, "MAX_REFUSED", 0.001)


def endpoints() -> Iterator[tuple[str, str]]:
    """Method and path of every route, WebSockets as GET."""
    yield "GET", "/openapi.json"
    for module in MODULES:
        for route in module.router.routes:
            methods = route.methods if isinstance(route, APIRoute) else {"GET"}
            for method in methods or ():
                yield method, str(route.path).split("/{")[0] or "/"  # type: ignore[attr-defined]


def test_every_endpoint_has_a_role() -> None:
    public = {"/chc/live", "/chc/ready", "/", "/console"}
    named = {path for _, path in endpoints()} - public
    assert named | public == ENDPOINTS.paths()
    assert all(ENDPOINTS.rules(path).role is not None for path in named)


@pytest.mark.parametrize(("method", "path"), sorted(set(endpoints())))
def test_nobody_gets_anywhere_without_credentials(
    client: AppClient, engine: FakeEngine, method: str, path: str
) -> None:
    for headers in ({}, basic("rita", "wrong"), basic("ada", ""), {"Authorization": "Bearer x"}):
        response = client._request(method, path, headers=headers, json={"ksql": "SHOW TOPICS;"})
        if path in SKIPPED:
            assert response.status_code == 200
            continue
        if ENDPOINTS.rules(path).role is None:
            assert response.status_code in (307, 404), path
            continue
        assert response.status_code == 401, path
        assert response.json()["error_code"] == 40100
        assert response.headers["www-authenticate"].startswith("Basic")
    assert engine.requests == [] and engine.terminated is None


@pytest.mark.parametrize(("method", "path"), sorted(set(endpoints())))
@pytest.mark.parametrize("name", sorted(ROLES))
def test_each_role_gets_where_it_may(
    client: AppClient, engine: FakeEngine, method: str, path: str, name: str
) -> None:
    response = client._request(method, path, headers=basic(name), content=b"{}")
    least = ENDPOINTS.rules(path).role
    if path in SKIPPED or least is None or ROLES[name] >= least:
        assert response.status_code not in (401, 403), path
    else:
        assert (response.status_code, response.json()["error_code"]) == (403, 40300)
        assert engine.terminated is None


def test_clients_learn_their_rights(client: AppClient, engine: FakeEngine) -> None:
    found = {name: client.get("/rights", headers=basic(name)).json() for name in sorted(ROLES)}
    assert found["rita"] == {"user": "rita", "role": "reader", "grants": []}
    assert [one["role"] for one in found.values()] == ["admin", "developer", "reader"]


def test_the_engine_gets_the_role(client: AppClient, engine: FakeEngine) -> None:
    for name in sorted(ROLES):
        client.post("/ksql", json={"ksql": "SHOW TOPICS;"}, headers=basic(name))
        client.post("/query", json={"ksql": "PRINT x;"}, headers=basic(name))
        client.post("/query-stream", json={"sql": "SELECT 1;"}, headers=basic(name))
    assert [str(request.rights) for request in engine.requests] == (
        ["admin"] * 3 + ["developer"] * 3 + ["reader"] * 3
    )


def test_websockets_too(host: Host, engine: FakeEngine, users: Path) -> None:
    client = TestClient(create_app(host, Config({"ksql.server.auth.users.file": str(users)})))
    url = f"/ws/query?request={json.dumps({'ksql': 'SELECT 1;'})}"
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(url):
        pass
    assert engine.requests == []
    with client.websocket_connect(url, headers=basic("rita")) as socket:
        socket.receive_text()
    assert engine.requests[0].rights == Rights(Role.READER)


def test_without_authentication_everybody_has_the_rights_of_an_admin(host: Host) -> None:
    assert AppClient(host).get("/rights").json() == {"user": "anonymous", "role": "admin", "grants": []}


#: who has roles for some sources only
LIMITED = {"lena": "reader:orders_*", "dave": "developer:dave_* reader:`Quoted` reader:'raw.*'"}


@pytest.fixture
def limited(host: Host, users: Path) -> AppClient:
    lines = [f"{name}:{passwords.hash_password('x')}:{roles}" for name, roles in LIMITED.items()]
    users.write_text("\n".join([users.read_text(), *lines]), encoding="utf-8")
    return AppClient(host, **{"ksql.server.auth.users.file": str(users)})


@pytest.mark.parametrize(("method", "path"), sorted(set(endpoints())))
@pytest.mark.parametrize("name", sorted(LIMITED))
def test_who_has_roles_for_some_sources_gets_only_where_single_sources_are_asked_for(
    limited: AppClient, engine: FakeEngine, method: str, path: str, name: str
) -> None:
    body = {"ksql": "SHOW TOPICS;", "sql": "SELECT 1;", "target": "RIDES", "queryId": "q"}
    response = limited._request(method, path, headers=basic(name, "x"), json=body)
    highest = Rights.of(LIMITED[name].split()).highest
    assert highest is not None
    rules = ENDPOINTS.rules(path)
    if path in SKIPPED or rules.role is None or (rules.takes_patterns and highest >= rules.role):
        assert response.status_code not in (401, 403), path
    else:
        assert (response.status_code, response.json()["error_code"]) == (403, 40300), path
    # what gets to the engine has the rights with it
    assert all(request.rights == Rights.of(LIMITED[name].split()) for request in engine.requests)
    if path in ("/ksql", "/query", "/query-stream"):
        assert len(engine.requests) == 1
    if path == "/inserts-stream" and name == "dave":
        assert engine.inserter_rights == Rights.of(LIMITED[name].split())


def test_why_queries_fail_is_only_for_who_may_see_all(limited: AppClient, engine: FakeEngine) -> None:
    """The reason may contain a record's value, and /healthcheck needs no authentication."""
    engine.failures = {"CSAS_1": "a secret value"}
    pattern = next(name for name, roles in LIMITED.items() if Rights.of(roles.split()).role is None)
    for headers in ({}, basic("nobody", "x"), basic("ada", "wrong"), basic(pattern, "x")):
        answer = limited.get("/healthcheck", headers=headers)
        queries = answer.json()["details"]["queries"]
        assert answer.status_code == 200 and queries["isHealthy"] is False
        assert "CSAS_1" not in answer.text and "secret" not in answer.text
    for name, password in PASSWORDS.items():
        found = limited.get("/healthcheck", headers=basic(name, password)).json()["details"]["queries"]
        assert (found["inError"], found["reasons"]) == (["CSAS_1"], engine.failures)


def test_endpoints_that_show_all_sources_take_no_patterns() -> None:
    shown = {path for _, path in endpoints() if not ENDPOINTS.rules(path).takes_patterns} - {
        "/chc/live",
        "/chc/ready",
        "/",
        "/console",
    }
    assert shown == {
        "/cluster/drain", "/clusterStatus", "/connector-plugins", "/connectors", "/heartbeat",
        "/ksql/terminate", "/lag", "/metadata",
        "/metadata/key", "/metrics", "/state/rebuild", "/status",
    }  # fmt: skip


def test_look_ups_and_websockets_get_the_rights(host: Host, engine: FakeEngine, limited: AppClient) -> None:
    asked: list[Any] = []
    engine.look_up = lambda *given: asked.append(given[-1])  # type: ignore[method-assign,func-returns-value]
    limited.post("/query-stream", json={"sql": "SELECT 1;"}, headers=basic("lena", "x"))
    limited.post("/query", json={"ksql": "SELECT 1;"}, headers=basic("lena", "x"))
    assert asked == [Rights.of(["reader:orders_*"])] * 2


def test_push_queries_belong_to_their_users(host: Host, engine: FakeEngine, client: AppClient) -> None:
    client.post("/query-stream", json={"sql": "SELECT 1;"}, headers=basic("rita"))
    client.post("/query", json={"ksql": "SELECT 1;"}, headers=basic("dora"))
    assert [request.user for request in engine.requests] == ["rita", "dora"]
    client.post("/close-query", json={"queryId": "q"}, headers=basic("rita"))
    assert engine.closed_by == (Rights(Role.READER), "rita")


def test_what_statements_need() -> None:
    least = {rule.node.__name__: role_for_statement(rule.node).name for rule in RULES}
    assert {name for name, role in least.items() if role == "ADMIN"} == {
        "AlterSystem", "CreateConnector", "CreateFunction", "CreateSink", "CreateSinkAs", "DropConnector",
        "DropFunction", "DropSink",
    }  # fmt: skip
    assert {name for name, role in least.items() if role == "READER"} == {
        "DefineVariable", "DescribeConnector", "DescribeEvolution", "DescribeFunction", "DescribeSink",
        "DescribeSource", "DescribeSources", "Explain", "ExplainFreshness", "ExplainRecord", "ExplainRow",
        "SetProperty", "Show", "ShowVersions", "UndefineVariable", "UnsetProperty",
    } | ({"Query"} if "Query" in least else set())  # fmt: skip


def test_without_authentication_everybody_is_an_admin(host: Host, engine: FakeEngine) -> None:
    assert AppClient(host).post("/ksql/terminate", json={}).status_code == 200
    AppClient(host).post("/ksql", json={"ksql": "SHOW TOPICS;"})
    assert engine.requests[-1].rights == ALL_RIGHTS


@pytest.mark.parametrize(
    "line",
    [
        "rita",
        "rita:plain:reader",
        "rita:scrypt$16$8$1$AA==$AA==:",
        "rita:scrypt$16$8$1$AA==$AA==:admin:x_*",
        "rita:scrypt$1$2:reader",
        "rita:scrypt$999999999$8$1$AA==$AA==:reader",
    ],
)
def test_a_users_file_that_is_wrong_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "users"
    file.write_text(line)
    with pytest.raises(KsqlError, match="line 1"):
        Authenticator(Config({"ksql.server.auth.users.file": str(file)}))
    with pytest.raises(KsqlError, match="No such file"):
        Authenticator(Config({"ksql.server.auth.users.file": str(tmp_path / "none")}))


def test_the_command_writes_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("secret\r\n"))
    assert ksql_spark(["password", "zoe", "reader", "developer:zoe_*"]) == 0
    line = capsys.readouterr().out
    assert "secret" not in line
    file = tmp_path / "users"
    file.write_text(line)
    authenticator = Authenticator(Config({"ksql.server.auth.users.file": str(file)}))
    header = basic("zoe", "secret")["Authorization"]
    assert authenticator.remembered(header) is None
    assert authenticator.principal(header).rights == Rights.of(["reader", "developer:zoe_*"])
    assert authenticator.remembered(header) == authenticator.principal(header)
    with pytest.raises(Refused):
        authenticator.principal(basic("zoe", "secret ")["Authorization"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["zoe", "king"], "king"),
        (["zoe"], "ROLE"),
        (["z:oe", "reader"], "a name must not be empty or contain a colon"),
        ([], "NAME"),
    ],
)
def test_the_command_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        ksql_spark(["password", *arguments])
    assert reason in capsys.readouterr().err


def test_the_command_asks_twice(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed = iter(["secret", "secrte"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda prompt="": next(typed))
    with pytest.raises(SystemExit, match="2"):
        ksql_spark(["password", "zoe", "reader"])
    assert "do not match" in capsys.readouterr().err


# ---- tokens ----------------------------------------------------------------------------------------------


@pytest.fixture
def key() -> ECKey:
    return ECKey.generate_key("P-256", {"kid": "one"})


@pytest.fixture
def tokens(tmp_path: Path, key: ECKey) -> Tokens:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(KeySet([key]).as_dict(private=False)))
    return Tokens(
        Config(
            {
                "ksql.server.auth.jwks": str(file),
                "ksql.server.auth.jwt.issuer": "us",
                "ksql.server.auth.jwt.audience": "ksql",
            }
        )
    )


def token(key: Any, algorithm: str = "ES256", **claims: Any) -> str:
    given = {
        "sub": "tom", "roles": ["x", "developer"], "iss": "us", "aud": ["other", "ksql"],
        "exp": int(time.time()) + 600,
    }  # fmt: skip
    kept = {name: value for name, value in {**given, **claims}.items() if value is not None}
    return jwt.encode({"alg": algorithm, "kid": "one"}, kept, key, algorithms=[algorithm])


def test_a_token_names_a_user_and_a_role(tokens: Tokens, key: ECKey) -> None:
    principal, expires = tokens.principal(token(key))
    assert (principal.name, principal.rights) == ("tom", Rights(Role.DEVELOPER))
    assert 0 < expires - time.time() <= 600
    assert tokens.principal(token(key, roles="reader admin"))[0].rights == ALL_RIGHTS
    limited = ["offline_access", "realm:admin", "reader", "developer:tom_*", "admin:x", "reader:"]
    assert tokens.principal(token(key, roles=limited))[0].rights == Rights.of(["reader", "developer:tom_*"])


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1}, {"exp": None}, {"iss": "them"}, {"iss": None}, {"aud": "other"}, {"aud": None},
        {"roles": ["king"]}, {"roles": None}, {"sub": None}, {"sub": 5}, {"nbf": 32503680000},
        *({"exp": number} for number in (-1, True, "1", [1], 10**309, float("nan"), float("inf"))),
        *({"nbf": number} for number in (10**309, float("nan"), float("inf"), "1")),
        *({"iat": number} for number in (10**309, float("nan"), float("inf"), "1")),
    ],
)  # fmt: skip
def test_claims_that_are_refused(tokens: Tokens, key: ECKey, claims: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        tokens.principal(token(key, **claims))


def nested(depth: int) -> str:
    """A part of a token, in base64: JSON within JSON."""
    return base64.urlsafe_b64encode(b'{"alg":' + b"[" * depth).decode().rstrip("=")


def test_tokens_that_cannot_be_read_are_answered_with_401_and_counted(
    once: None, host: Host, key: ECKey, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(KeySet([key]).as_dict(private=False)))
    client = AppClient(host, **{"ksql.server.auth.jwks": str(file)})
    good = token(key)
    for bad in (token(key, exp=10**309), f"{nested(100_000)}.{good.split('.', 1)[1]}"):
        answers = [client.get("/info", headers={"Authorization": f"Bearer {bad}"}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [401, 429]
        assert "was rejected" in answers[0].json()["message"]
        assert client.get("/info", headers={"Authorization": f"Bearer {good}"}).status_code == 200


@pytest.mark.parametrize("path", ["/query-stream", "/ws/query"])
def test_a_query_ends_when_its_token_expires(
    engine: FakeEngine, key: ECKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(authentication, "LEEWAY_S", 1)
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(KeySet([key]).as_dict(private=False)))
    headers = {"Authorization": f"Bearer {token(key, exp=time.time() + 0.5)}"}
    stream = engine.next_stream = FakeStream("PUSH", [ResultColumn("K", "STRING")], ends=False)
    with LiveServer(engine, config=Config({"ksql.server.auth.jwks": str(file)})) as live:
        if path == "/ws/query":
            query = httpx.QueryParams({"request": json.dumps({"ksql": "S EMIT CHANGES;"})})
            url = f"ws://127.0.0.1:{live.port}{path}?{query}"
            with connect(url, additional_headers=headers) as client, pytest.raises(ConnectionClosed):
                while True:
                    client.recv(timeout=FOREVER_S)
        else:
            with (
                httpx.stream(
                    "POST", f"{live.url}{path}", json={"sql": "S"}, headers=headers, timeout=FOREVER_S
                ) as response,
                pytest.raises(httpx.RemoteProtocolError),
            ):
                for _ in response.iter_lines():
                    pass
        assert stream.closed.wait(FOREVER_S)


def test_signatures_that_are_refused(tokens: Tokens, key: ECKey) -> None:
    good = token(key)
    head, body, signature = good.split(".")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    # the public key as the secret of a symmetric signature
    secret = OctKey.import_key(json.dumps(key.as_dict(private=False)))
    for bad in (
        token(ECKey.generate_key("P-256", {"kid": "one"})),
        f"{unsigned}.{body}.",
        f"{head}.{body}.{signature[::-1]}",
        token(secret, "HS256"),
        "",
        "x.y.z",
    ):
        with pytest.raises(Refused):
            tokens.principal(bad)


def test_keys_come_by_https_only() -> None:
    with pytest.raises(KsqlError, match="over https"):
        Tokens(Config({"ksql.server.auth.jwks": "http://keys.example/jwks"}))


# ---- how many --------------------------------------------------------------------------------------------


def test_a_bucket_fills_steadily(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(access.time, "monotonic", lambda: now)
    buckets = Buckets(2)
    assert [buckets.wait_s("a") for _ in range(3)] == [0, 0, 0.5]
    assert buckets.wait_s("b") == 0
    now += 0.5
    assert [buckets.wait_s("a") for _ in range(2)] == [0, 0.5]
    now += 1000
    assert [buckets.wait_s("a") for _ in range(3)] == [0, 0, 0.5]


def test_too_many_requests_are_told_when_to_come_again(host: Host, engine: FakeEngine) -> None:
    client = AppClient(host, **{"ksql.server.max.requests.per.second": 0.001})
    body = {"ksql": "SHOW TOPICS;"}
    assert client.post("/ksql", json=body).status_code == 200
    response = client.post("/ksql", json=body)
    assert (response.status_code, response.json()["error_code"]) == (429, 42900)
    assert 990 <= int(response.headers["retry-after"]) <= 1000
    assert len(engine.requests) == 1
    assert client.get("/chc/live").status_code == 200


def test_guessing_passwords_is_slow(client: AppClient, engine: FakeEngine) -> None:
    codes = [client.get("/info", headers=basic("ada", f"guess {n}")).status_code for n in range(12)]
    assert codes[:5] == [401] * 5 and 429 in codes
    assert client.get("/info", headers=basic("ada")).status_code == 429


def test_guesses_of_one_user_refuse_no_other(once: None, client: AppClient) -> None:
    for headers in [basic("ada", "guess"), basic("nobody", "guess"), {"Authorization": "Basic %%%"}] * 3:
        client.get("/info", headers=headers)
    assert client.get("/info", headers=basic("ada")).status_code == 429
    assert client.get("/info", headers=basic("rita")).status_code == 200


@pytest.mark.parametrize("name", ["ada", "rita"])
def test_a_password_that_was_right_is_never_refused_for_what_others_try(
    once: None, host: Host, users: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Even if it has to be checked again."""
    monkeypatch.setattr("ksql_spark.server.security.authentication.REMEMBERED_S", -1.0)
    monkeypatch.setattr(access, "MAX_REFUSED_OF_ADDRESS", 0.001)
    client = AppClient(host, **{"ksql.server.auth.users.file": str(users)})
    assert client.get("/info", headers=basic(name)).status_code == 200
    assert [client.get("/info", headers=basic("ada", "guess")).status_code for _ in range(2)] == [401, 429]
    assert client.get("/info", headers=basic(name)).status_code == 200


def test_one_address_may_not_guess_for_many_users(
    host: Host, users: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "MAX_REFUSED_OF_ADDRESS", 3.0)
    client = AppClient(host, **{"ksql.server.auth.users.file": str(users)})
    codes = [client.get("/info", headers=basic(f"user {n}", "x")).status_code for n in range(12)]
    assert codes[:3] == [401] * 3 and codes[-1] == 429


def test_without_credentials_nothing_is_guessed(client: AppClient) -> None:
    for _ in range(50):
        client.get("/info")
    assert client.get("/info", headers=basic("ada")).status_code == 200


def test_a_wrong_password_is_told_from_none(client: AppClient) -> None:
    def message(headers: dict[str, str]) -> str:
        answer = client.get("/info", headers=headers)
        assert answer.status_code == 401
        return str(answer.json()["message"])

    assert message({}) == "This server requires authentication: send a user name and a password."
    wrong = "The user name or password is wrong."
    assert message(basic("ada", "x")) == message(basic("nobody", "x")) == wrong
    assert message({"Authorization": b"Basic \xff\xff"}) == wrong  # type: ignore[dict-item]
    assert message({"Authorization": "Bearer x"}) == "This server only accepts a user name and a password."


# ---- proxies ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proxies", "guesses", "then", "expected"),
    [
        # nobody is believed by default, not even a proxy on this machine
        ([], "203.0.113.1", "203.0.113.2", 429),
        (["192.0.2.1"], "203.0.113.1", "203.0.113.2", 429),
        # who comes by a proxy is told apart from others
        (["127.0.0.1"], "203.0.113.1", "203.0.113.2", 200),
        (["127.0.0.0/8"], "203.0.113.1", "203.0.113.1", 429),
        # what a client says itself is left of what the proxy adds
        (["127.0.0.1"], "198.51.100.1, 203.0.113.1", "198.51.100.2, 203.0.113.1", 429),
        (["127.0.0.1"], "203.0.113.2, 203.0.113.1", "203.0.113.1, 203.0.113.2", 200),
        # one proxy behind another
        (["127.0.0.1", "10.0.0.0/8"], "203.0.113.1, 10.1.2.3", "203.0.113.1", 429),
        (["127.0.0.1", "10.0.0.0/8"], "203.0.113.1, 10.1.2.3", "203.0.113.2, 10.3.2.1", 200),
        (["127.0.0.1", "2001:db8::/32"], "203.0.113.1, 2001:db8::7", "203.0.113.1", 429),
        # as a listener at [::] shows it
        (["127.0.0.1", "10.0.0.0/8"], "203.0.113.1, ::ffff:10.1.2.3", "203.0.113.1", 429),
    ],
)
def test_the_client_is_the_last_address_that_no_trusted_proxy_has(
    once: None, host: Host, users: Path, proxies: list[str], guesses: str, then: str, expected: int
) -> None:
    config = {"ksql.server.auth.users.file": str(users), "ksql.server.trusted.proxies": proxies}
    client = AppClient(host, **config)
    client.get("/info", headers={**basic("ada", "guess"), "X-Forwarded-For": guesses})
    answer = client.get("/info", headers={**basic("ada"), "X-Forwarded-For": then})
    assert answer.status_code == expected


def test_by_default_not_even_this_machine_is_a_proxy(engine: FakeEngine) -> None:
    """uvicorn's own default is another."""
    with LiveServer(engine, config=Config({"ksql.server.max.requests.per.second": 0.001})) as server:
        codes = [
            httpx.get(
                f"{server.url}/info", headers={"X-Forwarded-For": f"203.0.113.{n}"}, timeout=TIMEOUT_S
            ).status_code
            for n in range(2)
        ]
    assert codes == [200, 429]


def test_a_trusted_proxy_says_that_it_was_https(host: Host) -> None:
    """Else a page of the server itself would be one of another origin."""
    headers = {"Origin": "https://server", "X-Forwarded-Proto": "https"}
    assert AppClient(host).get("/info", headers=headers).status_code == 403
    behind = AppClient(host, **{"ksql.server.trusted.proxies": "127.0.0.1"})
    assert behind.get("/info", headers=headers).status_code == 200


@pytest.mark.parametrize("proxy", ["*", "proxy.example", "10.0.0.1/8", "10.0.0.0/33", "1", "::g"])
def test_proxies_are_addresses_or_networks(proxy: str) -> None:
    with pytest.raises(KsqlError, match=r"ksql\.server\.trusted\.proxies.*such as 10\.0\.0\.7"):
        trusted_proxies(Config({"ksql.server.trusted.proxies": proxy}))


def test_guesses_that_come_at_once_are_not_all_tried(
    host: Host, users: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "MAX_REFUSED", 0.001)  # one, and no more for a quarter of an hour
    app = create_app(host, Config({"ksql.server.auth.users.file": str(users)}))

    async def guess_at_once() -> list[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
            guesses = (client.get("/info", headers=basic("ada", f"guess {n}")) for n in range(30))
            return [response.status_code for response in await asyncio.gather(*guesses)]

    codes = asyncio.run(guess_at_once())
    assert set(codes) == {401, 429}
    # what was being tried when the first one failed
    assert codes.count(401) <= access.MAX_CHECKS


def test_logins_of_one_user_that_come_at_once_are_checked_once(
    host: Host, users: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, asked, checked = 30, [0], []
    all_asked = threading.Event()
    principal, remembered = Authenticator.principal, Authenticator.remembered

    def counted(self: Authenticator, header: str | None) -> Principal | None:
        asked[0] += 1
        if asked[0] == requests:
            all_asked.set()
        return remembered(self, header)

    def noted(self: Authenticator, header: str | None) -> Principal:
        assert all_asked.wait(FOREVER_S)
        checked.append(header)
        return principal(self, header)

    monkeypatch.setattr(Authenticator, "remembered", counted)
    monkeypatch.setattr(Authenticator, "principal", noted)
    app = create_app(host, Config({"ksql.server.auth.users.file": str(users)}))

    async def log_in_at_once() -> list[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
            logins = (client.get("/info", headers=basic("ada")) for _ in range(requests))
            return [response.status_code for response in await asyncio.gather(*logins)]

    assert asyncio.run(log_in_at_once()) == [200] * requests
    assert len(checked) <= access.MAX_CHECKS


def test_logins_do_not_wait_until_queries_are_closed(host: Host, users: Path) -> None:
    app = create_app(host, Config({"ksql.server.auth.users.file": str(users)}))
    may_end = threading.Event()

    class Lasting(FakeStream):
        def close(self) -> None:
            may_end.wait(FOREVER_S)
            super().close()

    streams = [Lasting("PUSH", []) for _ in range(50)]

    async def run() -> int:
        closing = [asyncio.create_task(host.close(stream)) for stream in streams]
        await asyncio.sleep(0)  # each of them begins
        try:
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://server"
            ) as client:
                asked = client.get("/info", headers=basic("rita"))
                return (await asyncio.wait_for(asked, FOREVER_S / 3)).status_code
        finally:
            may_end.set()
            await asyncio.gather(*closing)

    assert asyncio.run(run()) == 200
    assert all(stream.closed.is_set() for stream in streams)
