"""Roff: the source of manual pages, opened into sections and paragraphs of whole lines.

A request such as `.TP` or `.PP` begins a paragraph, `.SH` a section. A paragraph comes with its section, the
text of an option with its name. A mark is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

from tersely.split.lines import Format, Lines, Range, end_above, find_lines
from tersely.split.nodes import Node, Sizes, join_lines
from tersely.units import Series

_SECTION = re.compile(r"['.]\s*S(?P<level>[HhSs])\b")
_PARAGRAPH = re.compile(r"['.]\s*(?:TP|TQ|IP|HP|PP|LP|P|It|Pp|TH|Dd)\b")
_TERM = re.compile(r"['.]\s*T[PQ]\b")
_IF = r"(?:['.]\s*if\b[^\n]*\\\{\\?\n|['.]\s*if n )?['.]\s*"
_INDENT = re.compile(_IF + r"(?:RS|INDENT)\b")
_RETURN = re.compile(_IF + r"(?:RE|UNINDENT)\b")
"""The requests around lines that are indented more, perhaps with a condition."""
_BEGINNINGS = (_PARAGRAPH, _INDENT, _RETURN)
_BARE = re.compile(
    r"""['.]\s*(?: (?:TP|TQ|HP|PP|LP|P|Pp|RS|RE|PD|EX|EE|UE|ME|El|Ed|INDENT|UNINDENT|Vb|Ve|[a-z]{2})
      (?:\s+\S+)?\s* | IP (?:\s+(?:""(?:\s+\S+)?|[\d.]+))?\s*
    | (?:B[dl]\s|IX\s|\\").* | \s* | (?:if|ie|el|de|ig|ds|nr)\b.* )""",
    re.DOTALL | re.VERBOSE,
)
"""A request that shows no text, a comment, a definition, or a condition with its lines."""
_OPENED, _CLOSED = re.compile(r"\\\{"), re.compile(r"\\\}")
_OTHERWISE = re.compile(r"['.]\s*el\b")
_BLOCK = re.compile(r"['.]\s*(TS|de|ig)\b")
_END = re.compile(r"\.\.")
_CLOSERS = {"TS": re.compile(r"\.TE\b"), "de": _END, "ig": _END}
_NAME = re.compile(r"['.]\s*I[Pt]\b")
_FILL = re.compile(r"['.]\s*(?:nf|fi|EX|EE)\b")
"""The requests around lines that are shown unchanged."""
_TEXT = re.compile(r"[^\s'.]|['.]\s*(?:[BIR]{1,2}|SM|SB)\s")
"""The start of a line of running text, perhaps in another font."""
_STOP = re.compile(r"[.:!?][\"')\]]*(?:\\&|\\f[A-Z]|\s)*$")
_COMMENT = '.\\" '
_REQUEST = re.compile(
    r"""['.]\s*\\" | \.\s*(?: (?:SH|Sh|SS|Ss|TH|Dd|TP|TQ|IP|HP|PP|LP|P|Pp|It|RS|RE|sp|br|nf|fi|EX|EE)\b
    | (?:B|I|BI|BR|IB|IR|RB|RI|SM|SB|Ar|Fl|Nm|Op|Xr)\s )""",
    re.VERBOSE,
)
_FEWEST_SECTIONS, _FEWEST_REQUESTS, _LINES_PER_REQUEST = 2, 5, 8
"""A page has at least this many sections, or else this many requests and one for each of this many lines."""
_DEEPEST = 4
"""Largest number of levels of indented lines to open."""


def _find_roff_end(lines: Lines, index: int) -> int | None:
    """Return the index after the source of a page, which goes up to a fence or the end of the text."""
    end, sections, requests = index, 0, 0
    while end < len(lines) and not lines.texts[end].startswith(("```", "~~~")):
        sections += _SECTION.match(lines.texts[end]) is not None
        requests += _REQUEST.match(lines.texts[end]) is not None
        end += 1
    is_dense = requests >= _FEWEST_REQUESTS and requests * _LINES_PER_REQUEST >= end - index
    if sections < _FEWEST_SECTIONS and not is_dense:
        lines.none_before[_find_roff_end] = end
        return None
    return lines.find(end_above(lines, end)) + 1


ROFF = Format("roff", _REQUEST, _find_roff_end)


def open_roff(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the tree of a page: its sections, with their paragraphs and subsections."""
    nodes = _read(text, _join_blocks(text, list(find_lines(text, start, end))), sizes, "Hh")
    return Node(start, end, nodes, Series(_COMMENT)) if len(nodes) > 1 else None


def _join_blocks(text: str, lines: Sequence[Range]) -> list[Range]:
    """Return the lines; those of a table, a macro, or a condition `.ie n \\{` with its `.el \\{`, as one."""
    joined: list[Range] = []
    depth = 0
    closer: re.Pattern[str] | None = None
    for start, end in lines:
        if _SECTION.match(text, start, end):
            closer, depth = None, 0
        if joined and (closer or depth or _OTHERWISE.match(text, start, end)):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        if closer:
            closer = None if closer.match(text, start, end) else closer
        elif block := _BLOCK.match(text, start, end):
            closer = _CLOSERS[block[1]]
        else:
            opened = len(_OPENED.findall(text, start, end)) - len(_CLOSED.findall(text, start, end))
            depth = max(0, depth + opened)
    return joined


def _read(text: str, lines: Sequence[Range], sizes: Sizes, level: str) -> list[Node]:
    """Return the parts of some lines: what is before the first section of a level, and these sections."""
    sections = ((number, _SECTION.match(text, *line)) for number, line in enumerate(lines))
    starts = [number for number, section in sections if section and section["level"] in level]
    if level == "Hh" and not starts:
        return _read(text, lines, sizes, "Ss")
    nodes = _read_paragraphs(text, lines[: starts[0]] if starts else lines, sizes)
    for begin, stop in pairwise([*starts, len(lines)]):
        node = Node(lines[begin][0], lines[stop - 1][1])
        if inside := lines[begin + 1 : stop]:
            node.children = _read(text, inside, sizes, "Ss" if level == "Hh" else "")
            node.series = Series(_COMMENT)
        nodes.append(node)
    return nodes


def _read_paragraphs(text: str, lines: Sequence[Range], sizes: Sizes, depth: int = 0) -> list[Node]:
    """Return the paragraphs of some lines.

    Indented lines below a paragraph, such as the text of an option, are a part of it.
    """
    nodes: list[Node] = []
    group: list[Range] = []
    at = 0
    while at < len(lines):
        is_below = False
        is_indented = depth < _DEEPEST and _INDENT.match(text, *lines[at]) is not None
        if group and any(begins.match(text, *lines[at]) for begins in _BEGINNINGS):
            nodes.append(_make_paragraph(text, group, sizes))
            is_below, group = True, []
        if is_indented:
            end = _find_return(text, lines, at)
            inner = _read_indented(text, lines[at:end], sizes, depth)
            above = nodes[-1] if is_below else None
            if above is None:
                nodes.append(inner)
            else:
                above.end = inner.end
                above.role = "content" if inner.role == "content" else above.role
                if inner.role == "content" and above.end - above.start > sizes.part:
                    above.children, above.series = [*above.children, inner], above.series or Series(_COMMENT)
            at = end
        else:
            group.append(lines[at])
            at += 1
    return [*nodes, _make_paragraph(text, group, sizes)] if group else nodes


def _find_return(text: str, lines: Sequence[Range], index: int) -> int:
    """Return the index after the `.RE` that ends the indented lines from `index` on."""
    depth = 0
    for end in range(index, len(lines)):
        depth += _INDENT.match(text, *lines[end]) is not None
        depth -= _RETURN.match(text, *lines[end]) is not None
        if not depth:
            return end + 1
    return len(lines)


def _read_indented(text: str, lines: Sequence[Range], sizes: Sizes, depth: int) -> Node:
    """Return the node of indented lines, from `.RS` to `.RE`."""
    is_bare = all(_BARE.fullmatch(text, *line) for line in lines)  # they show no text
    node = Node(lines[0][0], lines[-1][1], role="frame" if is_bare else "content")
    body = lines[1:-1] if _RETURN.match(text, *lines[-1]) else lines[1:]
    if node.end - node.start > sizes.part and node.role == "content":
        node.children = _read_paragraphs(text, body, sizes, depth + 1)
        node.series = Series(_COMMENT)
    return node


def _make_paragraph(text: str, lines: Sequence[Range], sizes: Sizes) -> Node:
    """Return the node of a paragraph. Its requests, and the name of an option, are the head of its text."""
    node = Node(lines[0][0], lines[-1][1])
    head = sum(1 for _ in takewhile(lambda line: _BARE.fullmatch(text, *line), lines))
    if head == len(lines):
        node.role = "frame"
    elif node.end - node.start > sizes.part:
        if _NAME.match(text, *lines[head]) or (head and _TERM.match(text, *lines[head - 1])):
            head += 1
        node.children, node.series = _join_sentences(text, lines, head, sizes.part), Series(_COMMENT)
    return node


def _join_sentences(text: str, lines: Sequence[Range], head: int, size: int) -> list[Node]:
    """Return the parts of a paragraph below its first `head` lines.

    Running text is divided only after a line that ends a sentence. A request that shows no text is part of
    what follows it.
    """
    sentences: list[Range] = []
    goes_on, is_filled, is_bare = False, True, False
    for at, (start, end) in enumerate(lines):
        if request := _FILL.match(text, start, end):
            is_filled = request[0].endswith(("fi", "EE"))
        if at < head:
            continue
        is_text = is_filled and _TEXT.match(text, start, end) is not None
        is_below = goes_on and is_text and text.count("\n", sentences[-1][1], start) < 2
        joins = is_bare or is_below
        if joins:
            sentences[-1] = (sentences[-1][0], end)
        else:
            sentences.append((start, end))
        goes_on = is_text and not _STOP.search(text, start, end)
        is_bare = (is_bare or not joins) and _BARE.fullmatch(text, start, end) is not None
    if is_bare and len(sentences) > 1:
        sentences[-2:] = [(sentences[-2][0], sentences[-1][1])]
    return join_lines(sentences, size)
