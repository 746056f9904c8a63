"""Terminates all servers of a service id (POST /ksql/terminate), as a command of the log."""

from __future__ import annotations

from ksql_spark.metastore.store import MetaStore
from ksql_spark.statements.base.context import Logged, Outcome, Services, Starts

COMMAND_ID = "cluster/TerminateCluster/terminate"
STATEMENT = "TERMINATE CLUSTER"


def terminate(services: Services) -> Logged:
    """End all queries for good; nothing is left in the metastore."""

    def apply(_: Starts) -> Outcome:
        for query in services.queries.all():
            services.queries.drop(query)
        services.catalog.metastore = MetaStore()
        return Outcome("Cluster terminated.")

    return Logged(COMMAND_ID, apply, statement=STATEMENT)
