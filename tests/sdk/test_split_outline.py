"""Text that no parser reads is kept in whole lines, with the lines under which a reader understands them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Compressor
from tersely.score import DocumentScores, ScoredInput
from tersely.split.sentences import split_units


class RandomScorer:
    """A scorer with random scores."""

    threshold = 0.6
    length_price = 0.0

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        return [DocumentScores(0.5, [self._random.random() for _ in own.units]) for own in documents]


class Line(NamedTuple):
    """A line of a source and what it needs."""

    text: str
    heads: tuple[int, ...] = ()
    """Indices of the lines that have to be kept with it."""
    is_head: bool = False
    """True if it is kept only for a line below it."""
    is_prose: bool = False


def check_outline(lines: Sequence[Line], seed: int) -> None:
    """Compress the lines with random scores and a random limit, and check the result."""
    source = "\n".join(line.text for line in lines)
    limit = random.Random(seed).randint(1, len(source) + 10)
    compressor = Compressor(RandomScorer(seed), token_counter=len)
    result = compressor.compress("Which?", [source], **({"budget": limit} if seed % 7 else {}))
    shown = {result.text[mark.text_start : mark.text_end].strip() for mark in result.marks}
    assert {*map(str.strip, result.text.split("\n"))} <= {"", *(line.text.strip() for line in lines), *shown}
    ends = list(accumulate(len(line.text) + 1 for line in lines))
    kept = [
        at
        for at, (line, end) in enumerate(zip(lines, ends, strict=True))
        if line.text and any(span.start < end - 1 <= span.end for span in result.kept)
    ]
    for above, below in pairwise(kept):
        between = [line for line in lines[above : below + 1] if line.text]
        if len(between) > 2 and not all(line.is_prose for line in between):
            edge = ends[below] - 1 - len(lines[below].text.lstrip())
            assert any(ends[above] - 1 <= mark.start and mark.end <= edge for mark in result.marks), (
                result.text
            )
    needed = {head for at in kept for head in lines[at].heads}
    for at in kept:
        lost = [lines[head].text for head in lines[at].heads if head not in kept]
        assert not lost, f"{lines[at].text!r} without {lost}:\n{result.text}"
        assert at in needed or not lines[at].is_head, f"{lines[at].text!r} is alone:\n{result.text}"


def read(notation: str) -> list[Line]:
    """Return the lines of a case. Each is `name heads|text`: `*` after the name is a head, `~` prose."""
    rows = [row.partition("|") for row in notation.strip("\n").split("\n")]
    labels = [left.split() or [""] for left, _, _ in rows]
    names = {name.rstrip("*~"): at for at, (name, *_) in enumerate(labels)}
    return [
        Line(text, tuple(names[head] for head in heads), "*" in name, "~" in name)
        for (name, *heads), (_, _, text) in zip(labels, rows, strict=True)
    ]


def check_notation(notation: str) -> None:
    """Check the lines of a case with many random scores and limits."""
    lines = read(notation)
    for seed in range(26):
        check_outline(lines, seed)


CASES = {
    "short clauses": """
1*      |2.5. Lamps
        |
2~ 1    |The keeper lights every lamp of the pier at dusk.
        |
3*      |2.6. Ropes
        |
4~ 3    |The keeper counts the ropes in the morning.
""",
    "a value of several paragraphs": """
1       |Name: pier
2 1     |Author: Ada
3 1     |Licence: The pier licence
        |
4~ 1 3  | Ships may stay at the pier until the tide turns.
        |
5~ 1 3  | No lamp may burn after dawn.
6 1     |Home: the yard
""",
    "options without a short name": """
1*      |  -s, --separate
2  1    |                 keep the gates apart
3*      |      --sandbox
4  3    |                 raise no crane
5*      |  -p, --pier=N
6  5    |                 shut pier N
7*      |      --posix
8  7    |                 count in feet
""",
    "questions": """
1*      |Q: When is the lower gate shut?
2  1    |A: At six in the evening.
        |
3*      |Q: Who holds the key of the tower?
4  3    |A: Ada holds it, and Ben has another.
        |
