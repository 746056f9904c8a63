"""Every property in one typed table, and its values from the file, the environment and requests.

Reference §9. Nothing else reads properties files or KSQL_* variables; all other code reads a Config.
"""

from ksql_spark.config.files import environment_properties, parse_properties, read_properties
from ksql_spark.config.kafka_settings import CLIENTS_MAY_SET, Client
from ksql_spark.config.names import canonical, find, is_valid_property, warning
from ksql_spark.config.property import Property
from ksql_spark.config.table import PROPERTIES
from ksql_spark.config.values import Config, CurrentConfig, default_data_dir, share_of

__all__ = [
    "CLIENTS_MAY_SET",
    "PROPERTIES",
    "Client",
    "Config",
    "CurrentConfig",
    "Property",
    "canonical",
    "default_data_dir",
    "environment_properties",
    "find",
    "is_valid_property",
    "parse_properties",
    "read_properties",
    "share_of",
    "warning",
]
