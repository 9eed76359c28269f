"""Numbered lines, tables and sources: whole lines under their heads, which still parse."""

from __future__ import annotations

import ast
import csv
import io
import json
import random
import re
import string
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tersely import Compressor
from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tersely.units import Unit
from tests.sdk.fakes import FakeScorer
from tests.sdk.units import grows_linearly, list_units

LIMITS = [{"rate": 0.15}, {"rate": 0.4}, {"budget": 120}]
STDLIB = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
SOURCES = [path for path in STDLIB if 2_000 < path.stat().st_size < 30_000][::6]
NUMBERED: dict[str, Callable[[int, str], str]] = {
    "cat -n": lambda number, line: f"{number:6}\t{line}",
    "arrow": lambda number, line: f"{number:6}→{line}",
    "bar": lambda number, line: f"{number}|{line}",
    "spaced bar": lambda number, line: f"{number:4} | {line}".rstrip(),
    "colon": lambda number, line: f"{number}: {line}".rstrip(),
    "grep -n": lambda number, line: f"{number}:{line}",
    "zeros": lambda number, line: f"{number:05}| {line}",
    "git blame": lambda number, line: f"1a2b3c4d (Ada 2024-05-01 10:00:00 +0200 {number:3}) {line}",
}
MARK = re.compile(r"\[… ?[^\]]*\]")


