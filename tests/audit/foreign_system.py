"""Formats of commands about processes, packages, binaries and histories, on things drawn at random."""

from __future__ import annotations

import mailbox
import re
import shlex
import shutil
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

from tests.audit.foreign_commands import folders, repository, run, run_diff
from tests.audit.foreign_draw import Draw, Missing, form
from tests.audit.foreign_packages import debian_packages
from tests.audit.foreign_readers import Line, outline, records, table, with_prose

PROGRAMS = ["ls", "cat", "du", "sort", "tar", "grep", "find", "cp", "df", "wc", "sed", "date", "true", "env"]


@form("cpuinfo", records(r"processor\s*:"))
def cpuinfo(d: Draw) -> str:
    path = Path("/proc/cpuinfo")
    if not path.exists() or "processor" not in path.read_text():
        raise Missing("no /proc/cpuinfo")
    record = re.sub(r"(?m)^flags.*\n", "", path.read_text().split("\n\n")[0])
    return "".join(
        re.sub(r"(?m)^(cpu MHz\s*: ).*", rf"\g<1>{d.price()}", re.sub(r"\d+", str(at), record, count=1))
        + "\n\n"
        for at in range(d.randint(2, 6))
    )


@form("stat", outline(r"\s*File: "))
def stat(d: Draw) -> str:
    folder = d.choice(folders())
    names = sorted(path.name for path in Path(folder).iterdir())
    chosen = d.sample(names, min(len(names), d.randint(2, 6)))
    return run("stat " + " ".join(map(shlex.quote, chosen)), folder)


@form("symbol table", table(r"\s+Num: "))
def symbols(d: Draw) -> str:
    rows = run(f"readelf -sW {shutil.which(d.choice(PROGRAMS))}").splitlines()
    start = d.randint(3, len(rows) - 30)
    return "\n".join([*rows[1:3], *rows[start : start + d.randint(6, 30)]]) + "\n"


@form("disassembly", outline(r"Disassembly of section", r"[0-9a-f]{16} <.*>:$"))
def disassembly(d: Draw) -> str:
    text = run(f"objdump -d --no-show-raw-insn {shutil.which(d.choice(PROGRAMS))}")
    functions = text.split("\n\n")
    start = d.randrange(max(1, len(functions) - 8))
    return "\n\n".join(part[:1200].rpartition("\n")[0] for part in functions[start : start + 8]) + "\n"


PACKAGE = records(r"Package: ", nested=True, prose=r"Description:")


@form("apt-cache show", PACKAGE)
def apt_show(d: Draw) -> str:
    return run("apt-cache show --no-all-versions " + " ".join(d.sample(debian_packages(), d.randint(1, 4))))


@form("apt-cache policy", outline(nested=True))
def apt_policy(d: Draw) -> str:
    text = run("apt-cache policy " + " ".join(d.sample(debian_packages(), d.randint(2, 6))))
    # The version that is installed is marked before its row.
    return text.replace(" *** ", "     ")


@form("git shortlog", outline(r"\S.* \(\d+\):$"))
def shortlog(d: Draw) -> str:
    return run(f"git shortlog HEAD~{d.randint(5, 40)}..HEAD", repository())


