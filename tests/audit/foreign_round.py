"""Formats of reports, configurations and markup whose rows depend on rows far above them.

Each reader follows the definition of its format. The texts are random, in the documented forms.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from tests.audit.foreign_draw import Draw, form
from tests.audit.foreign_readers import Line, Path, outline, with_prose

RULES = ["no-undef", "no-unused-vars", "eqeqeq", "prefer-const", "@typescript-eslint/no-explicit-any"]


def eslint_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read problems below the file that they are in; the summary belongs to no file."""
    lines: list[Line] = []
    path: Path = ()
    for number, row in enumerate(rows):
        text = row.strip()
        is_problem = re.match(r"\d+:\d+ ", text) is not None
        is_file = row.startswith("/")
        if is_file:
            path = (text,)
        if text:
            lines.append(Line(number, path if is_problem else (), text, is_file))
    return lines


@form("eslint report", eslint_rows)
def eslint_report(d: Draw) -> str:
    lines: list[str] = [""]
    for _ in range(d.randint(2, 7)):
        lines.append(f"/home/{d.word()}/app/src/{d.path().rpartition('.')[0]}.ts")
        for _ in range(d.randint(1, 7)):
            place = f"{d.randint(1, 400)}:{d.randint(1, 80)}"
            message = d.choice(
                [
                    f"'{d.word()}' is not defined",
                    f"'{d.word()}' is assigned a value but never used",
                    "Unexpected any. Specify a different type",
                    f"Import {d.noun()} from {d.word()} instead",
                ]
            )
            lines.append(f"  {place:>7}  {d.choice(['error', 'warning']):7}  {message:52}  {d.choice(RULES)}")
        lines.append("")
    lines.append(f"✖ {d.digits(2)} problems ({d.digits(1)} errors, {d.digits(1)} warnings)")
    lines.append(f"  {d.digits(1)} errors and 0 warnings potentially fixable with the `--fix` option.")
    return "\n".join(lines) + "\n"


def play_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read plays, their tasks, and below each host of a task the members of its object."""
    lines: list[Line] = []
    heads: list[str] = []
    for number, row in enumerate(rows):
        text = row.strip()
        if not text:
            continue
        level = 0 if text.startswith("PLAY ") else 1 if re.match(r"(TASK|RUNNING HANDLER) \[", text) else None
        if level is not None:
            heads = heads[:level]
        elif not row.startswith((" ", "}")):
            heads = heads[:2]
        lines.append(Line(number, tuple(heads), text, level is not None or text.endswith("{")))
        if level is not None or (text.endswith("{") and row[0] != " "):
            heads.append(text)
        if row.startswith("}"):
            heads = heads[:2]
    return lines


def draw_host_result(d: Draw, host: str) -> list[str]:
    kind = d.random()
    if kind < 0.6:
        return [f"{d.choice(['ok', 'changed', 'skipping'])}: [{host}]"]
    if kind < 0.75:
        return [f'fatal: [{host}]: FAILED! => {{"changed": false, "msg": "{d.phrase()}", "rc": 1}}']
    return [
        f"ok: [{host}] => {{",
        f'    "msg": "{d.phrase()}",',
        f'    "port": {d.digits(4)},',
        f'    "version": "{d.version()}"',
        "}",
    ]


@form("ansible play", play_rows)
def ansible_play(d: Draw) -> str:
    lines: list[str] = []
    hosts = [f"{name}.example.net" for name in d.words(d.randint(1, 4))]
    for play in d.words(d.randint(1, 2)):
        lines += ["", f"PLAY [{play}] ".ljust(78, "*")]
        for task in ["Gathering Facts", *(d.phrase() for _ in range(d.randint(2, 6)))]:
            kind = "RUNNING HANDLER" if d.random() < 0.1 else "TASK"
            lines += ["", f"{kind} [{task}] ".ljust(78, "*")]
            for host in hosts:
                lines += draw_host_result(d, host)
    lines += ["", "PLAY RECAP ".ljust(78, "*")]
    for host in hosts:
        lines.append(f"{host:26} : ok={d.digits(2)}   changed={d.digits(1)}    unreachable=0    failed=0")
    return "\n".join(lines) + "\n"


def plan_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read attributes below the blocks that they are in: names stand in a column after the signs."""
    lines: list[Line] = []
    blocks: list[tuple[int, str]] = []
    for number, row in enumerate(rows):
        text = row.strip()
        if not text:
            continue
        sign = re.match(r"\s*((-/\+|[-+~]|<=) )?", row)
        column = sign.end() if sign else 0
        blocks = [block for block in blocks if block[0] < column]
        opens = text.endswith(("{", "[")) or text == "Changes to Outputs:"
        lines.append(Line(number, tuple(name for _, name in blocks), text, opens))
        if opens:
            blocks.append((column, text))
    free = [line for line in lines if not line.path and rows[line.row][0] != " "]
    return sorted(
        [*with_prose(free), *(line for line in lines if line not in free)], key=lambda line: line.row
    )


