"""Formats of commands that run on this machine, on folders and records drawn at random."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from tests.audit.foreign_draw import Draw, Missing, form
from tests.audit.foreign_readers import flat, outline, table, with_comments
from tests.audit.foreign_texts import git_log, usage

STDLIB = sysconfig.get_paths()["stdlib"]
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "LC_ALL": "C.UTF-8",
    "COLUMNS": "100",
    "HOME": tempfile.gettempdir(),
    "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
}


@functools.lru_cache(maxsize=2000)
def run(command: str, folder: str = STDLIB, errors: bool = False) -> str:
    """Return the output of a command; with `errors`, its error output too."""
    if shutil.which(command.split()[0]) is None:
        raise Missing(f"no {command.split()[0]}")
    done = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )
    text = done.stdout + (done.stderr if errors else "")
    if not text.strip():
        raise Missing(f"{command.split()[0]} prints nothing")
    return text


def draw_rows(d: Draw, text: str, most: int = 40) -> str:
    """Return some consecutive rows."""
    rows = text.splitlines()
    start = d.randrange(max(1, len(rows) - most))
    return "\n".join(rows[start : start + d.randint(5, most)]) + "\n"


@functools.cache
def folders() -> list[str]:
    """Return folders of Python's library that hold a few files."""
    found = [
        root
        for root, _, files in os.walk(STDLIB)
        if 3 <= len(files) <= 40 and "site-packages" not in root and "__pycache__" not in root
    ]
    return sorted(found)


@functools.cache
def sources() -> list[str]:
    return sorted(str(path) for path in Path(STDLIB).glob("*.py") if path.stat().st_size > 3000)


