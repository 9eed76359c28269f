"""Prose: which lines are proven to be running text.

Text that is not proven to be prose is split into whole lines. A line break either wraps a paragraph or
ends a unit. Wrapped lines are nearly full: the next word would not fit. Dialogue, verses and addresses break
earlier, and each of their lines is a unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tersely.split.columns import have_gaps
from tersely.split.lines import PREFIX, REPORT, TICKED, Likeness, Lines, rate_line, remove_prefix
from tersely.split.sentence_starts import CLOSING, PHRASE
from tersely.units import Kind

QUOTE = re.compile(r"\s{0,3}(?:>\s?)+")
"""The marker before a line of a block quote."""
SPEAKER = re.compile(
    r"""\s*(?:
      (?:[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?[\])]?\s+)              # a time, alone or before the name
    | (?:[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?[\])]?\s*)?
      [*_]{0,2}[^\W\d_a-zß-öø-ÿа-я][^:.!?,;(]{0,30}(?:\([^)]{0,30}\)\s*)?[*_]{0,2}[:：](?:[\s*_]|$)
    )""",
    re.VERBOSE,
)
"""The start of a line of dialogue: a time, or a name with a colon, or a time and then such a name."""
_STOPS = tuple(".!:…。！：।။។")
_TERMINALS = (*_STOPS, "?", "？", "؟")
SECTION = re.compile(
    r"""\s*(?:
      (?!-{5}(?:BEGIN|END)\ )
      (?P<rule>[=\-_*~+])(?P=rule)+[\s\[<]*[^\W_].*(?P=rule){2}                  # === FAILURES ===, --- a ---
    | -\[.*\][-+]* | ==>\ \S.* | \.S[HShs]\ .* | \$ORIGIN\s+\S+ | FROM\ \S+(?:\ AS\ \S+)?
    | \S+\ \(\S+\)\ [\w\ .-]+;\ urgency=\w+
    | \[{1,2}(?!\w+://|(?<=\[\[)\w+:)[^\W\d_][^\[\]=]*\]{1,2}
    )\s*$""",
    re.VERBOSE,
)
"""A line that begins a section of a report or of settings."""
_LETTER = r"[A-Za-z\u00aa-\u1fff\u2c00-\U0010ffff]"
"""Letters of all scripts and their accents. `re` does not count all of them as letters."""
_WORD = re.compile(
    rf"""["'“‘«„(\[*_¿¡`]*+
    (?:{_LETTER}++(?:['’‑/-]{_LETTER}++)*+(?:['’]|\.(?=[^\w]|$))? | \d[\d.,]*+%?)
    ["'”’»)\]*_`]*+[,.;:!?…]*+["'”’»)\]*_`]*+""",
    re.VERBOSE,
)
"""A word of running text, or a number, with the signs around it."""
_PLAIN_NUMBER = re.compile(r"[\W_]*\d[\W\d_]*")
_SENTENCE_END = re.compile(r"[^\s_.!?…][\"'”’»)\]*_`]*(?!(?<=\])\.\.) ?[.!?…։।؟។]+[\"'”’»)\]*_`]*(?:\s|$)")
_NUMBER = re.compile(r"(?:§+\s*)?\d{1,3}(?:\.\d{1,3})*[.)]*\s+")
"""The number of a clause. Its full stop ends no sentence."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_ASSIGNMENT = re.compile(r"(?:^|(?<=\s))[\w.-]++=\S")
"""A name with its value. A line with two or more is an entry of a log."""
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
_HANGING = re.compile(r"\s*(?:[-*+•]|\S{1,4}[.)])\s")
"""The start of an item, whose further lines are indented."""
_FIRST_WORD = re.compile(r"\s*([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]{1,2}|\S+)")
_UNFINISHED = re.compile(r"\b(?:an?|the|of|to|and|or|in|on|for|with|by|from|that|which)$")
"""A word that ends no sentence."""
_STATUS = re.compile(r"[A-Z]{4,}: .{1,80}$")
_TITLED = re.compile(r"\s*[-*+•] [^\W\d_].{0,60}:\s*$")
"""An item that announces the lines below it."""
_PAIR = re.compile(r"\s*\[\w+ \"[^\"]*\"\]\s*$")
"""A name and its value in brackets. Several of them are no titles."""
_NUMBERS = re.compile(r"\d+ [a-z][^,]*, \d+ [a-z]|\d+\s{4,}\d|\d{1,2}:\d\d\b")
"""How many there are of each kind, two columns of numbers, or a time. They are no titles."""
_LONGEST_TITLE, _LONGEST_SECTION = 80, 200
_MOST_TITLE_WORDS, _MOST_INDENT = 12, 3
_LARGEST_INDENT = 8
"""Largest indent of the first line of a paragraph."""
_OPENING = "\"'“‘«([*_`"


class Block(NamedTuple):
    """Lines that belong together: `text[start:end]`, without the last line break.

    A block of kind "sentence" is prose that is not yet cut into sentences. Any other is one unit.
    """

    first: int
    """Index of its first line."""
    last: int
    """Index after its last line."""
    start: int
    end: int
    kind: Kind
    prefix: str = ""
    """The sign before each of its lines, if it is a quotation or a comment, for example."""


def split_prose(lines: Lines, first: int, end: int) -> Iterator[Block]:
    """Yield the lines first..end-1 as blocks: paragraphs that are proven to be prose, and whole lines.

    None of the lines is blank.
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
    start = 0
    for line in range(1, len(texts) + 1):
        if (
            line < len(texts)
            and prefixes[line] == prefixes[start]
            and not (is_dialogue and spoken[line])
            and not (is_record and _LABEL.match(texts[line]))
            and is_wrapped(texts[line - 1], texts[line], widths[lines.indent(first + line - 1)])
        ):
            continue
        at, stop = first + start, first + line
        if prefixes[start]:
            # A sentence that starts in the middle of a line would lose the sign before the line.
            if lines.is_short(at, stop):
                yield _make_block(lines, at, stop, "line", prefixes[start])
            else:
                yield from (_make_block(lines, n, n + 1, "line", prefixes[start]) for n in range(at, stop))
        elif (
            (line - start > 1 or _is_complete(texts, start))
            and is_prose(" ".join(texts[start:line]))
            and (lines.has_gaps or not have_gaps(texts[start:line]))
            and not (is_record and _LABEL.match(texts[start]))
            and not (line - start == 1 and is_in_capitals(texts[start]))
            and not _is_status(lines, at)
        ):
            yield _make_block(lines, at, stop, "sentence")
        else:
            yield from (_make_block(lines, n, n + 1, _find_line_kind(lines, n)) for n in range(at, stop))
        start = line


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
        or TICKED.match(sample)
        or REPORT.fullmatch(sample)
        or _USAGE.search(sample)
        or _SYMBOL.search(sample)
        or ("..." in sample and _LED.match(sample))
        or _are_fields(words)
        or len(_ASSIGNMENT.findall(sample)) > 1
        or rate_line(sample) is Likeness.CODE
    ):
        return False
    plain = sum(_WORD.fullmatch(word) is not None for word in words)
    share = plain / len(words)
    number = _NUMBER.match(sample)
    if _SENTENCE_END.search(sample, number.end() if number else 0):
        return share >= (_FEW if _WORD.fullmatch(words[0]) else _MANY)
    numbers = sum(_PLAIN_NUMBER.fullmatch(word) is not None for word in words)
    return len(words) >= _FEWEST_WORDS and share >= _MOST and numbers * _RARE <= len(words)


def _are_fields(words: Sequence[str]) -> bool:
    """Return whether at least every fourth word is a name with a colon, as in `id: ID! total: Int!`."""
    names = sum(word.endswith(":") for word in words)
    return names * 4 >= len(words) and (names > 1 or len(words) == 2)


def is_wrapped(left: str, right: str, width: int) -> bool:
    """Return whether the break between two lines only wraps a paragraph that is `width` characters wide."""
    left = remove_prefix(left.rstrip())
    if not _is_wordy(left):
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
    is_rest = width in _WIDTHS and right.rstrip().endswith(_STOPS) and len(right.split()) == 1
    if not (is_rest or _is_wordy(right)) or _is_indented(left, right):
        return False
    if is_rest and not left.endswith(_TERMINALS) and len(left) >= width * _NEARLY_FULL:
        return True
    if _QUOTED_LINE.fullmatch(left):
        return False
    if word is None or word[1][0].islower():
        return not left.endswith(_TERMINALS) and len(left) >= min(_WRAPPED, width // 2)
    if left.endswith((",", "-", "，", "、")) or _UNFINISHED.search(left):
        return True
    if width not in _WIDTHS or left.endswith(":"):
        return False
    return len(left) >= width * _NEARLY_FULL or len(left) + 1 + len(word[1]) > width


def _is_indented(left: str, right: str) -> bool:
    """Return whether a line is indented more than the one above it, which is not an item, or much less."""
    more = len(right) - len(right.lstrip()) - len(left) + len(left.lstrip())
    is_label = more < 0 and not left[-1:].isalnum() and _LABEL.match(right.lstrip()) is not None
    return more < -_LARGEST_INDENT or is_label or (more > 0 and not _HANGING.match(left))


def _are_alike(left: str, right: str) -> bool:
    """Return whether two lines have the same words, numbers apart, in most places: they are records.

    Half of the places are enough if the lines begin alike, and are equally long or share a sign such as `->`.
    """
    words = [_DIGITS.sub("0", line).split() for line in (left, right)]
    same = [one for one, other in zip(*words, strict=False) if one == other]
    is_form = words[0][:1] == same[:1] and (len({*map(len, words)}) == 1 or not all(map(_WORD.match, same)))
    size = min(map(len, words))
    return size >= _FEWEST_PAIRS and len(same) * 2 >= size + (not is_form)


def _is_wordy(line: str) -> bool:
    """Return whether at least half of a line are words."""
    words = line.split()
    return sum(_WORD.fullmatch(word) is not None for word in words) * 2 >= len(words)


def _is_sound(lines: Lines, index: int) -> bool:
    """Return whether a line in brackets is a sound in subtitles, and not the name of a section."""
    return lines.texts[index].lstrip().startswith("[") and "-->" in "".join(
        lines.texts[max(0, index - 2) : index]
    )


def _is_status(lines: Lines, index: int) -> bool:
    """Return whether a line such as `FAILURE: no crane` stands alone above items that are titles."""
    if not _STATUS.match(lines.texts[index]) or (index and not lines.is_blank(index - 1)):
        return False
    below = lines.skip_blank(index + 1)
    return index + 1 < below < len(lines) and _TITLED.match(lines.texts[below]) is not None


def _find_line_kind(lines: Lines, index: int) -> Kind:
    """Return "heading" for a status, the first line of a section or a title, otherwise "line".

    A title is a short line between blank lines, without the end of a sentence.
    """
    line = lines.texts[index].strip()
    if _is_status(lines, index):
        return "heading"
    if _PAIR.match(line) and any(map(_PAIR.match, lines.texts[max(0, index - 1) : index + 2 : 2])):
        return "line"
    if len(line) <= _LONGEST_SECTION and SECTION.match(line) and not _is_sound(lines, index):
        return "heading"
    if (
        len(line) > _LONGEST_TITLE
        or (line[0].islower() or not (line[0].isalnum() or line[0] in _OPENING))
        or lines.indent(index) > _MOST_INDENT
        or line.rstrip("\"'”’)]*_").endswith((*_STOPS, ",", ";"))
        or not _is_wordy(line)
        or _NUMBERS.match(line)
    ):
        return "line"
    is_alone = (
        (index == 0 or lines.is_blank(index - 1) or _is_below_section(lines, index))
        and index + 1 < len(lines)
        and lines.is_blank(index + 1)
    )
    return "heading" if is_alone and len(line.split()) <= _MOST_TITLE_WORDS else "line"


def _is_below_section(lines: Lines, index: int) -> bool:
    """Return whether a line is right below the first line of a section, which has more lines."""
    below = lines.skip_blank(index + 1)
    has_more = below < len(lines) and not SECTION.match(lines.texts[below])
    return has_more and SECTION.match(lines.texts[index - 1]) is not None
