"""Readers of documents: Markdown, reStructuredText, manual pages, mail, conversations and licences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tests.audit.foreign_readers import Line, Path, indent_of, outline, with_prose

LIST_ITEM = re.compile(r"(\s*)([-*+•]|\d+[.)]|\[\d+\])\s+\S")


def markdown(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read headings, nested lists, tables and fences."""
    heads: list[tuple[int, str]] = []
    items: list[tuple[int, str]] = []
    table: Path = ()
    fence = ""
    lines: list[Line] = []
    fenced: list[Line] = []
    commented = find_comments(rows)
    for number, row in enumerate(rows):
        text = row.strip()
        section = tuple(name for _, name in heads)
        if number in commented and not fence:
            continue
        if not text:
            table = ()
            continue
        if fence:
            fenced.append(Line(number, section, text))
            fence = "" if text.startswith(fence) and not text.strip("`~") else fence
            continue
        heading = re.match(r"(#{1,6})\s+\S", row)
        if heading:
            heads = [head for head in heads if head[0] < len(heading[1])]
            lines.append(Line(number, tuple(name for _, name in heads), text, head=True))
            heads.append((len(heading[1]), text))
            items, table = [], ()
            continue
        if text.startswith(("```", "~~~")):
            fence = text[:3]
            lines.append(Line(number, section, text))
            continue
        item, depth = LIST_ITEM.match(row), indent_of(row)
        items = [entry for entry in items if entry[0] < depth]
        if item:
            path = section + tuple(name for _, name in items)
            lines.append(Line(number, path, text))
            items.append((depth, text))
            continue
        if text.startswith("|") and not table:
            ruled = number + 1 < len(rows) and re.fullmatch(r"[\s|:-]+", rows[number + 1]) is not None
            table = (text,)
            lines.append(Line(number, section, text, head=ruled))
            continue
        path = section + tuple(name for _, name in items) + (table if text.startswith("|") else ())
        lines.append(Line(number, path, text))
    return sorted([*with_prose(lines), *fenced], key=lambda line: line.row)


def find_comments(rows: Sequence[str]) -> set[int]:
    """Return the numbers of the rows of HTML comments, which nobody reads."""
    found: set[int] = set()
    opened = False
    for number, row in enumerate(rows):
        opened |= row.startswith("<!--")
        if opened:
            found.add(number)
        opened &= "-->" not in row
    return found


RULED = re.compile(r"([=\-~^\"'`+*#:._])\1{2,}\s*$")


