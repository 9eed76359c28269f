"""Code: runs of program text, and source files, opened into functions and classes.

A function is kept whole, with the first and last lines of the blocks around it. Python is parsed, and so are
other languages if their grammars are installed. Any other code is read by its indentation: a block is a line
with the deeper lines below it and the closing line after them. A function that is too large by itself is cut
between statements, with the lines of the branches around them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tersely.split.continued import join_continued
from tersely.split.diffs import HUNK
from tersely.split.indented import COMMENT, open_indented
from tersely.split.json_values import find_json_end
from tersely.split.likeness import Likeness
from tersely.split.lines import CLOSER, FRAME, Format, Lines, Range, WholeFormat, line_start, list_whole_lines
from tersely.split.markdown import FENCE
from tersely.split.nodes import Node, Sizes
from tersely.split.python import PYTHON, is_python
from tersely.split.python_excerpts import EXCERPT, is_excerpt
from tersely.split.python_tree import open_python
from tersely.split.scripts import SCRIPT, is_script
from tersely.split.syntax_tree import open_source, parse, remove_comments
from tersely.units import Series

LONGEST_RUN = 80
"""Lines after which an unfenced code block is cut, so that a source file is not one unit."""

_FRONT_MATTER = re.compile(r"\A---[^\S\n]*$", re.MULTILINE)
_DIRECTIVE = r"#[ \t]*(?:include|define|ifn?def|pragma)\b"
"""A directive of C that cannot be mistaken for a comment in another language."""
_DIRECTIVES = re.compile(rf"^[ \t]*{_DIRECTIVE}", re.MULTILINE)
_ANY_DIRECTIVE = r"^[ \t]*#[ \t]*(?:include|define|undef|if|ifdef|ifndef|elif|else|endif|pragma|error)\b"
_STATEMENT = re.compile(
    rf"[{{}};][ \t\r]*$|^[ \t]*(?:[}})\]]|//|/\*)|{_ANY_DIRECTIVE}(?:.*[^.:?!,\s])?[ \t\r]*$"
    r"|^[ \t]*_*[A-Z][A-Z\d_]{2,} ?\([^()\n]*\)[ \t\r]*$",
    re.MULTILINE,
)
_DECLARATION = re.compile(
    r"^[ \t]*(?:(?:export|default|declare|public|private|protected|static|final|abstract|async"
    r"|pub(?:\([a-z]+\))?)\s+)*"
    r"(?:function|class|interface|fn|func|impl|struct|enum|trait|package|namespace|import|use|using|const|let|var"
    rf"|type|typedef|module\.exports|{_DIRECTIVE})\b",
    re.MULTILINE,
)
_COMPONENT = re.compile(r"^<template\b[^<>]*>[ \t\r]*$", re.MULTILINE)
"""The first tag of a component of Vue: a template, a script and styles in one file, each between two tags."""
SOURCE = re.compile(
    f"{PYTHON.pattern}|{EXCERPT.pattern}|{_DECLARATION.pattern}|{SCRIPT.pattern}|{_COMPONENT.pattern}",
    re.MULTILINE,
)
"""Matches at least one line of every source file."""
_FEWEST_LINES = 5
_TAGGED = re.compile(r"[A-Z]{1,4}: \S|</?[A-Z][A-Z0-9.]*>[^<]*$")
"""A line of a record in which each line begins with a tag, as in SGML and in the output of `udevadm`."""
_TAG = re.compile(r"</?[A-Z][\w:.-]*(?:\s[^<>=]+)?>\s*$")
"""A tag of a directive, as in the settings of Apache. The names of HTML are small."""
_STAGE = re.compile(r"FROM \S+(?: AS \S+)?\s*$")
"""The first line of a stage in a Dockerfile."""
_SECTIONED = re.compile(r"\A\s*#{1,3} [^\n]+\n(?!# |#+[ \t]*\n)")
"""The start of a text that begins with a heading of Markdown. Two such lines in a row are a comment."""
_SECTION = re.compile(r"#{2,6} [A-Z]")
_HUNK = re.compile(rf"^{HUNK}", re.MULTILINE)
_FENCED = re.compile(r"^ {0,3}(?:```|~~~)[^`\n]*$", re.MULTILINE)
_SIGN = re.compile(
    r"^[ \t]*(?:(//|/?\*)|(\#)(?!\s*(?:if|el|en|de|un|in|pr|error|line)\w*\b)|(--|;|%|!)+[ \t]+\S)",
    re.MULTILINE,
)
"""The sign at the start of a comment line. Skips directives of C, which look like comments."""
_SHELL = re.compile(r"^[ \t]*(?:fi|done|esac|end)\b|;;[ \t\r]*$|^[ \t]*\$\w+ = |\bparam\(", re.MULTILINE)
"""Words of shells, and variables of PowerShell."""
_BRACES = re.compile(r"[{;][ \t\r]*$|^[ \t]*\}", re.MULTILINE)
_SECTION_TAG = re.compile(
    r"^<(?P<slash>/?)(?P<name>script|template|style)\b(?P<attributes>[^<>]*)>[ \t\r]*$", re.MULTILINE
)
"""A tag of a section, alone at the margin."""
_LARGEST_COMPONENT = 500_000
"""Largest number of code points of a text that is searched for a component."""


def _is_source(text: str) -> bool:
    """Return whether a whole text is code: a Python module, a script, or mostly lines that end or begin
    like statements."""
    if _HUNK.search(text):
        return False  # a diff, even of source code, is not source code
    if is_python(text) or is_script(text) or find_sections(text, 0, len(text)):
        return True
    if _FENCED.search(text):  # Markdown with examples is not source
        return False
    if is_excerpt(text):
        return True
    if not _DECLARATION.search(text):
        return False
    body = remove_comments(text)
    lines = sum(1 for line in body.splitlines() if line.strip())
    if lines < _FEWEST_LINES:
        return False
    return len(_STATEMENT.findall(body)) * 2 >= lines or parse(text) is not None


def _find_front_matter_end(lines: Lines, index: int) -> int | None:
    """Return the index after front matter: settings between two `---` lines at the start of a document."""
    for end in range(index + 1, min(len(lines), LONGEST_RUN)):
        if lines.texts[end].rstrip() == "---":
            return end + 1 if end > 1 else None
        if lines.likeness(end) is Likeness.PROSE:
            return None
    return None


WHOLE_SOURCE = WholeFormat("code", SOURCE.search, _is_source)
FRONT_MATTER = Format("code", _FRONT_MATTER, _find_front_matter_end)


def find_code_end(lines: Lines, index: int) -> int | None:
    """Return the index after a run of unfenced code that starts at `index`, or None.

    The run goes on after blank lines if the lines there are indented more deeply, and it includes the line
    that closes it. It ends above a JSON value. A single line above such a value is not code.
    """
    first = lines.texts[index].lstrip()
    if (CLOSER.fullmatch(first) and first[0].isalpha()) or _TAG.match(first) or _STAGE.match(first):
        return None  # a word such as `end` closes a block above, and so may a tag
    base = lines.indent(index)
    end = _find_run_end(lines, index, index, base)
    if all(map(_TAGGED.match, lines.texts[index:end])):
        return None
    edges = [at for at in (index, end) if at < len(lines) and lines.indent(at) == base]
    if any(FRAME.match(lines.texts[at]) for at in edges):
        return None
    if not _is_code([lines.likeness(line) for line in range(index, end)], indented=base >= 4):
        return None
    while end - index < LONGEST_RUN:
        following = lines.skip_blank(end)
        if following == len(lines) or lines.indent(following) <= base:
            break
        longer = _find_run_end(lines, following, index, base + 1)
        kinds = [lines.likeness(line) for line in range(following, longer)]
        if kinds.count(Likeness.PROSE) * 2 > len(kinds) or max(kinds) < Likeness.MAYBE:
            break
        end = longer
    if end - index >= LONGEST_RUN:
        end = _leave_block(lines, index, end)
    closer = lines.skip_blank(end)
    if closer < len(lines) and lines.indent(closer) == base and CLOSER.fullmatch(lines.texts[closer]):
        end = closer + 1
    value = next((line for line in range(index + 1, end) if find_json_end(lines, line)), end)
    return value if value == end or value > index + 1 else None


def _leave_block(lines: Lines, index: int, end: int) -> int:
    """Return the index after a long run, moved up so that the run does not end inside a block.

    It ends above the last line of the lowest indent that begins a block in its lower half, and above the
    comment right above that line.
    """
    below = lines.skip_blank(end)
    if below == len(lines):
        return end
    inner = [at for at in range(end - 1, index + LONGEST_RUN // 2, -1) if not lines.is_blank(at)]
    starts = [at for at in inner if lines.texts[at].lstrip()[0] not in ")]}"]
    heads = [at for at in starts if lines.texts[at].rstrip().endswith((":", ","))]
    starts = [*heads, *(at for at in starts if lines.indent(at + 1) > lines.indent(at))]
    start = min(starts, key=lines.indent, default=end)
    if lines.indent(below) <= lines.indent(start):
        start = end
    while start > index + 1 and COMMENT.match(lines.texts[start - 1]):
        start -= 1
    return start


def _find_run_end(lines: Lines, index: int, first: int, indent: int) -> int:
    """Return the index after the non-blank lines from `index` on that are indented by at least `indent`.

    The run ends at a fence, a stack frame, a heading of a text that begins with one, or `LONGEST_RUN` lines
    after `first`. It has at least one line.
    """
    end = index
    while end < len(lines) and end - first < LONGEST_RUN and not lines.is_blank(end):
        if lines.indent(end) < indent or FENCE.start.match(lines.texts[end]):
            break
        if FRAME.match(lines.texts[end]) and end > index:
            break
        if end > index and _STAGE.match(lines.texts[end]) and lines.texts[end - 1].startswith("#"):
            break
        if end > index and _SECTION.match(lines.texts[end]) and lines.has(_SECTIONED):
            break
        end += 1
    return max(end, index + 1)


def _is_code(lines: Sequence[Likeness], *, indented: bool) -> bool:
    """Return whether a run of lines is code. An indented run needs fewer lines of code: prose is rarely
    indented."""
    sure, maybe, prose = (lines.count(kind) for kind in (Likeness.CODE, Likeness.MAYBE, Likeness.PROSE))
    total = len(lines)
    if prose * 3 > total:
        return False
    return sure * (3 if indented else 2) >= total and (sure + maybe) * (2 if indented else 1.5) >= total


def _find_comment_sign(body: str, lines: int) -> str:
    """Return the sign that begins a comment in the language of `body`, as its comments or braces suggest."""
    counts = Counter(next(filter(None, sign.groups())) for sign in _SIGN.finditer(body))
    counts["//"] += counts.pop("*", 0) + counts.pop("/*", 0) + len(_DIRECTIVES.findall(body))
    counts["#"] += 0
    (sign, most), (_, second) = counts.most_common(2)
    if most == second:
        has_braces = not _SHELL.search(body) and len(_BRACES.findall(body)) * 8 > lines
        sign = "//" if has_braces else "#"
    return f"{sign} "


def open_code(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the tree of the code in `text[start:end]`. Small functions are not opened."""
    start = line_start(text, start)
    if sections := find_sections(text, start, end):
        nodes = [_open_section(text, section, sizes) for section in sections]
        return Node(start, end, nodes, Series("<!-- ", " -->"))
    if tree := open_python(text, start, end, sizes) or open_source(text, start, end, sizes):
        return tree
    lines = list(join_continued(text, list_whole_lines(text, start, end), sizes.part))
    series = Series(_find_comment_sign(text[start:end], len(lines)))
    blocks = open_indented(text, lines, sizes, series)
    return blocks[0] if len(blocks) == 1 else Node(start, end, blocks, series)


