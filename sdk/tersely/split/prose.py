"""Prose: detection of lines that are surely running text.

Text that is not proven to be prose is split into whole lines. A line break either wraps a paragraph (see
`wrapping`) or ends a unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tersely.split.column_names import count_values, may_name
from tersely.split.columns import find_edges, have_gaps
from tersely.split.counted_titles import is_division, is_numbered_title
from tersely.split.dates import ends_with_period, is_signed, stamps_comment
from tersely.split.fragments import is_fragment
from tersely.split.likeness import Likeness, rate_line
from tersely.split.lines import PREFIX, TICKED, WORD, Block, Lines, Range, make_block, mask
from tersely.split.nodes import continues_sentence
from tersely.split.sentence_starts import CLOSING, COUNTED, PHRASE, is_abbreviation
from tersely.split.titles import find_line_kind, is_byline, is_question, is_stamped, is_title_in_prose
from tersely.split.wrapping import LABEL, LED, TERMINALS, are_pairs, is_wrapped, measure_width

QUOTE = re.compile(r"\s{0,3}(?:>\s?)+")
"""The marker before a line of a block quote."""
SPEAKER = re.compile(
    r"""\s*(?:
      (?:[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?[\])]?\s+)              # a time, alone or before the name
    | (?:[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?[\])]?\s*)?
      [*_]{0,2}[^\W\d_a-zß-öø-ÿа-я][^:.!?,;(\[]{0,30}(?:\([^)]{0,30}\)\s*|\[[\d:., -]{4,30}\]\s*)?[*_]{0,2}
      [:：](?:[\s*_]|$)
    )""",
    re.VERBOSE,
)
"""The start of a line of dialogue: a time, or a name with a colon and perhaps a time before or after it."""
_PLAIN_NUMBER = re.compile(r"[\W_]*\d[\W\d_]*")
_SENTENCE_END = re.compile(r"[^\s_.!?…][\"'”’»)\]*_`]*(?!(?<=\])\.\.) ?[.!?…։।؟។]+[\"'”’»)\]*_`]*(?:\s|$)")
_NUMBER = re.compile(
    rf"(?:§+\s*|(?i:{COUNTED})\s+)?"
    r"(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})*[.)]*\s+"
)
"""The number of a clause. Its full stop does not end a sentence."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_ASSIGNMENT = re.compile(r"(?:^|(?<=\s))[\w.-]++=\S")
"""A name with its value. A line with two or more is an entry of a log."""
_NUMBER_FIELD = re.compile(r"\s*[A-Za-z]\w*=\d")
"""The start of an entry such as `id=7 The crane lifts.`"""
_COUNTS = re.compile(r"(?:\b\d+ [a-z]+(?: [a-z]+)?; ){2}")
"""Numbers of several kinds of things, as in the last line of a report of tests."""
_CITATION = re.compile(
    r"[A-Z][\w'’-]+, [A-Z][\w'’.-]*[^.()]{0,80}(?:\.[^.()]{0,40}){0,4} "
    r"\((?:1[5-9]|20)\d\d[a-z]?(?:, [A-Z]\w+)?\)[.,:]"
)
"""The start of an entry of a bibliography: authors and the year."""
_SEPARATED = re.compile(r"\s[·|•]\s.*\s[·|•]\s")
"""Items in a line with signs between them."""
_USAGE = re.compile(r"(?:\]|\b[A-Z]{2,})\.\.\.(?:\s|$)|\[--?\w")
"""An argument that may be repeated, or an option in brackets, in the description of a command."""
_POSITION = re.compile(r"[^\s:]*[./][^\s:]*[:-]\d+[:-]|\d+[:-](?=\s{2}|[^\w\s])")
"""The place of a line in a file, as grep prints it: its number, perhaps after a path."""
_SYMBOL = re.compile(
    r"(?:^|\s)(?:(?:=>|->|:=|==|&&|\|\||[{}])(?:\s|$)|@\w+\(|\.{6,}|'[^\w\s']{1,3}' .*'[^\w\s']{1,3}' )"
)
"""A sign of code between blanks, an annotation with arguments, dots that lead to a value, or two signs in
quotes."""
_FEWEST_LABELS = 3
_MODE = re.compile(r"[-bcdlps][-rwxsStT]{9}[.+@]?\s")
"""The permissions of a file at the start of a line of `ls -l`. The file's name may be a dot, which is not
the end of a sentence."""
_DIAGNOSTIC = re.compile(r"\s*(?:[\w./\\-]+|[A-Za-z]:\\\S+)(?::\d+(?::\d+)?(?::|\s-)|\(\d+,\d+\):)\s+\S")
"""The place in a file at the start of a message. The sentences of the message are not separate units."""
_SAMPLE = 2000
"""Number of code points of a paragraph to read to see whether it is prose."""
_FEW, _MANY, _MOST = 0.5, 0.6, 0.9
"""Lowest shares of words in prose: in a text with a sentence end; in such a text that does not begin with a
word; in a text without a sentence end."""
_RARE = 5
"""Smallest number of words for each number in prose without a sentence end."""
_FEWEST_WORDS = 12
"""Smallest number of words in prose without a sentence end."""
_REPORT = re.compile(
    r"(?!.*[.!?]\s).*\s\.{3}|[A-Z\d]+(?:-[A-Z\d]+)*\.?(?:\s+[A-Z\d]+(?:-[A-Z\d]+)*\.?){1,5}"
    r"|\[ [^\[\]]{1,60} \]",
    re.DOTALL,
)
"""A line that says what is being done, such as `Listing cranes ...`; a few words in capitals; or a name in
brackets."""
_FEWEST_LINES, _NEARLY_ALL = 3, 0.8
"""A paragraph of at least this many wrapped lines with this share of words is prose despite signs of code."""


