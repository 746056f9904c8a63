"""identity.sql and invalid.sql."""

from __future__ import annotations

import pytest
from grammar_cases import Invalid, identity, invalid

from ksql_spark import grammar
from ksql_spark.grammar import StatementSet


@pytest.mark.parametrize("text", identity())
def test_identity(text: str) -> None:
    [node] = grammar.parse(text, allowed=StatementSet.TEST)
    assert grammar.render(node) + ";" == text
    assert grammar.parse(grammar.render(node) + ";", allowed=StatementSet.TEST) == [node]
    assert node.source_text + ";" == text
    assert node.copy() == node


@pytest.mark.parametrize("case", invalid(), ids=lambda c: c.text)
def test_invalid(case: Invalid) -> None:
    with pytest.raises(grammar.ParseFailed) as raised:
        grammar.parse(case.text)
    error = raised.value
    assert (error.line, error.column) == (case.line, case.column)
    assert case.message in error.reason
    assert f"line {case.line}:{case.column}: Syntax Error" in str(error)
    source, caret = str(error).splitlines()[-2:]
    assert source.strip() == case.text.removesuffix(";") or source.strip() == case.text
    assert caret.index("^") == case.column + 1  # two blanks of margin
