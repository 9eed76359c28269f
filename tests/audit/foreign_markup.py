"""Formats of markup and configuration whose rows depend on rows far above them.

Each reader follows the definition of its format. The texts are random, in the documented forms.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from tests.audit.foreign_draw import Draw, form
from tests.audit.foreign_readers import Line, Path, with_prose


def org_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read headlines by their stars, source blocks, and the rows of tables below their first row."""
    lines: list[Line] = []
    heads: list[tuple[int, str]] = []
    names = find_org_columns(source)
    block: Path = ()
    columns: Path = ()
    for number, row in enumerate(rows):
        text = row.strip()
        if not text:
            continue
        path = tuple(head for _, head in heads)
        stars = re.match(r"(\*+) ", row)
        if stars:
            block, columns = (), ()
            heads = [head for head in heads if head[0] < len(stars[1])]
            # A task says something by itself.
            lines.append(
                Line(number, tuple(head for _, head in heads), text, not re.match(r"\*+ (TODO|DONE)", text))
            )
            heads.append((len(stars[1]), text))
        elif text.startswith("#+BEGIN"):
            block, columns = (text,), ()
            lines.append(Line(number, path, text, True))
        elif text.startswith("#+END"):
            block = ()
            lines.append(Line(number, path, text))
        elif text.startswith("|"):
            is_head = text in names
            columns = () if is_head else columns
            lines.append(Line(number, (*path, *columns), text, is_head))
            columns = (text,) if is_head else columns
        else:
            columns = ()
            lines.append(Line(number, (*path, *block), text))
    texts = [line for line in lines if not (line.path and line.path[-1].startswith(("#+BEGIN", "|")))]
    return sorted(
        [*with_prose(texts), *(line for line in lines if line not in texts)], key=lambda line: line.row
    )


def find_org_columns(source: Sequence[str]) -> set[str]:
    """Return the rows above the rules of tables."""
    return {source[at - 1].strip() for at, row in enumerate(source) if row.strip().startswith("|-")}


@form("org file", org_rows)
def org_file(d: Draw) -> str:
    lines = [f"#+TITLE: {d.phrase()}", f"#+AUTHOR: {d.person()}", ""]
    for _ in range(d.randint(2, 5)):
        lines += [f"* {d.phrase()}", *draw_org_body(d)]
        for _ in range(d.randint(0, 3)):
            keyword = d.choice(["", "TODO ", "DONE ", "TODO [#A] "])
            lines.append(f"** {keyword}{d.phrase()} :{d.noun()}:")
            if keyword:
                lines.append(f"   SCHEDULED: <{d.day()} Fri>")
            if d.random() < 0.5:
                lines += [
                    "   :PROPERTIES:",
                    f"   :CUSTOM_ID: {d.word()}",
                    f"   :EFFORT: {d.digits(1)}:30",
                    "   :END:",
                ]
            lines += draw_org_body(d)
    return "\n".join(lines) + "\n"


def draw_org_body(d: Draw) -> list[str]:
    lines: list[str] = []
    for kind in d.sample(["text", "list", "table", "code"], d.randint(1, 3)):
        if kind == "text":
            lines += [*textwrap.wrap(d.paragraph(), 76), ""]
        elif kind == "list":
            lines += [
                *(f"- {d.choice(['[ ] ', '[X] ', ''])}{d.phrase()}" for _ in range(d.randint(2, 5))),
                "",
            ]
        elif kind == "table":
            lines += ["| {:10} | {:10} | {:6} |".format(*d.words(3)), "|------------+------------+--------|"]
            lines += [f"| {d.word():10} | {d.noun():10} | {d.digits(4):>6} |" for _ in range(d.randint(2, 6))]
            lines.append("")
        else:
            lines += ["#+BEGIN_SRC sh :results output"]
            lines += [f"{d.word()} --{d.word()} {d.path()}" for _ in range(d.randint(1, 4))]
            lines += ["#+END_SRC", ""]
    return lines


