"""Python opened by its syntax tree: into functions, classes, branches, parameters and constants.

The kept parts still parse.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from itertools import groupby, pairwise

from tersely.split.indented import open_comment, open_indented, open_text
from tersely.split.lines import CLOSER, Range, find_indent, list_whole_lines
from tersely.split.nodes import DEEPEST, Node, Sizes, join_lines, mark_name
from tersely.split.python import Declaration, find_elements, is_text, parse
from tersely.split.python_excerpts import MOST_ADDED, find_chunks, is_excerpt
from tersely.units import Series

_SHORT = 60
"""Largest size, in code points, of elements that share a part, and of a docstring kept in its head."""
_SIMPLE = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr
_OPENING = re.compile(r"\s*[a-zA-Z]?(\"{3}|'{3})")
_SIGN = re.compile(r"\s*(?:/|\*(?!\*))")
"""The start of a parameter that decides how others are passed: `/`, `*` or `*args`."""


def open_python(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the tree of the module in `text[start:end]`, or of an excerpt; None if neither parses."""
    body = text[start:end]
    module = parse(textwrap.dedent(body))
    if module is not None:
        lines = list_whole_lines(text, start, end)
        if not module.body:
            return None
        margin = find_indent(text, lines[_first_line(module.body[0]) - 1])
        return _Python(text, lines, sizes, margin).read(module, start, end)
    return _open_excerpt(text, start, end, sizes) if is_excerpt(body) else None