def _open_section(text: str, section: Section, sizes: Sizes) -> Node:
    """Return the tree of a section of a component. Its tags are the head and the tail."""
    if section.whole[1] - section.whole[0] <= sizes.whole:
        return Node(*section.whole)
    if section.name == "script":
        tree = open_code(text, *section.body, sizes)
        nodes, series = tree.children or [tree], tree.series or Series("// ")
    else:
        series = Series("<!-- ", " -->") if section.name == "template" else Series("/* ", " */")
        nodes = open_indented(text, list_whole_lines(text, *section.body), sizes, series)
    return Node(*section.whole, nodes, series)


class Section(NamedTuple):
    """A section of a component."""

    name: str
    whole: Range
    """Its range in the text, with its tags."""
    body: Range


def find_sections(text: str, start: int, end: int) -> list[Section]:
    """Return the sections of a component; none if the text is something else."""
    if end - start > _LARGEST_COMPONENT or not _COMPONENT.search(text, start, end):
        return []
    found: list[Section] = []
    opening: re.Match[str] | None = None
    for tag in _SECTION_TAG.finditer(text, start, end):
        if opening is None:
            opening = None if tag["slash"] else tag
        elif tag["slash"] and tag["name"] == opening["name"] and not tag["attributes"]:
            body = (opening.end() + 1, tag.start())
            found.append(Section(tag["name"], (opening.start(), tag.end()), body))
            opening = None
    edges = [start, *(edge for section in found for edge in section.whole), end]
    between = "".join(text[left:right] for left, right in zip(edges[::2], edges[1::2], strict=True))
    outside = re.sub(r"<!--.*?-->", "", between, flags=re.DOTALL).strip()
    return found if len(found) > 1 and not outside else []
