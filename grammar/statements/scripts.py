"""RUN SCRIPT (reference §1.4): a command of the shell and the tools, not of the server."""

from __future__ import annotations

from sqlglot import exp

from grammar.nodes import Arg, Statement


class RunScript(Statement):
    """RUN SCRIPT 'file'."""

    this = Arg[exp.Literal](required=True)

    @property
    def path(self) -> str:
        """The file's path as written."""
        return str(self.args["this"].this)
