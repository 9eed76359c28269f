"""Decisions about lines that depend on the lines around them, for text that no parser can read."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tersely.split import enclosures, headlines, leaders
from tersely.split.continued import OPTION
from tersely.split.dates import DATE
from tersely.split.heads import Head
from tersely.split.keyed import find_keyed
from tersely.split.lines import FRAME, Block, Lines
from tersely.split.logs import find_text_indent
from tersely.split.markers import BULLETS, CLAUSE, are_siblings, find_marker
from tersely.split.places import CUE, FIELD_SIGNS, Place, announces, is_rule
from tersely.split.prose import SPEAKER
from tersely.split.records import LABEL, QUESTION, find_pairs, first_word
from tersely.split.sentence_starts import COUNTED
from tersely.split.threads import Thread
from tersely.split.titles import is_question

_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b")
_CAUSE = re.compile(r"\w+(?:\.\w+)+(?:Error|Exception)\b")
BRANCH = re.compile(r"\s*+(?:\}\s*+)?(?:el(?:se|s?if|seif|ifeq|ifdef)|except|finally|rescue|ensure|catch)\b")
"""The start of a line that continues the statement above it, such as `else` or `except`."""
_GROUP = r"(?:\d{4}-\S+ )?(?:##\[(?:group|section)\]|::group::)|\[Pipeline\] \{ \("
_STEP = re.compile(rf"{_GROUP}|=== (?:RUN|CONT|NAME) |\$ \S|-{{3,}}[^\W\d_].*[^-]$|[ ]?FAIL  ?\S")
_DIVIDER = re.compile(rf"#{{1,6}} |=+ |(?i:{COUNTED})\s+(?:\d|[A-Z]\b)|\d+[.)] |[IVX]+\. ")
"""The start of a heading with a sign or a number."""
_BULLETED = re.compile(rf"\s*[{re.escape(BULLETS)}]\s+\S|\.\w+:\s*$")
"""The start of an item, or a label such as `.L2:` inside the part that another label begins."""
_MAYBE_HEAD = re.compile(rf"\s|{CLAUSE.pattern}|(?i:{QUESTION.pattern})|{SPEAKER.pattern}", re.VERBOSE)
"""Matches the first line of a paragraph that may be a head of other units."""
_ONLY_LABEL = re.compile(r"\s*[^\W\d_][^:]{0,40}:\s*$")
_LONG_CLAUSE = 120
_EVENT = re.compile(r"\s*\d{1,2}:\d\d(?::\d\d)?\s++(?!<|[^:]{1,30}:\s)")
"""A line with a time, and without the name of a speaker."""
_GAPPED = re.compile(r"\s*\S+  \S")


class Surroundings:
    """The surroundings of each line of a text, which decide what the line is."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._cues = frozenset(place.run for place in places if CUE.match(place.line))
        """The runs that are subtitles."""
        self.comments = enclosures.find_comments(places)
        """The comment right above each line, if it has one."""
        self.thread = Thread(places)
        keyed = {} if self.thread else find_keyed(places)
        posts = {} if self.thread or keyed else leaders.find_posts(places)
        headers = leaders.find_captions(places) | (posts or leaders.find_positions(places)) | keyed
        commits = {commit: [subject] for commit, subject in leaders.find_subjects(places)}
        reasons = {position: [reason] for position, reason in leaders.find_reasons(places)}
        for place, others in (headers | commits | reasons).items():
            place.header = others
        second = (post.below for post in posts if post.below and post.below.run == post.run)
        last = {post.above for post in [*posts][1:] if post.above}
        headings = (place for place in last if place.kind == "heading")
        self.dividers = {place.above for place in keyed if place.above and place.is_titled}
        """The headings between posts or records, such as the items of an agenda, and dates."""
        self.dividers |= {p for p in headings if _DIVIDER.match(p.line) or DATE.fullmatch(p.line)}
        logged = [place for place in places if place.kind == "log"]
        self._last_entry = logged[-1].run if len(logged) * 2 >= len(places) else -1  # in a log
        said = {p for p in places if p.run < self._last_entry and p.below and p.below.kind != "log"}
        no_headings = {*self.comments.values(), *posts, *second, *last, *said} - self.dividers
        self.comment_units = {p.units[0] for p in no_headings if p.kind == "heading"}
        """The first units of comments, lines of posts and text of log entries that look like headings."""
        self._has_answers = (">", "<") in {(a.block.prefix, b.block.prefix) for a, b in pairwise(places)}
        """True if lines that begin with `<` answer those with `>`, as `curl -v` prints them."""
        self._first_lines = {place.run: place.line for place in reversed(places)}
        titles = {place: first_word(place) for place in headlines.find_possible_titles(places)}
        counts = Counter(word for word, _ in {(word, place.line) for place, word in titles.items()})
        # Lines that begin alike, but not at the start of a run or below a heading, continue log entries.
        below_heading = {place for place in titles if place.above and place.above.kind == "heading"}
        first = {word for place, word in titles.items() if place.starts_run or place in below_heading}
        captions = {place for place in titles if place.below and place.below.kind == "log"}
        self._titles = {place for place, word in titles.items() if counts[word] > 1 and word in first}
        indents = {place.indent for place in self._titles}
        self._titles |= {place for place in titles if place.indent in indents} - captions
        self._titles |= (below_heading & captions) | {*filter(headlines.heads_entries, titles)}
        self._captioned = {place.run for place in self._titles & captions}
        sections = [*headlines.find_sections(places)]
        self._captioned.update(place.run for place in sections)
        progress = leaders.find_progress(places)
        self._progress = {place.units[0] for place in progress}
        leading = leaders.find_hashed(places) or leaders.find_leaders(places)
        leading = leading or leaders.find_stamps(places) or headlines.find_sectioned_records(places)
        fronted = leaders.find_fronted(places)
        self.fronts = {place.units[0] for place in fronted}
        """The first units of posts that begin with fields between rules."""
        self.outer = {*leaders.find_ruled(places), *posts, *keyed, *fronted}
        self.outer.update(leaders.find_failures(places), leaders.find_tasks(places))
        """Lines that begin records or posts, which may have headings in them."""
        self._titles.update(sections, leading, self.outer, headers, progress, commits)
        self._messages = {place.units[0]: place for place in headlines.find_messages(places)}
        self._alien = leaders.find_alien(places, leading[-1]) if leading else None
        pairs = dict(find_pairs(places))
        self.names = {*pairs.values()}
        """Lines that name the value in the line below, or the names below, and say nothing else."""
        self._subjects = {
            **dict(_find_continued(places)),
            **dict(_find_items(places)),
            **dict(_find_labelled(places)),
            **dict(headlines.find_continuations(places)),
            **pairs,
        }

    def is_inner_record(self, place: Place) -> bool:
        """Return whether a line begins a record inside another, although the line below is not indented more.

        A stack frame such as `#0 main` does. So does an indented line such as `NAME  VERSION` in `npm audit`:
        it and the first line of its run have two spaces after the first word. The line below has the same
        indent, but not the two spaces.
        """
        if FRAME.match(place.line):
            return True
        if not (place.indent and _GAPPED.match(place.line) and _GAPPED.match(self._first_lines[place.run])):
            return False
        below = place.next
        return below is not None and below.indent == place.indent and not _GAPPED.match(below.line)

    def find_subject(self, place: Place) -> Place | None:
        """Return the place above that a line continues although it is not indented more; None without one.

        An exception continues the line above it, and a cause the exception above its stack. An item such as
        `- locked` continues the last line without a bullet. A line without the sign that begins the fields
        continues the field above it. A note in a gutter continues the numbered line above it. A label such as
        `Metadata:` that recurs continues its sibling above. A subtitle and a name that wraps continue their
        first lines.
        """
        if place in self._subjects:
            return self._subjects[place]
        above = place.above
        if above is None or above.run != place.run or above.indent != place.indent:
            return None
        return above if above.kind != "log" and _CAUSE.match(place.line) else None

    def ends_speech(self, place: Place, speaker: Head) -> bool:
        """Return whether the words of `speaker` end before a block in a later run.

        A line with a time but no name is an event, which ends with its run.
        """
        is_event = _EVENT.match(speaker.line) is not None and place.indent <= speaker.indent
        return is_event or place.indent < speaker.indent or speaker.run in self._cues

    def ends_quote(self, place: Place) -> bool:
        """Return whether a block ends the answer to the quotation above it, as the next quotation does.

        If lines with `<` answer lines with `>`, neither these answers nor empty quoted lines end it, but a
        list item and any other block with a prefix do. Otherwise, any block with a prefix ends it.
        """
        if not self._has_answers:
            return place.block.prefix != ""
        is_answer = place.block.prefix == "<" or not place.line
        return place.kind == "list_item" or (place.block.prefix != "" and not is_answer)

    def starts_step(self, place: Place) -> bool:
        """Return whether a line is the head of all lines down to the next such line.

        Such a line is a step of a job, a prompt, a message of a compiler, one of several titles that begin
        alike, or the first line of a record or a part that contains blank lines.
        """
        below = place.below
        is_above = below is not None and below.block.first == place.block.last and place.kind != "code"
        is_step = is_above and _STEP.match(place.line) is not None
        return is_step or place in self._titles or place.units[0] in self._messages

    def ends_caption(self, place: Place, step: Head | None) -> bool:
        """Return whether the lines below `step`, their head, end before this place.

        A rule ends them, but not the text of a post that begins with fields between rules. The lines below a
        message end at a run that is not indented more and begins with a letter. Log entries right below
        `step`, and the output of a counted step, end at a run of text that is not indented more. The last
        record ends at a run unlike those in other records.
        """
        if place is self._alien:
            return True
        if step is None or place.run == step.run:
            return False
        if is_rule(place.block, place.line):
            return step.begin not in self.fronts
        if step.begin in self._messages:
            is_about = place.indent > step.indent or not place.line.lstrip()[:1].isalpha()
            return place.starts_run and not is_about
        if step.run not in self._captioned and step.begin not in self._progress:
            return False
        return place.starts_run and place.is_text and place.indent <= step.indent

    def ends_entry(self, place: Place, entry: Head | None) -> bool:
        """Return whether a block is outside the log entry above it. In a log, blank lines do not end it."""
        return entry is None or place.run > max(entry.run, self._last_entry)

    def continues_value(self, place: Place, label: Head) -> bool:
        """Return whether a block continues the value of `label`, a line above it with a name and a value."""
        if LABEL.match(place.line):
            return False
        if place.indent == label.indent:
            return place.run == label.run and place.kind == "sentence"
        return place.indent > label.indent  # a value may have several paragraphs

    def is_announced(self, place: Place, announcer: Head, is_inside: bool) -> bool:
        """Return whether `announcer` announces a block, and note in `announcer` how far it reaches.

        `announcer` is a line that ends with a colon. `is_inside` is true if the block has a parent (a line
        above that is indented less). Then a single line may be indented less than `announcer`.
        """
        run = place.run
        above = place.above or place
        if announcer.has_list_only and not headlines.is_choice(place):
            return False
        if announcer.text_indent is not None:
            return place.kind == "log" and find_text_indent(place.line) > announcer.text_indent + 1
        if run == announcer.run:
            if place.indent == announcer.indent and place.line.rstrip().endswith(":"):
                return False
            if place.indent <= announcer.indent and are_siblings(place.line, announcer.line):
                return False
            if _EXCEPTION.match(place.line):  # at the end of a traceback
                return place.indent == announcer.indent
            name = announcer.line.partition(":")[0] + ":"
            if announcer.body_indent < 0:
                announcer.body_indent = place.indent
                announcer.is_named = place.line.startswith(name)
                if place.indent < announcer.indent and not (is_inside and place.kind == "line"):
                    return False
            if announcer.is_named and place.indent == announcer.indent and not place.line.startswith(name):
                return False
            return place.indent >= announcer.body_indent
        is_next = run == announcer.run + 1 and above.units[-1] == announcer.units[-1]
        if is_next:
            announcer.body_indent = place.indent
        is_item = run == announcer.reach + 1 and place.kind == above.kind == "list_item"
        is_item = is_item and place.indent >= announcer.body_indent
        is_item = is_item and find_marker(place.line) == find_marker(above.line)
        goes_on = announcer.reach == above.run and self.is_marked(place)
        is_text = place.kind == "sentence" and place.indent < announcer.body_indent
        is_same = run == announcer.reach and not is_text
        reaches = is_next or is_item or goes_on or is_same or place.indent > announcer.indent
        if reaches:
            announcer.extend(run)
        return reaches

    def is_marked(self, place: Place) -> bool:
        """Return whether a block with the prefix `>` continues text without a prefix right above it."""
        above = place.above or place
        is_near = above.block.last == place.block.first and not above.block.prefix
        return is_near and place.block.prefix == ">" and not self._has_answers


