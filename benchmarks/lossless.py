"""`python -m benchmarks.lossless`: how many tokens `condense` saves on real JSON, CSV, logs and tables.

Needs no data: it reads installed packages and runs commands. Headroom's lossless mode runs beside it if
`python -m benchmarks.peers.install` has installed it, or in the environment of --headroom.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.command import Measured, Options, make_parser, run
from benchmarks.peers.install import find_python
from benchmarks.table import Column, Row, Table
from tersely import condense, expand
from tersely.tokens import ApproximateCounter

COMMANDS = {
    "json": (
        "{python} -m pip list --format json",
        "{python} -m pip inspect --local",
    ),
    "log": (
        "cat /var/log/dpkg.log",
        "cat /var/log/apt/term.log",
        "cat /var/log/apt/history.log",
        "{python} -v -c 'import json'",
        "{python} -X importtime -c 'import asyncio'",
        "{python} -m pip debug",
        "git log --stat -40",
        "git log --format=fuller -60",
        "apt-get install --simulate --no-download emacs",
    ),
    "table": (
        "ps aux",
        "ls -lR /etc",
        "df -a",
        "dpkg -l",
        "{python} -m pip list",
        "cat /proc/meminfo",
        "cat /proc/mounts",
        "cat /etc/services",
        "cat /proc/self/maps",
        "git ls-files -s",
        "find /usr/share/doc -maxdepth 2",
        "sha256sum /usr/bin/*",
    ),
    "records": ("cat /var/lib/dpkg/status", "apt-cache show python3 bash gcc", "cat /proc/cpuinfo", "env"),
}
LARGEST = 200_000
"""Code points of an input; the rest is cut off between two lines. JSON that is longer is left out."""
FILES = 16
_HEADROOM = """
import json, sys
from headroom.transforms.content_router import ContentRouter, ContentRouterConfig
from headroom.transforms.smart_crusher import smart_crush_tool_output
router = ContentRouter(ContentRouterConfig(lossless=True))
for text in json.load(sys.stdin):
    texts = router.compress(text).compressed, smart_crush_tool_output(text, lossless_only=True)[0]
    print("\\n>" + json.dumps(min(texts, key=len)), flush=True)
"""
"""Prints the shorter of its two lossless forms after a sign, because Headroom prints lines of its own."""
TABLE = (
    Column("kind"),
    Column("inputs"),
    Column("tokens", format=",.0f"),
    Column("method"),
    Column("tokens kept", "%", format=".1f"),
    Column("restored", "%", format=".0f"),
)
"""The sum of a kind's tokens, the share of them that is kept, and the share of inputs restored."""


class Input(NamedTuple):
    """A real text, and whether another one has the same content."""

    kind: str
    text: str
    equals: Callable[[str, str], bool]


class LosslessOptions(Options):
    """The options of this program."""

    headroom: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.lossless", __doc__)
    parser.add_argument("--headroom", type=Path, default=find_python(), help="its Python interpreter")
    return run(parser, arguments, LosslessOptions(), measure)


def measure(options: LosslessOptions) -> Measured:
    """Condense every input."""
    inputs = list(find_inputs(options.seed))
    started = time.perf_counter()
    results = {"tersely": [condense(one.text) for one in inputs]}
    seconds = time.perf_counter() - started
    if options.headroom.exists():
        results["Headroom"] = run_headroom(options.headroom, [one.text for one in inputs])
    rows: list[Row] = []
    for kind in dict.fromkeys(one.kind for one in inputs):
        rows += (_make_row(kind, inputs, method, texts) for method, texts in results.items())
    rate = seconds / sum(len(one.text) for one in inputs) * 1_000_000
    return Measured(
        [Table("Tokens that are kept", TABLE, tuple(rows))], None, {"seconds for 1 MB": round(rate, 2)}
    )


def _make_row(kind: str, inputs: Sequence[Input], method: str, texts: Sequence[str]) -> Row:
    count = ApproximateCounter().count
    own = [(one, text) for one, text in zip(inputs, texts, strict=True) if one.kind == kind]
    before = sum(count(one.text) for one, _ in own)
    restored = [one.equals(expand(text), one.text) for one, text in own]
    return {
        "kind": kind,
        "inputs": len(own),
        "tokens": before,
        "method": method,
        "tokens kept": sum(count(text) for _, text in own) / before,
        "restored": sum(restored) / len(own) if method == "tersely" else None,
    }


def find_inputs(seed: int) -> Iterator[Input]:
    """Yield files of installed packages, and what commands print here."""
    library = Path(sysconfig.get_paths()["purelib"])
    for suffix, kind in ((".json", "json"), ("RECORD", "csv")):
        files = sorted(path for path in library.rglob(f"*{suffix}") if path.stat().st_size > 500)
        random.Random(seed).shuffle(files)
        # Of JSON files with one name, one: most are called package.json.
        names = {path.name if kind == "json" else str(path): path for path in files}
        for path in list(names.values())[:FILES]:
            yield from _make_input(kind, path.read_text("utf-8", "replace"))
    for kind, commands in COMMANDS.items():
        for command in commands:
            done = subprocess.run(
                ["bash", "-c", command.format(python=sys.executable)],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            output = done.stdout or done.stderr
            yield from _make_input(kind, output.decode("utf-8", "replace"))


def _make_input(kind: str, text: str) -> Iterator[Input]:
    if kind == "json":
        if len(text) <= LARGEST and _parse(text) is not None:
            yield Input(kind, text, _are_equal)
    elif len(text) > 500:
        yield Input(kind, text if len(text) <= LARGEST else text[: text.rfind("\n", 0, LARGEST)], str.__eq__)


def _are_equal(left: str, right: str) -> bool:
    return _parse(left) == _parse(right)


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def run_headroom(python: Path, texts: Sequence[str]) -> list[str]:
    """Return what Headroom makes of the texts in its lossless mode."""
    done = subprocess.run(
        [str(python), "-c", _HEADROOM], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    return [json.loads(line[1:]) for line in done.stdout.split("\n") if line.startswith(">")]


if __name__ == "__main__":
    sys.exit(main())
