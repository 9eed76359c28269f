"""Large code is opened into branches, docstrings and comments; Python still parses, and nothing is lost."""

from __future__ import annotations

import ast
import random
import sysconfig
from pathlib import Path

import pytest

from tersely import Compressor
from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tersely.units import Unit
from tests.sdk.fakes import FakeScorer

MODULES = ("argparse", "asyncio/tasks", "configparser")
LIBRARY = Path(sysconfig.get_path("stdlib"))

BRANCHES = '''
def store(path, data):
    """Store it."""
    if path.endswith(".gz"):
        opened_file = gzip.open(path, "wb")
        opened_file.write(data)
    elif path.endswith(".xz"):
        opened_file = lzma.open(path, "wb")
        opened_file.write(data)
    else:
        raise NamingError("the ending of the file is not one that is known here")
    try:
        remember(path)
        announce(path)
    except OSError as error:
        log.warning("the bay was closed: %s", error)
        raise
    finally:
        release(path)
    match len(data):
        case 0:
            return "nothing was stored, as there was nothing at all"
        case _:
            return "everything was stored, and the bay may be closed"
'''

ENUM = """namespace bay {

// A lamp has one of these colours. Ships tell lamps apart by them, so that no colour changes its meaning.
//
// Green is seen from the north, red from the south. Where both are seen, the ship is on the right way.
enum class Colour : uint8_t {
  Undefined = 0,

  // The lamp at the end of the northern mole. It burns from dusk to dawn, in fog the whole day.
  Green,
#if defined(WITH_BUOYS)
  // Buoys that the ice carries away are counted in spring, and replaced if money allows it.
  Amber,
#endif
  // The lamp at the end of the southern mole. It was electrified later than the one in the north.
  Red,
};

inline void show(Colour colour) {
  if (colour == Colour::Red) {
    lamps.at(SOUTH).burn(RED_LAMP_SECONDS, WITHOUT_A_PAUSE);
    horn.blow(SHORT_SIGNAL, SHORT_SIGNAL, LONG_SIGNAL);
  } else {
    lamps.at(NORTH).burn(GREEN_LAMP_SECONDS, WITH_A_PAUSE);
    horn.blow(LONG_SIGNAL, LONG_SIGNAL, SHORT_SIGNAL);
  }
}

}  // namespace bay
"""

COMMAND = """
@cli.command(name="moor")
@cli.option("--pier", "-p", default="north", help="The pier at which the ship is moored until the morning.")
@cli.option("--rope", "-r", default=4, help="The number of ropes with which the ship is moored.")
def moor(
    ship: Ship,
    /,
    master: str = "unknown",
    *,
    pier: str = "north",
    ropes_of_hemp: int = 4,
    seconds_until_the_horn_sounds: float = 7.5,
) -> Berth:
    # The ropes are counted first, because a ship
    # that breaks loose at night is found only in the morning.
    counted = count_ropes(ship, ropes_of_hemp)
    horn.sound(after=seconds_until_the_horn_sounds)
    return Berth(pier, counted)
"""


def open_units(text: str, size: int) -> list[Unit]:
    return arrange(text, split_units(text), 0, lambda unit: unit.end - unit.start > size, Sizes(size, size))


def find_unit(text: str, units: list[Unit], words: str) -> Unit:
    return next(unit for unit in units if words in text[unit.start : unit.end])


def list_heads(text: str, units: list[Unit], unit: Unit) -> list[str]:
    return [text[units[at].start : units[at].end].split("\n")[0] for at in unit.link.needs]


@pytest.mark.parametrize("module", MODULES)
def test_modules_of_the_library_still_parse(module: str) -> None:
    text = (LIBRARY / f"{module}.py").read_text(encoding="utf-8")
    draw = random.Random(module)
    words = [word for word in text.split() if word.isalpha()]
    for budget in (60, 300, 3_000):
        query = " ".join(draw.sample(words, 4))
        result = Compressor(FakeScorer()).compress(query, [text], budget=budget)
        ast.parse(result.text)
        assert result.tokens_after <= budget


@pytest.mark.parametrize("text", [BRANCHES, ENUM, COMMAND])
@pytest.mark.parametrize("size", [40, 120, 400])
def test_no_character_is_lost_or_shared(text: str, size: int) -> None:
    units = open_units(text, size)
    assert "".join("".join(text[u.start : u.end].split()) for u in units) == "".join(text.split())


def test_prose_around_python_is_no_code() -> None:
    text = f"The harbour master weighs all ropes.\n\n{BRANCHES}\nSo much about ropes, he says.\n"
    assert [unit.kind for unit in split_units(text)] == ["sentence", "code", "sentence"]


@pytest.mark.parametrize("word", ["NamingError", "lzma", "announce", "log.warning", "release", "nothing at"])
def test_a_branch_comes_with_what_it_needs_to_parse(word: str) -> None:
    units = open_units(BRANCHES, 40)
    unit = find_unit(BRANCHES, units, word)
    own = sorted({*unit.link.needs, units.index(unit)})
    kept = ast.parse("\n".join(_whole_lines(BRANCHES, units[at]) for at in own))
    assert word in ast.unparse(kept)
    assert len(own) < len(units) / 2


