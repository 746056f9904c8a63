"""The composition root: builds the parts of an engine from a configuration, starts them and stops them.

``composition`` defines the order; each other module builds one subsystem. Nothing else creates a broker, a
Spark process, or the services of a running engine.
"""

from ksql_spark.engine.bootstrap.composition import Bootstrap, Parts
from ksql_spark.engine.bootstrap.connect import connect_cluster
from ksql_spark.engine.bootstrap.lifecycle import Report
from ksql_spark.engine.bootstrap.registry import registry_settings, schema_registry

__all__ = ["Bootstrap", "Parts", "Report", "connect_cluster", "registry_settings", "schema_registry"]
