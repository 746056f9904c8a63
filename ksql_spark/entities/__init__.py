"""The engine's answers: a class for each kind of entity (reference §7.3) and each body about the server.

They are named as ksqlDB names them. ``wire`` makes JSON of them, for the server; nobody else needs it.
"""

from ksql_spark.entities.base import Body, Entity, KsqlWarning

__all__ = ["Body", "Entity", "KsqlWarning"]
