"""Numbers of partitions for tests that compare generated inputs with another engine."""

import pytest

#: the one in the middle has repartitioning and several tasks; make test-long runs the others
PARTITIONS = [pytest.param(1, marks=pytest.mark.long), 4, pytest.param(12, marks=pytest.mark.long)]

__all__ = ["PARTITIONS"]
