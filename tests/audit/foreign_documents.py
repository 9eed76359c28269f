"""Documents and settings that people write, from their documented forms with random content."""

from __future__ import annotations

import textwrap

from tests.audit.foreign_draw import NOUNS, Draw, form
from tests.audit.foreign_formats import align
from tests.audit.foreign_readers import flat, outline, records
from tests.audit.foreign_texts import markdown, restructured


@form("readme", markdown)
def readme(d: Draw) -> str:
    lines = [f"# {d.word().title()}", "", d.paragraph(), ""]
    for noun in d.sample(NOUNS, d.randint(2, 5)):
        lines += [f"## {noun.title()}", "", *textwrap.wrap(d.paragraph(), 76), ""]
        for word in d.words(d.randint(2, 4)):
            lines += [f"- `{word}`: {d.phrase()}", *(f"  - {d.phrase()}" for _ in range(d.randint(0, 3)))]
        lines.append("")
        if d.random() < 0.5:
            lines += [f"### Setting {d.word()}", "", "| option | default |", "|---|---|"]
            lines += [*(f"| {word} | {d.digits(3)} |" for word in d.words(d.randint(2, 5))), ""]
        if d.random() < 0.5:
            lines += [
                "```sh",
                *(f"{d.word()} --{d.word()} {d.path()}" for _ in range(d.randint(1, 4))),
                "```",
                "",
            ]
    return "\n".join(lines)


@form("keep a changelog", markdown)
def changelog(d: Draw) -> str:
    lines = ["# Changelog", ""]
    for _ in range(d.randint(3, 6)):
        lines += [f"## [{d.version()}] - {d.day()}", ""]
        for kind in d.sample(["Added", "Changed", "Fixed", "Removed"], d.randint(1, 3)):
            lines += [
                f"### {kind}",
                "",
                *(f"- {d.phrase().capitalize()}" for _ in range(d.randint(1, 4))),
                "",
            ]
    return "\n".join(lines)


@form("rst lists and tables", restructured)
def rst(d: Draw) -> str:
    lines: list[str] = []
    for noun in d.sample(NOUNS, d.randint(2, 4)):
        title = f"{noun.title()} {d.word()}"
        lines += [title, "=" * len(title), "", *textwrap.wrap(d.paragraph(), 76), ""]
        for word in d.words(d.randint(2, 4)):
            lines += [word, f"    {d.sentence()}"]
        lines.append("")
        rows = [[word, d.digits(4)] for word in d.words(d.randint(2, 4))]
        widths = [max(len(row[at]) for row in rows) + 2 for at in (0, 1)]
        rule = "+" + "+".join("-" * width for width in widths) + "+"
        for row in rows:
            cells = (f" {cell}".ljust(width) for cell, width in zip(row, widths, strict=True))
            lines += [rule, "|" + "|".join(cells) + "|"]
        lines += [rule, ""]
    return "\n".join(lines)


@form("crontab", outline(r"# (?!m h)", blank=0))
def crontab(d: Draw) -> str:
    lines = ["SHELL=/bin/sh", f"MAILTO={d.word()}@example.org", "", "# m h dom mon dow command"]
    for _ in range(d.randint(3, 9)):
        lines += ["", f"# {d.phrase()}"]
        lines += [
            f"{d.randint(0, 59)} {d.randint(0, 23)} * * {d.randint(0, 6)} /usr/bin/{d.word()} {d.path()}"
        ]
    return "\n".join(lines) + "\n"


@form("nginx settings", outline(nested=True))
def nginx(d: Draw) -> str:
    lines = ["http {", "    include mime.types;"]
    for name in d.words(d.randint(2, 5)):
        lines += [
            "    server {",
            f"        listen {d.digits(4)};",
            f"        server_name {name}.example.org;",
        ]
        for word in d.words(d.randint(1, 3)):
            lines += [
                f"        location /{word} {{",
                f"            proxy_pass http://{d.ip()}:{d.digits(4)};",
            ]
            lines += [f"            proxy_read_timeout {d.digits(2)}s;", "        }"]
        lines.append("    }")
    return "\n".join([*lines, "}"]) + "\n"


@form("makefile", outline(r"[\w.]+:"))
def makefile(d: Draw) -> str:
    targets = d.words(d.randint(3, 8))
    lines = [f"{d.word().upper()} = {d.path()}", ""]
    for target in targets:
        lines += [f"{target}: {d.choice(targets)} {d.path()}"]
        lines += [*(f"\t{d.word()} --{d.word()} {d.path()}" for _ in range(d.randint(1, 3))), ""]
    return "\n".join(lines)


@form("dockerfile", outline(r"FROM "))
def dockerfile(d: Draw) -> str:
    lines: list[str] = []
    for stage in d.words(d.randint(2, 4)):
        lines += [f"FROM {d.word()}:{d.version()} AS {stage}", f"WORKDIR /{d.word()}"]
        lines += [f"ENV {name.upper()}={d.digits(3)}" for name in d.words(d.randint(1, 3))]
        lines += [f"COPY {d.path()} {d.path()}", f"RUN {d.word()} install {d.word()}={d.version()}", ""]
    return "\n".join(lines)