def split_prose(lines: Lines, first: int, end: int, edges: set[int]) -> Iterator[Block]:
    """Yield the lines first..end-1 as blocks: paragraphs that are proven to be prose, and whole lines.

    The lines must not be blank. `edges` are the lengths of justified lines of the text (`find_edges`).
    """
    if first == end:
        return
    texts = lines.texts[first:end]
    widths = dict[int, int]()  # for each indent, the length of its longest line
    for number, line in enumerate(texts, first):
        indent = lines.indent(number)
        widths[indent] = max(widths.get(indent, 0), measure_width(line))
    prefixes = [found[0].strip() if (found := PREFIX.match(line)) else "" for line in texts]
    is_record = _is_record(texts)
    spoken = [not is_record and SPEAKER.match(line) is not None for line in texts]
    is_dialogue = spoken.count(True) >= 2
    titled = {line for line, text in enumerate(texts) if is_stamped(text) or stamps_comment(text)}
    titled |= {n - first for n in range(first, end) if is_numbered_title(lines, n) or is_division(lines, n)}
    rows = [count_values(text) > 1 for text in texts]
    named = {n for n in range(len(texts) - 2) if all(rows[n + 1 : n + 3]) and may_name(texts[n])}
    signed = [line[-1:].isdigit() and is_signed(line) for line in map(str.rstrip, texts)]
    cited = [")" in line and _CITATION.match(line) is not None for line in texts]
    fragments = lines.is_fragmented
    start = 0
    for line in range(1, len(texts) + 1):
        if line < len(texts) and signed[line] and texts[line].lstrip()[0] in "–—" and not signed[line - 1]:
            continue
        if (
            line < len(texts)
            and prefixes[line] == prefixes[start]
            and not (is_dialogue and spoken[line])
            and not (is_record and LABEL.match(texts[line]))
            and not (line == 1 and (is_question(texts[0]) or is_byline(texts[1])))
            and not (line == 2 and is_byline(texts[1]))
            and not any(map(titled.__contains__, (line - 1, line)))
            and not (line in named and _is_complete(texts, line - 1))
            and not (signed[line - 1] or cited[line])
            and not (line - start == 1 and ends_with_period(texts[start]))
            and (
                is_wrapped(
                    texts[line - 1],
                    texts[line],
                    widths[lines.indent(first + line - 1)],
                    is_inside=line - start > 1,
                )
                or (fragments and is_fragment(*texts[line - 1 : line + 2]))
            )
        ):
            continue
        at, stop = first + start, first + line
        if signed[line - 1] or cited[start]:
            yield make_block(lines, at, stop, "list_item", prefixes[start])
        elif prefixes[start]:
            # A sentence that starts in the middle of a line would lose the sign before the line.
            if lines.is_short(at, stop):
                yield make_block(lines, at, stop, "line", prefixes[start])
            else:
                rows = enumerate(pairwise(lines.texts[at:stop]), at + 1)
                ends = [n for n, pair in rows if not continues_sentence(*pair)]
                for begin, last in pairwise([at, *ends, stop]):
                    yield make_block(lines, begin, last, "line", prefixes[start])
        elif (
            (line - start > 1 or _is_complete(texts, start))
            and _is_running(texts[start:line])
            and (lines.has_gaps or not have_gaps(texts[start:line], edges))
            and not (line - start == 1 and is_record and LABEL.match(texts[start]))
            and not (line - start == 1 and (is_in_capitals(texts[start]) or is_title_in_prose(lines, at)))
        ):
            yield make_block(lines, at, stop, "sentence")
        else:
            yield from (make_block(lines, n, n + 1, find_line_kind(lines, n)) for n in range(at, stop))
        start = line