def compress(text: str, **limit: float) -> str:
    words = text.split()
    return Compressor(FakeScorer()).compress(words[len(words) // 2], [text], **limit).text


def open_units(text: str) -> list[Unit]:
    return arrange(text, split_units(text), 0, lambda unit: unit.end - unit.start > 1200, Sizes(240, 2000))


def find_first_lines(text: str) -> list[int]:
    """Return the number of the first line of each unit, or of each run of units that share lines."""
    found: list[int] = []
    last = -1
    for unit in open_units(text):
        first = text.count("\n", 0, unit.start)
        if first > last:
            found.append(first)
        last = max(last, text.count("\n", 0, unit.end))
    return found


def make_markdown() -> str:
    rows = "\n".join(f"| {n} | lamp {n} |" for n in range(30))
    prose = "The lamp was lit for the whole harbour by Dr. Weiss. Nobody saw\nit that night. It rained."
    table = f"| id | name |\n|---|---|\n{rows}"
    return f"# Lamps\n\n{prose}\n\n{table}\n\n## Oil\n\n- one\n- two\n\n```py\nx = 1\n```\n"


BODIES = {
    **{path.name: path.read_text().strip("\n") + "\n" for path in SOURCES[:3]},
    "markdown": make_markdown(),
    "json": json.dumps([{"id": n, "name": f"lamp {n}"} for n in range(60)], indent=2) + "\n",
    "yaml": "lamps:\n" + "".join(f"  - id: {n}\n    name: lamp {n}\n    oil: {n * 7}\n" for n in range(60)),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("form", NUMBERED.values(), ids=NUMBERED.keys())
def test_lines_with_numbers_are_split_as_the_lines_alone(form: Callable[[int, str], str], body: str) -> None:
    lines = body.rstrip("\n").split("\n")
    numbered = [form(number, line) for number, line in enumerate(lines, 7)]
    text = "\n".join(numbered) + "\n"
    assert find_first_lines(text) == find_first_lines(body)
    for limit in LIMITS:
        kept = [line for line in compress(text, **limit).split("\n") if "…" not in line]
        assert set(kept) <= {*numbered, numbered[0].lstrip(), ""}


def test_groups_of_lines_are_apart() -> None:
    group = "12-    # Open the file.\n13:    with open(path) as file:\n14-        read(file)"
    text = f"{group}\n--\n80-\n81:def f():\n82-    g()"
    assert list_units(text) == [("numbered", text)]
    assert [text[unit.start : unit.end] for unit in open_units(text)] == [
        f"{group}\n--\n80-",
        "81:def f():\n82-    g()",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "09:00 Bread\n10:30 Milk\n11:15 Oil",
        "1. one\n2. two\n3. three",
        "2019-05-01 a\n2020-05-01 b\n2021-05-01 c",
        "1\tAda\tOslo\n2\tBo\tRome\n3\tCy\tBonn",
        "7: a\n6: b\n5: c",
        "1: a\n2: b",
    ],
)
def test_other_numbers_are_no_prefixes(text: str) -> None:
    assert "numbered" not in {kind for kind, _ in list_units(text)}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("seed", range(8))
def test_rows_of_csv_keep_their_cells_and_names(separator: str, seed: int) -> None:
    draw = random.Random(seed)

    def make_cell() -> str:
        word = "".join(draw.choices(string.ascii_lowercase, k=draw.randint(3, 9)))
        return draw.choice(
            [word, "", f"{word}, {word}", f'the "{word}"', f"{word}.\n{word}", f"{word}{separator}"]
        )

    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator=draw.choice(["\n", "\r\n"]))
    rows = [["id", "name", "note", "price"]]
    rows += [
        [str(n), make_cell() or "x", make_cell(), f"{n * 7 % 10}.50"] for n in range(draw.randint(12, 60))
    ]
    writer.writerows(rows)
    for limit in LIMITS:
        result = compress(out.getvalue(), **limit)
        kept = list(csv.reader(io.StringIO(result), delimiter=separator, strict=True))
        marks = [row for row in kept if MARK.search(separator.join(row))]
        kept = [[cell.replace("\r\n", "\n") for cell in row] for row in kept if row not in marks]
        assert kept[:1] == rows[:1]
        assert len(kept) > 1
        assert all(row in rows for row in kept)
        assert all(MARK.fullmatch(line) for line in result.splitlines() if "…" in line)


def test_comments_above_csv_are_a_part_of_its_head() -> None:
    rows = "".join(f"{n},lamp {n},{n * 7}\n" for n in range(60))
    result = compress(f"# generated\n# by hand\nid,name,oil\n{rows}", budget=80)
    assert result.startswith("# generated\n# by hand\nid,name,oil\n")


@pytest.mark.parametrize(
    "text",
    [
        "Oil, wicks, rope\nare sold, he said, here\nand there, too, today",
        "one\ntwo\nthree\nfour",
        "f(a,b);\ng(a,c);\nh(b,c);",
        "1,200\n2,300\n4,500",
    ],
)
def test_other_commas_are_no_csv(text: str) -> None:
    assert "row" not in {kind for kind, _ in list_units(text)}


PS = """USER       PID %CPU %MEM STAT COMMAND
root         1  0.0  0.1 Ss   /sbin/init
www-data   204  1.2  3.4 S    nginx: worker process
postgres 18302 12.0  8.1 R    postgres: writer"""
DPKG = """Desired=Unknown/Install/Remove/Purge/Hold
| Status=Not/Inst/Conf-files
|/ Err?=(none)/Reinst-required (Status,Err: uppercase=bad)
||/ Name           Version      Architecture Description
+++-==============-============-============-=================
ii  adduser        3.134        all          add and remove users
ii  apt            2.6.1        amd64        commandline package manager
ii  base-files     12.4         amd64        Debian base system files"""
PIP = "Package  Version\n-------- -------\nanyio    4.4.0\nattrs    23.2.0\nnumpy    1.26.4"
KUBE = "NAME    READY   STATUS\nweb-1   1/1     Running\nweb-2   0/1     Pending\ndb-0    1/1     Running"
PSQL = " id |  text   \n----+---------\n  1 | first  +\n    | second\n  2 | third\n  3 | fourth\n(3 rows)"
GRID = """+----+------+
| id | name |
+====+======+
| 1  | Ada  |
|    | Byro |
+----+------+
| 2  | Bo   |
+----+------+"""
SIMPLE = (
    "=====  =====\nid     name\n=====  =====\n1      Ada\n       Byron\n2      Bo\n\n3      Cy\n=====  ====="
)
TABLES = {
    "ps": (PS, 1, 3),
    "dpkg": (DPKG, 5, 3),
    "pip": (PIP, 2, 3),
    "kubectl": (KUBE, 1, 3),
    "psql": (PSQL, 2, 3),
    "grid": (GRID, 3, 2),
    "simple": (SIMPLE, 3, 3),
}


@pytest.mark.parametrize(("text", "head", "count"), TABLES.values(), ids=TABLES.keys())
@pytest.mark.parametrize("before", ["", "It shows this:\n\n"])
def test_the_names_of_columns_are_the_frame_of_the_rows(
    text: str, head: int, count: int, before: str
) -> None:
    text = before + text
    units = arrange(text, split_units(text), 0, lambda _: True, Sizes(40, 40))[bool(before) :]
    links = [unit.link for unit in units]
    assert text[units[0].start : units[0].end].count("\n") == head - 1
    assert [link.role for link in links[: count + 1]] == ["frame", *["content"] * count]
    assert all(bool(before) in link.needs for link in links[1:])


def test_the_first_name_of_columns_may_end_with_a_colon() -> None:
    rows = "\n".join(f"   {n}: 00000000000{n}     0 FUNC    GLOBAL lamp_{n}" for n in range(1, 9))
    text = f"Num:    Value          Size Type    Bind   Name\n{rows}"
    units = arrange(text, split_units(text), 0, lambda _: True, Sizes(40, 40))
    assert text[units[0].start : units[0].end].startswith("Num:")
    assert units[0].link.role == "frame"
    assert all(0 in unit.link.needs for unit in units[1:])


def test_rows_without_names_are_free() -> None:
    text = (
        "-rw-r--r--   1 root   4096   a.txt\n-rw-r--r--   1 root   512   b.txt\ndrwxr-xr-x   2 root   64   c"
    )
    assert all(not unit.link.needs and unit.link.role == "content" for unit in open_units(text))


ZONE = """pier    IN  A     10.0.0.1
        IN  AAAA  2001:db8::1
        IN  MX    10 mail.example.
crane   IN  A     10.0.0.2
        IN  AAAA  2001:db8::2"""


@pytest.mark.parametrize("above", ["", "NAME    CL  TYPE  VALUE\n"], ids=["without names", "with names"])
def test_a_row_with_an_empty_first_cell_needs_the_row_above(above: str) -> None:
    units = open_units(above + ZONE)
    rows = {(above + ZONE)[unit.start : unit.end]: at for at, unit in enumerate(units)}
    for row in ("IN  AAAA  2001:db8::1", "IN  MX    10 mail.example."):
        assert rows["pier    IN  A     10.0.0.1"] in units[rows[row]].link.needs
    assert rows["crane   IN  A     10.0.0.2"] in units[rows["IN  AAAA  2001:db8::2"]].link.needs


def test_a_table_does_not_begin_in_the_middle_of_a_record() -> None:
    text = "@       SOA   ns1.example. (\n" + ZONE[ZONE.index("\n") + 1 :]
    units = split_units(text)
    assert [unit.kind for unit in units[1:3]] == ["line", "line"]
    assert all(0 in unit.link.needs for unit in units[1:3])


def test_prose_below_a_table_does_not_change_it() -> None:
    table = "    PID USER   %CPU COMMAND\n  14013 mail    0.1 pier\n   7483 web     0.7 crane"
    kinds = [kind for kind, _ in list_units(f"{table}\n\nThe old crane lifts.")]
    assert kinds == ["row", "sentence"]


def test_a_value_that_is_too_wide_does_not_end_a_table() -> None:
    names = "No Name      Size  At    Put off  Kind"
    rows = [
        "1 rope       012   0a4   3f       hemp",
        "2 eye        013   0a9   3e       iron",
        "3 sea-anchors 018   0b4   4f       iron",
        "4 hook       011   0c4   5f       iron",
    ]
    assert [unit.kind for unit in split_units("\n".join([names, *rows]))] == ["row"]


def test_many_columns_make_a_table_of_one_row() -> None:
    text = " pkts bytes target     prot source\n   12   840 ACCEPT     tcp  10.0.0.1"
    assert [unit.kind for unit in split_units(text)] == ["row"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize(
    "around", ["{}", "This is the file that was read.\n\n{}\nIt has been read as a whole.\n"]
)
def test_python_still_parses(path: Path, limit: dict[str, float], around: str) -> None:
    body = path.read_text()
    lines = around.format(body).split("\n")
    kept = compress(around.format(body), **limit).split("\n")
    assert all(line in lines for line in kept if "…" not in line)
    prose = {line for line in around.split("\n") if "{" not in line and line}
    while kept and (kept[0] in prose or kept[0] == "[…]"):
        del kept[0]
    while kept and (kept[-1] in prose or kept[-1] == "[…]"):
        del kept[-1]
    ast.parse("\n".join(kept))


def test_a_method_and_a_constant_need_their_class() -> None:
    fields = "\n".join(f"    FIELD_{n} = {n}" for n in range(200))
    method = "    @property\n    def oil(self):\n        return 1\n"
    text = f'import os\n\n\nclass Lamp:\n    """A lamp."""\n\n{fields}\n\n{method}'
    units = open_units(text)
    texts = [text[unit.start : unit.end] for unit in units]
    head = texts.index('class Lamp:\n    """A lamp."""')
    for at, body in enumerate(texts):
        link = units[at].link
        if body.startswith(("FIELD", "@property")):
            assert head in link.needs
    assert texts[-1] == "@property\n    def oil(self):\n        return 1"


def test_a_parser_that_fails_leaves_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(ast, "parse", fail)
    text = "import os\n\n\ndef light():\n    return 1\n"
    assert "".join("".join(text[u.start : u.end].split()) for u in open_units(text)) == "".join(text.split())


SLOW: dict[str, Callable[[int], str]] = {
    "numbers": lambda n: "".join(f"{k}-a\n" for k in range(n)),
    "groups of numbers": lambda n: "1:a\n\n" * n,
    "numbers in numbers": lambda n: "".join(f"{k}|" * 40 + "x\n" for k in range(n // 40)),
    "open cells": lambda n: 'a,b,"c\n\n' * n,
    "open brackets": lambda n: "from x import (\n\n" * n,
    "comments": lambda n: "# a\n# b\n\n" * n,
    "borders": lambda n: "=== ===\nab\n" * n,
    "rulers": lambda n: "a  b\n-- --\n\n" * n,
    "heads": lambda n: "Desired=\n" * n,
    "columns": lambda n: "NAME   AGE  X\n" * n,
    "stanzas": lambda n: "a: 1\nb: 2\n\n" * n,
    "lone stanzas": lambda n: "".join(f"a{k}: 1\nb: 2\n\n" for k in range(n)),
    "context diffs": lambda n: "*** a\n--- b\n***************\n" * n,
    "a long line": lambda n: "a  b" * n,
    "a long dictionary": lambda n: "x = {\n" + "    'a': 1,\n" * n + "}\n",
}


@pytest.mark.parametrize("make", SLOW.values(), ids=SLOW.keys())
def test_time_grows_with_the_length(make: Callable[[int], str]) -> None:
    assert grows_linearly(lambda size: open_units(make(size)))