@form("terraform plan", plan_rows)
def terraform_plan(d: Draw) -> str:
    lines = [
        "Terraform used the selected providers to generate the following execution",
        "plan. Resource actions are indicated with the following symbols:",
        "  + create",
        "  ~ update in-place",
        "",
        "Terraform will perform the following actions:",
        "",
    ]
    for name in d.words(d.randint(2, 5)):
        kind = d.choice(["aws_instance", "aws_s3_bucket", "google_dns_record_set", "azurerm_subnet"])
        sign, verb = d.choice([("+", "created"), ("~", "updated in-place"), ("-", "destroyed")])
        lines.append(f"  # {kind}.{name} will be {verb}")
        lines.append(f'  {sign} resource "{kind}" "{name}" {{')
        arrow = " -> null" if sign == "-" else ""
        for key in d.words(d.randint(2, 6)):
            value = f'"{d.word()}"' + (f' -> "{d.word()}"' if sign == "~" else arrow)
            lines.append(f"      {sign} {key:20} = {value}")
        lines.append(f"      {sign} {'tags':20} = {{")
        lines += [f'          {sign} "{key}" = "{d.phrase()}"{arrow}' for key in d.words(d.randint(1, 3))]
        lines += [f"        }}{arrow}"]
        if d.random() < 0.5:
            lines += ["", f"      {sign} network_{d.word()} {{"]
            lines += [f'          {sign} {key:16} = "{d.ip()}"{arrow}' for key in d.words(2)]
            lines += ["        }"]
        lines += [f"        # ({d.digits(1)} unchanged attributes hidden)"] if sign == "~" else []
        lines += ["    }", ""]
    lines += [f"Plan: {d.digits(1)} to add, {d.digits(1)} to change, {d.digits(1)} to destroy.", ""]
    lines += ["Changes to Outputs:", *(f'  + {key} = "https://{d.word()}.example"' for key in d.words(2))]
    return "\n".join(lines) + "\n"


