"""Lines of all formats, mixed at random: splitting neither fails nor loses anything."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units

LINES = [
    "", "A title", "Word", "---", "===", "--", "~~~", "***", "###", "^^^^", "# Head", "## Two", "== Head ==",
    "> quote", "- item", "* item", "1. one", "```", "```py", "|a|b|", "|-|-|", "{", "}", "[", "]", '{"a": 1}',
    "<p>", "</p>", "<Yard a>", "</Yard>", "def f():", "    return 1", "class A:", "key: value", "key:",
    "  - a", "  b: c", "[section]", "a = 1", "-----BEGIN X-----", "-----END X-----", "/*", "*/", "/* c */",
    "BEGIN:VEVENT", "END:VEVENT", "diff --git a/x b/x", "@@ -1 +1 @@", "+a", "-b",
    "2026-03-11 08:00:01 INFO a", "Mar 11 08:00:01 host a[1]: b", "10 Mar 2026 08:00 INFO x",
    "Ada: hello there.", "Bert: yes.", "Q: what?", "A: this.", "This is a sentence. And one more.",
    "a wrapped line of words that goes on and on until the", "next line ends it.", "   indented", "\tTab",
    "..", "...", "%%", "$$", "\\begin{a}", "\\end{a}", "\\section{a}", "{|", "|}", "@tag", "Feature: a",
    "  Scenario: b", "    Given c", "end", "fi", "done", "if x", "else", "12 | code", "   12\tcode",
    "Traceback (most recent call last):", '  File "a.py", line 1, in f', "ValueError: x", "a,b,c", "1,2,3",
    '"q', 'r",2', "commit 0123456789abcdef0123456789abcdef01234567", "Author: A <a@b.example>", "   |",
    "note: x", "error[E0001]: y", "  --> a.rs:1:2", "TASK [a] ****", "<!--", "-->", "\\", "%",
    "PLAY RECAP *****",
]  # fmt: skip
breaks = st.sampled_from(["\n", "\n\n", "\r\n"])
lines = st.lists(st.sampled_from(LINES), max_size=12)
mixtures = st.tuples(breaks, lines).map(lambda pair: pair[0].join(pair[1]))


@settings(max_examples=250)
@given(mixtures, st.sampled_from([10, 60]))
@example("A title\n---", 10)
@example("\\begin{a}\n^^^^\nx", 10)
def test_a_mixture_of_formats_keeps_every_visible_code_point(text: str, largest: int) -> None:
    units = split_units(text)
    opened = arrange(text, units, 0, lambda unit: unit.end - unit.start > largest, Sizes(20, 40))
    for parts in (units, opened):
        position = 0
        for part in parts:
            assert position <= part.start < part.end
            assert not text[position : part.start].strip()
            position = part.end
        assert not text[position:].strip()