def restructured(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read underlined headings, whose levels the source defines, and indented blocks."""
    order = [mark for _, mark in underlined(source)]
    levels = {mark: at for at, mark in enumerate(dict.fromkeys(order))}
    titles = dict(underlined(rows))
    heads: list[tuple[int, str]] = []
    lines: list[Line] = []
    body: list[str] = ["" for _ in rows]

    def flush(end: int) -> None:
        section = tuple(name for _, name in heads)
        for line in outline(r"\*\*.*\*\*$", nested=True, opens=r".*:\s*$|\s*\.\.|\s*([-*+]|\d+\.)\s")(
            body[:end], source
        ):
            text = line.text
            lines.append(replace(line, path=section + line.path, text=text))
        body[:end] = ["" for _ in range(end)]

    for number, row in enumerate(rows):
        mark = titles.get(number)
        if mark is not None:
            flush(number)
            level = levels.get(mark, len(levels))
            heads = [head for head in heads if head[0] < level]
            lines.append(Line(number, tuple(name for _, name in heads), row.strip(), head=True))
            heads.append((level, row.strip()))
        elif RULED.match(row) and (number - 1 in titles or number + 1 in titles):
            flush(number)
            # An overline belongs to the heading below it.
            if number - 1 in titles:
                lines.append(Line(number, tuple(name for _, name in heads), row.strip()))
        else:
            body[number] = row
    flush(len(rows))
    return with_prose(sorted(lines, key=lambda line: line.row))


def underlined(rows: Sequence[str]) -> list[tuple[int, str]]:
    """Return the rows with an underline as long as themselves, and its character."""
    found = []
    for number, (row, below) in enumerate(pairwise(rows)):
        text, ruled = row.rstrip(), RULED.match(below)
        if (
            ruled
            and text
            and text[0] not in " \t"
            and not RULED.match(text)
            and len(below.rstrip()) >= len(text)
        ):
            found.append((number, ruled[1]))
    return found


LAYOUT = re.compile(r"[.']\s*(\\\}|sp|br|nf|fi|ad|hy|if|ie|el|ne|in|ds|de|nh|\\\"|\.)?(\s|$)")


def roff(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read the sections and tagged paragraphs of a manual page's source."""
    heads: list[tuple[int, str]] = []
    outside: list[list[tuple[int, str]]] = []
    lines: list[Line] = []
    tag_next = False
    for number, row in enumerate(rows):
        text = row.strip()
        if indented := re.match(r"[.'](?:(RS|INDENT)|RE|UNINDENT)\b", row):
            if indented[1]:
                outside.append(heads)
            elif outside:
                heads = outside.pop()
            continue
        if not text or LAYOUT.match(row):
            continue
        macro = re.match(r"[.']\s*(\w+)", row)
        item = 2 + len(outside)
        level = {"SH": 0, "Sh": 0, "SS": 1, "Ss": 1, "IP": item}.get(macro[1] if macro else "")
        if level == item and not re.search(r"\w", row[3:].replace("0", "")):
            heads = [head for head in heads if head[0] < item]
            continue
        is_font = macro is None or macro[1] in ("B", "I", "BR", "BI", "IR", "RB", "RI", "IB", "SB", "SM")
        begins = macro is not None and macro[1] in ("TP", "TQ")
        if level is None and tag_next and is_font:
            level, tag_next = item, False
        elif begins:
            tag_next = True
        elif macro and macro[1] in ("PP", "LP", "P", "Pp", "HP"):
            heads = [head for head in heads if head[0] < item]
        if level is not None or begins:
            heads = [head for head in heads if head[0] < (item if level is None else level)]
        if level in (0, 1):
            outside = []
        if begins or (macro and level is None and not row[macro.end() :].strip()):
            continue
        lines.append(Line(number, tuple(name for _, name in heads), text, head=level is not None))
        if level is not None:
            heads.append((level, text))
    return with_prose(lines)


def quoted_mail(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read a mail's header, and quotations by their depth and the row that names their author."""
    lines: list[Line] = []
    author: dict[int, str] = {}
    for number, row in enumerate(rows):
        marks = re.match(r"[> ]*", row)
        quoted = marks[0] if marks else ""
        depth, text = quoted.count(">"), row[len(quoted) :].strip()
        if not text:
            continue
        author = {at: name for at, name in author.items() if at <= depth}
        path = (*(author[at] for at in sorted(author)), *([">" * depth] if depth else []))
        lines.append(Line(number, path, text, head=text.endswith("wrote:")))
        if text.endswith("wrote:"):
            author[depth + 1] = text
    return with_prose(lines, keys=True)


def spoken(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read messages after `Name:`; a row without a name continues the one above."""
    speaker: Path = ()
    lines: list[Line] = []
    for number, row in enumerate(rows):
        if row.strip():
            named = re.match(r"[A-Z]\w+: ", row)
            speaker = (named[0].strip(),) if named else speaker
            lines.append(Line(number, speaker, row.strip(), prose=row.rstrip()[-1] in ".!?"))
    return lines


def git_log(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read commits: their header, message and changed files."""
    commit: Path = ()
    lines: list[Line] = []
    for number, row in enumerate(rows):
        if row.strip():
            begins = re.match(r"commit [0-9a-f]{40}", row)
            lines.append(Line(number, () if begins else commit, row.strip(), head=bool(begins)))
            commit = (row.strip(),) if begins else commit
    return with_prose(lines, keys=True)


def definitions(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read `Key: value` rows with indented rows below them, and running text after the header."""
    lines: list[Line] = []
    above: Path = ()
    for number, row in enumerate(rows):
        text = row.strip()
        if text in ("", "."):
            # A row of spaces is a part of the value.
            above = above if row else ()
        elif row[0] in " \t":
            lines.append(Line(number, above, text))
        else:
            above = (text,) if re.match(r"[\w-]+:", row) else ()
            after = rows[number + 1] if number + 1 < len(rows) else ""
            lines.append(
                Line(
                    number, (), text, head=text[-1] == ":" and after[:1].strip() == "" and bool(after.strip())
                )
            )
    return with_prose(lines, keys=True)


def package_metadata(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read the header of a Python package's METADATA, and its description."""
    header = (at for at, row in enumerate(rows) if not re.match(r"[A-Z][\w-]+: |[ \t]+\S", row))
    end = next(header, len(rows))
    is_markdown = any(row.startswith("Description-Content-Type: text/m") for row in source)
    body = ["" if at < end else row for at, row in enumerate(rows)]
    return definitions(rows[:end], source) + (markdown if is_markdown else restructured)(body, source)


OPTIONS = outline(r"[A-Za-z].*:$", r"\s{1,8}-")


def usage(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read what `--help` prints: options below titles, and running text that is not indented.

    A row that is not indented belongs to no title if it follows a blank row, or if indented rows follow the
    title in the source.
    """
    filled = [row for row in source if row.strip()]
    introduces = {row.strip() for row, below in pairwise(filled) if indent_of(below)}
    lines: list[Line] = []
    start = 0
    for number, row in enumerate([*rows, ""]):
        ends = number == len(rows) or (row.strip() and not indent_of(row) and not rows[number - 1].strip())
        if number and ends:
            part = ["" if at < start else rows[at] for at in range(number)]
            lines += OPTIONS(part, source)
            start = number
    texts = [
        replace(
            line,
            path=() if line.path and line.path[-1] in introduces else line.path,
            head=line.head and last_sentence(line.text) == line.text,
        )
        for line in lines
        if not indent_of(rows[line.row])
    ]
    # The description of an option may begin in its row.
    others = [
        replace(line, head=line.head and not re.search(r"\S\s{2,}\S", rows[line.row].strip()))
        for line in lines
        if indent_of(rows[line.row])
    ]
    both = sorted([*with_prose(texts), *others], key=lambda line: line.row)
    return [replace(line, path=tuple(map(last_sentence, line.path))) for line in both]


def last_sentence(text: str) -> str:
    """Return the last sentence of a title, which alone may be kept."""
    return re.sub(r".*[.!?]\s+", "", text)


CLAUSE = re.compile(r"\s*(\d+(\.\d+)*[.)]|\(?[a-z]\)|Section \d+|[IVX]+\.)\s+\S")


def numbered(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read clauses by their numbers, `(a)` below `2.`; titles in capitals end them."""
    heads: list[tuple[int, str]] = []
    items = 0
    lines: list[Line] = []
    for number, row in enumerate(rows):
        text = row.strip()
        if not text:
            continue
        clause = CLAUSE.match(row)
        if text.isupper() and len(text) > 8:
            heads = []
            lines.append(Line(number, (), text))
            continue
        # A paragraph that is indented less than an item `(a)` ends it.
        if number and not rows[number - 1].strip() and heads and heads[-1][0] == 5 and indent_of(row) < items:
            heads.pop()
        if clause:
            level = 5 if re.match(r"\(?[a-z]\)", clause[1]) else clause[1].strip(".)").count(".")
            heads = [head for head in heads if head[0] < level]
        lines.append(Line(number, tuple(name for _, name in heads), text))
        if clause:
            heads.append((level, clause[1]))
            items = indent_of(row) if level == 5 else items
    return with_prose(lines)
