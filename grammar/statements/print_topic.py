"""PRINT topic (reference §2.12)."""

from __future__ import annotations

from sqlglot import exp

from grammar.nodes import Arg, Statement


class PrintTopic(Statement):
    """PRINT topic [FROM BEGINNING] [INTERVAL|SAMPLE n] [LIMIT n]; the topic's case is kept."""

    this = Arg[exp.Literal](required=True)
    from_beginning = Arg[bool](default=False)
    interval = Arg[int | None]()
    limit = Arg[int | None]()

    @property
    def topic(self) -> str:
        """The topic's name."""
        return str(self.args["this"].this)
