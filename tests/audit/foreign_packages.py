"""Formats of package managers that run on this machine, on packages drawn at random."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.audit.foreign_commands import draw_rows, run
from tests.audit.foreign_draw import Draw, Missing, form
from tests.audit.foreign_readers import Line, flat, indented_tree, records, table, with_prose


@functools.cache
def packages() -> list[str]:
    return [row.split("==")[0] for row in run(f"{sys.executable} -m pip freeze").splitlines() if "==" in row]


@form("pip list", table())
def pip_list(d: Draw) -> str:
    head, rule, *rows = run(f"{sys.executable} -m pip list").splitlines()
    chosen = sorted(d.sample(range(len(rows)), min(len(rows), d.randint(5, 30))))
    return "\n".join([head, rule, *(rows[at] for at in chosen)]) + "\n"


@form("pip freeze", flat)
def pip_freeze(d: Draw) -> str:
    return draw_rows(d, run(f"{sys.executable} -m pip freeze"))


@functools.cache
def pip_shown() -> list[str]:
    names = [name for name in packages() if re.fullmatch(r"[\w.-]+", name)][:40]
    shown = run(f"{sys.executable} -m pip show " + " ".join(names))
    return [record.strip("\n") for record in re.split(r"(?m)^---$", shown) if len(record) < 2000]


def shown_packages(rows: Sequence[str], source: Sequence[str]) -> list[Line]:
    """Read packages, whose licence may be running text."""
    return with_prose(records(r"Name: ", start=r"---$", nested=True)(rows, source), keys=True)


@form("pip show", shown_packages)
def pip_show(d: Draw) -> str:
    return "\n---\n".join(d.sample(pip_shown(), min(len(pip_shown()), d.randint(2, 5)))) + "\n"


@form("npm ls", indented_tree)
def npm_ls(d: Draw) -> str:
    rows = run("npm ls -g --all").splitlines()
    start = d.randrange(max(1, len(rows) - 40))
    return "\n".join([rows[0], *rows[start + 1 : start + d.randint(8, 40)]]) + "\n"


@form("dpkg -l", table(r"\|\|/ Name"))
def dpkg_list(d: Draw) -> str:
    rows = run("dpkg -l").splitlines()
    chosen = sorted(d.sample(range(5, len(rows)), d.randint(4, 14)))
    return "\n".join([*rows[:5], *(rows[at] for at in chosen)]) + "\n"


@functools.cache
def debian_packages() -> list[str]:
    return [row.split()[1].split(":")[0] for row in run("dpkg -l").splitlines()[5:]]


@form("dpkg -s", records(r"Package: ", nested=True, prose=r"Description:"))
def dpkg_status(d: Draw) -> str:
    return run("dpkg -s " + " ".join(d.sample(debian_packages(), d.randint(1, 3))))


@form("dpkg -L", flat)
def dpkg_files(d: Draw) -> str:
    return draw_rows(d, run(f"dpkg -L {d.choice(debian_packages())}"))


@form("dpkg log", flat)
def dpkg_log(d: Draw) -> str:
    if not Path("/var/log/dpkg.log").exists():
        raise Missing("no /var/log/dpkg.log")
    return draw_rows(d, run("tail -n 3000 /var/log/dpkg.log"))