5*      |Q: May dogs come in?
6  5    |A: No.
""",
    "chat": """
1*      |[10:04] Ada: order these
2  1    |rope 12 m
3  1    |hooks 3
4       |[10:06] Ben: the shop is shut
5*      |[10:09] Ada: then from the yard
6  5    |rope 9 m
7       |[10:12] Ben: fetched
""",
    "quoted mail": """
1*      |On 3 May Ben wrote:
2* 1    |> Is the pier shut
3  1 2  |Yes, until June
        |
4*      |> Who has the key
5  4    |Ask the yard
""",
    "plan": """
1*      |# Pier
        |
2* 1    |## plan
        |
3  1 2  |- paint the rail
4  1 2  |- oil the hinge
        |
5* 1    |## done
        |
6  1 5  |- new rope
7  1 5  |- new lamp
""",
    "nested list": """
1*      |- tools
2* 1    |  - for wood
3  1 2  |    - plane
4  1 2  |    - saw
5* 1    |  - for iron
6  1 5  |    - file
7*      |- clothes
8  7    |  - gloves
9  7    |  - boots
""",
    "expanded rows": """
1*      |-[ RECORD 1 ]----
2  1    |name   | red crane
3  1 2  |built  | 1871
4  1 2  |lifts  | 40
5*      |-[ RECORD 2 ]----
6  5    |name   | old crane
7  5 6  |built  | 1844
8  5 6  |lifts  | 12
""",
    "commits": """
1*      |commit 4be1a90cc2
2  1    |Author: Ada <ada@pier.example>
3  1    |Date:   Mon May 4 09:12:44 2026
        |
4  1    |    Grease the winch
        |
5*      |commit 77ab01f3de
6  5    |Author: Ben <ben@pier.example>
7  5    |Date:   Tue May 5 17:40:02 2026
        |
8  5    |    Drop the anchor check
""",
    "test report": """
1*      |=========== FAILURES ===========
2* 1    |_________ test_winch _________
3  1 2  |>       assert winch.turns == 4
4  1 2  |E       assert 3 == 4
5  1 2  |tests/test_winch.py:17: AssertionError
6* 1    |_________ test_rope _________
7  1 6  |>       assert rope.length > 9
8  1 6  |E       assert 8 > 9
9  1 6  |tests/test_rope.py:31: AssertionError
""",
    "database log": """
1       |2026-05-04 09:12:44.101 UTC [71] ERROR:  duplicate key value violates "crane_pkey"
2  1    |	DETAIL:  Key (id)=(4) already exists.
3  1    |	STATEMENT:  INSERT INTO crane VALUES (4)
4       |2026-05-04 09:12:51.300 UTC [72] ERROR:  relation "winch" does not exist
5  4    |	STATEMENT:  SELECT turns FROM winch
6       |2026-05-04 09:13:02.008 UTC [73] LOG:  checkpoint complete
""",
    "subtitles": """
1*      |1
2* 1    |00:00:01,000 --> 00:00:03,500
3  1 2  |- Who lit the lamp?
4  1 2  |- Not me, Ben
        |
5*      |2
6* 5    |00:00:04,000 --> 00:00:06,000
7  5 6  |[wind, far away]
        |
8*      |3
9* 8    |00:00:07,100 --> 00:00:09,900
10 8 9  |Then it burns by itself
""",
    "cards": """
1*         |BEGIN:VCARD
2  1 5     |FN:Ada Holm
3  1 2 5   |TEL:+41 44 000 11 22
4  1 2 5   |ROLE:Keeper
5* 1       |END:VCARD
6*         |BEGIN:VCARD
7  6 9     |FN:Ben Roy
8  6 7 9   |TEL:+41 44 000 33 44
9* 6       |END:VCARD
""",
    "options": """
1*      |OPTIONS
2* 1    |       -d, --depth N
3  1 2  |              Dig N metres below the pier
        |
4* 1    |       -q, --quiet
5  1 4  |              Print no warnings, and no sums
        |
6* 1    |       --tide FILE
7  1 6  |              Take the tides from FILE
""",
    "makefile": """