@functools.cache
def repository() -> str:
    """Make a repository with a history, in a temporary folder, and return its path."""
    if shutil.which("git") is None:
        raise Missing("no git")
    folder = tempfile.TemporaryDirectory(prefix="foreign-")
    KEPT.append(folder)
    d, root = Draw(7), Path(folder.name)
    git = [
        "git",
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "commit.gpgsign=false",
    ]

    def call(*arguments: str, at: int = 0) -> None:
        author = d.choice(["Ada Novak", "Emil Grant", "Rosa Lind"])
        stamp = f"{1_700_000_000 + at * 7000} +0000"
        names = {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        subprocess.run(
            [*git, *arguments], cwd=root, check=True, capture_output=True, env={**ENVIRONMENT, **names}
        )

    call("init")
    names = [f"{folder_name}/{d.word()}.py" for folder_name in d.words(4) for _ in range(4)]
    for number in range(60):
        for name in d.sample(names, d.randint(1, 3)):
            path = root / name
            path.parent.mkdir(exist_ok=True)
            lines = path.read_text().splitlines() if path.exists() else []
            for _ in range(d.randint(1, 4)):
                lines.insert(d.randint(0, len(lines)), f"{d.word()} = {d.word()}({d.digits(3)})")
            if len(lines) > 8:
                del lines[d.randrange(len(lines))]
            path.write_text("\n".join(lines) + "\n")
        call("add", ".", at=number)
        body = f"\n\n{d.sentence()}\n{d.sentence()}" if d.random() < 0.4 else ""
        call("commit", "-m", d.phrase().capitalize() + body, at=number)
    return folder.name


KEPT: list[tempfile.TemporaryDirectory[str]] = []
"""Temporary folders, which are removed at the end of the program."""


@form("find", flat)
def find(d: Draw) -> str:
    return draw_rows(d, run(f"find {shlex.quote(d.choice(folders()))} -type f"))


@form("ls -lR", outline(r"\S.*:$"))
def ls_recursive(d: Draw) -> str:
    parent = Path(d.choice(folders()))
    names = " ".join(shlex.quote(str(path)) for path in d.sample(folders(), 3))
    return run(f"ls -lR --ignore=__pycache__ {names}")[:4000].rpartition("\n")[0] or str(parent)


@form("ls -la", flat)
def ls_long(d: Draw) -> str:
    return run(f"ls -la {shlex.quote(d.choice(folders()))}")


@form("du", flat)
def du(d: Draw) -> str:
    return draw_rows(d, run(f"du -ab {shlex.quote(d.choice(folders()))}"))


@form("sha256sum", flat)
def sha256sum(d: Draw) -> str:
    return run("sha256sum " + " ".join(d.sample(sources(), d.randint(4, 15))))


@form("cat -n", flat)
def cat_numbered(d: Draw) -> str:
    return draw_rows(d, run(f"cat -n {d.choice(sources())}"), 60)


@form("numbered source", flat)
def arrow_numbered(d: Draw) -> str:
    rows = Path(d.choice(sources())).read_text(errors="replace").splitlines()
    start = d.randrange(max(1, len(rows) - 60))
    chosen = rows[start : start + d.randint(10, 60)]
    return "".join(f"{number:6}→{row}\n" for number, row in enumerate(chosen, start + 1))


@form("grep -n", flat)
def grep(d: Draw) -> str:
    return draw_rows(d, run(f"grep -nE 'def |class |import |raise ' {d.choice(sources())}"))


@form("grep -rn", flat)
def grep_recursive(d: Draw) -> str:
    word = d.choice(["import os", "raise Value", "return None", "except OSError"])
    return draw_rows(d, run(f"grep -rn --include=*.py '{word}' asyncio json email http logging"), 25)


@form("grep with context", outline())
def grep_context(d: Draw) -> str:
    return draw_rows(d, run(f"grep -n -C2 'raise ' {d.choice(sources())}"), 40)


@form("git log", git_log)
def log(d: Draw) -> str:
    return run(f"git log -n {d.randint(4, 10)} --skip={d.randint(0, 45)}", repository())


@form("git log --stat", git_log)
def log_stat(d: Draw) -> str:
    return run(f"git log --stat -n {d.randint(3, 7)} --skip={d.randint(0, 45)}", repository())


@form("git log --oneline", flat)
def log_short(d: Draw) -> str:
    return run(f"git log --oneline -n {d.randint(6, 25)} --skip={d.randint(0, 30)}", repository())


@form("git diff", outline(r"diff --git", r"@@ "))
def diff(d: Draw) -> str:
    start = d.randint(5, 50)
    return run(f"git diff HEAD~{start} HEAD~{start - d.randint(1, 4)}", repository())


@form("diff -u", outline(r"--- ", r"@@ "))
def diff_unified(d: Draw) -> str:
    return re.sub(r"(?m)^(---|\+\+\+) .*", rf"\1 {d.word()}.txt", run_diff(d, "-u"))


def run_diff(d: Draw, option: str) -> str:
    """Return how `diff` shows two versions of a text that differ in a few lines."""
    old = [d.phrase() for _ in range(d.randint(20, 50))]
    new = list(old)
    for _ in range(d.randint(2, 6)):
        new[d.randrange(len(new))] = d.phrase()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a").write_text("\n".join(old) + "\n")
        (Path(folder) / "b").write_text("\n".join(new) + "\n")
        return run(f"diff {option} {folder}/a {folder}/b")


@form("git status", outline(r"(Changes|Untracked|Unmerged)"))
def status(d: Draw) -> str:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(repository(), f"{folder}/r")
        root = Path(folder) / "r"
        known = sorted(path for path in root.rglob("*.py"))
        for path in d.sample(known, 4):
            path.write_text(path.read_text() + d.word() + "\n")
        for name in d.words(d.randint(2, 6)):
            (root / f"{name}.txt").write_text(name)
        run(
            "git add " + " ".join(f"{path.name}" for path in list(root.glob("*.txt"))[:2]) + " --verbose",
            str(root),
        )
        return run("git status", str(root))


@form("git blame", flat)
def blame(d: Draw) -> str:
    names = run("git ls-files", repository()).splitlines()
    return run(f"git blame {d.choice(names)}", repository())


@form("git ls-files", flat)
def ls_files(d: Draw) -> str:
    return draw_rows(d, run(d.choice(["git ls-files", "git ls-files -s"]), repository()))


@form("env", flat)
def env(d: Draw) -> str:
    values = " ".join(
        f"{name.upper()}={d.choice([d.word(), '/' + d.path(), d.digits(4)])}" for name in d.words(12)
    )
    return run(f"env -i {values} env")


@form("option list", usage)
def options(d: Draw) -> str:
    tool = d.choice(
        ["ls", "du", "sort", "tar", "grep", "find", "cp", "df", "wc", "diff", "sed", "date", "head"]
    )
    rows = run(f"{tool} --help").splitlines()
    return "\n".join(rows[: d.randint(15, 60)]) + "\n"


@form("man page", outline(r"[A-Z][A-Z ]+$", r"\s+-", prose=True))
def man(d: Draw) -> str:
    name = d.choice(
        ["ls", "du", "sort", "cut", "tr", "uniq", "comm", "join", "paste", "tail", "head", "wc", "env"]
    )
    text = run(f"man -P cat {name}").replace("\b", "")
    sections = re.split(r"(?m)^(?=[A-Z])", text)
    return "".join(sections[1:])[: d.randint(1500, 5000)].rpartition("\n")[0] + "\n"


@form("certificate", outline(nested=True))
def certificate(d: Draw) -> str:
    paths = sorted(Path("/etc/ssl/certs").glob("*.pem"))
    if not paths:
        raise Missing("no certificates in /etc/ssl/certs")
    return run(f"openssl x509 -noout -text -in {d.choice(paths)}")


@form("sqlite box", flat)
def sqlite(d: Draw) -> str:
    mode = d.choice(["column", "table", "markdown", "box", "list"])
    values = ",".join(
        f"({d.digits(4)},'{d.word()}','{d.person()}',{d.price()})" for _ in range(d.randint(5, 15))
    )
    sql = f"create table t(id,name,owner,price); insert into t values {values}; select * from t"
    return run(f"sqlite3 -header -cmd '.mode {mode}' :memory: {shlex.quote(sql)}")


@form("services", with_comments(flat))
def services(d: Draw) -> str:
    if not Path("/etc/services").exists():
        raise Missing("no /etc/services")
    return draw_rows(d, Path("/etc/services").read_text())


@form("lscpu", flat)
def lscpu(d: Draw) -> str:
    return draw_rows(d, run("lscpu"), 30)


@form("objdump headers", table(r"Idx Name"))
def objdump(d: Draw) -> str:
    tools = ["ls", "cat", "du", "sort", "tar", "grep", "find", "cp", "df", "wc", "sed", "date"]
    return run(f"objdump -h {shutil.which(d.choice(tools))}")
