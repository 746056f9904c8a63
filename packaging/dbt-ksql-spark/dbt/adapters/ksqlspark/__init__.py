"""dbt's adapter ``ksqlspark``."""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.ksqlspark.connections import KsqlCredentials
from dbt.adapters.ksqlspark.impl import KsqlSparkAdapter
from dbt.include import ksqlspark

Plugin = AdapterPlugin(
    adapter=KsqlSparkAdapter,  # type: ignore[arg-type]
    credentials=KsqlCredentials,
    include_path=ksqlspark.PACKAGE_PATH,
)
