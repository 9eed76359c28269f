"""Prose: which lines are proven to be running text.

Text that is not proven to be prose is split into whole lines. A line break either wraps a paragraph or
ends a unit. Wrapped lines are nearly full: the next word would not fit. Dialogue, verses and addresses break
earlier, and each of their lines is a unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tersely.split.column_names import count_values, may_name
from tersely.split.columns import find_edges, have_gaps
from tersely.split.counted_titles import STOPS, is_numbered_title
from tersely.split.dates import ends_with_period, is_signed, stamps_comment
from tersely.split.fragments import is_fragment
from tersely.split.likeness import Likeness, rate_line
from tersely.split.lines import (
    PREFIX,
    TICKED,
    WORD,
    Block,
    Lines,
    Range,
    is_wordy,
    mask,
    remove_prefix,
)
from tersely.split.nodes import goes_on
from tersely.split.sentence_starts import CLOSING, COUNTED, PHRASE, is_abbreviation
from tersely.split.titles import (
    SECTION,
    find_line_kind,
    is_byline,
    is_division,
    is_question,
    is_stamped,
    is_title,
)
from tersely.units import Kind

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
"""The start of a line of dialogue: a time, or a name with a colon, before or after which a time may be."""
_TERMINALS = (*STOPS, "?", "？", "؟")
_PLAIN_NUMBER = re.compile(r"[\W_]*\d[\W\d_]*")
_SENTENCE_END = re.compile(r"[^\s_.!?…][\"'”’»)\]*_`]*(?!(?<=\])\.\.) ?[.!?…։।؟។]+[\"'”’»)\]*_`]*(?:\s|$)")
_NEXT_SENTENCE = re.compile(r"[^\W_]{2}[.!?] [^\W\d_a-z]")
_NUMBER = re.compile(
    rf"(?:§+\s*|(?i:{COUNTED})\s+)?"
    r"\d{1,3}(?:\.\d{1,3})*[.)]*\s+"
)
"""The number of a clause. Its full stop ends no sentence."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_ASSIGNMENT = re.compile(r"(?:^|(?<=\s))[\w.-]++=\S")
"""A name with its value. A line with two or more is an entry of a log."""
_COUNTS = re.compile(r"(?:\b\d+ [a-z]+(?: [a-z]+)?; ){2}")
"""How many there are of several kinds, as in the last line of a report of tests."""
_CITATION = re.compile(
    r"[A-Z][\w'’-]+, [A-Z][\w'’.-]*[^.()]{0,80}(?:\.[^.()]{0,40}){0,4} "
    r"\((?:1[5-9]|20)\d\d[a-z]?(?:, [A-Z]\w+)?\)[.,:]"
)
"""The start of an entry of a bibliography: authors and the year."""
_SEPARATED = re.compile(r"\s[·|•]\s.*\s[·|•]\s")
"""Facts in a line, with signs between them."""
_USAGE = re.compile(r"(?:\]|\b[A-Z]{2,})\.\.\.(?:\s|$)|\[--?\w")
"""An argument that may be repeated, or an option in brackets, in the description of a command."""
_QUOTED_LINE = re.compile(r"\s*([\"']).*[.!?]\1")
"""A sentence in quotes, alone in its line."""
_NAMED_QUOTE = re.compile(r"\s*[\w.-]+ \"[^\"]*\"\s*")
_SYMBOL = re.compile(
    r"(?:^|\s)(?:(?:=>|->|:=|==|&&|\|\||[{}])(?:\s|$)|@\w+\(|\.{6,}|'[^\w\s']{1,3}' .*'[^\w\s']{1,3}' )"
)
"""A sign of code between blanks, an annotation with arguments, dots that lead to a value, or two signs in
quotes."""
_LED = re.compile(r"(?:(?![.!?…:;]\s)[^\n])*?(?<!\.)\.{3}\s+(?:[^\s.!?…,]+|[A-Z][A-Z ]*)$")
"""Dots at the end of a line that lead to a value, such as a status. Slow: look for the dots first."""
_LABEL = re.compile(r"[^\W\d_][\w-]*:(?:\s+|$)")
_FEWEST_LABELS = 3
_DIGITS = re.compile(r"\d+")
_FEWEST_PAIRS = 4
"""Fewest words of lines that can be alike."""
_MODE = re.compile(r"[-bcdlps][-rwxsStT]{9}[.+@]?\s")
"""The permissions of a file at the start of a line of `ls -l`. The file's name may be a dot, which is not
the end of a sentence."""
_DIAGNOSTIC = re.compile(r"\s*(?:[\w./\\-]+|[A-Za-z]:\\\S+)(?::\d+(?::\d+)?(?::|\s-)|\(\d+,\d+\):)\s+\S")
"""The place in a file at the start of a message, whose sentences do not stand alone."""
_SAMPLE = 2000
"""Code points of a paragraph that show whether it is prose."""
_FEW, _MANY, _MOST = 0.5, 0.6, 0.9
"""Lowest shares of words in prose: in a text with a sentence end; in such a text that does not begin with a
word; in a text without a sentence end."""
_RARE = 5
"""Fewest words for each number in prose without a sentence end."""
_FEWEST_WORDS = 12
"""Fewest words that a text without a sentence end needs to be prose."""
_WIDTHS = range(40, 131)
"""Line lengths at which people and editors wrap text; a longer line is a whole paragraph."""
_NEARLY_FULL = 0.75
_WRAPPED = 30
"""Fewest code points of a line if its sentence may continue in the next line."""
_REPORT = re.compile(
    r"(?!.*[.!?]\s).*\s\.{3}|[A-Z\d]+(?:-[A-Z\d]+)*\.?(?:\s+[A-Z\d]+(?:-[A-Z\d]+)*\.?){1,5}", re.DOTALL
)
"""A line that says what is being done, such as `Listing cranes ...`, or a few words in capitals."""
_HANGING = re.compile(r"\s*(?:[-*+•]|\S{1,4}[.)])\s")
"""The start of an item, whose further lines are indented."""
_COUNTED = re.compile(r"\s*\d{1,3}(?:\.\d{1,3})+[.)]?\s+")
"""The number before a clause. Its further lines may be indented like its text."""
_FIRST_WORD = re.compile(r"\s*([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]{1,2}|\S+)")
_UNFINISHED = re.compile(r"\b(?:an?|the|of|to|and|or|in|on|for|with|by|from|that|which)$")
"""A word that ends no sentence."""
_LARGEST_INDENT = 8
"""Largest indent of the first line of a paragraph."""