@form("subtitles", records(r"\d\d:\d\d:\d\d,\d+ -->"))
def subtitles(d: Draw) -> str:
    parts = []
    for number in range(1, d.randint(5, 14)):
        start = f"00:{number:02}:{d.randint(10, 30)},{d.digits(3)}"
        end = f"00:{number:02}:{d.randint(31, 59)},{d.digits(3)}"
        parts.append(f"{number}\n{start} --> {end}\n{d.phrase()}\n{d.phrase()}\n")
    return "\n".join(parts)


@form("gherkin", outline(r"Feature:", r"\s*(Scenario|Background)"))
def gherkin(d: Draw) -> str:
    lines = [f"Feature: {d.phrase()}"]
    for _ in range(d.randint(3, 7)):
        lines += ["", f"  Scenario: {d.phrase()}", f"    Given the {d.noun()} {d.word()}"]
        lines += [f"    When {d.person()} {d.phrase()}", f"    Then the price is {d.price()}"]
    return "\n".join(lines) + "\n"


@form("http exchange", outline(r"[<>] (GET|POST|HTTP/)"))
def http(d: Draw) -> str:
    lines: list[str] = []
    for _ in range(d.randint(2, 5)):
        lines += [f"> {d.choice(['GET', 'POST'])} /{d.path()} HTTP/1.1", f"> Host: {d.word()}.example"]
        lines += [
            f"> User-Agent: curl/{d.version()}",
            ">",
            f"< HTTP/1.1 {d.choice([200, 302, 404])} {d.word()}",
        ]
        lines += [
            f"< Content-Length: {d.digits(4)}",
            f"< ETag: {d.hexa(16)}",
            f"< X-{d.word()}: {d.word()}",
            "<",
        ]
    return "\n".join(lines) + "\n"


@form("bibtex", outline(r"@"))
def bibtex(d: Draw) -> str:
    entries = []
    for person in d.people(d.randint(3, 8)):
        name = person.split()[1].lower()
        entries.append(
            f"@article{{{name}{d.digits(4)},\n  author = {{{person}}},\n"
            f"  title = {{The {d.noun()} of {d.word()}}},\n  journal = {{{d.noun().title()} Letters}},\n"
            f"  year = {{20{d.digits(2)}}},\n  pages = {{{d.digits(3)}}}\n}}\n"
        )
    return "\n".join(entries)


@form("gettext catalogue", records(r"msgid "))
def gettext(d: Draw) -> str:
    return "\n".join(
        f'#: src/{d.path()}:{d.digits(3)}\nmsgid "{d.phrase()}"\nmsgstr "{d.word()} {d.word()} {d.word()}"\n'
        for _ in range(d.randint(4, 12))
    )


@form("sql dump", outline(r"(CREATE TABLE|INSERT INTO|COPY)"))
def sql_dump(d: Draw) -> str:
    lines: list[str] = []
    for name in d.words(d.randint(2, 4)):
        columns = d.words(d.randint(2, 4))
        lines += [
            f"CREATE TABLE {name} (",
            *(f"    {column} integer NOT NULL," for column in columns),
            "    id integer",
            ");",
            "",
        ]
        lines += [f"INSERT INTO {name} VALUES"]
        rows = [
            f"  ({', '.join(d.digits(3) for _ in columns)}, {d.digits(4)})" for _ in range(d.randint(2, 6))
        ]
        lines += [*(f"{row}," for row in rows[:-1]), f"{rows[-1]};", ""]
    return "\n".join(lines)


@form("go test", outline(r"(=== RUN|--- |FAIL\s|ok\s|PASS)"))
def go_test(d: Draw) -> str:
    lines: list[str] = []
    for name in d.words(d.randint(3, 8)):
        failed = d.random() < 0.5
        lines += [f"--- {'FAIL' if failed else 'PASS'}: Test{name.title()} (0.{d.digits(2)}s)"]
        lines += [f"    {d.word()}_test.go:{d.digits(2)}: got {d.digits(3)}, want {d.digits(3)}"] * failed
    return "\n".join([*lines, f"FAIL\texample.org/{d.word()}\t{d.price()}s"]) + "\n"


@form("tap", outline(r"(not )?ok \d+|1\.\."))
def tap(d: Draw) -> str:
    lines = ["TAP version 13"]
    for number in range(1, d.randint(5, 12)):
        failed = d.random() < 0.4
        lines.append(f"{'not ' * failed}ok {number} - {d.phrase()}")
        if failed:
            lines += ["  ---", f"  message: '{d.phrase()}'", f"  line: {d.digits(3)}", "  ..."]
    return "\n".join(lines) + "\n"


@form("config table", flat)
def mounts(d: Draw) -> str:
    rows = [
        [f"/dev/{d.word()}", f"/mnt/{d.word()}", "ext4", "rw,noatime", "0", d.randint(0, 2)]
        for _ in range(d.randint(4, 14))
    ]
    return "\n".join(align(rows)) + "\n"