def _open_excerpt(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the tree of an excerpt. Lines that do not parse are opened by their indentation."""
    nodes: list[Node] = []
    below = start

    def add_lines(end: int) -> None:
        lines = list_whole_lines(text, below, end)
        while nodes and lines and CLOSER.fullmatch(text[slice(*lines[0])].rstrip()):
            nodes[-1].end = lines.pop(0)[1]  # it closes brackets of the lines above
        if any(text[slice(*line)].strip() for line in lines):
            nodes.extend(open_indented(text, lines, sizes, Series("# ")))

    for chunk in find_chunks(text[start:end]):
        if chunk.module is None:
            continue
        add_lines(start + chunk.start)
        first, last = start + chunk.start, start + chunk.end
        # A module that was cut has further lines, which were made up.
        lines = [*list_whole_lines(text, first, last), *[(last, last)] * MOST_ADDED]
        tree = _Python(text, lines, sizes, chunk.margin)
        nodes += tree.read(chunk.module, first, last).children
        below = last
    add_lines(end)
    return Node(start, end, nodes, Series("# "))


class _Python:
    """A builder of nodes from a syntax tree. A node has whole lines."""

    def __init__(self, text: str, lines: Sequence[Range], sizes: Sizes, margin: int) -> None:
        self._text = text
        self._lines = lines
        self._sizes = sizes
        self._margin = margin
        self._required: dict[int, list[Node]] = {}
        """Children without which no other child parses, by the id of their container."""

    def read(self, module: ast.Module, start: int, end: int) -> Node:
        nodes = self._make_nodes(module.body, 0, 1)
        nodes[0].start, nodes[-1].end = start, end
        return Node(start, end, nodes, Series("# "))

    def _make_nodes(self, body: Sequence[ast.stmt], above: int, depth: int) -> list[Node]:
        """Return a node for each statement below the line `above`. Each begins below the statement before it.

        A long comment above a statement has nodes of its own, which need the statement.
        """
        nodes: list[Node] = []
        for statement in body:
            first, last = _first_line(statement), statement.end_lineno or statement.lineno
            if first > above:
                lines = self._lines[above : first - 1]
                is_long = lines and lines[-1][1] - lines[0][0] > self._sizes.part
                comment = open_comment(self._text, lines, self._sizes.part) if is_long else []
                node = self._make_node(statement, first if comment else above + 1, last, depth)
                for part in comment:
                    part.wants = self._find_first(node)
                nodes += [*comment, *self._part_decorators(node, statement, depth), node]
            elif nodes:  # on the line of the one before
                node = nodes[-1]
                node.end = max(node.end, self._lines[last - 1][1])
                node.children = []
                self._required.pop(id(node), None)
            above = max(above, last)
        return nodes

    def _find_first(self, node: Node) -> list[Node]:
        """Return a node, and the parts of it without which it does not parse."""
        required = self._required.get(id(node), [])
        return [node, *(part for child in required for part in self._find_first(child))]

    def _make_node(self, statement: ast.stmt, first: int, last: int, depth: int) -> Node:
        """Return the node of a statement in the lines `first` to `last`."""
        node = Node(self._lines[first - 1][0], self._lines[last - 1][1])
        if node.end - node.start <= self._sizes.whole or depth >= DEEPEST:
            return node
        if is_text(statement):
            self._open_text(node, statement.lineno, last, depth)
        elif isinstance(statement, _SIMPLE):
            self._open_brackets(node, statement)
        elif isinstance(statement, ast.Match):
            self._open_cases(node, statement, depth)
        elif isinstance(statement, Declaration):
            self._open_declaration(node, statement, depth)
        elif bodies := _find_bodies(statement):
            self._open_branches(node, statement, bodies, depth)
        return node

    def _open_body(self, node: Node, body: Sequence[ast.stmt], depth: int) -> None:
        """Open the statements below a head, if they do not begin on its last line."""
        size = len(self._read_lines(body[0].lineno, body[0].end_lineno or 0))
        if len(body) > 1 and is_text(body[0]) and size <= _SHORT:
            body = body[1:]  # a short docstring belongs to the head
        first = _first_line(body[0])
        if find_indent(self._text, self._lines[first - 1]) - self._margin != body[0].col_offset:
            return
        children = self._make_nodes(body, self._find_end_of_head(first), depth + 1)
        if children[-1].end - children[0].start > self._sizes.part // 2:
            node.children, node.series = children, Series("# ")
            statement = (children[0].wants or children)[0]  # a comment needs the statement below it
            self._required[id(node)] = [statement]

    def _find_end_of_head(self, first: int) -> int:
        """Return the number of the line above a body that begins in line `first`. Comments between the head
        and the first statement belong to the body."""
        above = first - 1
        while self._text[slice(*self._lines[above - 1])].lstrip()[:1] in ("", "#"):
            above -= 1
        return above

    def _read_lines(self, first: int, last: int) -> str:
        return self._text[self._lines[first - 1][0] : self._lines[last - 1][1]]

    def _open_declaration(self, node: Node, statement: Declaration, depth: int) -> None:
        """Open a function or a class into its statements, and a long signature into parameters.

        Parameters need the shortest statement.
        """
        self._open_body(node, statement.body, depth)
        above = self._find_end_of_head(_first_line(statement.body[0]))
        is_long = len(self._read_lines(statement.lineno, above)) > self._sizes.part
        if above < statement.lineno or not is_long or isinstance(statement, ast.ClassDef):
            return
        parameters = self._open_parameters(statement.lineno, above)
        if not parameters:
            return
        end = node.children[0].start if node.children else node.end
        rest = Node(parameters[-1].end, end, is_anchor=True)
        if node.children:
            rest.role = "frame"
            statements = [child for child in node.children if not child.wants]
            shortest = min(statements, key=lambda child: (bool(child.children), child.end - child.start))
            for parameter in parameters:
                parameter.wants += self._find_first(shortest)
        self._required.setdefault(id(node), []).append(rest)
        node.children, node.series = [*parameters, rest, *node.children], Series("# ")

    def _part_decorators(self, node: Node, statement: ast.stmt, depth: int) -> list[Node]:
        """Return the nodes of the decorators of a large declaration, if they are long. They need it."""
        if not isinstance(statement, Declaration) or node.end - node.start <= self._sizes.whole:
            return []
        start = self._lines[statement.lineno - 1][0]
        if start - node.start <= self._sizes.part or not statement.decorator_list:
            return []
        parts: list[Node] = []
        for decorator in statement.decorator_list:
            last = decorator.end_lineno or decorator.lineno
            part = Node(parts[-1].end if parts else node.start, self._lines[last - 1][1])
            if part.end - part.start > self._sizes.whole and depth < DEEPEST:
                self._open_brackets(part, decorator)
            part.wants = self._find_first(node)
            parts.append(part)
        node.start = parts[-1].end
        return parts

    def _open_parameters(self, first: int, last: int) -> list[Node]:
        """Return the nodes of the parameters in the head of a function, if each has whole lines.

        Parameters before `/`, and those after `*`, need the sign. It is never kept alone.
        """
        spans = self._find_elements(first, last, is_head=True)
        nodes: list[Node] = []
        for is_sign, group in groupby(spans, lambda span: _SIGN.match(self._text, *span) is not None):
            members = list(group)
            nodes += [Node(*span) for span in members] if is_sign else join_lines(members, _SHORT)
        texts = [self._text[node.start : node.end].strip().rstrip(",") for node in nodes]
        for at, (node, text) in enumerate(zip(nodes, texts, strict=True)):
            others: list[Node] = []
            if text == "/":
                others = nodes[:at][::-1]
            elif text.startswith("*"):
                others = [nodes[i] for i in range(at + 1, len(nodes)) if not texts[i].startswith("**")]
            for other in others:
                other.wants.append(node)
            if text in ("*", "/"):
                node.role, node.is_anchor, node.wants = "frame", not others, others[:1]
        if nodes and self._read_lines(first, first).rstrip().endswith("*,"):
            nodes[0].is_anchor = True  # a parameter follows a `*` in the first line
        return nodes

    def _make_branch(self, above: int, body: Sequence[ast.stmt], depth: int) -> Node:
        """Return the node of a branch, which begins below the line `above` and ends with `body`."""
        last = body[-1].end_lineno or body[-1].lineno
        branch = Node(self._lines[above][0], self._lines[last - 1][1])
        if branch.end - branch.start > self._sizes.whole:
            self._open_body(branch, body, depth)
        return branch

    def _open_branches(
        self, node: Node, statement: ast.stmt, bodies: Sequence[Sequence[ast.stmt]], depth: int
    ) -> None:
        """Open a statement with several bodies: the first into statements, the others into branches."""
        self._open_body(node, bodies[0], depth)
        if not node.children:
            return
        pairs = [(above[-1].end_lineno or 0, body) for above, body in pairwise(bodies)]
        branches = [self._make_branch(above, body, depth + 1) for above, body in pairs]
        if isinstance(statement, ast.Try | ast.TryStar):
            self._required[id(node)].append(branches[0])
        needed = self._find_first(node)[1:]
        for child in branches if len(self._required[id(node)]) == 1 else [*node.children, *branches]:
            child.wants += needed
        node.children += branches

    def _open_cases(self, node: Node, statement: ast.Match, depth: int) -> None:
        """Open a `match` into its cases."""
        above = statement.cases[0].pattern.lineno - 1
        for case in statement.cases:
            node.children.append(self._make_branch(above, case.body, depth + 1))
            above = case.body[-1].end_lineno or 0
        node.series, self._required[id(node)] = Series("# "), node.children[:1]

    def _open_text(self, node: Node, first: int, last: int, depth: int) -> None:
        """Open a docstring into its paragraphs. The lines with its quotes are their head and their tail."""
        lines = self._lines[first : last - 1]
        opening = _OPENING.match(self._read_lines(first, first))
        if not (lines and opening and self._read_lines(last, last).strip() == opening[1]):
            return
        if opening[1] not in self._text[lines[0][0] : lines[-1][1]]:  # else it is several strings
            node.open(open_text(self._text, lines, self._sizes.part, depth + 1), Series())

    def _find_elements(self, first: int, last: int, *, is_head: bool = False) -> list[Range]:
        """Return the elements in the brackets of a statement in the lines `first` to `last`."""
        found = find_elements(self._read_lines(first, last), is_head=is_head)
        lines = self._lines[first - 1 : last]
        return [(lines[begin][0], lines[stop][1]) for begin, stop in found]

    def _open_brackets(self, node: Node, statement: ast.stmt | ast.expr) -> None:
        """Open the brackets of a statement into their elements, if each has whole lines."""
        spans = self._find_elements(statement.lineno, statement.end_lineno or statement.lineno)
        if len(spans) > 1:
            node.children, node.series = join_lines(spans, _SHORT), Series("# ")
            mark_name(self._text, node.children)


def _first_line(statement: ast.stmt) -> int:
    """Return the number of the first line of a statement, or of its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _find_bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the bodies of a statement, in the order of the source."""
    if isinstance(statement, ast.If):
        bodies = [statement.body]
        while (
            len(statement.orelse) == 1
            and isinstance(other := statement.orelse[0], ast.If)
            and other.col_offset == statement.col_offset  # `elif`
        ):
            statement = other
            bodies.append(statement.body)
        return [*bodies, statement.orelse] if statement.orelse else bodies
    bodies = [
        getattr(statement, "body", []),
        *(handler.body for handler in getattr(statement, "handlers", [])),
        getattr(statement, "orelse", []),
        getattr(statement, "finalbody", []),
    ]
    return [body for body in bodies if body]
