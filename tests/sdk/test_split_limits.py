"""Deep and long inputs: splitting takes linear time, and needs no deep stack."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tersely import Compressor, Document
from tersely.options import CompressionOptions
from tersely.split.documents import split
from tersely.split.sentences import split_units
from tests.sdk.units import grows_linearly

SLOW = {
    "a rule above a long line": lambda n: f"-----\n{'word ' * n * 2}\nend of it\n",
    "a row of signs": lambda n: f"{'~' * n * 4}\nfoo bar\nbaz\n",
    "a number with a letter": lambda n: f"{'7' * n * 4}x a\n" + "a b\n" * 9,
}


@pytest.mark.parametrize("make", SLOW.values(), ids=SLOW)
def test_long_inputs_take_linear_time(make: Callable[[int], str]) -> None:
    assert grows_linearly(lambda size: split_units(make(size)))


def test_comments_that_are_not_closed_are_read_a_few_times_only() -> None:
    def run(size: int) -> None:
        text = "#include <a.h>\nint main(void) {\n" + "/* note\n  x = 1;\n" * size + "}\n"
        split([Document(text)], CompressionOptions(budget=300), lambda texts: [*map(len, texts)])

    assert grows_linearly(run)


def test_a_long_chain_of_calls_needs_no_deep_stack() -> None:
    calls = "".join(f"  .call{n}({n})\n" for n in range(1600))
    text = f"import a from 'a';\nexport const x = a\n{calls};\n"
    assert Compressor().compress("What is call 7?", [text], budget=100).status == "compressed"


def test_a_late_branch_needs_the_condition_but_no_other_branch() -> None:
    text = "if the crane is red\n  paint it\n" + "".join(
        f"else\n  paint the boat in the colour tone{n}\n" for n in range(100)
    )
    result = Compressor().compress("Which boat is painted in tone90?", [text], budget=100)
    assert "if the crane is red\n" in result.text
    assert "paint the boat in the colour tone90" in result.text


def test_only_a_whole_name_of_a_field_identifies_a_stanza() -> None:
    text = "\n".join(
        f"""Product: crane-{n}
Colour: red
Unit-Price: {n} euros for each of the pieces of this type, which are sold at the pier in the old town only
Title-Deed: held by the bank in the old town since the year 190{n}, in a box that nobody has opened since
Weight: {n * 111} kg
"""
        for n in range(1, 5)
    )
    result = Compressor().compress("What is the weight of crane-2?", [text], budget=60)
    assert "Product: crane-2\n" in result.text
    assert "Weight: 222 kg" in result.text
