"""Readers of other tools' formats: each says under which heads a person reads a row.

A reader takes the rows of a text and returns a `Line` for every row that is not blank. Readers know the formats
from their definitions and share no code with the SDK.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
"""Read the rows of a text; the second argument holds the rows of the text that it was made from."""

SENTENCE_END = re.compile(r"""(?<=[.!?:;])(["'”’)\]*_`]*)\s+|(?<=[。！？])""")
STRUCTURE = re.compile(
    r"\s*([-*+•|>#@=~^\[\]<{}]|[\w(]{1,4}[.)]\s|\.\.|\.[A-Za-z]|'[a-z]|```|:[\w ]+:|[\w-]+:\s*\S*$|\$)"
)


def indent_of(row: str) -> int:
    expanded = row.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())


def is_prose(text: str) -> bool:
    """Return whether a paragraph has several words and the end of a sentence."""
    ends = re.search(r"""[A-Za-z\d)'"`*_][.!?:]["'”’)\]*_`]*(\s|$)""", text)
    return len(text.split()) >= 6 and ends is not None


def with_prose(lines: list[Line], keys: bool = False) -> list[Line]:
    """Mark the rows of paragraphs that are running text; with `keys`, `Key: value` rows aren't."""
    done: list[Line] = []
    paragraph: list[Line] = []

    def flush() -> None:
        prose = is_prose(" ".join(line.text for line in paragraph))
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
    """Read rows that stand for themselves."""
    return [Line(number, (), row.strip()) for number, row in enumerate(rows) if row.strip()]


