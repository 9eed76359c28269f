"""The outline of a text that no parser reads: the lines that a reader needs to understand others.

The heads of a unit are the lines that explain it: the headings above it, the clause and the item around it,
the less indented line above it, the first line of its record, log entry or list, its speaker or sender, the
question that it answers. It is kept only with its heads. A frame is a head that is never kept alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tersely.split import enclosures, headlines, surroundings
from tersely.split.cycles import find_cycles
from tersely.split.depths import Depths
from tersely.split.heads import Head, State, add_title, list_titles_around
from tersely.split.lines import CLOSER, Block, Lines
from tersely.split.logs import find_text_indent, starts_entry
from tersely.split.markdown import ITEM
from tersely.split.markers import CLAUSE, TITLED
from tersely.split.places import CUE, ELISION, RULE, Place, announces, find_places, is_rule
from tersely.split.prose import QUOTE
from tersely.split.records import ANSWER, LABEL, MAX_TERM_WORDS, QUESTION, Records, first_word
from tersely.split.table_heads import find_headers
from tersely.units import Link

_DEEPEST = 16
"""Largest number of nested lines, or of nested sections, that count as heads."""
_MAX_HEADS = 64
"""If a head needs more units than this, the blocks under it do not need them, so that chains stay short."""
_QUOTED = re.compile(rf"{QUOTE.pattern}\S")
_SIGNS = re.compile(rf"[\W_]*|\s*[)\]}}]\W*null\W*|{enclosures.SILENT}")
"""A line without content: `}`, `} -> null` of Terraform, `\\hline` of LaTeX, or the number of a table."""


def find_links(lines: Lines, blocks: Sequence[Block], spans: Sequence[range]) -> dict[int, Link]:
    """Return the links of the units that need others or are frames, in time linear in the number of blocks.

    Args:
        blocks: all blocks of a text, in order.
        spans: the indices of the units of each block.
    """
    if surroundings.has_only_paragraphs(lines, blocks):
        return {}
    return _LinkFinder(find_places(lines, blocks, spans), lines).read()


class _LinkFinder:
    def __init__(self, places: Sequence[Place], lines: Lines) -> None:
        self._places, self._lines = places, lines
        self._needs: dict[int, set[int]] = {}
        self._dividers: set[int] = set()  # lines that only divide or close: frames even if nothing needs them
        self._bodies: dict[int, int] = {}
        """Maps the unit of each line that is a head to the first unit under it."""
        self._comments = {-1, *(place.units[0] for place in places if enclosures.is_note(place))}
        """Comments, and -1 in place of a unit. A head is kept with the first other unit under it."""
        self._names: dict[int, int] = {}
        """Maps the unit of a line such as `h1,` to that of the line `h2 {` below, which has the same body."""
        self._records = Records(places)
        self._depths = Depths()
        self._around = surroundings.Surroundings(places)
        self._cycles = find_cycles(places, self._around.outer)
        self._headers = self._around.thread.add_headers(find_headers(places, lines, self._around.comments))
        self._frames = {*self._around.comment_units}
        self._begin_lines, self._end_lines = enclosures.find_enclosures(places, lines)
        self._quotes_often = len({place.run for place in places if place.block.prefix.startswith(">")}) > 1

    def read(self) -> dict[int, Link]:
        """Return the links; see `find_links`."""
        state = State()
        for place in self._places:
            no_heading = place.units[0] in self._around.comment_units or place in self._begin_lines
            if place.kind == "heading" and not (no_heading or place in self._end_lines):
                self._add_heading(place, state)
                continue
            if state.parents and ELISION.fullmatch(place.line):
                self._need(place, state.list_heads(sys.maxsize))
                self._dividers.add(place.units[0])
                continue
            self._close(place, state)
            if state.begins and place in self._end_lines:
                self._end(place, state)
                continue
            if divides := is_rule(place.block, place.line):
                state.end_at_rule(place, self._places[0])
            if self._around.ends_caption(place, state.step):
                state.step = None
            is_step = self._around.starts_step(place)
            if (begun := place.below if divides else place) and self._around.starts_step(begun):
                state.end_step(is_post=begun.units[0] in self._around.fronts)
            heads = self._around.thread.list_inner(place, state.list_heads(place.indent))
            if not divides and (cycle := self._cycles.get(place)):
                cycle_heads = [self._head(head.units[0], head) for head in cycle.heads]
                heads = [*state.list_fixed(), *filter(cycle.allows, heads), *cycle_heads, *cycle.names]
            heads += [self._head(unit, row) for row in self._headers.get(place, ()) for unit in row.units]
            self._need(place, heads)
            if is_step:
                state.step = replace(self._head(place.units[0], place), is_outer=place in self._around.outer)
            if divides or _SIGNS.fullmatch(self._lines.text, place.block.start, place.block.end):
                self._dividers.add(place.units[0])
            if not divides:
                self._add_heads(place, state)
            state.separator = self._head(place.units[0], place) if divides else None
        headlines.tie_labels(self._places, self._needs, self._bodies)
        frames = self._dividers | {at for needs in self._needs.values() for at in needs if at in self._frames}
        self._tie_heads()
        enclosures.tie_comments(self._places, self._needs)
        headlines.tie_underlines(self._places, self._needs)
        headlines.tie_terms(self._places, self._needs)
        links: dict[int, Link] = {}
        for unit in sorted(self._needs.keys() | frames):
            needs = tuple(sorted(self._needs.get(unit, set[int]()) - {unit}))
            if needs or unit in frames:
                links[unit] = Link(None, 1, needs, "frame" if unit in frames else "content")
        return links

    def _tie_heads(self) -> None:
        """Make each line that is a head need the first unit under it, so that the head is not kept alone."""
        for unit in sorted(self._bodies, reverse=True):
            body = self._bodies[unit]
            self._needs[unit] = {*self._needs.get(unit, ()), body, *self._find_heads(body)} - {unit}
        for name, unit in self._names.items():
            self._needs[name] = {*self._needs[name], *self._needs[unit], unit} - {name}

    def _need(self, place: Place, heads: Sequence[Head]) -> None:
        """Make all units of a block need these heads."""
        for unit in (head.units[-1] for head in heads if head.is_line):
            if unit not in place.units and self._bodies.get(unit, -1) in self._comments:
                self._bodies[unit] = place.units[0]
        needs = {*(line.units[0] for line in place.header), *(unit for head in heads for unit in head.units)}
        self._needs.update(dict.fromkeys(place.units, needs))

    def _find_heads(self, unit: int) -> Iterable[int]:
        """Return the units that a unit needs; nothing if there are more than _MAX_HEADS."""
        return needs if len(needs := self._needs.get(unit, ())) <= _MAX_HEADS else ()

    def _head(self, unit: int, place: Place, depth: float = 0) -> Head:
        units = (*self._find_heads(unit), unit)
        is_line = place.kind != "sentence"
        return Head(units, place.indent, place.run, depth, place.run, is_line=is_line, begin=unit)

    def _close(self, place: Place, state: State) -> None:
        """Forget the heads that end before this block, and find the statement that it continues."""
        run, indent, line = place.run, place.indent, place.line
        state.end_sections(place)
        is_option_or_record = surroundings.is_option(place) or self._around.is_inner_record(place)
        closes = CLOSER.fullmatch(self._lines.text, place.block.start, place.block.end) is not None
        if closes:
            indent = self._lines.indent(place.block.last - 1)
        state.continued = None
        while state.parents:
            ended = state.parents[-1]
            # An inner record ends with its run. Its `Head.indent` is 1 less than the indent of its line.
            is_past = run != ended.run and ended.indent == indent - 1
            if ended.indent < indent and not (ended.is_option_or_record and (is_option_or_record or is_past)):
                break
            state.parents.pop()
            if ended.indent != indent:
                continue
            if (closes or place.closes_bracket(ended.line)) and ended.units[-1] in self._bodies:
                self._enclose(ended, place.units[0])
                if closes:
                    self._dividers.add(place.units[0])
                state.continued = ended
            elif ended.run == run and surroundings.BRANCH.match(line):
                state.continued = ended
        if state.record and run != state.record.run and indent <= state.record.indent:
            # A value of several paragraphs does not end its record.
            is_apart = self._lines.is_blank(place.block.first - 1) or place.kind == "code"
            if is_apart or (place.above and place.above.indent <= state.record.indent):
                state.record = None
        if place in self._records.repeated:
            state.record = state.announcer = None
        while state.announcer and not self._around.is_announced(place, state.announcer, bool(state.parents)):
            state.announcer = state.announcer.outer
        if state.label and not self._around.continues_value(place, state.label):
            state.label = None
        if starts_entry(place.block.line) or self._around.ends_entry(place, state.entry):
            state.entry = None
        if (subject := self._around.find_subject(place)) and subject.units[-1] not in self._dividers:
            is_label = headlines.is_label(subject, place) or subject in self._around.names
            state.continued = replace(self._head(subject.units[-1], subject), is_line=is_label)
            self._frames.update(subject.units[-1:] if is_label else ())
        while state.quoters and state.quoters[-1].depth > place.block.prefix.count(">"):
            state.quoters.pop()
        if state.quote and indent < state.quote.indent:
            state.quote = None
        if state.quote and self._around.ends_quote(place):
            state.quote, state.sender = None, state.sender if place.block.prefix else None
        # A rule between records is not part of the record above it.
        next_run = place.below.run if place.below and is_rule(place.block, place.line) else run
        is_record = place.starts_run and not place.is_titled and self._records.holds(next_run)
        if state.sender and is_record and indent <= state.sender.indent:
            state.end_text(state.sender)
        state.end_clauses(place)
        if state.separator and (place.kind != "line" or run != state.separator.run + 1):
            state.separator = None
        if is_question := QUESTION.match(line) is not None:
            state.end_record(state.question)
            state.question = None
        if is_question or place.speaks:
            state.end_record(state.speaker)
            state.speaker = None
        elif state.speaker and run != state.speaker.run and self._around.ends_speech(place, state.speaker):
            state.speaker = None

    def _enclose(self, head: Head, closer: int) -> None:
        """Make each unit from `head.begin` to the closing line need that line, and the anchor of the head."""
        for unit in range(head.begin, closer):
            self._needs[unit] = {*self._needs.get(unit, ()), closer, *head.anchor}

    def _end(self, place: Place, state: State) -> None:
        """Close a section, such as BEGIN to END; its units need its first and last lines."""
        first_line, last_unit = state.begins.pop(), place.units[-1]
        state.end_record(first_line)
        self._needs[last_unit] = set(first_line.units)
        self._enclose(first_line, last_unit)
        self._dividers.add(last_unit)

    def _add_heading(self, place: Place, state: State) -> None:
        """Remember a heading as a head of the blocks after it."""
        if place in self._around.dividers:
            state.end_step(is_post=False)
        depth = self._depths.find(place, self._lines.text)
        ended = state.end_at_heading(depth, place)
        announcer = state.announcer if place.is_announced else ended
        parents = [head for head in state.parents if place.has_body and head.indent < place.indent]
        above = [*state.headings, *list_titles_around(state.titles, place.line), *state.begins, *parents]
        self._need(place, [*above, *filter(None, [state.sender, announcer, state.start_section()])])
        self._frames.add(place.units[0])
        head = self._head(place.units[0], place, depth)
        state.headings.append(replace(head, line=place.line, announcer=announcer))
        state.parents = parents

    def _add_heads(self, place: Place, state: State) -> None:
        """Remember a block if it is a head of blocks after it."""
        first, last, kind = place.units[0], place.units[-1], place.kind
        is_announced = state.announcer is not None
        if kind == "log":
            state.entry = self._head(first, place)
            if surroundings.announces_entries(place):
                self._announce(first, place, state).text_indent = find_text_indent(place.line)
        elif place in self._begin_lines:
            self._frames.add(first)
            if len(state.begins) < _DEEPEST:
                state.begins.append(self._head(first, place))
        elif place.is_text:
            self._add_text(place, state)
        if (place.is_text or kind == "code") and len(state.parents) < _DEEPEST:
            self._add_parent(place, state)
        is_quote = self._quotes_often and _QUOTED.match(place.block.line)
        if is_quote and not (is_announced and self._around.is_marked(place)):
            state.quote = self._head(last, place)

    def _add_text(self, place: Place, state: State) -> None:
        """Remember a line, an item or a paragraph if it is a head of blocks after it."""
        first, last, line = place.units[0], place.units[-1], place.line
        clause = CLAUSE.match(line)
        is_question = QUESTION.match(line) is not None
        label = LABEL.match(line)
        if clause or is_question or place.speaks or label or ITEM.match(line) or TITLED.match(line):
            for unit in place.units[1:]:
                self._needs[unit] = {*self._needs[unit], first}
        if is_question:
            self._frames |= {first, last}
            state.question = self._head(last, place)
            state.question.is_line = True  # so the question is kept with the first unit of its answer
        elif place.speaks and not ANSWER.match(line):
            state.speaker = replace(self._head(first, place), line=line)
        is_title = surroundings.is_clause_title(place)
        self._frames.update(place.units if is_title else place.units[: place.opens_with_title])
        if clause and (is_title or surroundings.is_clause(place, clause)):
            head = self._head(last if is_title else first, place, clause["number"].count("."))
            # The first line of a clause may be indented more than its other lines.
            head.first_indent = place.indent
            head.indent = min(map(self._lines.indent, range(place.block.first, place.block.last)))
            state.clauses.append(head)
            if is_title:
                state.titles = add_title(state.titles, clause["number"], head)
        has_colon = announces(self._lines.texts[place.block.last - 1])
        if has_colon or headlines.introduces(place):
            level = place.below.block.prefix.count(">") if place.below else 0
            if level > place.block.prefix.count(">"):
                self._frames.add(last)
                state.quoters.append(self._head(last, place, level))
            else:
                self._announce(last, place, state).has_list_only = not has_colon
        is_free = place not in self._around.names and (not state.record or state.record.run == place.run)
        if place in self._records.leads and is_free and self._records.is_head(place):
            state.record = self._head(first, place)
            if self._records.titles_fields(place):
                self._frames.add(first)
            # Keep the number of a film subtitle with its time, and a name with the value in the next line.
            is_number = line.strip().isdigit() or (place.below and CUE.match(place.below.line))
            if place.below and (is_number or (line.rstrip().endswith(":") and place.has_one_line)):
                self._bodies[first] = place.below.units[0]
                state.record.units += (self._bodies[first],)
                if "-->" in place.below.line:
                    self._frames |= {first, self._bodies[first]}
            is_mail = not place.is_titled or first_word(place) == state.sender_word
            if is_mail and self._records.heads_text(place):
                state.sender, state.sender_word = state.record, first_word(place)
        if label and label["value"]:
            state.label = self._head(first, place)
        lacks_anchor = state.begins and not state.begins[-1].anchor
        if lacks_anchor and (enclosures.names_columns(place) or enclosures.names_record(place)):
            state.begins[-1].anchor = (first,)
            self._frames.update((first,) if enclosures.names_columns(place) else ())

    def _announce(self, unit: int, place: Place, state: State) -> Head:
        """Remember a line that ends with a colon, and return it as a head."""
        self._frames.add(unit)
        state.announcer = replace(self._head(unit, place), line=place.line, outer=state.announcer)
        return state.announcer

    def _add_parent(self, place: Place, state: State) -> None:
        """Remember a block as a head of the more indented blocks below it."""
        below = place.below
        if below is None or RULE.fullmatch(place.line) or place.line.strip() == "|":
            return
        is_item = ITEM.match(place.line) is not None
        is_near = below.run == place.run and below.indent > place.indent
        if place.kind == "sentence" and not (is_near or is_item):
            return  # a paragraph is not the head of an example below it
        if below.run != place.run and state.record and state.record.run == place.run:
            state.parents.append(Head(state.record.units, place.indent, place.run))
            return
        if self._around.is_inner_record(place):
            parent = self._head(place.units[0], place)
            parent.indent, parent.is_line, parent.is_option_or_record = place.indent - 1, True, True
            state.parents.append(parent)
            return
        unit = place.units[-1] if place.kind == "sentence" and not is_item else place.units[0]
        is_term = place.kind == "line" and len(place.line.split()) <= MAX_TERM_WORDS
        if is_near and is_term and not LABEL.match(place.line):
            self._frames.add(unit)
        names = enclosures.find_names(place) if is_near else []
        self._needs[unit] = {*self._needs[unit], *names}
        self._names.update(dict.fromkeys(names, unit))
        parent = self._head(unit, place)
        parent.line = self._lines.texts[place.block.last - 1]
        if state.continued:
            parent.begin = begin = state.continued.begin
            parent.units = (*self._find_heads(begin), begin, unit)  # a branch needs none of those between
        parent.is_line |= is_near
        parent.anchor = enclosures.find_anchor(place)
        parent.is_option_or_record = surroundings.is_option(place)
        state.parents.append(parent)