def find_paragraphs(text: str, start: int, end: int) -> Iterator[tuple[Range, bool]]:
    """Yield the paragraphs of prose and the other lines in `text[start:end]`, and whether each is prose."""
    lines = Lines(mask(text[start:end]))
    edges = find_edges(lines)
    index = lines.skip_blank(0)
    while index < len(lines):
        stop = lines.find_blank(index)
        for block in split_prose(lines, index, stop, edges):
            yield (start + block.start, start + block.end), block.kind == "sentence"
        index = lines.skip_blank(stop)


def _is_record(texts: Sequence[str]) -> bool:
    """Return whether enough lines are a name and a value, and most values are not prose, unlike in
    dialogue."""
    labels = [found for text in texts if (found := LABEL.match(text))]
    spoken = sum(is_prose(found.string[found.end() :]) for found in labels)
    flush = sum(not text[0].isspace() for text in texts)
    return len(labels) >= _FEWEST_LABELS and len(labels) * 2 >= flush and spoken * 2 < len(labels)


def is_in_capitals(line: str) -> bool:
    """Return whether a line is a title in capitals, without the end of a sentence.

    Every letter must be a capital: Chinese and Thai letters are not, although a line with them may have an
    abbreviation in capitals.
    """
    ends = line.rstrip().rstrip(CLOSING).endswith(TERMINALS)
    return line.isupper() and not ends and all(letter.isupper() for letter in line if letter.isalpha())


def _is_complete(texts: Sequence[str], index: int) -> bool:
    """Return whether a line ends a sentence, or is the last line."""
    return index + 1 == len(texts) or texts[index].rstrip().rstrip(CLOSING).endswith(TERMINALS)


def is_prose(text: str) -> bool:
    """Return whether a line or a paragraph is running text: words, and most often the end of a sentence.

    Any other text is split into whole lines, because its full stops may be parts of names or numbers.
    """
    sample = text[:_SAMPLE].strip()
    if _UNSPACED.search(sample):
        letters = sum(character > "\x7f" or character.isalpha() for character in sample)
        return letters * 3 >= len(sample) * 2 and (len(sample) > PHRASE or sample.endswith(TERMINALS))
    words = sample.split()
    if (
        len(words) < 2
        or " # " in sample
        or sample.startswith("| ")
        or _MODE.match(sample)
        or _DIAGNOSTIC.match(sample)
        or _POSITION.match(sample)
        or TICKED.match(sample)
        or _REPORT.fullmatch(sample)
        or _USAGE.search(sample)
        or _SYMBOL.search(sample)
        or ("..." in sample and LED.match(sample))
        or are_pairs(words)
        or _NUMBER_FIELD.match(sample)
        or len(_ASSIGNMENT.findall(sample)) > 1
        or _COUNTS.search(sample)
        or rate_line(sample) is Likeness.CODE
    ):
        return False
    plain = sum(WORD.fullmatch(word) is not None for word in words)
    share = plain / len(words)
    number = _NUMBER.match(sample)
    if _has_end(sample, number.end() if number else 0):
        return share >= (_FEW if WORD.fullmatch(words[0]) else _MANY)
    if _SEPARATED.search(sample):
        return False
    numbers = sum(_PLAIN_NUMBER.fullmatch(word) is not None for word in words)
    return len(words) >= _FEWEST_WORDS and share >= _MOST and numbers * _RARE <= len(words)


def _is_running(texts: Sequence[str]) -> bool:
    """Return whether wrapped lines are running text.

    Among many words, signs of code such as `--crane=[red,blue]` do not count.
    """
    text = " ".join(texts)
    words = text[:_SAMPLE].split()
    plain = sum(WORD.fullmatch(word) is not None for word in words)
    is_long = len(texts) >= _FEWEST_LINES and plain >= _NEARLY_ALL * len(words) and words[:1] != ["|"]
    return (is_long and _has_end(text[:_SAMPLE], 0)) or is_prose(text)


def _has_end(text: str, start: int) -> bool:
    """Return whether a sentence ends in `text[start:]`. It does not end at `tel.` before a number."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, start)]
    if ends and ends[-1] == len(text):
        return True
    return any(not is_abbreviation(text[:end].split()[-1], text[end:]) for end in ends)
