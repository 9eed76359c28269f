"""Components of Vue, and sources whose blocks end with a word, are opened as code."""

from __future__ import annotations

import pytest

from tersely.split.arrange import arrange
from tersely.split.code import find_sections
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tests.sdk.units import grows_linearly

COMPONENT = """<script setup lang="ts">
import { lift } from './crane'

const ropes = ref(32)
const hooks = ref(55)

function moor(ship) {
  ropes.value -= ship.length
  lift(ship, hooks.value)
}
</script>

<template>
  <section class="yard">
    <h2>Cranes of the yard</h2>
    <p>{{ ropes }} ropes</p>
  </section>
  <section class="pier">
    <h2>Ships at the pier</h2>
    <p>{{ hooks }} hooks</p>
  </section>
</template>

<style scoped>
.yard {
  color: #341;
  display: flex;
  margin: 0 4px;
}
</style>
"""

RUBY = """require "harbour"

module Yard
  class Crane < Machine
    before_lift :count_ropes

    # Lifts a load.
    def lift(load)
      case load.state
      when "wet" then dry(load)
      when "old" then return nil
      else raise "unknown"
      end
      load.hang
    end

    def count_ropes
      ropes.each do |rope|
        rope.measure
        rope.hang
      end
      ropes.size
    end
  end
end
"""

SWITCH = """class Crane {
  lift(load) {
    switch (load.state) {
    case "wet":
      dry(load);
      return null;
    default:
      hang(load);
      count(load);
    }
    this.rest();
  }
}
"""


@pytest.mark.parametrize(
    ("text", "words", "heads"),
    [
        (COMPONENT, "const ropes", ['<script setup lang="ts">', "</script>"]),
        (COMPONENT, "lift(ship", ['<script setup lang="ts">', "function moor(ship) {", "</script>"]),
        (COMPONENT, "Ships at", ["<template>", '<section class="pier">', "</section>", "</template>"]),
        (COMPONENT, "margin", ["<style scoped>", ".yard {", "}", "</style>"]),
        (RUBY, "before_lift", ["module Yard", "class Crane < Machine", "end"]),
        (RUBY, '"old"', ["class Crane < Machine", "def lift(load)", "case load.state", "end"]),
        (RUBY, "rope.measure", ["def count_ropes", "ropes.each do |rope|", "end"]),
        (SWITCH, "hang(load)", ["class Crane {", "lift(load) {", "switch (load.state) {", "default:", "}"]),
    ],
)
def test_a_line_of_code_comes_with_the_blocks_around_it(text: str, words: str, heads: list[str]) -> None:
    assert {unit.kind for unit in split_units(text)} == {"code"}
    units = arrange(text, split_units(text), 0, lambda unit: True, Sizes(20, 20))
    unit = next(unit for unit in units if words in text[unit.start : unit.end])
    needed = [*unit.link.needs, units.index(unit)]
    lines = {line.strip() for at in needed for line in text[units[at].start : units[at].end].split("\n")}
    assert {*heads} <= lines


def test_marks_in_a_component_are_comments_of_its_languages() -> None:
    units = arrange(COMPONENT, split_units(COMPONENT), 0, lambda unit: True, Sizes(20, 20))
    signs = {
        (COMPONENT[unit.start : unit.end].split("\n")[0].strip(), unit.link.series.before)
        for unit in units
        if unit.link.series
    }
    assert {("const ropes = ref(32)", "// "), ("<h2>Cranes of the yard</h2>", "<!-- ")} <= signs
    assert ("color: #341;", "/* ") in signs


def test_words_that_close_nothing_are_no_source() -> None:
    text = "The harbour\nif the crane is red\nend\nend\nThe master of the harbour counts all ropes in May.\n"
    assert "code" not in {unit.kind for unit in split_units(text)}


@pytest.mark.parametrize("line", ["<template>\n", "<template>\n<script>\n", "<template>\n</script>\n"])
def test_sections_are_found_in_linear_time(line: str) -> None:
    def find(size: int) -> object:
        text = line * (size * 20 // len(line))
        return find_sections(text, 0, len(text))

    assert grows_linearly(find)


@pytest.mark.parametrize("line", ["<template>\n", "def f\nend\n", "def f\n", "case x\nwhen 1\n", "</a>\n"])
def test_components_are_read_in_linear_time(line: str) -> None:
    def read(size: int) -> object:
        text = line * (size * 4 // len(line))
        return arrange(text, split_units(text), 0, lambda unit: True, Sizes(20, 20))

    assert grows_linearly(read)
