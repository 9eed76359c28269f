"""Reports of tools whose rows depend on rows far above them.

Each reader follows the output of its tool. The texts are random, in the documented forms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    """Read attributes below the blocks that they are in. Their names are in a column after the signs."""
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


def status_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read properties and rows of the journal below their unit, and rows without a key below the last key."""
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
            lines.append(Line(number, unit, text))
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


def array_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read properties below their array, and devices below the names of columns of their array."""
    return outline(r"/dev/md", r" +Number +Major")(rows, source)


@form("mdadm", array_rows)
def mdadm(d: Draw) -> str:
    lines: list[str] = []
    for array in range(d.randint(1, 3)):
        lines.append(f"/dev/md{array}:")
        facts = {"Version": "1.2", "Creation Time": f"{d.day()} {d.clock()}", "Raid Level": "raid5"}
        facts |= {"Array Size": f"{d.digits(9)} (199.88 GiB)", "Raid Devices": d.digits(1), "State": "clean"}
        lines += [f"{name:>18} : {value}" for name, value in facts.items()]
        lines += ["", f"{'Name':>18} : {d.word()}:{array}", f"{'Events':>18} : {d.digits(3)}", ""]
        lines.append("    Number   Major   Minor   RaidDevice State")
        devices = [
            f"{n:8} {8:7} {d.randint(1, 99):8} {n:8}      active sync   /dev/sd{'abcdef'[n]}1"
            for n in range(d.randint(2, 5))
        ]
        if d.random() < 0.8:
            kinds = d.sample(["faulty", "spare", "removed"], d.randint(1, 2))
            spares = [
                f"{n:8} {8:7} {d.randint(1, 99):8} {'-':>8}      {kind}   /dev/sd{'uvw'[n - 5]}1"
                for n, kind in enumerate(kinds, 5)
            ]
            devices += ["", *spares]
        lines += [*devices, ""]
    return "\n".join(lines)


def stamp_rows(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read tables below their time, and rows below the names of their columns."""
    return outline(r"Linux ", r"\d\d/\d\d/\d{4} ", r"avg-cpu|Device ")(rows, source)


@form("iostat", stamp_rows)
def iostat(d: Draw) -> str:
    lines = [f"Linux 6.1.0-{d.digits(2)}-amd64 ({d.word()})  05/04/2026  _x86_64_  (8 CPU)", ""]
    devices = d.sample(["nvme0n1", "nvme1n1", "sda", "sdb", "dm-0", "loop0"], d.randint(1, 5))
    for _ in range(d.randint(2, 5)):
        lines.append(f"05/{d.randint(10, 28)}/2026 {d.clock()} {d.choice(['AM', 'PM'])}")
        lines.append("avg-cpu:  %user   %nice %system %iowait  %steal   %idle")
        lines += ["         " + " ".join(f"{d.price():>7}" for _ in range(6)), ""]
        lines.append("Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s")
        for device in devices:
            lines.append(
                f"{device:12}" + "".join(f"{d.price():>{width}}" for width in (9, 9, 9, 7, 8, 9, 8, 9))
            )
        lines.append("")
    return "\n".join(lines)
