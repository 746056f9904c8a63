"""Kafka Connect: the client of its REST API, and the port through which statements reach a cluster."""

from __future__ import annotations

from ksql_spark.kafka_connect.client import ConnectClient
from ksql_spark.kafka_connect.cluster import ConfiguredConnect, ConnectCluster, NoConnect

__all__ = ["ConfiguredConnect", "ConnectClient", "ConnectCluster", "NoConnect"]