def is_option(place: Place) -> bool:
    """Return whether a line begins with the name of an option, and does not continue the text above."""
    if not OPTION.match(place.line):
        return False
    above = place.above or place
    return above.run != place.run or above.indent != place.indent or bool(OPTION.match(above.line))


def is_clause(place: Place, clause: re.Match[str]) -> bool:
    """Return whether a numbered paragraph includes those below it: its number has a dot, or it is long."""
    is_long = place.block.end - place.block.start > _LONG_CLAUSE
    return not clause["word"] and ("." in clause["number"] or is_long)


def is_clause_title(place: Place) -> bool:
    """Return whether a line with a number is alone above a paragraph, or above a clause such as 2.1 in 2."""
    below = place.below
    clause = CLAUSE.match(place.line)
    if clause is None or below is None or not place.starts_run or not place.block.is_one_line:
        return False
    if place.line[clause.end("number")] not in ".):" and place.line[clause.end() - 1].islower():
        return False  # the number is a count, as in `3 lamps`
    inner = CLAUSE.match(below.line)
    if inner and inner["number"].startswith(f"{clause['number']}."):
        return True
    return below.run != place.run and below.kind == "sentence"


def has_only_paragraphs(lines: Lines, blocks: Sequence[Block]) -> bool:
    """Return whether all blocks are paragraphs, none of which looks like a head of others."""
    edges = [(lines.texts[b.first], lines.texts[b.last - 1]) for b in blocks if b.kind == "sentence"]
    heads = (_MAYBE_HEAD.match(a) or announces(b) or (a == b and is_question(a)) for a, b in edges)
    return len(edges) == len(blocks) and not any(heads)