1*      |pier: posts.o deck.o
2  1    |	cc -o pier posts.o deck.o
3  1    |	strip pier
        |
4*      |posts.o: posts.c wood.h
5  4    |	cc -O2 -c posts.c
        |
6*      |clean:
7  6    |	rm -f pier posts.o deck.o
""",
    "tree": """
1*      |harbour
2* 1    |├── cranes
3  1 2  |│   ├── red.txt
4  1 2  |│   └── old.txt
5* 1    |├── lamps
6  1 5  |│   └── north.txt
7  1    |└── README
""",
    "clauses": """
1*       |1 Use of the pier
        |
2* 1     |1.1 The tenant may use
3  1 2   |(a) the lower deck
4  1 2   |(b) the shed until 9 p.m.
5* 1     |1.2 The tenant may not use
6  1 5   |(a) the crane
7  1 5   |(b) the lamp room
""",
    "org": """
1*      |* Cranes
2* 1    |** TODO Red crane
3  1 2  |   SCHEDULED: <2026-05-04>
4  1 2  |- grease
5* 1    |** Old crane
6~ 1 5  |Its hook was lost in a storm.
7*      |* Lamps
8~ 7    |They burn until dawn.
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_are_kept_whole_and_with_their_heads(notation: str) -> None:
    check_notation(notation)


@st.composite
def outlines(draw: st.DrawFn) -> list[Line]:
    """Draw sections under headings, with items and other lines at random depths. No word appears twice."""
    lines: list[Line] = []
    headings: list[tuple[int, int]] = []
    for _ in range(draw(st.integers(2, 5))):
        level = draw(st.integers(1, 3))
        headings = [heading for heading in headings if heading[0] < level]
        own = tuple(at for _, at in headings)
        headings.append((level, len(lines)))
        lines += [Line(f"{'#' * level} section{len(lines)}", own, is_head=True), Line("")]
        above: list[tuple[int, int]] = []
        sign = draw(st.sampled_from(["- ", ""]))
        for _ in range(draw(st.integers(0, 6))):
            depth = draw(st.integers(0, above[-1][0] + 1 if above else 0))
            above = [parent for parent in above if parent[0] < depth]
            heads = (*(at for _, at in headings), *(at for _, at in above))
            above.append((depth, len(lines)))
            if lines[-1].text and heads[-1] == len(lines) - 1:
                lines[-1] = lines[-1]._replace(is_head=True)
            words = " ".join(f"w{len(lines)}x{n}" for n in range(draw(st.integers(1, 5))))
            lines.append(Line("  " * depth + sign + words, heads))
        lines.append(Line(""))
    needed = {head for line in lines for head in line.heads}
    return [line._replace(is_head=line.is_head and at in needed) for at, line in enumerate(lines)]


@settings(max_examples=150)
@given(outlines(), st.integers(0, 2**20))
def test_random_outlines_are_kept_with_their_heads(lines: list[Line], seed: int) -> None:
    check_outline(lines, seed)


def test_numbered_title_is_not_kept_without_its_paragraph() -> None:
    sections = [
        (f"2.{n}. Rule for mole {n}", f"The yard believes that its rope {n} is of its own making.")
        for n in range(8)
    ]
    source = "\n\n".join(line for section in sections for line in section)
    for seed in range(40):
        compressor = Compressor(RandomScorer(seed), token_counter=len)
        kept = compressor.compress("Which?", [source], budget=120 + 8 * seed).text
        alone = [title for title, text in sections if title in kept and text not in kept]
        assert not alone, kept


@pytest.mark.parametrize(
    ("text", "unit", "needs"),
    [
        ("== Summer ==\nNine.\n\n== Winter ==\n=== Monday ===\nIt leaves at eleven.", 4, (2, 3)),
        ("* Summer\n** Monday: 09:00\n* Winter\n** Monday: 11:00\n** Tuesday: 12:00", 4, (2,)),
    ],
)
def test_signs_say_how_deep_a_heading_or_an_item_is(text: str, unit: int, needs: tuple[int, ...]) -> None:
    assert split_units(text)[unit].link.needs == needs
