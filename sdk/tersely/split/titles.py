"""Titles without markup: lines that are headings because of their form, and because other lines share it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from tersely.split.counted_titles import (
    LONGEST_TITLE,
    NUMBERED_TITLE,
    SERIES,
    SHORT_TITLE,
    STOPS,
    find_marginal,
    find_series,
    is_division,
    is_numbered_title,
    may_be_title,
)
from tersely.split.lines import Block, Lines, is_wordy, starts_run
from tersely.split.markers import CLAUSE
from tersely.units import Kind

_CARGO = r"(?:Running\ (?:unittests\ )?\S+\ \(\S*target\S*\)|Doc-tests\ [\w-]+)\s*$"
CARGO = re.compile(r"\s+" + _CARGO)
"""A heading in a report of cargo. It is indented, and the text below it is not."""
SECTION = re.compile(
    rf"""\s*{_CARGO}|"""
    r"""\s*(?:
      (?!-{5}(?:BEGIN|END)\ |__[a-z\d_]+__\s*$)  # a name such as __dict__ is none
      (?P<rule>[=\-_*~+])(?P=rule)++[\s\[<./~]*+[^\W_].*(?P=rule){2}  # === FAILURES ===, --- a ---
    | -\[.*\][-+]* | ==>\ \S.* | \.S[HShs]\ .* | \$ORIGIN\s+\S+ | FROM\ \S+(?:\ AS\ \S+)?
    | \S+\ \(\S+\)\ [\w\ .-]+;\ urgency=\w+
    | \[{1,2}(?![^\]]*\.{3}|\w+://|(?<=\[\[)\w+:)[^\W\d_][^\[\]=<|]*\]{1,2}
    )\s*$""",
    re.VERBOSE,
)
"""A line that begins a section of a report or of settings."""
_STATUS = re.compile(r"[A-Z]{4,}: .{1,80}$")
_TITLED = re.compile(r"\s*[-*+•] [^\W\d_].{0,60}:\s*$")
"""An item that announces the lines below it."""
_BOLD = re.compile(
    r"(?P<sign>\*\*|__(?![a-z\d_]+__$))(?P<text>(?![\s*_])(?:(?!(?P=sign)).)*[^\s*_.!,;:])(?P=sign)"
)
BACK_MATTER = re.compile(
    r"\s*(?:references|bibliography|works cited|acknowledge?ments?|author(?:['’]s|s['’]|s)? address(?:es)?"
    r"|funding|contributors|glossary|index|endnotes|conflicts? of interest|supplementary materials?)\s*",
    re.IGNORECASE,
)
"""The title of a part at the end of a text, outside of the numbered sections above it."""
_PAIR = re.compile(r"\s*\[(?:\w+ \"[^\"]*\"|[^\]\n]*[<|][^\]\n]*)\]\s*$")
"""A name and its value in brackets, or arguments of a command such as `[--size <n>]`. Other brackets next to
them are not titles."""
_NUMBERS = re.compile(r"\d+ [a-z][^,]*, \d+ [a-z]|\d+\s{4,}\d|\d{1,2}:\d\d\b")
"""Numbers of things, two columns of numbers, or a time. Such lines are not titles."""
_VERDICT = re.compile(r".* > .*(?:PASSED|FAILED|SKIPPED)")
"""A test and its result. Such a line is not a title."""
_LONGEST_SECTION = 200
_MOST_TITLE_WORDS, _MOST_INDENT, _NEAR = 12, 3, 3
_DESCRIBED = re.compile(r"\S+(?: \S+)*?(?: {2,}|\t+)[a-z]")
"""A term, a gap, and its description, as in `126    if the crane cannot lift`."""
CENTRED = 8
"""Smallest margin on each side of a centred title, and the largest difference of these margins."""
_LONG_PROSE = 40
"""Smallest number of code points of a paragraph right below its title."""
_STAMPED = re.compile(
    r"\s*[^\W\d_a-z][\w .'’-]{1,40}?\s+[\[(]?\d{1,2}:\d\d(?::\d\d)?\s?(?:[AaPp]\.?[Mm]\.?)?[\])]?\s*"
)
_BLANKS = re.compile(r" {4}")
CAPTION = re.compile(
    r"\s*[*_]{0,2}(?i:figure|fig\.|(table|tabelle|exhibit)|listing|example|abb\.|abbildung)"
    r"\s(?:[A-Z]?[\d.–-]{0,8}\d[a-z]?|[IVX]+|[A-Z])(?!\w)"
)
"""The start of a caption, such as `Figure 3-1`. Its group says whether it is the caption of a table."""
_BYLINE = re.compile(r"\s*(?i:by|von|par) (?:[A-Z]\. ?){0,3}[A-ZÄÖÜÉ][^.!?]{2,60}$")
_ADDRESS = re.compile(r"\s*(?:link: )?https?://\S+$", re.IGNORECASE)
"""A line with an author or an address, which may be between a title and its text."""
_OPENING = "\"'“‘«([*_`"
_LONGEST_ANSWER = 8
"""Largest number of runs for each question if the answers are in later runs. Stories have fewer questions."""
_QUESTION = re.compile(r"[^\W_].{0,159}[?？؟]|¿.{0,159}\?")
_CAPITALS = re.compile(r"\s*+(?=.*[A-Z]{3})[A-Z][A-Z\d]*(?:[ /,&'(-]{1,3}[A-Z\d]+\)?){0,7}\s*")
"""A few words in capitals."""


def find_titles(lines: Lines, blocks: Sequence[Block], labels: set[int]) -> set[int]:
    """Return the indices of the blocks that are titles of the blocks below them, `labels` among them."""
    titles = _find_capitals(lines, blocks) | _find_above_prose(lines, blocks)
    may_have_number = [at for at, b in enumerate(blocks[:-1]) if b.kind in ("line", "heading")]
    numbered = {at for at in may_have_number if is_numbered_title(lines, blocks[at].first)}
    titles |= numbered if len(numbered) > 1 else set()
    may_have_time = (at for at, b in enumerate(blocks) if b.kind in ("line", "row") and b.is_one_line)
    stamped = {at for at in may_have_time if is_stamped(blocks[at].line)}
    titles |= stamped if len(stamped) > 2 else set()
    titles |= labels | _find_terms(lines, blocks) | find_marginal(blocks)
    series = [*find_series(lines, blocks, titles)]
    below = {at + 1 for own in series for at in own if _is_second_line(lines, blocks, at + 1)}
    if below:
        titles |= below
        series = [*find_series(lines, blocks, titles)]
    return titles.union(*series, _find_questions(blocks))


def _find_above_prose(lines: Lines, blocks: Sequence[Block]) -> set[int]:
    """Return the indices of the titles right above a paragraph.

    A title begins a run or is below the end of a sentence, as in a text without blank lines. There must be at
    least two. Lines that recur are not titles, because names of speakers recur.
    """
    found: dict[str, list[int]] = defaultdict(list)
    for at, block in enumerate(blocks[:-1]):
        line = block.line.strip()
        if block.kind != "line" or not block.is_one_line or block.prefix or len(line) > SHORT_TITLE:
            continue
        begins_run = starts_run(blocks, at) or _is_below_end(lines, blocks, at)
        between = [own.line for own in blocks[at + 1 : at + 3]]
        skipped = [bool(is_byline(own) or _ADDRESS.match(own)) for own in between]
        below = blocks[min(at + 1 + ([*skipped, False].index(False)), len(blocks) - 1)]
        is_above = below.kind == "sentence" and below.end - below.start >= _LONG_PROSE
        if begins_run and is_above and blocks[at + 1].run == block.run:
            is_indented = lines.indent(below.first) != lines.indent(block.first)
            is_term = below.line.lstrip().startswith(":")
            is_plain = line[0].isalnum() and not line[0].islower() and _is_plain(line)
            if is_plain and len(line.split()) <= _MOST_TITLE_WORDS and not is_indented and not is_term:
                found[line].append(at)
    titles = {own[0] for own in found.values() if len(own) == 1}
    return titles if len(titles) > 1 else set()


def _find_terms(lines: Lines, blocks: Sequence[Block]) -> set[int]:
    """Return the indices of the terms above their definitions, with a line of blanks between, as html2text
    prints them. There are at least two."""
    terms: set[int] = set()
    for at, (block, below) in enumerate(pairwise(blocks)):
        between = lines.texts[block.last : below.first]
        is_line = block.kind in ("line", "heading", "sentence") and block.is_one_line
        if is_line and not block.prefix and len(between) > 1 and any(map(_BLANKS.fullmatch, between)):
            terms.add(at)
    return terms if len(terms) > 1 else set()


def _is_below_end(lines: Lines, blocks: Sequence[Block], at: int) -> bool:
    """Return whether a line is below the end of a paragraph, and much shorter than the line below it."""
    above, block, below = blocks[at - 1 : at + 2]
    line, next_line = (own.line.strip() for own in (block, below))
    last = lines.texts[above.last - 1].rstrip("\"'”’)]*_ ")
    ends = above.kind in ("sentence", "list_item") and last.endswith((".", "!", "?"))
    is_short = len(line) * 4 <= len(next_line) * 3 and next_line[:1].isupper()
    return ends and is_short and not above.prefix and not CAPTION.match(line)


def _is_second_line(lines: Lines, blocks: Sequence[Block], at: int) -> bool:
    """Return whether a line is the words of a title, right below its number, as `Fees` below `Article 5`."""
    block, line = blocks[at], blocks[at].line.strip()
    is_below = block.first == blocks[at - 1].last and SERIES.fullmatch(lines.texts[block.first - 1].strip())
    is_line = block.kind == "line" and block.is_one_line and at + 1 < len(blocks)
    return bool(is_below) and is_line and len(line) <= SHORT_TITLE and line[0].isupper() and _is_plain(line)


def is_stamped(line: str) -> bool:
    """Return whether a line may be above a message in a chat: a name, and the time after it."""
    return _STAMPED.fullmatch(line) is not None


def is_byline(line: str) -> bool:
    """Return whether a line names an author, as in `by Ada King, 3 May 2026`."""
    return _BYLINE.match(line) is not None


def _is_plain(line: str) -> bool:
    """Return whether a line is mostly words and does not look like a sentence, a mail address, a test result,
    numbers or a description."""
    if " " in line and not any(map(str.isalpha, line)):
        return False
    ends = line.rstrip("\"'”’)]*_").endswith((*STOPS, ",", ";"))
    ends = ends or (line.endswith(">") and "@" in line) or _VERDICT.fullmatch(line) is not None
    words = line[numbered.end("number") :] if (numbered := CLAUSE.match(line)) else line
    return not ends and is_wordy(words) and not _NUMBERS.match(line) and not _DESCRIBED.match(line)


def is_question(line: str) -> bool:
    """Return whether a line is a question, perhaps in bold type, without another sign or a quotation mark."""
    bold = _BOLD.fullmatch(line.strip())
    return _QUESTION.fullmatch(bold["text"] if bold else line.strip()) is not None


def _find_questions(blocks: Sequence[Block]) -> Sequence[int]:
    """Return the indices of the questions in a list of answers; nothing if there is only one, or few.

    Each question begins a run and is alone in its line, and neither a question nor a heading is below it.
    """
    alone = (at for at, b in enumerate(blocks[:-1]) if b.kind == "sentence" and b.is_one_line)
    found = [at for at in alone if starts_run(blocks, at) and is_question(blocks[at].line)]
    questions = {*found}
    found = [at for at in found if at + 1 not in questions and blocks[at + 1].kind != "heading"]
    if len(found) * _LONGEST_ANSWER < blocks[-1].run + 1:
        found = [at for at in found if blocks[at + 1].run == blocks[at].run]
    return found if len(found) > 1 else []


def find_apart(blocks: Sequence[Block]) -> set[int]:
    """Return the indices of the titles of records with more blank lines between them than inside.

    There are at least two records with several paragraphs, each with a title of its own without markup.
    """
    gaps = [block.first - above.last for above, block in pairwise(blocks)]
    starts = [0, *(at for at, gap in enumerate(gaps, 1) if gap > 1)]
    records = list(pairwise([*starts, len(blocks)]))
    firsts = [blocks[at] for at in starts]
    titles = {block.line.strip() for block in firsts}
    are_divided = all(1 in gaps[start : end - 1] for start, end in records)
    are_lines = all(b.kind in ("line", "heading") and b.is_one_line and not b.prefix for b in firsts)
    are_titles = are_lines and all(t[0].isalnum() and ":" not in t and may_be_title(t) for t in titles)
    are_titles = are_titles and not any(map(NUMBERED_TITLE.fullmatch, titles))
    return {*starts} if 1 < len(starts) == len(titles) and are_divided and are_titles else set()


def is_title_in_prose(lines: Lines, index: int) -> bool:
    """Return whether a line that reads like prose is a title: it is in bold type, a status above items, or
    the start of a division."""
    is_bold = _BOLD.fullmatch(lines.texts[index].strip()) is not None
    is_asked = lines.texts[index].rstrip().endswith("?") and is_numbered_title(lines, index)
    return is_bold or is_asked or _is_status(lines, index) or is_division(lines, index)


def _is_status(lines: Lines, index: int) -> bool:
    """Return whether a line such as `FAILURE: no crane` is alone above items that are titles."""
    if not _STATUS.match(lines.texts[index]) or (index and not lines.is_blank(index - 1)):
        return False
    below = lines.skip_blank(index + 1)
    return index + 1 < below < len(lines) and _TITLED.match(lines.texts[below]) is not None


def find_line_kind(lines: Lines, index: int) -> Kind:
    """Return "heading" for a status, the first line of a section or a title, otherwise "line".

    A title is a short line between blank lines, without the end of a sentence.
    """
    line = lines.texts[index].strip()
    if _is_status(lines, index) or is_division(lines, index):
        return "heading"
    if line[0] == "[" and any(map(_PAIR.match, lines.texts[max(0, index - 1) : index + 2 : 2])):
        return "line"
    is_bold = line.startswith("**") and line[2:3] not in ("", " ", "*")
    is_sound = line[0] == "[" and "-->" in "".join(lines.texts[max(0, index - 2) : index])  # in subtitles
    if not is_bold and len(line) <= _LONGEST_SECTION and SECTION.match(line) and not is_sound:
        return "heading"
    if BACK_MATTER.fullmatch(line) and index and lines.is_blank(index - 1) and index + 1 < len(lines):
        return "heading"
    below = lines.skip_blank(index + 1)
    above, next_line = lines.texts[index - 1] if index else "", lines.texts[below : below + 1]
    begins = not above.strip() or (SECTION.match(above) and next_line and not SECTION.match(next_line[0]))
    if begins and below < len(lines) and len(line) <= _LONGEST_SECTION and _BOLD.fullmatch(line):
        return "heading"
    if not begins or not index + 1 < below < len(lines):
        return "line"
    near = [at for at in range(max(0, index - _NEAR), index) if not lines.is_blank(at)]
    is_inner = any(lines.indent(at) < lines.indent(index) for at in near[-1:])
    is_even = lines.indent(index) == lines.indent(below) and not is_inner
    is_flush = lines.indent(index) <= _MOST_INDENT or is_even or _is_centred(lines, index)
    is_title = is_flush and len(line) <= LONGEST_TITLE and len(line.split()) <= _MOST_TITLE_WORDS
    starts = not line[0].islower() and (line[0].isalnum() or line[0] in _OPENING)
    return "heading" if is_title and starts and _is_plain(line) else "line"


def _is_centred(lines: Lines, index: int) -> bool:
    """Return whether the margins on both sides of a line are wide and about equal."""
    near = lines.texts[max(0, index - _NEAR) : index + _NEAR]
    left = lines.indent(index)
    right = max(len(line.rstrip()) for line in near) - len(lines.texts[index].rstrip())
    return min(left, right) >= CENTRED and abs(left - right) <= CENTRED


def _find_capitals(lines: Lines, blocks: Sequence[Block]) -> set[int]:
    """Return the indices of the lines in capitals that are headings of the lines right below them.

    They begin runs. There are at least two, or one and a heading in capitals. All differ, because names of
    speakers recur. More than a fourth have the same indent as the line below, unlike in a manual page.
    """
    titles: dict[str, int] = {}
    flush = 0
    has_heading = any(b.kind == "heading" and _CAPITALS.fullmatch(b.line) for b in blocks)
    for at, (block, below) in enumerate(pairwise(blocks)):
        line = block.line
        begins_run = block.run == below.run and starts_run(blocks, at)
        is_title = begins_run and block.kind == "line" and _CAPITALS.fullmatch(line) is not None
        indent = lines.indent(block.first) - lines.indent(below.first)
        if not is_title or indent > 0 or _CAPITALS.fullmatch(below.line):
            continue
        if line in titles:
            return set()
        titles[line] = at
        flush += indent == 0
    return {*titles.values()} if flush + has_heading > 1 and flush * 4 > len(titles) else set()