def audit_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read advisories below their package, and packages that depend on it, each with its own rows."""
    lines: list[Line] = []
    path: Path = ()
    for number, row in enumerate(rows):
        text = row.strip()
        deeper = row.startswith("  ")
        package = re.fullmatch(r"@?[\w./-]+  [\w.*<>=| -]+", text) is not None
        if re.match(r"\d+ vulnerabilities|To address|# npm", row) or (package and not deeper):
            path = ()
        elif deeper:
            path = path[:1] if package else path
        else:
            path = path[:1]
        if text:
            lines.append(Line(number, path, text, package))
        if package:
            path = (*path, text)
    return lines


@form("npm audit", audit_rows)
def npm_audit(d: Draw) -> str:
    lines = ["# npm audit report", ""]
    for name in d.words(d.randint(2, 7)):
        lines.append(f"{name}  {d.choice(['<', '<=', '1.0.0 - '])}{d.version()}")
        lines.append(f"Severity: {d.choice(['low', 'moderate', 'high', 'critical'])}")
        for _ in range(d.randint(1, 3)):
            code = "-".join("".join(d.choices("23456789cfghjmpqrvwx", k=4)) for _ in range(3))
            title = d.choice(["Prototype pollution", "Denial of service", "Path traversal"])
            lines.append(f"{title} in {name} {d.noun()} - https://github.com/advisories/GHSA-{code}")
        lines.append("fix available via `npm audit fix --force`")
        lines.append(f"Will install {d.word()}@{d.version()}, which is a breaking change")
        lines.append(f"node_modules/{name}")
        for other in d.words(d.randint(0, 2)):
            lines.append(f"  {other}  >={d.version()}")
            lines.append(f"  Depends on vulnerable versions of {name}")
            lines.append(f"  node_modules/{other}")
        lines.append("")
    lines += [f"{d.digits(2)} vulnerabilities ({d.digits(1)} moderate, {d.digits(1)} high)", ""]
    return "\n".join([*lines, "To address all issues, run:", "  npm audit fix --force"]) + "\n"


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
            # A category is the page's, wherever it stands.
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
    """Read records below their $ORIGIN, and those without a name below the last one with a name."""
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
            lines.append(Line(number, () if row[0] == "$" else origin, text))
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


def status_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read properties below their unit, and rows without a key below the last key.

    Rows of the journal name their program themselves.
    """
    lines: list[Line] = []
    unit: Path = ()
    key: Path = ()
    for number, row in enumerate(rows):
        text = row.strip()
        if not text:
            continue
        if re.match(r"[●○×] ", row):
            lines.append(Line(number, (), text, True))
            unit, key = (text,), ()
        elif re.match(r"[A-Z][a-z]{2} \d\d ", row):
            lines.append(Line(number, (), text))
        elif re.match(r" +[A-Z][\w -]*: ", row) and row.index(":") == 11:
            lines.append(Line(number, unit, text))
            key = (text,)
        else:
            lines.append(Line(number, (*unit, *key), text))
    return lines


@form("systemctl status", status_rows)
def systemctl_status(d: Draw) -> str:
    lines: list[str] = []
    for name in d.words(d.randint(2, 5)):
        state, sign = d.choice([("active (running)", "●"), ("inactive (dead)", "○"), ("failed", "×")])
        pid = d.randint(300, 99999)
        lines += [
            f"{sign} {name}.service - {d.phrase()}",
            f"     Loaded: loaded (/usr/lib/systemd/system/{name}.service; enabled; preset: enabled)",
            f"    Drop-In: /etc/systemd/system/{name}.service.d",
            f"             └─{d.word()}.conf",
            f"     Active: {state} since Mon {d.day()} {d.clock()} UTC; {d.digits(1)}h ago",
            f"       Docs: man:{name}(8)",
            f"             https://{name}.example/docs",
            f"   Main PID: {pid} ({name})",
            f"      Tasks: {d.digits(2)} (limit: {d.digits(4)})",
            f"     Memory: {d.digits(2)}.{d.digits(1)}M",
            f"     CGroup: /system.slice/{name}.service",
            f"             ├─{pid} /usr/sbin/{name} --{d.word()}",
            f"             └─{pid + 1} /usr/sbin/{name} --worker {d.digits(2)}",
            "",
        ]
        for _ in range(d.randint(1, 5)):
            lines.append(f"Nov {d.randint(10, 28)} {d.clock()} {d.word()} {name}[{pid}]: {d.phrase()}")
        lines.append("")
    return "\n".join(lines)


def chain_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read rules below the names of columns of their chain; numbers are aligned to the right."""
    return outline(r"Chain ", r"pkts +bytes")([row.strip() for row in rows], source)


@form("iptables", chain_rows)
def iptables(d: Draw) -> str:
    lines: list[str] = []
    for chain in ["INPUT", "FORWARD", "OUTPUT", *(name.upper() for name in d.words(d.randint(1, 3)))]:
        about = f"policy {d.choice(['ACCEPT', 'DROP'])} {d.digits(3)} packets, {d.digits(5)} bytes"
        lines.append(f"Chain {chain} ({about if len(lines) < 20 else '1 references'})")
        lines.append(" pkts bytes target     prot opt in     out     source               destination")
        for _ in range(d.randint(0, 6)):
            target = d.choice(["ACCEPT", "DROP", "REJECT", "LOG"])
            lines.append(
                f"{d.randint(0, 9999):5} {d.randint(0, 99999):5} {target:10} 6    --  eth0   *       "
                f"{d.ip() + '/24':20} {'0.0.0.0/0':20} tcp dpt:{d.randint(1, 65535)}"
            )
        lines.append("")
    return "\n".join(lines)


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
