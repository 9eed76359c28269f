"""Readers of other tools' formats: each says under which heads a person reads a row.

A reader takes the rows of a text and returns a `Line` for every row that is not blank. Readers know the
formats from their definitions and share no code with the SDK.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

Path = tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A row that is not blank, and the heads that it belongs to, outermost first."""

    row: int
    path: Path
    text: str
    head: bool = False
    prose: bool = False
    """Part of a running text, from which single sentences may be taken."""
    name: str = ""
    """The head's name in the paths below it, if it isn't the text."""


Reader = Callable[[Sequence[str], Sequence[str]], list[Line]]
"""A function that reads the rows of a text. The second argument holds the rows of its source."""

SENTENCE_END = re.compile(r"""(?<=[.!?:;])(["'”’)\]*_`]*)\s+|(?<=[。！？])""")
STRUCTURE = re.compile(
    r"\s*([-*+•](\s|$)|---$|[|>#@=~^\]{}]|\[(?![^\]]*\][(\[.:])|<(?!\w+://)|\(?(\d{1,4}|[A-Za-z]|[ivxIVX]{2,5})[.)]\s"
    r"|\.\.|\.[A-Za-z]|'[a-z]{2}(\s|$)|```|:[\w ]+:(?!`)"
    r"|[\w-]+:\s*\S*$|\$|([Uu]sage|or):\s)"
)


NARROWEST = 30
"""Number of characters of the longest row of a running text that is wrapped."""


def indent_of(row: str) -> int:
    expanded = row.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())


def is_prose(text: str) -> bool:
    """Return whether a text has several words and the end of a sentence."""
    ends = re.search(r"""[A-Za-z\d)'"`*_][.!?:]["'”’)\]*_`]*(\s|$)""", text)
    return len(text.split()) >= 6 and ends is not None


def with_prose(lines: list[Line], keys: bool = False) -> list[Line]:
    """Mark the rows of paragraphs that are running text; with `keys`, `Key: value` rows aren't."""
    done: list[Line] = []
    paragraph: list[Line] = []

    def flush() -> None:
        # Nobody wraps text at so few characters, so these are names and values.
        is_narrow = len(paragraph) > 1 and max(len(line.text) for line in paragraph) < NARROWEST
        prose = not is_narrow and is_prose(" ".join(line.text for line in paragraph))
        done.extend(replace(line, prose=prose) for line in paragraph)
        paragraph.clear()

    for line in lines:
        if paragraph and (line.row != paragraph[-1].row + 1 or line.path != paragraph[-1].path):
            flush()
        if line.head or STRUCTURE.match(line.text) or (keys and re.match(r"[A-Z][\w-]*:( |$)", line.text)):
            flush()
            done.append(line)
        else:
            paragraph.append(line)
    flush()
    return done


