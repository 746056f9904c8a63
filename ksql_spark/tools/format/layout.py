"""Lays out the text of a file of statements anew.

It works on tokens and not on trees, so it can lose nothing: the result has the same tokens and comments, and
each statement whose tokens it would change stays as it was written.

Lines: a statement is one line if it fits and has none but the simplest clauses; otherwise each clause has its
own line, and what is still too long is split at its commas, then at AND and OR, then before operators.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark import grammar
from ksql_spark.tools.format.atoms import Atom, Comment, Irregular, atoms, comments

WIDTH = 100
INDENT = 2
#: clauses of queries that may stay in one line
_SIMPLE = frozenset({"SELECT", "FROM", "WHERE", "EMIT", "LIMIT"})
#: clauses whose contents are separated by commas
_LISTS = frozenset({"SELECT", "GROUP", "PARTITION", "ORDER", "WITH"})
_CLAUSES = _SIMPLE | _LISTS | {"WINDOW", "HAVING", "OFFSET", "UNION", "JOIN"}
_JOIN_KINDS = frozenset({"INNER", "LEFT", "RIGHT", "FULL"})
#: further words of a clause's head
_HEADS = frozenset({"DISTINCT", "BY", "ALL", "JOIN", "OUTER"})
#: words before which a long line may end
_BREAKS = frozenset(
    {"||", "+", "-", "*", "/", "%", "=", "<>", "!=", "<", ">", "<=", ">="}
    | {"IN", "NOT", "LIKE", "BETWEEN", "IS", "AS", "ON", "WITHIN", "GRACE", "ADD"}
)


@dataclass(slots=True)
class Group:
    """Nodes in brackets, or between CASE and END."""

    open: Atom
    nodes: list[Node]
    close: Atom
    text: str | None = None


Node = Atom | Group


class Unclosed(Exception):
    """Raised for a text that ends within a quote or comment, which begins at ``line`` and ``column``."""

    def __init__(self, token: Token) -> None:
        super().__init__(f"This {grammar.opened(token)} is never closed.")
        self.line, self.column = token.line, token.col


def formatted(text: str, is_command: Callable[[str], bool] = lambda line: False) -> str:
    """``text`` in our lines; with ``\\n`` or, if its first line ends so, ``\\r\\n``.

    Args:
        text: the text of a file of statements.
        is_command: whether a line is a command of the shell, which stays as it is.

    Raises:
        Unclosed: the text ends in a quote or comment.
    """
    newline = "\r\n" if text[: text.find("\n")].endswith("\r") else "\n"
    lines: list[str] = []
    can_append = False
    for piece in _pieces(text.removeprefix("\ufeff"), is_command):
        if piece.own_line or not can_append:
            if piece.after_blank and lines:
                lines.append("")
            lines += piece.lines
        else:
            lines[-1] += " " + piece.lines[0]
            lines += piece.lines[1:]
        can_append = not piece.lines[-1].startswith("--")
    return newline.join(lines) + newline if lines else ""


# ---- statements and the comments between them -----------------------------------------------------------


@dataclass(slots=True)
class _Piece:
    """A statement or command, or the comment before it."""

    lines: list[str]
    after_blank: bool = False
    own_line: bool = True


def _pieces(text: str, is_command: Callable[[str], bool]) -> Iterator[_Piece]:
    offset: int | None = 0
    while offset is not None:
        offset = yield from _pieces_until_command(text, offset, is_command)


def _pieces_until_command(
    text: str, offset: int, is_command: Callable[[str], bool]
) -> Generator[_Piece, None, int | None]:
    """The pieces from ``offset`` on; returns where to go on after a command of the shell, or None."""
    # empty lines instead of what is done, so that lines are those of the text
    done = text.count("\n", 0, offset)
    whole = "\n" * done + text[offset:]
    tokens = grammar.scan(whole)
    start = 0 if offset == 0 else None
    current: list[Token] = []
    for token in tokens:
        if not current:
            gap = whole[done : token.start]
            gap_comments, after_blank = comments(gap, done == start)
            yield from map(_comment_piece, gap_comments)
            if token.token_type == TokenType.VAR:
                end = whole.find("\n", token.start)
                line = whole[token.start : end if end >= 0 else len(whole)]
                if is_command(line):
                    yield _Piece([line.rstrip()], after_blank)
                    return len(text) - len(whole) + token.start + len(line)
        current.append(token)
        if token.token_type == TokenType.SEMICOLON:
            yield from _statement_pieces(current, whole, after_blank)
            done = token.end + 1
            current = []
    if current:
        if grammar.opened(current[-1]) is not None:
            raise Unclosed(current[-1])
        yield from _statement_pieces(current, whole, after_blank)
        done = current[-1].end + 1
    yield from map(_comment_piece, comments(whole[done:], done == start)[0])
    return None


def _comment_piece(comment: Comment) -> _Piece:
    return _Piece(
        [line.rstrip("\r") for line in comment.text.split("\n")], comment.after_blank, comment.own_line
    )


def _statement_pieces(tokens: list[Token], text: str, after_blank: bool) -> Iterator[_Piece]:
    try:
        statement_atoms = atoms(tokens, text)
        following = _move_comments(statement_atoms)
        lines = _Layout(statement_atoms).lines
        if _meanings(grammar.scan("\n".join(lines))) != _meanings(tokens):
            raise Irregular
    except (Irregular, RecursionError):
        yield _Piece([text[tokens[0].start : tokens[-1].end + 1]], after_blank)
        return
    yield _Piece(lines, after_blank)
    for comment in following:
        yield _Piece([comment], own_line=comment is not following[0] or not statement_atoms[-1].after)


def _meanings(tokens: Sequence[Token]) -> list[tuple[TokenType, str]]:
    return [(token.token_type, token.text) for token in tokens]


def _move_comments(atoms: list[Atom]) -> list[str]:
    """Put comments behind the comma or semicolon that follows them; those of the last atom are returned."""
    for index in range(1, len(atoms)):
        atom = atoms[index]
        if atom.word == "," or atom.word == ";":
            previous = atoms[index - 1]
            if previous.after:
                atom.after = (*previous.after, *atom.after)
                previous.after = ()
            if atom.before and index + 1 < len(atoms):
                atoms[index + 1].before = (*atom.before, *atoms[index + 1].before)
                atom.before = ()
    last = atoms[-1]
    if last.word != ";":
        return []
    following, last.before = [*last.after, *last.before], ()
    return following


# ---- one statement ---------------------------------------------------------------------------------------


def _nested(atoms: list[Atom]) -> list[Node]:
    """Atoms with those in brackets, and CASE … END, in groups."""
    top: list[Node] = []
    nodes = top
    stack: list[tuple[list[Node], Atom]] = []
    for atom in atoms:
        is_case = atom.word == "CASE"
        if atom.opens or is_case:
            stack.append((nodes, atom))
            nodes = []
        elif atom.closes or (atom.word == "END" and stack and stack[-1][1].word == "CASE"):
            if not stack or atom.closes == (stack[-1][1].word == "CASE"):
                raise Irregular
            outer, opened = stack.pop()
            outer.append(Group(opened, nodes, atom))
            nodes = outer
        else:
            nodes.append(atom)
    if stack:
        raise Irregular
    return top


def _flat(nodes: Sequence[Node]) -> str | None:
    """The nodes in one line; None if a comment between them prevents it."""
    parts: list[str] = []
    for node in nodes:
        text = _flat_node(node)
        if text is None:
            return None
        if parts and _space(node):
            parts.append(" ")
        parts.append(text)
    return "".join(parts)


def _flat_node(node: Node) -> str | None:
    if type(node) is Atom:
        return None if node.before or node.after else node.text
    assert isinstance(node, Group)
    if node.text is None:
        inner = _flat(node.nodes)
        opened, closed = node.open, node.close
        if inner is None or opened.before or opened.after or closed.before or closed.after:
            return None
        gap = " " if node.nodes and _space(node.nodes[0]) else ""
        node.text = f"{opened.text}{gap}{inner}{' ' if closed.space else ''}{closed.text}"
    return node.text


def _space(node: Node) -> bool:
    return node.open.space if isinstance(node, Group) else node.space


def _first(nodes: Sequence[Node]) -> Atom:
    node = nodes[0]
    return node.open if isinstance(node, Group) else node


def _last(nodes: Sequence[Node]) -> Atom:
    node = nodes[-1]
    return node.close if isinstance(node, Group) else node


def _word(node: Node) -> str:
    return node.word if isinstance(node, Atom) else ""


def _is_query(nodes: Sequence[Node]) -> bool:
    """Whether the nodes are a query: SELECT, WITH and a name, or a query in brackets."""
    if not nodes:
        return False
    first = nodes[0]
    if isinstance(first, Group):
        return first.open.word == "(" and _is_query(first.nodes)
    return first.word == "SELECT" or (
        first.word == "WITH" and len(nodes) > 1 and isinstance(nodes[1], Atom) and nodes[1].word != "("
    )


def _split(nodes: Sequence[Node], word: str) -> list[list[Node]]:
    """The nodes in parts, each of which ends in ``word``, but perhaps the last."""
    parts: list[list[Node]] = [[]]
    for node in nodes:
        parts[-1].append(node)
        if _word(node) == word:
            parts.append([])
    return parts if parts[-1] else parts[:-1]


def _split_before(nodes: Sequence[Node], starts: Callable[[int], bool]) -> list[list[Node]]:
    """Split the nodes into parts; each part but the first begins with a node for which ``starts`` is true."""
    parts: list[list[Node]] = [[]]
    for index, node in enumerate(nodes):
        if parts[-1] and starts(index):
            parts.append([])
        parts[-1].append(node)
    return parts


def _clauses(nodes: Sequence[Node]) -> list[tuple[list[Node], list[Node]]]:
    """A query's clauses, each as its words and its contents."""
    words = [_word(node) for node in nodes]

    def starts(index: int) -> bool:
        word, last = words[index], words[index - 1]
        following = words[index + 1] if index + 1 < len(words) else ""
        if word == "JOIN":
            return last not in _JOIN_KINDS and last != "OUTER"
        if word in _JOIN_KINDS:
            return following in ("JOIN", "OUTER")
        if word == "FROM":
            return last != "DISTINCT"
        if word in ("GROUP", "ORDER", "PARTITION"):
            return following == "BY"
        if word == "EMIT":
            return following in ("CHANGES", "FINAL")
        if word == "UNION":
            return following == "ALL"
        if word == "OFFSET":
            return last not in ("SELECT", "BY", "WHERE", ",") and following != ","
        if not word:
            # a query in brackets after UNION ALL
            node = nodes[index]
            return last == "ALL" and isinstance(node, Group) and _is_query([node])
        return word in _CLAUSES

    clauses = []
    for part in _split_before(nodes, starts):
        heads = 0
        if isinstance(part[0], Atom):
            heads = 1
            while heads < len(part) and _word(part[heads]) in _HEADS:
                heads += 1
        clauses.append((part[:heads], part[heads:]))
    return clauses


