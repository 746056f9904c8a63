"""The table of mutations fits the product and the tests, so that ``python -m tests.mutations`` can use it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.mutations.table import ROOT, Mutation, node, read

MUTATIONS = read()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.breaks)
def test_its_text_is_there_once_and_its_tests_exist(mutation: Mutation) -> None:
    assert (ROOT / mutation.file).read_text().count(mutation.text) == 1
    assert mutation.text != mutation.replacement
    assert mutation.tests
    for test in mutation.tests:
        path, _, function = node(test).partition("::")
        assert f"def {function.partition('[')[0]}" in (ROOT / path).read_text()


def test_each_area_has_ten() -> None:
    assert set(Counter(mutation.area for mutation in MUTATIONS).values()) == {10}
