"""Formats of reports and messages, written from their documented forms with random content."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from tests.audit.foreign_draw import NOUNS, Draw, form
from tests.audit.foreign_readers import Line, Path, flat, indented_tree, outline, table
from tests.audit.foreign_texts import quoted_mail, spoken


def align(rows: Sequence[Sequence[object]], gap: str = "  ", right: Sequence[int] = ()) -> list[str]:
    """Lay out columns as `column -t` does."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        gap.join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def draw_table(d: Draw) -> tuple[list[str], list[list[str]]]:
    names = ["id", "name", "owner", "price", "changed"]
    rows = [
        [str(n), word, d.choice(SHORT_OWNERS), d.price(), d.day()]
        for n, word in zip(sorted(d.sample(range(1, 9000), 14)), d.words(14), strict=True)
    ]
    return names, rows[: d.randint(4, 14)]


SHORT_OWNERS = ["ops", "web", "billing", "search", "data"]


@form("psql aligned", table())
def psql_aligned(d: Draw) -> str:
    names, rows = draw_table(d)
    widths = [max(len(row[at]) for row in [names, *rows]) for at in range(len(names))]
    head = "|".join(f" {name.center(width)} " for name, width in zip(names, widths, strict=True))
    rule = "+".join("-" * (width + 2) for width in widths)
    body = [
        "|".join(
            f" {cell.rjust(width) if at in (0, 3) else cell.ljust(width)} "
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([head, rule, *body, f"({len(rows)} rows)"]) + "\n"


@form("psql expanded", outline(r"-\[ RECORD"))
def psql_expanded(d: Draw) -> str:
    names, rows = draw_table(d)
    width, wide = max(map(len, names)), max(len(cell) for row in rows for cell in row)
    lines = []
    for number, row in enumerate(rows, 1):
        title = f"-[ RECORD {number} ]"
        lines.append(title.ljust(width + 1, "-") + "+" + "-" * (wide + 1))
        lines += [f"{name.ljust(width)} | {cell}" for name, cell in zip(names, row, strict=True)]
    return "\n".join(lines) + "\n"


@form("psql plan", outline(nested=True))
def psql_plan(d: Draw) -> str:
    lines = [f"Hash Join  (cost={d.price()}..{d.price()} rows={d.randint(2, 9000)} width={d.randint(4, 90)})"]
    indent = "  "
    for _ in range(d.randint(2, 6)):
        lines += [
            f"{indent}->  {d.choice(['Seq Scan', 'Index Scan', 'Bitmap Heap Scan'])} on {d.word()}  "
            f"(cost={d.price()}..{d.price()} rows={d.randint(2, 9000)} width={d.randint(4, 90)})",
            f"{indent}      Filter: ({d.word()} > {d.randint(2, 9000)})",
            f"{indent}      Rows Removed by Filter: {d.randint(2, 9000)}",
        ]
        indent += d.choice(["", "      "])
    return "\n".join([*lines, f"Planning Time: {d.price()} ms", f"Execution Time: {d.price()} ms"]) + "\n"


@form("ps aux", table())
def ps_aux(d: Draw) -> str:
    rows: list[list[object]] = [
        ["USER", "PID", "%CPU", "%MEM", "VSZ", "RSS", "TTY", "STAT", "START", "COMMAND"]
    ]
    for pid in sorted(d.sample(range(1, 30000), d.randint(6, 20))):
        user, command = (
            d.choice(["root", "www-data", d.word()]),
            f"/usr/bin/{d.word()} --{d.word()}={d.digits(3)}",
        )
        numbers = [
            pid,
            f"{d.randint(0, 9)}.{d.randint(0, 9)}",
            f"{d.randint(0, 9)}.1",
            d.digits(6),
            d.digits(5),
        ]
        rows.append([user, *numbers, "?", "Ssl", "Nov24", command])
    return "\n".join(align(rows, " ", right=(1, 2, 3, 4, 5))) + "\n"


@form("df", table())
def df(d: Draw) -> str:
    rows: list[list[object]] = [["Filesystem", "1K-blocks", "Used", "Available", "Use%", "Mounted on"]]
    for name in d.words(d.randint(5, 14)):
        rows.append(
            [f"/dev/{name}", d.digits(8), d.digits(7), d.digits(7), f"{d.digits(2)}%", f"/mnt/{d.word()}"]
        )
    return "\n".join(align(rows, " ", right=(1, 2, 3, 4))) + "\n"


@form("ss", table())
def ss(d: Draw) -> str:
    rows: list[list[object]] = [["State", "Recv-Q", "Send-Q", "Local Address:Port", "Peer Address:Port"]]
    for _ in range(d.randint(5, 15)):
        rows.append(["ESTAB", 0, d.digits(2), f"{d.ip()}:{d.digits(4)}", f"{d.ip()}:{d.digits(5)}"])
    return "\n".join(align(rows)) + "\n"


@form("ip address", outline(r"\d+: "))
def ip_address(d: Draw) -> str:
    lines = []
    for number, name in enumerate(d.words(d.randint(3, 8)), 1):
        last = d.randint(2, 254)
        lines += [
            f"{number}: {name}: <BROADCAST,MULTICAST,UP> mtu {d.randint(576, 9000)} qdisc noqueue state UP",
            f"    link/ether {':'.join(d.hexa(2) for _ in range(6))} brd ff:ff:ff:ff:ff:ff",
            f"    inet {d.ip()}/{d.randint(8, 30)} brd 10.0.0.{last} scope global {name}",
            f"       valid_lft {d.digits(5)}sec preferred_lft {d.digits(5)}sec",
        ]
    return "\n".join(lines) + "\n"


@form("docker ps", table())
def docker_ps(d: Draw) -> str:
    rows: list[list[object]] = [["CONTAINER ID", "IMAGE", "STATUS", "PORTS", "NAMES"]]
    for name in d.words(d.randint(5, 14)):
        port = d.digits(4)
        rows.append(
            [d.hexa(12), f"{name}:{d.version()}", f"Up {d.digits(2)} hours", f"{port}/tcp", f"{name}-1"]
        )
    return "\n".join(align(rows, "   ")) + "\n"


@form("kubectl get", table())
def kubectl_get(d: Draw) -> str:
    rows: list[list[object]] = [["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]]
    for name in d.words(d.randint(5, 16)):
        status = d.choice(["Running", "Pending", "CrashLoopBackOff"])
        rows.append(
            [d.choice(SHORT_OWNERS), f"{name}-{d.hexa(9)}", "1/1", status, d.digits(2), f"{d.digits(2)}d"]
        )
    return "\n".join(align(rows, "   ")) + "\n"


@form("kubectl describe", outline(nested=True))
def kubectl_describe(d: Draw) -> str:
    lines = [
        f"Name:             {d.word()}-{d.hexa(9)}",
        f"Namespace:        {d.word()}",
        f"Node:             {d.word()}/{d.ip()}",
        f"Labels:           app={d.word()}",
        f"                  pod-template-hash={d.hexa(9)}",
        "Containers:",
    ]
    for name in d.words(d.randint(2, 4)):
        lines += [
            f"  {name}:",
            f"    Container ID:   containerd://{d.hexa(24)}",
            f"    Image:          registry.example/{name}:{d.version()}",
            f"    Port:           {d.digits(4)}/TCP",
            "    State:          Waiting",
            f"      Reason:       {d.choice(['CrashLoopBackOff', 'ImagePullBackOff'])}",
            f"    Restart Count:  {d.digits(2)}",
            "    Environment:",
            f"      {d.word().upper()}:  {d.word()}",
            f"      {d.word().upper()}:  {d.digits(4)}",
        ]
    lines += ["Events:", "  Type     Reason     Age   Message", "  ----     ------     ----  -------"]
    lines += [
        f"  Warning  BackOff    {d.digits(2)}m   Back-off restarting {d.word()}"
        for _ in range(d.randint(1, 5))
    ]
    return "\n".join(lines) + "\n"


@form("tree", indented_tree)
def tree(d: Draw) -> str:
    lines = ["."]

    def grow(prefix: str, depth: int) -> None:
        names = d.words(d.randint(2, 5 if depth else 6))
        for at, name in enumerate(names):
            last = at == len(names) - 1
            folder = depth < 2 and d.random() < 0.5
            lines.append(f"{prefix}{'└── ' if last else '├── '}{name if folder else name + '.txt'}")
            if folder:
                grow(prefix + ("    " if last else "│   "), depth + 1)

    grow("", 0)
    return "\n".join([*lines, "", f"{d.randint(2, 9)} directories, {len(lines)} files"]) + "\n"


@form("quoted mail", quoted_mail)
def mail(d: Draw) -> str:
    people = d.people(4)
    lines = [
        f"From: {people[0]} <{d.word()}@example.org>",
        f"Subject: Re: {d.noun()} {d.word()}",
        f"Date: {d.day()}",
    ]
    for depth in range(d.randint(2, 4)):
        prefix = ">" * depth + (" " if depth else "")
        for _ in range(d.randint(1, 3)):
            lines.append(prefix.rstrip())
            lines += [prefix + row for row in textwrap.wrap(d.paragraph(), 66)]
        lines.append(prefix.rstrip())
        lines.append(f"{prefix}On {d.day()} at {d.clock()}, {people[depth]} wrote:")
    end = ">" * (depth + 1) + " "
    return "\n".join([*lines, *(end + row for row in textwrap.wrap(d.paragraph(), 66))]) + "\n"


@form("chat log", spoken)
def chat(d: Draw) -> str:
    people = d.people(3)
    says = [d.choice([d.sentence, d.phrase, d.paragraph])() for _ in range(d.randint(6, 20))]
    return "".join(f"{d.choice(people).split()[0]}: {said}\n" for said in says)


@form("faq", outline(r"Q: "))
def faq(d: Draw) -> str:
    lines = []
    for noun in d.sample(NOUNS, d.randint(4, 9)):
        name = d.word()
        lines += [f"Q: When does the {noun} of {name} open?", f"A: It opens on {d.day()} at {d.clock()}.", ""]
    return "\n".join(lines)


@form("icalendar", flat, "blocks")
def icalendar(d: Draw) -> str:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", f"PRODID:-//{d.word()}//EN"]
    for _ in range(d.randint(3, 9)):
        day = d.day().replace("-", "")
        lines += [
            "BEGIN:VEVENT",
            f"UID:{d.hexa(12)}@example.org",
            f"DTSTART:{day}T{d.clock().replace(':', '')}Z",
            f"DTEND:{day}T235959Z",
            f"SUMMARY:{d.noun().title()} with {d.person()}",
            f"LOCATION:Room {d.digits(3)}\\, {d.word().title()}",
            "END:VEVENT",
        ]
    return "\n".join([*lines, "END:VCALENDAR"]) + "\n"


@form("vcard", flat, "blocks")
def vcard(d: Draw) -> str:
    lines = []
    for person in d.people(d.randint(3, 9)):
        first, last = person.split()
        lines += [
            "BEGIN:VCARD",
            "VERSION:4.0",
            f"FN:{person}",
            f"N:{last};{first};;;",
            f"TEL;TYPE=cell:+44 {d.digits(4)} {d.digits(6)}",
            f"EMAIL:{first.lower()}@{d.word()}.example",
            f"ORG:{d.word().title()} {d.noun().title()}",
            "END:VCARD",
        ]
    return "\n".join(lines) + "\n"


def draw_remarks(d: Draw) -> list[str]:
    if d.random() < 0.75:
        return []
    return [f"# {d.choice([d.phrase(), d.sentence(), d.word()])}" for _ in range(d.choice([1, 1, 2]))]


def entry_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read attributes below the name of their entry. Comments, and the result of the search, are in none."""
    lines: list[Line] = []
    path: Path = ()
    for number, row in enumerate(rows):
        text = row.strip()
        if not text or re.match("dn: |search: ", text):
            path = ()
        if text:
            lines.append(Line(number, () if text[0] == "#" else path, text))
        if text.startswith("dn: "):
            path = (text,)
    return lines


@form("ldif", entry_rows)
def ldif(d: Draw) -> str:
    has_remarks = d.random() < 0.7
    entries = []
    for person in d.people(d.randint(3, 9)):
        first, last = person.split()
        rows = [f"dn: uid={first.lower()},ou=people,dc={d.word()},dc=example", "objectClass: inetOrgPerson"]
        rows += [f"objectClass: {d.word()}" for _ in range(d.choice([0, 0, 1, 3]))]
        rows += [f"cn: {person}", f"sn: {last}", f"uidNumber: {d.digits(4)}", f"mail: {d.word()}@example.org"]
        rows += [f"description:: {d.hexa(16)}=="] if d.random() < 0.2 else []
        rows += [f"note: {d.phrase()}", f" {d.phrase()}"] if d.random() < 0.2 else []
        rows += [f"telephoneNumber: {d.digits(7)}"]
        if has_remarks:
            rows = [line for row in rows for line in ([] if row[0] == " " else draw_remarks(d)) + [row]]
            rows += draw_remarks(d)
        entries.append("\n".join(rows) + "\n")
    if has_remarks and d.random() < 0.5:
        entries.insert(0, "# extended LDIF\n#\n# LDAPv3\n# filter: (objectClass=*)\n#\n")
        entries.append("# search result\nsearch: 2\nresult: 0 Success\n")
        entries.append(f"# numResponses: {d.digits(1)}\n# numEntries: {d.digits(1)}\n")
    return "\n".join(entries)