class _Layout:
    """Lays out the atoms of one statement; ``lines`` has the result."""

    def __init__(self, atoms: list[Atom]) -> None:
        self.lines: list[str] = []
        self._line = ""
        self._must_end = False
        self._statement(_nested(atoms), atoms)
        if self._line:
            self.lines.append(self._line)

    # ---- lines

    def _start(self, indent: int) -> None:
        """Begin a line, unless the current one is empty."""
        if self._line.strip():
            self.lines.append(self._line)
        self._line = " " * indent
        self._must_end = False

    def _put(self, text: str, space: bool, indent: int) -> None:
        if self._must_end:
            self._start(indent)
        self._line += f" {text}" if space and self._line.strip() else text

    def _atom(self, atom: Atom, indent: int) -> None:
        if atom.before:
            self._start(indent)
            for comment in atom.before:
                self._line += comment
                self._start(indent)
        self._put(atom.text, atom.space, indent)
        self._comments(atom.after, indent)

    def _comments(self, comments: Sequence[str], indent: int) -> None:
        for comment in comments:
            self._put(comment, True, indent)
            self._must_end = True

    def _room(self) -> int:
        """Return how many characters still fit in the line."""
        newline = self._line.rfind("\n")
        return WIDTH - (len(self._line) - newline - 1)

    def _fits(self, text: str | None, tail: int) -> bool:
        if text is None or self._must_end:
            return False
        newline = text.find("\n")
        return (newline if newline >= 0 else len(text) + tail) <= self._room()

    # ---- parts

    def _statement(self, nodes: list[Node], atoms: list[Atom]) -> None:
        ends = atoms[-1] if atoms[-1].word == ";" else None
        if ends is not None:
            nodes.pop()
        last = atoms[-2 if ends is not None and len(atoms) > 1 else -1]
        tail = 1 if ends is not None else 0
        if nodes:
            query = next((i for i in range(len(nodes)) if _is_query(nodes[i:])), len(nodes))
            is_simple = query == len(nodes) or all(
                heads and _word(heads[0]) in _SIMPLE for heads, _ in _clauses(nodes[query:])
            )
            comments, last.after = last.after, ()
            flat = _flat(nodes) if is_simple else None
            if self._fits(flat, tail):
                assert flat is not None
                self._put(flat, False, 0)
            else:
                self._head(nodes[:query], 0 if query < len(nodes) else tail)
                if query < len(nodes):
                    indent = INDENT if query else 0
                    self._start(indent)
                    self._query(nodes[query:], indent, tail)
            if ends is None:
                self._comments(comments, 0)
        if ends is not None:
            self._line += ends.text

    def _head(self, nodes: list[Node], tail: int) -> None:
        """A statement up to its query."""
        if not nodes:
            return

        def starts(index: int) -> bool:
            word, last = _word(nodes[index]), _word(nodes[index - 1])
            return word == "WITH" or (word == "VALUES" and last not in ("ASSERT", "NULL"))

        flat = _flat(nodes)
        if self._fits(flat, tail):
            assert flat is not None
            self._put(flat, False, 0)
            return
        parts = _split_before(nodes, starts)
        indent = 0
        for number, part in enumerate(parts):
            tail_of_part = tail if number == len(parts) - 1 else 0
            text = _flat(part)
            # `) WITH (…` if the columns, or `CREATE … WITH (` if the properties, have lines of their own
            if (
                number
                and self._line != ")"
                and text is not None
                and INDENT + len(text) + tail_of_part <= WIDTH
            ):
                indent = INDENT
                self._start(indent)
            self._sequence(part, indent, tail_of_part)

    def _query(self, nodes: Sequence[Node], indent: int, tail: int) -> None:
        clauses = _clauses(nodes)
        for number, (heads, body) in enumerate(clauses):
            if number:
                self._start(indent)
            self._clause(heads, body, indent, tail if number == len(clauses) - 1 else 0)

    def _clause(self, heads: list[Node], body: list[Node], indent: int, tail: int) -> None:
        last = _last(body or heads)
        comments, last.after = last.after, ()
        before, _first(heads or body).before = _first(heads or body).before, ()
        for comment in before:
            self._line += comment
            self._start(indent)
        flat = _flat([*heads, *body])
        items = _split(body, ",") if heads and _word(heads[0]) in _LISTS else []
        if self._fits(flat, tail):
            assert flat is not None
            self._put(flat, True, indent)
        elif len(items) > 1:
            for node in heads:
                self._node(node, indent, 0)
            self._items(items, indent + INDENT, tail)
        else:
            self._sequence([*heads, *body], indent, tail)
        self._comments(comments, indent)

    def _items(self, items: list[list[Node]], indent: int, tail: int) -> None:
        """Each item in a line of its own."""
        for number, item in enumerate(items):
            self._start(indent)
            last = _last(item)
            comments, last.after = last.after, ()
            self._sequence(item, indent, tail if number == len(items) - 1 else 0)
            self._comments(comments, indent)

    def _sequence(self, nodes: Sequence[Node], indent: int, tail: int) -> None:
        """Nodes from the current place on."""
        flat = _flat(nodes)
        if self._fits(flat, tail + 1):
            assert flat is not None
            self._put(flat, _space(nodes[0]), indent)
            return
        for word in ("ON", "OR", "AND"):
            parts = self._at_word(nodes, word)
            if len(parts) > 1:
                for number, part in enumerate(parts):
                    if number:
                        self._start(indent + INDENT)
                        self._atom(_first(part), indent + INDENT)
                        part = part[1:]
                    inner = indent + INDENT if number else indent
                    if part:
                        self._sequence(part, inner, tail if number == len(parts) - 1 else 0)
                return
        self._filled(nodes, indent, tail)

    @staticmethod
    def _at_word(nodes: Sequence[Node], word: str) -> list[list[Node]]:
        """The nodes in parts before each ``word``, but not before the AND of BETWEEN."""
        of_between = set()
        open_between = False
        for index, node in enumerate(nodes):
            if _word(node) == "BETWEEN":
                open_between = True
            elif _word(node) == "AND" and open_between:
                open_between = False
                of_between.add(index)
        return _split_before(nodes, lambda index: _word(nodes[index]) == word and index not in of_between)

    def _filled(self, nodes: Sequence[Node], indent: int, tail: int) -> None:
        """Write as many nodes per line as fit; open brackets that do not fit."""
        #: nodes between which a line cannot end
        chunks: list[list[Node]] = []
        for node in nodes:
            glued = chunks and (
                not _space(node) or (len(chunks[-1]) == 1 and _word(chunks[-1][0]) in _BREAKS)
            )
            if glued:
                chunks[-1].append(node)
            else:
                chunks.append([node])
        inner = indent + INDENT
        for number, chunk in enumerate(chunks):
            flat = _flat(chunk)
            tail_of_chunk = tail if number == len(chunks) - 1 else 0
            if self._fits(flat, tail_of_chunk + 1):
                assert flat is not None
                self._put(flat, _space(chunk[0]), inner)
                continue
            can_break = number > 0 and _word(chunk[0]) in _BREAKS
            if can_break and flat is not None and len(flat) + tail_of_chunk <= WIDTH - inner:
                self._start(inner)
                self._put(flat, False, inner)
                continue
            for node in chunk:
                self._node(node, self._indent_of_line(indent), tail_of_chunk)

    def _indent_of_line(self, least: int) -> int:
        return max(least, len(self._line) - len(self._line.lstrip(" "))) if self._line.strip() else least

    def _node(self, node: Node, indent: int, tail: int) -> None:
        if isinstance(node, Atom):
            self._atom(node, indent)
            return
        flat = _flat_node(node)
        if flat is not None and (not node.nodes or self._fits(flat, tail + 1)):
            self._put(flat, node.open.space, indent)
            return
        self._atom(node.open, indent)
        inner = indent + INDENT
        if node.open.word == "CASE":
            self._case(node.nodes, inner)
        elif _is_query(node.nodes):
            self._start(inner)
            self._query(node.nodes, inner, 0)
        elif node.nodes:
            self._items(_split(node.nodes, ","), inner, 0)
        if node.close.before:
            self._start(inner)
            for comment in node.close.before:
                self._line += comment
                self._start(inner)
        self._start(indent)
        closing = node.close
        self._put(closing.text, False, indent)
        self._comments(closing.after, indent)

    def _case(self, nodes: list[Node], indent: int) -> None:
        parts = _split_before(nodes, lambda index: _word(nodes[index]) in ("WHEN", "ELSE"))
        for number, part in enumerate(parts):
            if number or _word(part[0]) in ("WHEN", "ELSE"):
                self._start(indent)
            last = _last(part)
            comments, last.after = last.after, ()
            self._sequence(part, indent, 0)
            self._comments(comments, indent)
