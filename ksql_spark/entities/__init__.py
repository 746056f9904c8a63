"""The engine's answers: a class for each kind of entity (reference §7.3) and each body about the server.

Names follow ksqlDB. ``wire`` converts them to JSON for the server; nothing else needs it.
"""

from ksql_spark.entities.base import Body, Entity, KsqlWarning

__all__ = ["Body", "Entity", "KsqlWarning"]
