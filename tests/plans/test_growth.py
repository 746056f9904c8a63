"""Planning takes a time that grows with a statement's text: each construct n, 2n and 4n times.

Python's calls are counted, which are the same each time, in each step from the text to what Spark gets.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from ksql_spark import grammar
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Expression, Function
from ksql_spark.functions.lowering import lower, lower_reporting
from ksql_spark.grammar.statements.inserts import InsertValues
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan import codec
from ksql_spark.plan.explain import explain, explain_job, explain_lookup
from ksql_spark.plan.planner import lower as planned
from ksql_spark.plan.planner import lower_transient
from ksql_spark.plan.queries import Feed, Job, Lookup, PersistentQuery
from tests.analyzer.binding import bind_statement, run