def split_prose(lines: Lines, first: int, end: int, edges: set[int]) -> Iterator[Block]:
    """Yield the lines first..end-1 as blocks: paragraphs that are proven to be prose, and whole lines.

    None of the lines is blank. `edges`: where justified lines of the text end (`find_edges`).
    """
    if first == end:
        return
    texts = lines.texts[first:end]
    widths = dict[int, int]()  # for each indent, the length of its longest line
    for number, line in enumerate(texts, first):
        indent = lines.indent(number)
        widths[indent] = max(widths.get(indent, 0), len(line.rstrip()))
    prefixes = [found[0].strip() if (found := PREFIX.match(line)) else "" for line in texts]
    is_record = _is_record(texts)
    spoken = [not is_record and SPEAKER.match(line) is not None for line in texts]
    is_dialogue = spoken.count(True) >= 2
    titled = {
        line
        for line, text in enumerate(texts)
        if is_stamped(text)
        or stamps_comment(text)
        or is_numbered_title(lines, first + line)
        or is_division(lines, first + line)
    }
    rows = [count_values(text) > 1 for text in texts]
    named = {
        line for line in range(len(texts) - 2) if all(rows[line + 1 : line + 3]) and may_name(texts[line])
    }
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
            and not (is_record and _LABEL.match(texts[line]))
            and not (line == 1 and (is_question(texts[0]) or is_byline(texts[1])))
            and not (line == 2 and is_byline(texts[1]))
            and not any(map(titled.__contains__, (line - 1, line)))
            and not (line in named and _is_complete(texts, line - 1))
            and not (signed[line - 1] or cited[line])
            and not (line - start == 1 and ends_with_period(texts[start]))
            and (
                is_wrapped(texts[line - 1], texts[line], widths[lines.indent(first + line - 1)])
                or (fragments and is_fragment(*texts[line - 1 : line + 2]))
            )
        ):
            continue
        at, stop = first + start, first + line
        if signed[line - 1] or cited[start]:
            yield _make_block(lines, at, stop, "list_item", prefixes[start])
        elif prefixes[start]:
            # A sentence that starts in the middle of a line would lose the sign before the line.
            if lines.is_short(at, stop):
                yield _make_block(lines, at, stop, "line", prefixes[start])
            else:
                ends = [n for n in range(at + 1, stop) if not goes_on(lines.texts[n - 1], lines.texts[n])]
                for begin, last in pairwise([at, *ends, stop]):
                    yield _make_block(lines, begin, last, "line", prefixes[start])
        elif (
            (line - start > 1 or _is_complete(texts, start))
            and is_prose(" ".join(texts[start:line]))
            and (lines.has_gaps or not have_gaps(texts[start:line], edges))
            and not (is_record and _LABEL.match(texts[start]))
            and not (line - start == 1 and (is_in_capitals(texts[start]) or is_title(lines, at)))
        ):
            yield _make_block(lines, at, stop, "sentence")
        else:
            yield from (_make_block(lines, n, n + 1, find_line_kind(lines, n)) for n in range(at, stop))
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
    labels = [found for text in texts if (found := _LABEL.match(text))]
    spoken = sum(is_prose(found.string[found.end() :]) for found in labels)
    flush = sum(not text[0].isspace() for text in texts)
    return len(labels) >= _FEWEST_LABELS and len(labels) * 2 >= flush and spoken * 2 < len(labels)


def is_in_capitals(line: str) -> bool:
    """Return whether a line is a title in capitals, without the end of a sentence.

    Every letter must be a capital: Chinese and Thai letters are not, although a line with them may have an
    abbreviation in capitals.
    """
    ends = line.rstrip().rstrip(CLOSING).endswith(_TERMINALS)
    return line.isupper() and not ends and all(letter.isupper() for letter in line if letter.isalpha())