def wiki_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read sections, lists by their stars, the fields of boxes, and tables below their column names."""
    lines: list[Line] = []
    sections: list[tuple[int, str]] = []
    items: list[str] = []
    box: Path = ()
    for number, row in enumerate(rows):
        text = row.strip()
        if not text:
            continue
        section = re.fullmatch(r"(=+) .* =+", text)
        stars = re.match(r"(\*+) ", row)
        if section:
            sections = [entry for entry in sections if entry[0] < len(section[1])]
            box = ()
        items = items[: len(stars[1]) - 1] if stars else []
        if text.startswith("[[Category:"):
            # A category belongs to the page, at any place in it.
            sections, box = [], ()
        path = (*(head for _, head in sections), *box, *items)
        opens = text.startswith(("{{", "! "))
        lines.append(Line(number, path, text, section is not None or (opens and "}}" not in text)))
        if section:
            sections.append((len(section[1]), text))
        if stars:
            items.append(text)
        if opens and "}}" not in text:
            box = (text,)
        elif text in ("}}", "|}") or text.startswith("{|"):
            box = ()
    texts = [line for line in lines if not re.match(r"[|{!}=*\[]", line.text)]
    return sorted(
        [*with_prose(texts), *(line for line in lines if line not in texts)], key=lambda line: line.row
    )


@form("wikitext", wiki_rows)
def wikitext(d: Draw) -> str:
    lines = ["{{Infobox ship"]
    lines += [f"| {key} = {d.choice([d.person(), d.day(), d.digits(4)])}" for key in d.words(d.randint(3, 8))]
    lines += ["}}", f"'''{d.word().title()}''' is a {d.noun()}. {d.paragraph()}", ""]
    for _ in range(d.randint(2, 4)):
        lines += [f"== {d.phrase().title()} ==", d.paragraph(), "", *draw_wiki_part(d)]
        for _ in range(d.randint(0, 2)):
            lines += [f"=== {d.noun().title()} {d.word()} ===", d.paragraph(), "", *draw_wiki_part(d)]
    return "\n".join([*lines, f"[[Category:{d.noun().title()}s]]"]) + "\n"


def draw_wiki_part(d: Draw) -> list[str]:
    if d.random() < 0.5:
        lines = []
        for _ in range(d.randint(2, 4)):
            lines.append(f"* {d.phrase()} in {d.word()}")
            lines += [f"** [[{d.word()}]]: {d.day()}" for _ in range(d.randint(0, 3))]
        return [*lines, ""]
    names = d.words(3)
    lines = ['{| class="wikitable sortable"', f"|+ {d.phrase()}", "|-", f"! {' !! '.join(names)}"]
    for _ in range(d.randint(2, 7)):
        lines += ["|-", f"| [[{d.word()}]] || {d.digits(4)} || {d.person()}"]
    return [*lines, "|}", ""]


def zone_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read all rows below their $ORIGIN, and records without a name below the last one with a name."""
    lines: list[Line] = []
    origin: Path = ()
    owner: Path = ()
    for number, row in enumerate(rows):
        text = row.strip()
        if not text:
            continue
        if row.startswith("$ORIGIN"):
            lines.append(Line(number, (), text, True))
            origin, owner = (text,), ()
        elif row[0] in "$;":
            lines.append(Line(number, origin, text))
        elif row[0] in " \t":
            lines.append(Line(number, (*origin, *owner), text))
        else:
            lines.append(Line(number, origin, text))
            owner = (text,)
    return lines


@form("zone file", zone_rows)
def zone_file(d: Draw) -> str:
    zone = f"{d.word()}.example."
    lines = [f"$ORIGIN {zone}", "$TTL 3600", f"@       IN  SOA   ns1.{zone} admin.{zone} ("]
    lines += [f"                {d.digits(8)} ; {name}" for name in ("serial", "refresh", "retry", "expire")]
    lines += ["                300 )    ; minimum", *(f"        IN  NS    ns{n}.{zone}" for n in (1, 2))]
    lines += [f"        IN  MX    {d.digits(2)} mail.{zone}"]
    for part in range(d.randint(1, 3)):
        if part:
            lines += ["", f"$ORIGIN {d.word()}.{zone}"]
        for name in d.words(d.randint(2, 7)):
            lines.append(f"{name:8}IN  A     {d.ip()}")
            lines += [f"        IN  A     {d.ip()}"] if d.random() < 0.4 else []
            lines += [f"        IN  AAAA  2001:db8::{d.hexa(4)}"] if d.random() < 0.4 else []
            lines += [f'        IN  TXT   "{d.phrase()}"'] if d.random() < 0.4 else []
    return "\n".join(lines) + "\n"


def schema_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read fields below their type, which a row without indentation ends; descriptions are running text."""
    lines: list[Line] = []
    texts: list[Line] = []
    block: Path = ()
    quoted = False
    for number, row in enumerate(rows):
        text = row.strip()
        if text == '"""':
            quoted = not quoted
        if re.match(r"[^\s@]", row):
            block = ()
        if not text:
            continue
        opens = not quoted and text.endswith("{")
        line = Line(number, () if opens else block, text, opens)
        (texts if quoted and text != '"""' else lines).append(line)
        block = (text,) if opens else block
    return sorted([*lines, *(replace(line, prose=True) for line in texts)], key=lambda line: line.row)


@form("graphql schema", schema_rows)
def graphql_schema(d: Draw) -> str:
    lines: list[str] = []
    names = [name.title() for name in d.words(d.randint(3, 7))]
    for name in names:
        lines += ['"""', d.paragraph(), '"""'] if d.random() < 0.4 else []
        kind = d.choice(["type", "input", "interface", "enum", "union"])
        if kind == "union":
            lines += [f"union {name} = {' | '.join(d.sample(names, 2))}", ""]
            continue
        lines.append(f"{kind} {name} {{")
        for field in d.words(d.randint(2, 7)):
            lines += [f'  "{d.sentence()}"'] if d.random() < 0.3 else []
            of = d.choice([*names, "String", "Int", "ID"])
            about = d.choice(["", "", f' @deprecated(reason: "{d.phrase()}")'])
            value = (
                f"{field.upper()}" if kind == "enum" else f"{field}: {d.choice([of + '!', f'[{of}!]!', of])}"
            )
            lines.append(f"  {value}{about}")
        lines += ["}", ""]
    return "\n".join(lines)