def patches(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read commits, the files that each changes, and the hunks of each file."""
    lines = outline(r"commit [0-9a-f]{40}$", r"diff --git ", r"@@ ")(rows, source)
    is_message = [line.row for line in lines if len(line.path) == 1 and rows[line.row].startswith("    ")]
    messages = with_prose([line for line in lines if line.row in is_message])
    return sorted(
        [*messages, *(line for line in lines if line.row not in is_message)], key=lambda line: line.row
    )


@form("git log -p", patches)
def log_patches(d: Draw) -> str:
    skip = d.randint(0, 50)
    return run(f"git log -p -n {d.randint(1, 5)} --skip {skip}", repository())


@form("diff -c", outline(r"\*\*\* \S+\.txt", r"\*{15}$", r"(\*\*\*|---) \d+(,\d+)? (\*\*\*\*|----)$"))
def context_diff(d: Draw) -> str:
    return "".join(
        re.sub(r"(?m)^(\*\*\*|---) /.*", rf"\1 {name}.txt", run_diff(d, "-c"))
        for name in d.words(d.randint(1, 3))
    )


def mails(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read the mails of an mbox: folded headers, and bodies of running text."""
    lines = outline(r"From \S+ ", nested=True)(rows, source)
    body = False
    bodies: list[Line] = []
    headers: list[Line] = []
    starts = {line.row for line in lines if line.text.startswith("From ") and not line.path}
    for line in lines:
        if line.row in starts:
            body = False
        elif not rows[line.row - 1].strip():
            body = True
        (bodies if body else headers).append(line if line.row in starts else replace(line, head=False))
    bodies = [replace(line, path=line.path[:1]) for line in bodies]
    return sorted([*headers, *with_prose(bodies)], key=lambda line: line.row)


@form("mbox", mails)
def mbox(d: Draw) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "box"
        box = mailbox.mbox(path)
        for _ in range(d.randint(2, 5)):
            mail = EmailMessage()
            mail["From"] = f"{d.person()} <{d.word()}@example.org>"
            mail["To"] = ", ".join(f"{person} <{d.word()}@example.org>" for person in d.people(4))
            mail["Subject"] = " ".join(d.phrase() for _ in range(d.randint(1, 3)))
            mail["Message-ID"] = f"<{d.hexa(30)}@example.org>"
            mail["References"] = " ".join(f"<{d.hexa(30)}@example.org>" for _ in range(3))
            mail.set_content(
                "\n\n".join(textwrap.fill(d.paragraph(), 70) for _ in range(d.randint(1, 3))) + "\n"
            )
            made = mailbox.mboxMessage(mail)
            made.set_from(f"{d.word()}@example.org", True)
            box.add(made)
        box.close()
        return path.read_text()


@form("systemctl properties", records(r"Id="))
def properties(d: Draw) -> str:
    return "\n".join(
        f"Id={name}.service\nDescription={d.phrase()}\nMainPID={d.digits(4)}\nRestartUSec={d.digits(2)}s\n"
        f"ExecStart={{ path=/usr/bin/{name} ; argv[]=/usr/bin/{name} --{d.word()} ; pid={d.digits(4)} }}\n"
        f"ActiveState={d.choice(['active', 'failed'])}\nUnitFileState=enabled\n"
        for name in d.words(d.randint(3, 8))
    )


@form("top", table(r"\s+PID USER"))
def top(d: Draw) -> str:
    rows = [
        f"top - {d.clock()} up 3 days,  2:11,  1 user,  load average: 0.{d.digits(2)}, 0.{d.digits(2)}, 1.00",
        f"Tasks: {d.digits(3)} total,   1 running, {d.digits(2)} sleeping,   0 stopped,   0 zombie",
        f"%Cpu(s): {d.digits(1)}.3 us,  1.0 sy,  0.0 ni, 90.{d.digits(1)} id,  0.0 wa,  0.0 hi,  0.0 si",
        f"MiB Mem :  {d.digits(4)}.2 total,  {d.digits(3)}.8 free,  {d.digits(4)}.0 used,  {d.digits(4)}.4 b",
        "",
        "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND",
    ]
    for name in d.words(d.randint(6, 20)):
        rows.append(
            f"{d.randint(2, 99999):7} {d.choice(['root', 'web', 'mail']):9} 20   0 {d.digits(7)}  "
            f"{d.digits(5)}  {d.digits(4)} S   0.{d.digits(1)}   1.{d.digits(1)}   "
            f"0:0{d.digits(1)}.{d.digits(2)} {name}"
        )
    return "\n".join(rows) + "\n"
