"""What we borrow of PySpark's and uvicorn's private parts is still there, and named in one place each.

A failure after an upgrade says which member has gone, or has other parameters.
tests/jvm/test_borrowed.py does the same for Spark's and Hadoop's classes.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = sorted((ROOT / "ksql_spark").rglob("*.py")) + [
    path for folder in ("grammar", "server", "shell") for path in sorted((ROOT / folder).rglob("*.py"))
]
BRIDGE = ROOT / "ksql_spark" / "spark" / "jvm.py"
PROTOCOL = ROOT / "server" / "protocol"

#: class or function -> its members that the bridge uses: methods with their parameters, attributes, and texts
PYSPARK = {
    "pyspark:SparkContext": (
        "_ensure_initialized(instance,gateway,conf) _gateway _jvm _jsc _active_spark_context"
    ),
    "pyspark.sql:SparkSession": "_jvm _jsparkSession _instantiatedSession _activeSession",
    "pyspark.sql:SQLContext": "_instantiatedContext",
    "pyspark.sql.classic.dataframe:DataFrame": "__init__(self,jdf,sql_ctx) _jdf",
    "pyspark.sql.streaming.query:StreamingQuery": "_jsq",
    "pyspark.errors.exceptions.captured:CapturedException": "_cause _desc _stackTrace",
    "pyspark.java_gateway:launch_gateway": (
        "PYSPARK_GATEWAY_PORT PYSPARK_GATEWAY_SECRET _PYSPARK_DRIVER_CONN_INFO_PATH"
    ),
    "py4j.protocol:Py4JJavaError": "java_exception",
}

#: parameters of each of uvicorn's protocols
_MADE = "__init__(self,config,server_state,app_state,_loop)"
_CONNECTION = f"{_MADE} app loop transport connections"
#: as above, for server/protocol
UVICORN = {
    "uvicorn.protocols.http.auto_zttp_impl:AutoZttpProtocol": (
        f"{_MADE} _switch(self,http2,initial_data) config server_state app_state loop transport connections"
    ),
    "uvicorn.protocols.http.auto:AutoHTTPProtocol": f"{_CONNECTION} cycle handle_websocket_upgrade",
    "uvicorn.protocols.http.zttp_impl:ZttpProtocol": (
        f"{_CONNECTION} cycle handle_websocket_upgrade(self,event)"
    ),
    "uvicorn.protocols.http.zttp_impl:RequestResponseCycle": "response_started response_complete",
    "uvicorn.protocols.http.zttp_h2_impl:ZttpH2Protocol": (
        f"{_CONNECTION} cycles conn flush(self) handle_request(self,event)"
    ),
    "uvicorn.protocols.http.zttp_h2_impl:RequestResponseCycle": "response_started more_body message_event",
    "uvicorn.protocols.websockets.websockets_sansio_impl:WebSocketsSansIOProtocol": (
        f"{_CONNECTION} conn handshake_initiated handshake_complete close_sent close_timeout "
        "send(self,message) handle_text(self,event) "
        "handle_bytes(self,event) handle_cont(self,event) handle_ping(self) handle_pong(self,event)"
    ),
    # of server/running.py
    "uvicorn:Server": (
        "startup(self,sockets) shutdown(self,sockets) capture_signals(self) servers started server_state"
    ),
    "uvicorn:Config": "http_protocol_class",
}


def _members(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(owner, member) for owner, listed in table.items() for member in listed.split()]


def _names(table: dict[str, str]) -> set[str]:
    return {member.split("(")[0] for _, member in _members(table)}


def _found(name: str) -> Any:
    module, _, member = name.partition(":")
    if "zttp" in module:
        pytest.importorskip("zttp", reason="there is no HTTP/2 without zttp")
    return getattr(importlib.import_module(module), member)


def _codes(thing: Any) -> Iterator[types.CodeType]:
    """The code of a function, of a class with those it derives from, or within another code."""
    if isinstance(thing, type):
        for one in (value for base in thing.__mro__ for value in vars(base).values()):
            yield from _codes(getattr(one, "fget", one))
    elif isinstance(code := getattr(inspect.unwrap(thing) if callable(thing) else thing, "__code__", thing),
                    types.CodeType):  # fmt: skip
        yield code
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from _codes(constant)


@pytest.mark.parametrize("owner, member", _members(PYSPARK) + _members(UVICORN))
def test_a_borrowed_member_is_there(owner: str, member: str) -> None:
    found, (name, *parameters) = _found(owner), re.findall(r"\w+", member)
    if parameters:
        got = list(inspect.signature(getattr(found, name)).parameters)
        assert got[: len(parameters)] == parameters, f"{owner} has another {name}"
    else:
        # most attributes exist in instances only: the code of the class names them
        named = {text for code in _codes(found) for text in (*code.co_names, *code.co_consts)}
        assert hasattr(found, name) or name in named, f"{owner} has no {name} any more"


def _foreign(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each private attribute of something other than ``self`` and ``cls``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
            name = str(getattr(node.args[1], "value", ""))
            if re.match(r"_[^_]", name):
                yield node.lineno, name


def test_only_the_bridge_uses_private_members_of_pyspark() -> None:
    names = _names(PYSPARK)
    for path in PRODUCT:
        text = path.read_text(encoding="utf-8")
        if not re.search(rf"\b(?:_j\w*|{'|'.join(names)})\b", text):
            continue
        for line, name in _foreign(ast.parse(text)):
            if path == BRIDGE:
                assert name in names, f"{name} ({path.name}:{line}) is not in the table of borrowed members"
            else:
                assert name not in names and not name.startswith("_j"), f"{path}:{line}: {name}"


def test_only_the_protocols_name_those_of_uvicorn() -> None:
    named = {}
    for path in PRODUCT:
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "uvicorn.protocols" in text else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("uvicorn.protocols"):
                named |= {f"{node.module}:{one.name}": path for one in node.names}
    assert {path.resolve().parent for path in named.values()} == {PROTOCOL}
    assert named.keys() <= UVICORN.keys()


def test_what_the_protocols_use_of_uvicorn_is_in_the_table() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PROTOCOL.glob("*.py"))]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    ours, used = set[str](), set[str]()
    for node in (found for one in classes for found in ast.walk(one)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            (ours if isinstance(node.ctx, ast.Store) else used).add(node.attr)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
            used |= {node.attr} if getattr(node.value.func, "id", "") == "super" else set()
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            ours.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            ours.add(node.target.id)
        elif isinstance(node, ast.Assign):
            ours |= {name.id for to in node.targets for name in ast.walk(to) if isinstance(name, ast.Name)}
    inherited = set(dir(asyncio.Protocol))
    protocols = (_found(owner) for owner in UVICORN if owner.startswith("uvicorn.protocols"))
    overridden = {name for protocol in protocols for name in dir(protocol)}
    assert (used - ours - inherited - {"limits"}) | (ours & overridden - inherited) <= _names(UVICORN)