def outline(
    *rules: str, nested: bool = False, prose: bool = False, blank: int | None = None, opens: str | None = None
) -> Reader:
    """Read heads of the levels of `rules`.

    A blank row closes the heads from level `blank` on. With `nested`, rows also belong to the less indented rows
    above them: to any, or with `opens` only to one that it matches, or that is directly above.
    """
    patterns = [re.compile(rule) for rule in rules]

    def read(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
        heads: list[tuple[int, str]] = []
        stack: list[tuple[int, str]] = []
        lines: list[Line] = []
        filled = [number for number, row in enumerate(rows) if row.strip()]
        following = dict(zip(filled, filled[1:], strict=False))
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
                lines.append(Line(number, tuple(name for _, name in heads), text, head=True))
                heads.append((level, text))
                stack = []
                continue
            depth = indent_of(row)
            stack = [entry for entry in stack if entry[0] < depth]
            path = tuple(name for _, name in (*heads, *stack))
            after = following.get(number)
            head = False
            deeper = (
                after is not None and indent_of(rows[after]) > depth and not is_rule(patterns, rows[after])
            )
            if nested and (opens is None or re.match(opens, row) or (deeper and after == number + 1)):
                # A long introduction is running text; its block only needs some introduction.
                introduces = text.endswith(":") and len(text.split()) > 5
                stack.append((depth, ":" if introduces else text))
                head = deeper and not introduces
            lines.append(Line(number, path, text, head))
        return with_prose(lines) if prose else lines

    return read


def is_rule(patterns: list[re.Pattern[str]], row: str) -> bool:
    return any(pattern.match(row) for pattern in patterns)


def records(name: str, start: str | None = None, nested: bool = False) -> Reader:
    """Read records whose rows belong to the row that `name` matches.

    A record begins at a row that `start` matches, or after a blank row. With `nested`, indented rows also belong
    to the row above that is not indented.
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
                opens = at + 1 < len(group) and rows[group[at + 1]][0] in " \t"
                if nested and deeper:
                    path += above
                elif nested:
                    above = (text,)
                lines.append(
                    Line(number, path, text, head=number == named or (nested and opens and not deeper))
                )
        return lines

    return read


LIST_ITEM = re.compile(r"(\s*)([-*+•]|\d+[.)]|\[\d+\])\s+\S")


def markdown(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read headings, nested lists, tables and fences."""
    heads: list[tuple[int, str]] = []
    items: list[tuple[int, str]] = []
    table: Path = ()
    fence = ""
    lines: list[Line] = []
    for number, row in enumerate(rows):
        text = row.strip()
        section = tuple(name for _, name in heads)
        if not text:
            table = ()
            continue
        if fence:
            lines.append(Line(number, section, text))
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
    return with_prose(lines)


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
        for line in outline(nested=True, opens=r".*:\s*$|\s*\.\.|\s*([-*+]|\d+\.)\s")(body[:end], source):
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
    for number, (row, below) in enumerate(zip(rows, rows[1:], strict=False)):
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


LAYOUT = re.compile(r"[.'](RS|RE|sp|br|nf|fi|ad|hy|if|ie|el|ne|in|ds|de|nh|\\\"|\.)(\s|$)")


def roff(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read the sections and tagged paragraphs of a manual page's source."""
    heads: list[tuple[int, str]] = []
    lines: list[Line] = []
    tag_next = False
    for number, row in enumerate(rows):
        text = row.strip()
        if not text or LAYOUT.match(row):
            continue
        macro = re.match(r"[.']\s*(\w+)", row)
        level = {"SH": 0, "Sh": 0, "SS": 1, "Ss": 1, "IP": 2}.get(macro[1] if macro else "")
        if level == 2 and not re.search(r"\w", row[3:].replace("0", "")):
            heads = [head for head in heads if head[0] < 2]
            continue
        is_font = macro is None or macro[1] in ("B", "I", "BR", "BI", "IR", "RB", "RI", "IB", "SB", "SM")
        if level is None and tag_next and is_font:
            level, tag_next = 2, False
        elif macro and macro[1] in ("TP", "TQ"):
            tag_next = True
            level = 9
        elif macro and macro[1] in ("PP", "LP", "P", "Pp"):
            heads = [head for head in heads if head[0] < 2]
        if level is not None:
            heads = [head for head in heads if head[0] < min(level, 2)]
        if level == 9 or (macro and level is None and not row[macro.end() :].strip()):
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
            lines.append(Line(number, speaker, row.strip(), prose=is_prose(row)))
    return lines


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
            above = above if text else ()
        elif row[0] in " \t":
            # The rows of a value may be kept one by one.
            lines.append(Line(number, above, text))
        else:
            above = (text,) if re.match(r"[\w-]+:", row) else ()
            after = rows[number + 1] if number + 1 < len(rows) else ""
            lines.append(
                Line(number, (), text, head=bool(above and after[:1].strip() == "" and after.strip()))
            )
    free = with_prose([line for line in lines if not line.path], keys=True)
    return sorted([*free, *(line for line in lines if line.path)], key=lambda line: line.row)


def package_metadata(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read the header of a Python package's METADATA, and its description."""
    header = (at for at, row in enumerate(rows) if not re.match(r"[A-Z][\w-]+: |[ \t]+\S", row))
    end = next(header, len(rows))
    is_markdown = any(row.startswith("Description-Content-Type: text/m") for row in source)
    body = ["" if at < end else row for at, row in enumerate(rows)]
    return definitions(rows[:end], source) + (markdown if is_markdown else restructured)(body, source)


def with_comments(read: Reader, sign: str = r"#+|;+|//+") -> Reader:
    """Read running text in comments; a row without its sign isn't a comment."""

    def read_both(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
        lines: list[Line] = []
        comments: list[Line] = []
        for line in read(rows, source):
            comment = re.match(rf"({sign})(\s|$)", line.text)
            text = line.text[comment.end() :].strip() if comment else ""
            if not comment:
                lines.append(line)
            elif text:
                comments.append(replace(line, path=(*line.path, comment[1]), text=text))
        return sorted([*lines, *with_prose(comments)], key=lambda line: line.row)

    return read_both


CLAUSE = re.compile(r"\s*(\d+(\.\d+)*[.)]|\(?[a-z]\)|Section \d+|[IVX]+\.)\s+\S")


def numbered(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read clauses by their numbers, `(a)` below `2.`; titles in capitals end them."""
    heads: list[tuple[int, str]] = []
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
        if clause:
            level = 5 if re.match(r"\(?[a-z]\)", clause[1]) else clause[1].strip(".)").count(".")
            heads = [head for head in heads if head[0] < level]
        lines.append(Line(number, tuple(name for _, name in heads), text))
        if clause:
            heads.append((level, clause[1]))
    return with_prose(lines)
