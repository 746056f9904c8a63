"""Binding: syntax trees to typed plans; names, types and rules (reference §2, §3). Pure: no Spark, no Kafka.

The functions only read the metastore. Schemas come through a port (schema_registry.SchemaRegistry). Errors
are KsqlErrors with their position in the statement and, where possible, a hint.
"""

from ksql_spark.analyzer.base.scope import Scope
from ksql_spark.analyzer.definitions.in_place import appended, fitted
from ksql_spark.analyzer.definitions.indexes import bind_create_index
from ksql_spark.analyzer.definitions.inference import infer_columns, refreshed
from ksql_spark.analyzer.definitions.new_versions import (
    bind_evolution,
    check_evolution,
    check_written_rows,
    evolve_of,
)
from ksql_spark.analyzer.definitions.origins import bind_origin
from ksql_spark.analyzer.definitions.persistent import bind_persistent, is_stateless, kind_of_result
from ksql_spark.analyzer.definitions.replacing import check_query_replacement
from ksql_spark.analyzer.definitions.sinks import bind_create_sink
from ksql_spark.analyzer.definitions.sources import bind_alter_source, bind_create_source, check_free
from ksql_spark.analyzer.expressions.binding import bind_expression, bind_predicate
from ksql_spark.analyzer.expressions.type_nodes import bind_type
from ksql_spark.analyzer.reads.binding import bind_read
from ksql_spark.analyzer.reads.past import bind_verification, moment_ms
from ksql_spark.analyzer.reads.views import check_view, view_columns
from ksql_spark.analyzer.relations.joins import mirrored_withins
from ksql_spark.analyzer.relations.query_log import topic_of
from ksql_spark.analyzer.rows.forgetting import Forgetting, bind_forgetting
from ksql_spark.analyzer.rows.inserts import BoundInsert, BoundRow, bind_insert_target, bind_insert_values
from ksql_spark.analyzer.rows.pairs import Pairs, bind_pairs, is_join_of_streams
from ksql_spark.analyzer.rows.recomputing import (
    Recomputation,
    bind_recomputation,
    bind_selection,
    is_recomputable,
    other_way,
)
from ksql_spark.analyzer.rows.row_changes import BoundChange, bind_row_change
from ksql_spark.analyzer.rows.tracing import (
    bind_effects,
    bind_traces,
    traces_of_all,
    traces_of_rows,
    windows_of,
)
from ksql_spark.analyzer.select.queries import bind_query

__all__ = [
    "BoundChange",
    "BoundInsert",
    "BoundRow",
    "Forgetting",
    "Pairs",
    "Recomputation",
    "Scope",
    "appended",
    "bind_alter_source",
    "bind_create_index",
    "bind_create_sink",
    "bind_create_source",
    "bind_effects",
    "bind_evolution",
    "bind_expression",
    "bind_forgetting",
    "bind_insert_target",
    "bind_insert_values",
    "bind_origin",
    "bind_pairs",
    "bind_persistent",
    "bind_predicate",
    "bind_query",
    "bind_read",
    "bind_recomputation",
    "bind_row_change",
    "bind_selection",
    "bind_traces",
    "bind_type",
    "bind_verification",
    "check_evolution",
    "check_free",
    "check_query_replacement",
    "check_view",
    "check_written_rows",
    "evolve_of",
    "fitted",
    "infer_columns",
    "is_join_of_streams",
    "is_recomputable",
    "is_stateless",
    "kind_of_result",
    "mirrored_withins",
    "moment_ms",
    "other_way",
    "refreshed",
    "topic_of",
    "traces_of_all",
    "traces_of_rows",
    "view_columns",
    "windows_of",
]