def _whole_lines(text: str, unit: Unit) -> str:
    return text[text.rfind("\n", 0, unit.start) + 1 : unit.end]


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("--rope", ["def moor(", ") -> Berth:"]),
        ("ship: Ship", ["def moor(", "/,", ") -> Berth:"]),
        ("master", ["def moor(", ") -> Berth:"]),
        ("horn_sounds: float", ["def moor(", "*,", ") -> Berth:"]),
        ("breaks loose", ["def moor(", ") -> Berth:"]),
        ("return", ["def moor(", ") -> Berth:"]),
    ],
)
def test_a_long_head_of_a_function_is_opened_and_still_parses(word: str, others: list[str]) -> None:
    units = open_units(COMMAND, 80)
    unit = find_unit(COMMAND, units, word)
    needed = [units[at] for at in sorted({*unit.link.needs, units.index(unit)})]
    kept = "\n".join(_whole_lines(COMMAND, need) for need in needed)
    ast.parse(kept)
    assert set(others) <= {line.strip() for line in kept.split("\n")}
    assert unit.link.role == "content"
    assert len(kept) < len(COMMAND) / 2


def test_a_docstring_is_opened_and_is_no_head() -> None:
    entries = "\n".join(f"        lamp_{n}: number of lamps at mole {n}, counted at dusk." for n in range(30))
    docstring = f'"""Burn lamps.\n\n    Args:\n{entries}\n    """'
    body = "\n".join(f"    lamps[{n}].burn()" for n in range(30))
    text = f"def burn(lamps):\n    {docstring}\n{body}\n"
    units = open_units(text, 200)
    heads = list_heads(text, units, find_unit(text, units, "lamp_7: "))
    assert heads == ["def burn(lamps):", '"""Burn lamps.', "Args:", '"""']
    assert list_heads(text, units, find_unit(text, units, "lamps[7].burn")) == ["def burn(lamps):"]


def test_a_docstring_of_two_strings_is_whole() -> None:
    lines = [f"    Lamp {n} stands at mole {n}.\n\n" for n in range(30)]
    docstring = f"\"\"\"Burn lamps.\n{''.join(lines[:15])}    \"\"\" '''\n{''.join(lines[15:])}    '''"
    text = f"def burn(lamps):\n    {docstring}\n    lamps.burn()\n"
    units = open_units(text, 200)
    found = find_unit(text, units, "Lamp 7 stands")
    assert text[found.start : found.end].strip() == docstring


@pytest.fixture(params=["with grammars", "by indentation"])
def _reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by indentation":
        for module in ("code", "syntax_tree"):
            monkeypatch.setattr(f"tersely.split.{module}.parse", lambda _: None)


@pytest.mark.usefixtures("_reading")
def test_comment_needs_its_declaration_but_not_vice_versa() -> None:
    units = open_units(ENUM, 120)
    comment = find_unit(ENUM, units, "Ships tell lamps apart")
    assert "enum class Colour : uint8_t {" in list_heads(ENUM, units, comment)
    red = find_unit(ENUM, units, "electrified later")
    heads = list_heads(ENUM, units, red)
    assert "enum class Colour : uint8_t {" in heads
    assert not any("Ships tell" in head for head in heads)


def test_long_comment_between_idle_statements_is_opened() -> None:
    comment = "\n".join(
        f"    # The lamp at mole {n} burns from dusk to dawn, in fog all day." for n in range(30)
    )
    text = f"class Lamp:\n    pass\n{comment}\n    pass\n\n\nimport lamps\n"
    units = open_units(text, 240)
    unit = find_unit(text, units, "at mole 7 ")
    assert list_heads(text, units, unit) == ["class Lamp:", "pass"]


@pytest.mark.parametrize("head", ["@article{lamp1871,", "@media (min-width: 40em) {"])
def test_a_line_that_opens_a_brace_is_a_head_although_it_begins_like_an_annotation(head: str) -> None:
    fields = "\n".join(f"  lamp-{n}: {{mole {n}, lit at dusk}}," for n in range(30))
    text = f"{head}\n{fields}\n}}\n"
    units = open_units(text, 120)
    assert list_heads(text, units, find_unit(text, units, "lamp-7:")) == [head, "}"]


@pytest.mark.usefixtures("_reading")
def test_lines_after_else_come_with_it_and_the_condition() -> None:
    units = open_units(ENUM, 120)
    heads = list_heads(ENUM, units, find_unit(ENUM, units, "GREEN_LAMP_SECONDS"))
    assert "inline void show(Colour colour) {" in heads
    unit = find_unit(ENUM, units, "GREEN_LAMP_SECONDS")
    shown = [line.strip() for part in (*heads, ENUM[unit.start : unit.end]) for line in part.split("\n")]
    assert shown.index("if (colour == Colour::Red) {") < shown.index("} else {")


def test_a_line_with_an_at_sign_is_the_head_of_deeper_lines() -> None:
    fields = "".join(f"  field{n} = {{The lamp at mole {n}}},\n" for n in range(12))
    text = f"@book{{lamps2031,\n{fields}}}\n\n@book{{moles2032,\n{fields}}}\n"
    units = open_units(text, 60)
    for unit in (unit for unit in units if "field7" in text[unit.start : unit.end]):
        entry = "@book{lamps2031," if unit.start < text.index("moles") else "@book{moles2032,"
        assert list_heads(text, units, unit)[0] == entry


def test_line_that_closes_a_block_may_follow_a_blank_line() -> None:
    text = "@media (width: 40px) {\n  .crane {\n    color: red;\n  }\n\n}\n\nThe crane is old.\n"
    code, *_ = split_units(text)
    assert text[code.start : code.end].endswith("}\n\n}")


def test_comment_inside_a_block_is_not_cut_apart() -> None:
    lines = "".join(f"  hook({number});\n" for number in range(30))
    comment = "  /* The ropes\n  are old,\n  so\n  */\n"
    text = f"crane() {{\n{lines}{comment}{lines}}}\n"
    units = open_units(text, 30)
    heads = list_heads(text, units, find_unit(text, units, "are old"))
    assert {"crane() {", "/* The ropes", "*/", "}"} <= {*heads}
