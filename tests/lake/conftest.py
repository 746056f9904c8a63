"""Servers that have tables, each one for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.catalog import load_catalog

from tests.integration.s3_server import S3Server
from tests.lake.rest_catalog import rest_catalog
from tests.postgres import Postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: Postgres) -> Postgres:
    """A database without tables."""
    postgres_server.sql("DROP SCHEMA IF EXISTS public, shop CASCADE")
    postgres_server.sql("CREATE SCHEMA public")
    return postgres_server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with S3Server() as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """An object store that this process uses."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture(scope="session")
def catalog_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with rest_catalog(tmp_path_factory.mktemp("warehouse")) as url:
        yield url


@pytest.fixture
def catalog_url(catalog_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A REST catalog that this process knows as ``shop``; it needs Java."""
    # what PYICEBERG_CATALOG__SHOP__URI would say to another process
    monkeypatch.setattr(
        "ksql_spark.lake.iceberg.load_catalog", lambda name: load_catalog(name, uri=catalog_server)
    )
    return catalog_server