def announces_entries(place: Place) -> bool:
    """Return whether a log entry ends with a colon, and the text of the entry below is indented more."""
    below = place.below
    if below is None or below.kind != "log" or not place.line.rstrip().endswith(":"):
        return False
    return find_text_indent(below.line) > find_text_indent(place.line) + 1


def _find_continued(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each line that continues a field above it, and the line that begins the field.

    At least half of the lines of the text begin with the same sign, such as `:`. Each of them begins a
    field, and the lines of text without the sign continue it.
    """
    signs = Counter(place.line[:1] for place in places)
    sign, count = signs.most_common(1)[0] if signs else ("", 0)
    if count * 2 < len(places) or sign not in FIELD_SIGNS:
        return
    field: Place | None = None
    for place in places:
        if place.line.startswith(sign):
            field = place
        elif field and place.run == field.run and place.is_text:
            yield place, field


def _find_items(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each line with a bullet, and the last line above it without one.

    Both have the same indent and are in the same run.
    """
    above: list[Place] = []
    for place in places:
        is_item = _BULLETED.match(place.line) is not None
        while above and (above[-1].run != place.run or above[-1].indent >= place.indent + is_item):
            above.pop()
        if not is_item:
            above.append(place)
        elif above and above[-1].indent == place.indent and above[-1].kind == "line":
            yield place, above[-1]


def _find_labelled(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each label that recurs between its siblings, and the sibling above it.

    Siblings are the lines with one indent under one line that is indented less.
    """
    found: dict[tuple[Place | None, str], list[tuple[Place, Place]]] = defaultdict(list)
    above: list[tuple[Place, Place]] = []
    """The last line at each indent down to that of the current line, and the sibling that it belongs to."""
    for place in places:
        while above and above[-1][0].indent > place.indent:
            above.pop()
        owner = place
        sibling = above.pop()[1] if above and above[-1][0].indent == place.indent else None
        is_label = not place.speaks and place.has_body and _ONLY_LABEL.match(place.line)
        is_label = is_label and sibling is not None and sibling.line.strip() != place.line.strip()
        if is_label and sibling is not None and sibling.run == place.run:
            found[above[-1][0] if above else None, place.line.strip()].append((place, sibling))
            owner = sibling
        above.append((place, owner))
    return (pair for pairs in found.values() if len(pairs) > 1 for pair in pairs)
