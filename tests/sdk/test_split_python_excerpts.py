"""Excerpts of Python files begin and end anywhere; old Python does not parse. Both are still code."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

import pytest

from tersely import Compressor
from tersely.split.arrange import arrange
from tersely.split.code import open_code
from tersely.split.nodes import Sizes
from tersely.split.python_excerpts import is_excerpt
from tersely.split.sentences import split_units
from tests.sdk.fakes import FakeScorer
from tests.sdk.units import grows_linearly

MODULES = ("argparse", "asyncio/tasks", "configparser")
LIBRARY = Path(sysconfig.get_path("stdlib"))

EXCERPT = '''
        self.ropes.append(rope)
    )

    # Ropes that are wet weigh more. They are dried in the shed, and weighed only then.
    def weigh(self, rope):
        """Weigh a rope, and return its weight in kilograms, as the harbour master asked in his letter."""
        if rope.is_wet:
            raise WetRopeError("hang the rope up in the shed until it is dry, and weigh it after that")
        return self.scale.read(rope) - self.scale.read(EMPTY_HOOK)


class Shed:
    def dry(self, rope):
        # Two days are enough in summer.
        rope.is_wet = False
        self.log("a rope was dried in the shed for as long as the season asks for", rope.name)
        return rope

    def burn(self,
'''


PARAMETERS = """
        ship: Ship,
        ropes: int,
        pier: str = "north",
    ) -> Berth:
        berth = self.find_berth(pier, ropes)
        try:
            ship.moor(berth)
        except NoRopeError as error:
            raise BerthError("the ship could not be moored") from error

        return berth

    def leave(self, ship: Ship) -> None:
        ship.cast_off()
"""

DOCSTRING = """
    The harbour master's ropes aren't counted here. They are (see above) in the shed.

    Returns:
        The berth at which the ship lies.
    \"\"\"
    berth = find_berth(ship)
    if berth.is_free:
        berth.reserve(ship)
    return berth
"""

BRANCHES = """
        elif ship.is_late:
            horn.sound(2)
            lamps.light(until=ship.arrival)
        else:
            horn.sound(1)
        self.log(ship.name)
    return ship
"""

CONDITION = """
            and ship.length < 40
            and not ship.is_late):
        berth = piers.north.find_free()
        log.debug("north %s", ship)
    for rope in ship.ropes:
        rope.tie(berth)
"""

CALL = """
    "--pier",
    type=int,
    help="The pier.",
)
@click.option("--rope")
def moor(pier, rope):
    berth = find_berth(pier)
    berth.tie(rope)


@click.command(
    name="leave",
"""

OLD = """
import os
import sys


class Shed:
    def dry(self, ropes):
        for rope in ropes:
            rope.hang()
        print "all hang", len(ropes)
        return ropes

    def burn(self):
        self.ropes = []


def main():
    Shed().burn()
"""


@pytest.mark.parametrize(
    ("text", "words", "heads"),
    [
        (EXCERPT, "WetRopeError", ["def weigh(self, rope):"]),
        (EXCERPT, "Two days", ["class Shed:", "def dry"]),
        (EXCERPT, "as long as", ["class Shed:", "def dry"]),
        (PARAMETERS, "find_berth", ["ship: Ship,"]),
        (PARAMETERS, "BerthError", ["ship: Ship,", "try:"]),
        (PARAMETERS, "cast_off", ["def leave"]),
        (DOCSTRING, "berth.reserve", ["if berth.is_free:"]),
        (BRANCHES, "lamps.light", ["elif ship.is_late:"]),
        (BRANCHES, "horn.sound(1)", ["else:"]),
        (BRANCHES, "self.log", []),
        (CONDITION, "log.debug", ["and ship.length"]),
        (CONDITION, "rope.tie", ["for rope"]),
        (CALL, "type=int", ["def moor("]),
        (CALL, "berth.tie", ["def moor("]),
        (CALL, 'name="leave"', ["@click.command("]),
        (OLD, "return ropes", ["class Shed:", "def dry("]),
        (OLD, "self.ropes", ["class Shed:", "def burn("]),
        (OLD, "Shed().burn", ["def main("]),
    ],
)
def test_lines_of_an_excerpt_need_the_statements_around_them(text: str, words: str, heads: list[str]) -> None:
    body = text[1:]
    assert [unit.kind for unit in split_units(body)] == ["code"]
    units = arrange(body, split_units(body), 0, lambda unit: True, Sizes(30, 30))
    unit = next(unit for unit in units if words in body[unit.start : unit.end])
    needed = "".join(body[units[at].start : units[at].end] for at in unit.link.needs)
    own = needed + body[unit.start : unit.end]
    assert [head for head in heads if head not in own] == []
    assert bool(heads) or not needed
    assert "Ropes that are wet" not in needed


@pytest.mark.parametrize("module", MODULES)
def test_excerpts_of_the_library_keep_whole_lines_under_their_functions(module: str) -> None:
    lines = (LIBRARY / f"{module}.py").read_text(encoding="utf-8").split("\n")
    rng = random.Random(4)
    for _ in range(4):
        first = rng.randrange(len(lines) - 150)
        excerpt = "\n".join(lines[first : first + 150])
        kept = Compressor(FakeScorer()).compress(rng.choice(excerpt.split()), [excerpt], rate=0.3).text
        assert {line for line in kept.split("\n") if "…" not in line} <= {*lines, lines[first].lstrip(), ""}


@pytest.mark.parametrize(
    "line",
    [
        "def f(\n",
        "try:\n  def f(): g(\n",
        "):\n",
        '"""\ndef f():\n',
        '  """\n',
        "  ),\n",
        "  elif a:\n    b\n",
        "def f():\n  print a\n  b\n",
        "  def f():\n   pass\n )\n",
        "#if a\n{\n",
    ],
)
def test_excerpts_are_read_in_time_linear_in_their_lines(line: str) -> None:
    def read(size: int) -> object:
        text = "import a\n" + line * (size * 4 // len(line))
        return is_excerpt(text), open_code(text, 0, len(text), Sizes(40, 40))

    assert grows_linearly(read)