def flat(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read rows that need no other rows."""
    return [Line(number, (), row.strip()) for number, row in enumerate(rows) if row.strip()]


def outline(
    *rules: str, nested: bool = False, prose: bool = False, blank: int | None = None, opens: str | None = None
) -> Reader:
    """Read heads of the levels of `rules`.

    A blank row closes the heads from level `blank` on, and a row that isn't deeper closes an indented head.
    With `nested`, rows also belong to the less indented rows above them: to any, or with `opens` only to one
    that it matches, or that is directly above.
    """
    patterns = [re.compile(rule) for rule in rules]

    def read(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
        heads: list[tuple[int, str, int]] = []
        stack: list[tuple[int, str]] = []
        lines: list[Line] = []
        filled = [number for number, row in enumerate(rows) if row.strip()]
        introductions = find_introductions(source) if opens else set()
        following = dict(pairwise(filled))
        for number, row in enumerate(rows):
            text = row.strip()
            if not text:
                if blank is not None:
                    heads = [head for head in heads if head[0] < blank]
                    stack = []
                continue
            level = next((at for at, pattern in enumerate(patterns) if pattern.match(row)), None)
            if level is not None:
                heads = [head for head in heads if head[0] < level]
                lines.append(Line(number, tuple(head[1] for head in heads), text, head=True))
                heads.append((level, text, indent_of(row)))
                stack = []
                continue
            depth = indent_of(row)
            heads = [head for head in heads if not 0 < head[2] >= depth]
            stack = [entry for entry in stack if entry[0] < depth]
            path = tuple(entry[1] for entry in (*heads, *stack))
            after = following.get(number)
            head = False
            deeper = (
                after is not None and indent_of(rows[after]) > depth and not is_rule(patterns, rows[after])
            )
            if nested and (opens is None or re.match(opens, row) or (deeper and after == number + 1)):
                # The block below running text only needs some introduction.
                introduces = text.endswith(":") and any(row.endswith(text) for row in introductions)
                stack.append((depth, ":" if introduces else text))
                head = deeper and not introduces
            lines.append(Line(number, path, text, head))
        return with_prose(lines) if prose else lines

    return read


def find_introductions(source: Sequence[str]) -> set[str]:
    """Return the rows with a colon that end a longer text."""
    return {
        row.strip()
        for above, row in pairwise(["", *source])
        if row.rstrip().endswith(":")
        and (len(row.split()) > 5 or (above.strip() and indent_of(above) == indent_of(row)))
    }


def is_rule(patterns: list[re.Pattern[str]], row: str) -> bool:
    return any(pattern.match(row) for pattern in patterns)


def records(name: str, start: str | None = None, nested: bool = False, prose: str | None = None) -> Reader:
    """Read records whose rows belong to the row that `name` matches.

    A record begins at a row that `start` matches, or after a blank row. With `nested`, indented rows also
    belong to the row above that is not indented. Those below a row that `prose` matches may be running text.
    """

    def read(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
        groups: list[list[int]] = [[]]
        for number, row in enumerate(rows):
            if re.match(start, row) if start else not row.strip():
                groups.append([])
            if row.strip(" ."):
                groups[-1].append(number)
        lines: list[Line] = []
        for group in groups:
            named = next((number for number in group if re.match(name, rows[number])), None)
            above: Path = ()
            for at, number in enumerate(group):
                text = rows[number].strip()
                path: Path = () if named is None or number == named else (rows[named].strip(),)
                deeper = rows[number][0] in " \t"
                # A name or a value is something to read, the number of a subtitle isn't.
                is_name = number == named and not re.match(r"[\w-]+: +\S", text)
                opens = at + 1 < len(group) and rows[group[at + 1]][0] in " \t"
                if nested and deeper:
                    path += above
                elif nested:
                    above = (text,)
                lines.append(
                    Line(
                        number,
                        path,
                        text,
                        head=is_name or (nested and opens and not deeper and text[-1] == ":"),
                    )
                )
        if prose:
            texts = [line for line in lines if line.path and re.match(prose, line.path[-1])]
            others = [line for line in lines if line not in texts]
            lines = sorted([*with_prose(texts), *others], key=lambda line: line.row)
        return lines

    return read


def table(header: str | None = None) -> Reader:
    """Read rows below column names: the source's first row, or the one that `header` matches."""

    def read(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
        names = next((row for row in source if (re.match(header, row) if header else row.strip())), "")
        path: Path = ()
        lines: list[Line] = []
        for number, row in enumerate(rows):
            text = row.strip()
            if text.split() == names.split():
                path = (text,)
                lines.append(Line(number, (), text, head=True))
            elif text:
                # A rule and a count of rows belong to no column.
                free = not re.search(r"\w", text) or re.fullmatch(r"\(\d+ rows?\)", text)
                lines.append(Line(number, () if free else path, text))
        return lines

    return read


def indented_tree(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read the branches that `tree` and `npm ls` draw."""
    plain = [re.sub(r"[│├└┬─|`+]", " ", row.replace("\xa0", " ")) for row in rows]
    # The root belongs to no branch, and every branch would belong to it.
    plain = [row if row.startswith(" ") or not row.strip() else "" for row in plain]
    lines = outline(nested=True)(plain, source)
    lines += [
        Line(number, (), row.strip())
        for number, row in enumerate(rows)
        if row.strip() and not plain[number].strip()
    ]
    lines.sort(key=lambda line: line.row)
    return [replace(line, text=rows[line.row].strip(), name=line.text) for line in lines]


def with_comments(read: Reader, sign: str = r"#+|;+|//+") -> Reader:
    """Read running text in comments; a row without its sign isn't a comment.

    A comment right above a head says something about that head, not about the section that ends there.
    """

    def read_both(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
        lines: list[Line] = []
        comments: list[Line] = []
        below: Line | None = None
        for line in reversed(read(rows, source)):
            comment = re.match(rf"({sign})(\s|$)", line.text)
            text = line.text[comment.end() :].strip() if comment else ""
            if comment and below and below.head and below.row == line.row + 1:
                line = replace(line, path=below.path, head=True)
            if not comment:
                lines.append(line)
            elif text:
                path = (*line.path, comment[1])
                comments.append(replace(line, path=path, text=text, head=False))
            below = line
        return sorted([*lines, *with_prose(comments[::-1])], key=lambda line: line.row)

    return read_both
