"""Units of prose: where sentences end in difficult cases, and what holds for every string."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tersely import Compressor, Document
from tersely.options import CompressionOptions
from tersely.split.documents import split
from tersely.split.sentences import split_units
from tests.sdk.counters import count_code_points
from tests.sdk.inputs import BREAKS, EMOJI, JUNK
from tests.sdk.inputs import text as random_text
from tests.sdk.units import grows_linearly, list_units


def unit_texts(text: str) -> list[str]:
    return [body for _, body in list_units(text)]


ENGLISH = {
    "two": ["The lamp was lit.", "Nobody saw it."],
    "title": ["Dr. Anna Weiss met Mr. Cole and Prof. Ito.", "They talked for an hour."],
    "title that sentencex does not know": ["Ms. Ortega signed the lease.", "Mx. Lane did not."],
    "for example": ["Bring warm things, e.g. a coat or a scarf.", "It will be cold."],
    "that is": ["The keeper, i.e. the man with the key, was away.", "We waited."],
    "country": ["The U.S. Navy bought the island.", "It paid in gold."],
    "initials": ["J. R. Harlan wrote the preface.", "It is short."],
    "equation": ["As Eq. 4 shows, the sum is finite.", "The proof follows."],
    "figure": ["See Fig. 2 for the layout.", "The scale is in metres."],
    "section in brackets": ["The bound is loose (see Sec. 3).", "A tighter one exists."],
    "number": ["House No. 7 burned down.", "The others stood."],
    "pages": ["Compare pp. 12–14 with vol. II of the diary.", "They disagree."],
    "and others": ["Ruiz et al. (2019) measured it twice.", "Both results agree."],
    "versus": ["The case was Harper vs. Doyle.", "Doyle won."],
    "company": ["Brightwater Inc. sold 40 boats.", "Its rival sold none."],
    "decimal": ["The price rose by 3.14 percent to 1.5 million.", "Nobody had expected that."],
    "version": ["Version 2.10.3 is out.", "Update now."],
    "time of day": ["She left at 5 p.m. on Friday.", "He stayed."],
    "address": ["Write to info@harbour.example or see https://harbour.example/a.b?c=1.", "Replies are slow."],
    "file": ["Open config.toml and main.py first.", "Then run it."],
    "question": ["Was it open?", "It was!", "So we went in."],
    "both marks": ["You did what?!", "We cannot believe it."],
    "quotation": ["“The sea is rough.”", "He shut the door."],
    "straight quotation": ['He said, "Wait here."', "Then he ran."],
    "quotation goes on": ['"Is it late?" she asked.', "He nodded."],
    "brackets inside": ["The mill (built in 1790) still turns.", "Children visit it."],
    "ends inside brackets": ["He left (it was late.)", "She stayed."],
    "ellipsis in the middle": ["I thought... well, it does not matter.", "Let us go."],
    "ellipsis at the end": ["The rope began to slip...", "Then it held."],
    "signs apart": ["The old lamp , lit in 1861 and again in 1870 , burns .", "Nobody saw it in 1902 ."],
    "enumerators": ["We follow two steps.", "1. First we measure.", "2. Then we cut."],
    "numbers of clauses": [
        '1.9. "Harbour" means all of it.',
        '1.10. "Pier" means a part.',
        "§ 8.1. It is old.",
    ],
    "letters with numbers": ["Q1. How often is the crane greased?", "It depends.", "R 12. The hook holds."],
    "captions": ["Table 2. Ropes by length.", "Figure B. The yard.", "4a. The hook is old."],
    "enumerators in brackets": ["There are two.", "(a) The first is old.", "(b) The second is new."],
    "spaces before the stops": ["The lamp was lit .", "Nobody saw it , as far as we know ."],
    "last one without a stop": ["The first is complete.", "The second has no stop"],
}


@pytest.mark.parametrize("sentences", ENGLISH.values(), ids=ENGLISH.keys())
@pytest.mark.parametrize("gap", [" ", "  ", "\t"], ids=["space", "two spaces", "tab"])
def test_english_sentences_are_split(sentences: list[str], gap: str) -> None:
    text = gap.join(sentences)
    assert unit_texts(text) == sentences
    assert {(unit.kind, unit.divisible) for unit in split_units(text)} == {("sentence", False)}


@pytest.mark.parametrize(
    "sentences",
    [
        ["You did what?!", "I cannot believe it."],  # "I" taken for a numeral
        ['He said, "Wait for me."', "Then he ran."],  # "me." taken for an abbreviation
        ["The rope began to slip…", "Then it held."],  # the ellipsis character never ends a sentence
    ],
)
def test_known_mistakes_lose_nothing(sentences: list[str]) -> None:
    assert unit_texts(" ".join(sentences)) == [" ".join(sentences)], "sentencex has improved"


OTHER_SCRIPTS = {
    "chinese": ["灯塔建于一八六一年。", "守塔人住在山上！", "他是谁？"],
    "chinese quotation": ["他说：“我明天来。”", "没有人回答。"],
    "japanese": ["灯台は古い。", "海は静かだった。"],
    "japanese quotation goes on": ["「もう遅い。」と彼は言った。", "誰も動かなかった。"],
    "korean": ["등대는 1861년에 세워졌다.", "지금은 비어 있다."],
    "hindi": ["नदी के पास एक गाँव था।", "वहाँ कोई नहीं रहता।", "क्यों?"],
    "arabic": ["بُنيت المنارة قبل مئة عام.", "هل ما زالت تعمل؟", "لا أحد يعرف."],
    "greek": ["Ποιος άναψε το φως;", "Κανείς δεν ξέρει.", "Το λιμάνι είναι άδειο."],
    "russian": ["Маяк построил д-р Лебедев.", "Как показано на рис. 3, он высок.", "Море спокойно."],
    "german": ["Der Turm ist z. B. von Norden sichtbar.", "Abb. 2 zeigt ihn."],
    "spanish": ["¿Quién vive allí?", "¡Nadie!", "La puerta está cerrada."],
    "khmer": ["ប្រទីបចាស់ណាស់។", "គ្មានអ្នកណានៅទីនោះទេ។"],
    "armenian": ["Փարոսը հին է։", "Ծովը հանգիստ է։"],
}


@pytest.mark.parametrize("sentences", OTHER_SCRIPTS.values(), ids=OTHER_SCRIPTS.keys())
def test_sentences_in_other_scripts_are_split(sentences: list[str]) -> None:
    assert unit_texts(" ".join(sentences)) == sentences


@pytest.mark.parametrize("name", ["chinese", "chinese quotation", "japanese", "japanese quotation goes on"])
def test_scripts_without_spaces_are_split(name: str) -> None:
    assert unit_texts("".join(OTHER_SCRIPTS[name])) == OTHER_SCRIPTS[name]


def test_thai_is_split_at_spaces_between_long_phrases() -> None:
    first = "ประภาคารแห่งนี้สร้างขึ้นบนเนินเขาเหนือท่าเรือเก่า"
    second = "ทุกคืนคนเฝ้าจะขึ้นไปจุดไฟเพื่อให้เรือกลับบ้านได้"
    assert unit_texts(f"{first} {second}") == [first, second]
    assert unit_texts("เขา มา เร็ว") == ["เขา มา เร็ว"]


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\u2028", "\x85"], ids=ascii)
def test_wrapped_lines_are_one_paragraph(line_break: str) -> None:
    lines = [
        "The lighthouse stands on the northern cliff, above the",
        "old harbour. It was built by Dr. Weiss, who never saw it",
        "finished. A storm took him in the spring of that year.",
    ]
    text = line_break.join(lines)
    assert unit_texts(text) == [
        line_break.join(["The lighthouse stands on the northern cliff, above the", "old harbour."]),
        line_break.join(["It was built by Dr. Weiss, who never saw it", "finished."]),
        "A storm took him in the spring of that year.",
    ]


def test_short_lines_are_units() -> None:
    lines = ["Roses for Ada", "Tulips for Ben", "Nothing for me"]
    assert unit_texts("\n".join(lines)) == lines


def test_offsets_count_crlf_as_two_code_points() -> None:
    text = "Done.\r\n\r\nThe end came. It was quiet.\r\n"
    assert [(u.start, u.end) for u in split_units(text)] == [(0, 5), (9, 22), (23, 36)]


@pytest.mark.parametrize("stray", ["\x00", "\ud800", "\udc80\ud83d"], ids=ascii)
def test_invalid_characters_do_not_move_boundaries(stray: str) -> None:
    assert unit_texts(f"The lamp {stray} was lit. Nobody {stray} saw it.") == [
        f"The lamp {stray} was lit.",
        f"Nobody {stray} saw it.",
    ]


@pytest.mark.parametrize("stray", ["\x00", "\ud800", "\udc80\ud83d"], ids=ascii)
def test_a_list_item_with_invalid_characters_is_cut(stray: str) -> None:
    item = f"- The tower was built in 1861. {stray} \n The tower was built in 1861."
    assert Compressor().compress("tower", [item], budget=12).tokens_after <= 12


def test_offsets_are_code_points_after_emoji() -> None:
    text = "Good 👩‍👩‍👧‍👦 news. The 🇩🇪 team won."
    assert unit_texts(text) == ["Good 👩‍👩‍👧‍👦 news.", "The 🇩🇪 team won."]


# -- any string --

FRAGMENTS = [
    *BREAKS, *EMOJI, *JUNK, "The lamp was lit.", "Dr. ", "Eq. 4", "e.g. ", "```", "```py", "~~~",
    "    x = f(1);", "| a | b |", "|---|---|", "+--+--+", '{"a": [1, "b, c"]}', "[", '{"a": ', "- item",
    "1. ", "# Title", "> quoted", "====", "2024-05-01 12:00:00 ERROR lost", "  at f(x)", "a,b,c", "。", "”",
    "Traceback (most recent call last)", "(It was late.) She", "โคม ", "；", "word " * 30, "Ann: yes",
    "<!--", "-->", "`",
]  # fmt: skip

strings = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=80),  # lone surrogates and NUL included
    st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join),
    st.integers(0, 1 << 32).map(lambda seed: random_text(random.Random(seed))),
)


@settings(max_examples=200)
@example("A title\n---")
@example("A title\n---\nBelow")
@given(strings)
def test_every_visible_code_point_is_in_exactly_one_unit(text: str) -> None:
    units = split_units(text)
    covered = 0
    position = 0
    for unit in units:
        assert position <= unit.start < unit.end, "units overlap or are out of order"
        body = text[unit.start : unit.end]
        assert body == body.strip()
        covered += sum(not character.isspace() for character in body)
        position = unit.end
    assert position <= len(text)
    assert covered == sum(not character.isspace() for character in text)
    assert all(unit.divisible == (unit.kind not in ("sentence", "heading")) for unit in units)


@settings(max_examples=60)
@given(strings)
@example("\n0=")
@example("- a\n%\n1. x")
@example("[s]\nkey = 1\n00\n* x")
def test_crlf_changes_only_offsets(text: str) -> None:
    unix = text.replace("\r", "")
    windows = unix.replace("\n", "\r\n")
    assert [body.replace("\r\n", "\n") for body in unit_texts(windows)] == unit_texts(unix)
    assert [u.kind for u in split_units(windows)] == [u.kind for u in split_units(unix)]


# -- linear time --


SLOW_INPUTS: dict[str, Callable[[int], str]] = {
    "endless words": lambda n: "word " * n,
    "one endless word": lambda n: "x" * (n * 5),
    "full stops": lambda n: "a. " * n,
    "only stops": lambda n: ". " * n,
    "abbreviations": lambda n: "Dr. A. e.g. No. 4 " * (n // 5),
    "open quotes": lambda n: "“Yes (no " * (n // 2),
    "open brackets": lambda n: "(" * n,
    "closing brackets": lambda n: "a.) B " * (n // 2),
    "open json": lambda n: '{"a": [1,\n' * (n // 3),
    "headings in pairs": lambda n: "# a\n# b\n\n" * n,
    "deep json": lambda n: "[" * (n // 2) + "]" * (n // 2),
    "open fences": lambda n: "```py\nx = 1\n\n" * (n // 4),
    "growing fences": lambda n: "".join("`" * (3 + k % 50) + "\n\n" for k in range(n // 10)),
    "delimiter rows": lambda n: "|---" * n,
    "piped": lambda n: "a | b\n" * (n // 3),
    "rules": lambda n: "=== ===\n" * (n // 2),
    "list items": lambda n: "- item\n  more\n" * (n // 3),
    "quoted lines": lambda n: "> word word\n" * (n // 3),
    "spaces": lambda n: "a" + " " * (n * 5) + "b",
    "line breaks": lambda n: "a" + "\r\n" * n + "b",
    "log lines": lambda n: "2024-05-01 12:00:00 ERROR lost\n" * (n // 4),
    "unclosed string": lambda n: '["' + '\\"' * n,
    "han": lambda n: "灯塔" * n,
    "thai": lambda n: "โคม " * n,
    "accents": lambda n: "a" + "\u0301" * n,
    "surrogates": lambda n: "\ud800 " * n,
    "indented code": lambda n: "    x = f(1)\n" * (n // 3),
    "hashes": lambda n: "# a\n" * (n // 2),
    "ampersands": lambda n: "a=b;" * n,
    "headers of diffs": lambda n: "Index: a\n" * n,
    "open comments": lambda n: "<!--" * n,
    "comments": lambda n: "<!-- a -->" * n,
    "closed comments": lambda n: "-->" * n,
    "comments in code": lambda n: "`<!--" * n,
    "comments in fences": lambda n: "```\n<!--\n" * n,
    "open mappings": lambda n: "- a:\n" * n,
    "deep mappings": lambda n: "".join(f"{' ' * (k % 60)}a:\n" for k in range(n)),
    "settings": lambda n: "a: b\n" * n,
    "settings with blank lines": lambda n: "a: b\n\n" * n,
    "sections": lambda n: "[x]\n" * n,
    "cells": lambda n: "a,b\n" * n,
    "open cells": lambda n: '"a,b\n' * n,
    "open tags": lambda n: "<a>\n" * n,
    "numbered lines": lambda n: f"{n}\tx\n" * n,
    "counted lines": lambda n: "".join(f"{k}\tx\n" for k in range(n)),
    "open records": lambda n: "BEGIN:X\n" * n,
    "records": lambda n: "BEGIN:X\nEND:X\n" * n,
    "open blocks of org": lambda n: "#+begin_a\n" * n,
    "headings of org": lambda n: "* a\nb\n** c\n" * n,
    "open templates": lambda n: "{{a\n" * n,
    "filled titles": lambda n: "a b **********\n" * n,
    "titles with rows of signs": lambda n: "a " + "***** " * n,
    "rows without a first cell": lambda n: "a   b   c\n" + "    b   c\n" * n,
    "lonely rows": lambda n: "    b   c   d\na   b   c   d\n" * n,
    "questions": lambda n: "Q: a\n" * n,
    "questions and answers": lambda n: "Q: a\nA: b\n\n" * n,
    "bars": lambda n: "|a|b\n" * n,
    "functions": lambda n: "def f():\n" * n,
    "headings at all depths": lambda n: "".join(f"{'#' * (1 + k % 6)} a{k}\n\nb{k} c\n\n" for k in range(n)),
    "announcing lines": lambda n: "a b:\n" * n,
    "announcing paragraphs": lambda n: "a b:\n\n" * n,
    "quotations inside each other": lambda n: "".join(f"{'> ' * (k % 9)}a:\n" for k in range(n)),
    "stairs": lambda n: "".join(f"{' ' * (k % 40)}a{k} b\n" for k in range(n)),
    "clauses": lambda n: "".join(f"{k % 9}.{k % 7}.{k} a b\n" for k in range(n)),
    "branches": lambda n: "│   ├── a\n" * n,
    "subtitles": lambda n: "1\n00:00:01,000 --> 00:00:02,000\na\n\n" * n,
}


@pytest.mark.parametrize("make", SLOW_INPUTS.values(), ids=SLOW_INPUTS.keys())
def test_time_grows_with_the_length(make: Callable[[int], str]) -> None:
    def run(size: int) -> None:
        split([Document(make(size))], CompressionOptions(budget=300), count_code_points)

    assert grows_linearly(run)


@pytest.mark.parametrize(
    "stamp", ["{} Mar 2026 08:00", "Wed, {} Mar 2026 08:00:07", "{}-Mar-2026 08:00:07.512"]
)
def test_a_line_with_a_written_date_is_an_entry_of_a_log(stamp: str) -> None:
    lines = [f"{stamp.format(day)} INFO backup of disk {day * 7 % 31} done" for day in range(10, 30)]
    text = "\n".join(lines)
    assert [(unit.kind, text[unit.start : unit.end]) for unit in split_units(text)] == [
        ("log", line) for line in lines
    ]


def test_lines_that_are_alike_are_no_paragraph() -> None:
    lines = [f"Crane {number} lifted crates for ship {number * 7 % 31} today" for number in range(10, 30)]
    text = "\n".join(lines)
    assert [text[unit.start : unit.end] for unit in split_units(text)] == lines


def test_code_in_backticks_is_a_word_of_running_text() -> None:
    text = (
        "--crane NAME\n"
        "        Crane to use, e.g. `north`, `south`, `east`,\n"
        "        `west`, `harbour` (needs Dock >= 0.14). If\n"
        "        unspecified, will default to `north`."
    )
    assert [" ".join(text[unit.start : unit.end].split()) for unit in split_units(text)] == [
        "--crane NAME",
        "Crane to use, e.g. `north`, `south`, `east`, `west`, `harbour` (needs Dock >= 0.14).",
        "If unspecified, will default to `north`.",
    ]


def test_lines_with_many_numbers_are_no_paragraph() -> None:
    lines = [f"crane {number * 7919 % 99991} {number % 9}.{number % 7}.1" for number in range(10, 40)]
    lines += [f"{number}.5 Load the ship {number * 31 % 97}% {number * 17 % 89}" for number in range(40, 70)]
    text = "\n".join(lines)
    assert [text[unit.start : unit.end] for unit in split_units(text)] == lines


@pytest.mark.parametrize(
    "text",
    [
        "港口的灯塔由 NASA 的工程师检查。它的灯每晚都亮着。船长们都认得它的光。（高 40 M）",
        "ประภาคารนี้ได้รับการตรวจสอบโดย NASA ทุกปี และไฟของมันสว่างทุกคืน",
    ],
)
def test_capitals_in_a_script_without_them_make_no_title(text: str) -> None:
    assert {unit.kind for unit in split_units(text)} == {"sentence"}


@pytest.mark.parametrize("word", ["incl.", "excl.", "zzgl."])
def test_an_abbreviation_before_a_noun_ends_no_sentence(word: str) -> None:
    text = f"All prices are in euros {word} VAT and hold for the whole year. The pier is open."
    assert len(split_units(text)) == 2