def _is_complete(texts: Sequence[str], index: int) -> bool:
    """Return whether a line ends a sentence, or is the last line."""
    return index + 1 == len(texts) or texts[index].rstrip().rstrip(CLOSING).endswith(_TERMINALS)


def _make_block(lines: Lines, first: int, last: int, kind: Kind, prefix: str = "") -> Block:
    return Block(first, last, lines.starts[first], lines.end_of(last - 1), kind, prefix)


def is_prose(text: str) -> bool:
    """Return whether a line or a paragraph is running text: words, and most often the end of a sentence.

    Any other text is split into whole lines, because its full stops may be parts of names or numbers.
    """
    sample = text[:_SAMPLE].strip()
    if _UNSPACED.search(sample):
        letters = sum(character > "\x7f" or character.isalpha() for character in sample)
        return letters * 3 >= len(sample) * 2 and (len(sample) > PHRASE or sample.endswith(_TERMINALS))
    words = sample.split()
    if (
        len(words) < 2
        or " # " in sample
        or _MODE.match(sample)
        or _DIAGNOSTIC.match(sample)
        or TICKED.match(sample)
        or _REPORT.fullmatch(sample)
        or _USAGE.search(sample)
        or _SYMBOL.search(sample)
        or ("..." in sample and _LED.match(sample))
        or _are_fields(words)
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


def _has_end(text: str, start: int) -> bool:
    """Return whether a sentence ends in `text[start:]`. The stop of `tel.` before a number ends none."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, start)]
    if ends and ends[-1] == len(text):
        return True
    return any(not is_abbreviation(text[:end].split()[-1], text[end:]) for end in ends)


def _are_fields(words: Sequence[str]) -> bool:
    """Return whether at least every fourth word is a name with a colon, as in `id: ID! total: Int!`."""
    names = sum(word.endswith(":") for word in words)
    return names * 4 >= len(words) and (names > 1 or len(words) == 2)


def is_wrapped(left: str, right: str, width: int) -> bool:
    """Return whether the break between two lines only wraps a paragraph that is `width` characters wide."""
    left = remove_prefix(left.rstrip())
    if not is_wordy(left):
        return False
    right = remove_prefix(right.rstrip())
    if (
        SECTION.match(left)
        or _are_alike(left, right)
        or TICKED.match(right)
        or ("..." in left and _LED.match(left) and _LED.match(right))
        or (_are_fields(left.split()) and not left.endswith(","))
        or (_NAMED_QUOTE.fullmatch(left) and _NAMED_QUOTE.fullmatch(right))
    ):
        return False
    word = _FIRST_WORD.match(right)
    # The last line of a paragraph may be a date or a number alone.
    is_rest = width in _WIDTHS and right.rstrip().endswith(STOPS) and len(right.split()) == 1
    if not (is_rest or is_wordy(right)) or _is_indented(left, right):
        return False
    if is_rest and not left.endswith(_TERMINALS) and len(left) >= width * _NEARLY_FULL:
        return True
    if _QUOTED_LINE.fullmatch(left):
        return False
    if word is None or word[1][0].islower():
        ends = left.endswith(_TERMINALS) and not is_abbreviation(left.split()[-1], right)
        return not ends and len(left) >= min(_WRAPPED, width // 2)
    if left.endswith((",", "-", "，", "、")) or _UNFINISHED.search(left):
        return True
    if width not in _WIDTHS or left.endswith(":"):
        return False
    return len(left) >= width * _NEARLY_FULL or len(left) + 1 + len(word[1]) > width


def _is_indented(left: str, right: str) -> bool:
    """Return whether a line is indented more than the one above it, which is not an item, or much less."""
    indent = len(right) - len(right.lstrip())
    more = indent - len(left) + len(left.lstrip())
    if (number := _COUNTED.match(left)) and number.end() == indent:
        return False
    is_label = more < 0 and not left[-1:].isalnum() and _LABEL.match(right.lstrip()) is not None
    return more < -_LARGEST_INDENT or is_label or (more > 0 and not _HANGING.match(left))


def _are_alike(left: str, right: str) -> bool:
    """Return whether two lines have the same words, numbers apart, in most places: they are records.

    Half of the places are enough if the lines begin alike, and are equally long or share a sign such as `->`.
    Lines are no records if a sentence begins inside the first and goes on in the second.
    """
    words = [_DIGITS.sub("0", line).split() for line in (left, right)]
    same = [one for one, other in zip(*words, strict=False) if one == other]
    is_form = words[0][:1] == same[:1] and (len({*map(len, words)}) == 1 or not all(map(WORD.match, same)))
    size = min(map(len, words))
    goes_on = right.lstrip()[:1].islower() and _NEXT_SENTENCE.search(left) and not left.endswith(_TERMINALS)
    return size >= _FEWEST_PAIRS and len(same) * 2 >= size + (not is_form) and not goes_on
