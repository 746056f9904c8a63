{# Models that run on. Each returns the relation that it has made; what is as it should be is left alone. #}

{% macro ksqlspark__with(properties) -%}
  {%- set given = properties.items() | rejectattr(1, "none") | list -%}
  {%- if given %} WITH (
  {%- for name, value in given %}{{ name }} = {% if value is boolean or value is number %}{{ value | lower }}{% else %}'{{ value | replace("'", "''") }}'{% endif %}{{ ", " if not loop.last }}{% endfor -%}
  ){%- endif -%}
{%- endmacro %}

{% macro ksqlspark__create_as(kind, sql, properties) -%}
  CREATE OR REPLACE {{ kind }} {{ this }}{{ ksqlspark__with(properties) }} AS
{{ sql.strip().rstrip(";") }}
;
{%- endmacro %}

{% macro ksqlspark__make(kind, statement, replacing) %}
  {%- set target = this.incorporate(type="view" if kind == "STREAM" else "table") -%}
  {{ run_hooks(pre_hooks) }}
  {%- set message = adapter.create(target, kind, statement, replacing, should_full_refresh()) -%}
  {% call noop_statement("main", message) %}{{ statement }}{% endcall %}
  {{ run_hooks(post_hooks) }}
  {{ return({"relations": [target]}) }}
{% endmacro %}

{% macro ksqlspark__make_query(kind, sql) %}
  {%- set properties = config.get("with", {}) -%}
  {%- set evolve = config.get("evolve") -%}
  {%- set statement = ksqlspark__create_as(kind, sql, properties) -%}
  {%- set replacing = ksqlspark__create_as(kind, sql, dict(properties, EVOLVE=evolve)) if evolve else statement -%}
  {{ return(ksqlspark__make(kind, statement, replacing)) }}
{% endmacro %}

{% materialization stream, adapter="ksqlspark" %}
  {{ return(ksqlspark__make_query("STREAM", sql)) }}
{% endmaterialization %}

{% materialization table, adapter="ksqlspark" %}
  {{ return(ksqlspark__make_query("TABLE", sql)) }}
{% endmaterialization %}

{# A stream or table over a topic: the model's text is its columns. `queryable` makes a table that can be looked up and takes no inserts. #}
{% materialization source, adapter="ksqlspark" %}
  {%- set kind = config.get("kind", "stream") | upper -%}
  {%- set is_queryable = config.get("queryable", false) -%}
  {%- set verb = "CREATE SOURCE TABLE" if is_queryable else "CREATE OR REPLACE " ~ kind -%}
  {%- set statement -%}
    {{ verb }} {{ this }} (
{{ sql.strip() }}
){{ ksqlspark__with(config.get("with", {})) }};
  {%- endset -%}
  {{ return(ksqlspark__make(kind, statement, none if is_queryable else statement)) }}
{% endmaterialization %}

{# A sink of the lake: the model's text is the name of what it reads, or SELECT * FROM it. #}
{% materialization sink, adapter="ksqlspark" %}
  {{ run_hooks(pre_hooks) }}
  {%- set source = modules.re.sub("(?is)^\s*select\s+\*\s+from\s+", "", sql).strip().rstrip(";") -%}
  {%- set statement -%}
    CREATE SINK {{ this }} FROM {{ source }}
{{ ksqlspark__with(config.get("with", {})) }};
  {%- endset -%}
  {%- set message = adapter.create_sink(this.identifier, source, statement) -%}
  {% call noop_statement("main", message) %}{{ statement }}{% endcall %}
  {{ run_hooks(post_hooks) }}
  {{ return({"relations": []}) }}
{% endmaterialization %}

{% materialization seed, adapter="ksqlspark" %}
  {%- set rows = load_agate_table() -%}
  {%- do store_result("agate_table", response="OK", agate_table=rows) -%}
  {{ run_hooks(pre_hooks) }}
  {%- set given = config.get("column_types", {}) -%}
  {%- set types = {} -%}
  {%- for column in rows.column_names %}{% do types.update({column: given.get(column, adapter.convert_type(rows, loop.index0))}) %}{% endfor -%}
  {%- set target = this.incorporate(type="table") -%}
  {%- set key = config.get("key", rows.column_names[0]) -%}
  {%- set count = adapter.seed(target, key, rows, types, should_full_refresh()) -%}
  {% call noop_statement("main", "INSERT " ~ count, "INSERT", count) %}{% endcall %}
  {{ run_hooks(post_hooks) }}
  {{ return({"relations": [target]}) }}
{% endmaterialization %}

{% materialization view, adapter="ksqlspark" %}
  {{ exceptions.raise_compiler_error("There are no views. Say materialized='stream' or 'table' for a query that runs on, 'ephemeral' for SQL that others contain.") }}
{% endmaterialization %}

{% materialization incremental, adapter="ksqlspark" %}
  {{ exceptions.raise_compiler_error("Every stream and table is kept up to date as records arrive. Say materialized='stream' or 'table'.") }}
{% endmaterialization %}

{% macro ksqlspark__current_timestamp() -%}
  FROM_UNIXTIME(UNIX_TIMESTAMP())
{%- endmacro %}
