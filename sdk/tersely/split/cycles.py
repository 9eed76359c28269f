"""Cycles: records whose lines are not indented, so that only the tags of the lines show where each begins.

The tag of a line is its first word or signs (see `tags`). If tags recur in cycles, each cycle is a record,
and the line that begins the cycle is its head. Records may hold shorter cycles, which are records too. In
some formats, each line begins with its level instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from itertools import pairwise
from typing import NamedTuple

from tersely.split.column_names import are_names
from tersely.split.heads import Head
from tersely.split.markers import BULLETS
from tersely.split.places import Place, is_comment, opens
from tersely.split.records import first_word
from tersely.split.tags import (
    READERS,
    Tag,
    Tags,
    are_runs,
    find_keys,
    find_period,
    find_prefaces,
    find_regions,
    has_value,
    is_regular,
    list_outer,
    read_levels,
    speaks,
)

_NAME = re.compile(r"[\W\d]*+(?:name|title)\b", re.IGNORECASE)
"""The start of a line that names its record but is not its first line."""
_IDENTITY = re.compile(r"[\W\d]*+(?:\w*name|\w*id|title)\b", re.IGNORECASE)
"""The same for a record that contains other records."""
_LISTED = re.compile(r"(\w+)\|.*\n\1\|")
"""Two lines of a list: both begin with the same word and `|`. A record with such a list contains others."""
_FEWEST_LINES = 6
_DEEPEST = 4
"""Largest depth of the search. Each step searches inside the records found, or the lines outside them."""
_MOST_CANDIDATES = 12
"""Largest number of tags to try as the first one of a cycle. The limit keeps the time linear."""
_LONGEST_NAME, _MOST_NAMES = 200, 2


class Cycle(NamedTuple):
    """The records around one line of a text."""

    first: Place
    """The first line of its region."""
    indent: int
    """The indent of the line if it is in no record, otherwise 0."""
    heads: Sequence[Place]
    """The first lines of the records around it, the outermost first."""
    names: Sequence[Head]
    """The other lines that name these records or their columns. For a line above the first line of its
    record, that first line."""

    def allows(self, head: Head) -> bool:
        """Return whether a head above this line may be one of its heads: it is above the region, in the
        innermost record around the line, or indented less than all records around it, or than the line."""
        unit = head.units[-1]
        is_inside = bool(self.heads) and unit >= self.heads[-1].units[0]
        is_outside = head.indent < min((record.indent for record in self.heads), default=self.indent)
        return is_inside or is_outside or unit < self.first.units[0]


Group = Sequence[int]
"""Indices of lines to search for records: the body of a record, or the lines outside the records found."""


def find_cycles(places: Sequence[Place], starts: Container[Place]) -> dict[Place, Cycle]:
    """Return the cycle of each line from the start of a region to the end of its last record's run.

    No record contains one of the lines in `starts`, which begin longer records.
    """
    found: dict[Place, Cycle] = {}
    for region in find_regions(places, starts):
        tops = [place for place in region if place.starts_run]
        if len(tops) > 1 and all(place.line.rstrip().endswith(":") for place in tops):
            continue  # each run is a list with a name
        owners = _find_owners(region) or ()
        if any(owner is not None for owner in owners):
            _add(found, region, owners)
    return found


def _add(found: dict[Place, Cycle], region: Sequence[Place], owners: Sequence[int | None]) -> None:
    """Add the cycle of each line of a region to `found`, given the owner of each line."""
    names = _find_names(region, owners)
    columns = _find_columns(region, owners)
    below = region.index(columns) if columns else len(region)
    starts = [at for at in names if owners[at] is None]
    top = min(starts)
    parents: list[Place] = []  # lines above the first record that are indented less
    prefaces = find_prefaces(region, sorted(starts))
    bodies: dict[int, list[int]] = {start: [] for start in starts}
    for at, owner in enumerate(owners):
        if owner in bodies:
            bodies[owner].append(at)
    for start, keys in find_keys(region, bodies).items():
        names[start] += keys
    for at, start in prefaces.items():
        if not is_comment(region[at].block):
            names[start].insert(0, at)
    chains: dict[int | None, tuple[int, ...]] = {None: ()}
    last = max(at for at, owner in enumerate(owners) if owner is not None)
    for at, (place, owner) in enumerate(zip(region, owners, strict=True)):
        if at > last and place.run != region[last].run:
            break  # it is below all records
        chain = chains[owner]
        chains[at] = (*chain, at)
        if at in prefaces:
            start = region[prefaces[at]]
            heads = [] if is_comment(place.block) else [Head((*start.units,), start.indent, start.run)]
            found[place] = Cycle(region[0], 0, [], heads)
            continue
        while parents and (at > top or parents[-1].indent >= place.indent or parents[-1].run != place.run):
            parents.pop()
        own = [*parents, *(region[name] for head in chain for name in names[head] if name != at)]
        heads = [Head(tuple(name.units), name.indent, name.run, is_line=at < top) for name in own]
        parents += [place] if len(parents) < _DEEPEST else []
        if columns and at > below:
            heads.append(Head((*columns.units,), columns.indent, columns.run, is_line=True))
        indent = 0 if chain or at in names else place.indent
        found[place] = Cycle(region[0], indent, [region[head] for head in chain], heads)


def _find_columns(region: Sequence[Place], owners: Sequence[int | None]) -> Place | None:
    """Return the line right above the first record if it names the columns of all records."""
    first = min(owner for owner in owners if owner is not None)
    above = region[first - 1]
    is_near = first and above.run == region[first].run
    return above if is_near and are_names(above.line, [region[first].line]) else None


def _find_names(region: Sequence[Place], owners: Sequence[int | None]) -> dict[int, list[int]]:
    """Map the first line of each record to the other lines that name it.

    A line such as `name: Ada` names its record. In a record that contains others, so do its second line and
    a line such as `id: 7`.
    """
    names: dict[int, list[int]] = {owner: [] for owner in owners if owner is not None}
    holders = {owners[owner] for owner in names}
    for (above, place), owner in zip(pairwise(region), owners[1:], strict=True):
        if _LISTED.match(f"{above.line}\n{place.line}"):
            holders.add(owner)
    for at, owner in enumerate(owners):
        if owner is None or at in names or region[at].indent > region[owner].indent:
            continue
        own, line = names[owner], region[at].line
        if owner in holders:
            is_known = first_word(region[at]) in {first_word(region[name]) for name in own}
            is_new = not is_known and len(own) < _MOST_NAMES
            is_name = at == owner + 1 or (is_new and _IDENTITY.match(line) is not None)
        else:
            is_name = not own and _NAME.match(line) is not None
        if is_name and len(line) <= _LONGEST_NAME:
            own.append(at)
    return names


def _find_owners(region: Sequence[Place]) -> list[int | None] | None:
    """Return the owner of each line: the first line of the record around it. Return None without cycles.

    Cycles are found among the lines that are not indented. The other lines follow the last such line above.
    """
    if levels := read_levels(region):
        return levels
    if period := find_period(region):
        return [at - at % period if at % period else None for at in range(len(region))]
    outer = list_outer(region)
    if (found := _find_outer_owners([region[at] for at in outer])) is None:
        return None
    owners: list[int | None] = [None] * len(region)
    starts = {outer[owner] for owner in found if owner is not None}
    ended = set[int]()
    for (at, below), owner in zip(pairwise([*outer, len(region)]), found, strict=True):
        if owner is not None and region[at].ends(region[outer[owner]]):
            ended.add(owner)
        owners[at] = None if owner is None or owner in ended else outer[owner]
        owners[at + 1 : below] = [at if at in starts else owners[at]] * (below - at - 1)
    return owners


def _find_outer_owners(region: Sequence[Place]) -> list[int | None] | None:
    """Return the owner of each line, given lines that are not indented; None if no tags recur in cycles."""
    prose = sum(speaks(place) for place in region)
    if len(region) < _FEWEST_LINES or prose * 3 > len(region):
        return None
    for read in READERS:
        tags = read(region)
        if tags and is_regular(tags):
            owners = _RecordFinder(tags, region).owners
            if any(owner is not None for owner in owners):
                return None if are_runs(region, owners) else owners
    return None


class _RecordFinder:
    """A search for the records among lines with tags."""

    def __init__(self, tags: Tags, region: Sequence[Place]) -> None:
        self._tags = tags
        self._fields = {tag for tag, place in zip(tags, region, strict=True) if tag and has_value(tag, place)}
        """The tags of lines with a value."""
        self._apart = {at for at, place in enumerate(region) if place.starts_run}
        """The first lines of runs. They end the last record if no other record contains one."""
        self._openers = {tag for tag, place in zip(tags, region, strict=True) if opens(place)}
        self.owners: list[int | None] = [None] * len(tags)
        self._read([range(len(tags))], 0, 0)

    def _read(self, groups: Sequence[Group], depth: int, steps: int) -> None:
        """Find the records in groups of lines."""
        if steps == _DEEPEST or not (first := self._find_first(groups, depth)):
            return
        if not steps and self._tags.index(first) * 3 > len(self._tags):
            return  # too many lines are above the first record
        bodies: list[Group] = []
        rests: list[Group] = []
        cuts = [self._cut(group, first) for group in groups]
        inner = {at for records in cuts for record in records[:-1] for at in record[1:]}
        apart = set[int]() if not inner or inner & self._apart else self._apart
        # If each record is a separate run, no tag ends the last one.
        is_parted = apart and all(record[0] in apart for records in cuts for record in records)
        cut = set[Tag | None]() if is_parted else self._find_outer(groups, first)
        for group, records in zip(groups, cuts, strict=True):
            if not records:
                rests.append(group)
                continue
            rests.append(group[: group.index(records[0][0])])
            for number, record in enumerate(records):
                end = len(record)
                if number == len(records) - 1:
                    outer = (n for n, at in enumerate(record) if self._tags[at] in cut or (n and at in apart))
                    end = next(outer, end)
                    end = end if end > 1 else len(record)
                    rests.append(record[end:])
                for at in record[1:end]:
                    self.owners[at] = record[0]
                bodies.append(record[1:end])
        self._read(bodies, depth + 1, steps + 1)
        self._read(rests, depth, steps + 1)

    def _cut(self, group: Group, first: Tag) -> list[Group]:
        """Return the records of a group: each goes from a line with this tag to the next such line."""
        starts = [n for n, at in enumerate(group) if self._tags[at] == first]
        return [group[left:right] for left, right in pairwise([*starts, len(group)])]

    def _find_first(self, groups: Sequence[Group], depth: int) -> Tag | None:
        """Return the tag that begins the records in these groups.

        Prefer a tag of lines that mostly follow lines without words, such as `^`. Otherwise, take the first
        tag that is more frequent than lines without words, if the cycle does not begin earlier.
        """
        tags = [self._tags[at] for group in groups for at in group]
        signs = sum(tag is not None and not tag.has_word for tag in tags)
        candidates: dict[Tag, None] = {}
        for group in groups:
            counts = Counter(self._tags[at] for at in group)
            candidates.update({tag: None for tag, count in counts.items() if tag and count > 1})
        fit: list[Tag] = []
        for tag in list(candidates)[:_MOST_CANDIDATES]:
            if not tag.may_begin or tag in self._openers or not self._recurs(tag, groups, depth):
                continue
            wrong, before = self._count_before(tag, groups)
            if wrong * 2 <= before and self._is_parted(tag, groups):
                return tag
            if not wrong and tags.count(tag) > signs:
                fit.append(tag)
        return fit[0] if fit else None

    def _recurs(self, first: Tag, groups: Sequence[Group], depth: int) -> bool:
        """Return whether most records that begin with a tag have other lines, with tags that they share.

        If a line of signs is both above and below each record, every second record is empty.
        """
        records = [record for group in groups for record in self._cut(group, first)]
        bodies = [{tag for at in record[1:] if (tag := self._tags[at])} for record in records]
        filled = [body for body in bodies if body]
        leads = depth and all(self._tags[group[0]] == first for group in groups if group)
        is_paired = not first.text[0].isalnum() and len(bodies) > 2 and not any(bodies[1::2])
        fewest = 0 if leads else len(bodies) * (5 if depth or is_paired else 9)
        if len(filled) * 10 < fewest or len(filled) < 2:
            return False
        if first.text[0] in BULLETS:
            below = [tag.text[:1] for body in filled for tag in body]
            if below.count(first.text[0]) * 2 >= len(below):
                return False  # a list of items that are alike
        if first.is_plain:
            seconds = Counter(self._tags[record[1]] for record in records if len(record) > 1)
            second, count = seconds.most_common(1)[0]
            if second is None or not second.is_literal or count * 10 < len(records) * 9:
                return False
        counts = Counter(tag for body in filled for tag in body)
        shared = sum(
            any(counts[tag] > 1 and tag in self._fields and first.is_literal | tag.is_literal for tag in body)
            for body in filled
        )
        return shared * 3 >= len(filled) * 2

    def _count_before(self, first: Tag, groups: Sequence[Group]) -> tuple[int, int]:
        """Count the lines above the first record of each group: those with a tag that also occurs in records,
        and all of them. If many have such a tag, the cycle begins earlier."""
        inside: set[Tag | None] = set()
        before: list[Tag | None] = []
        for group in groups:
            if records := self._cut(group, first):
                inside.update(self._tags[at] for record in records for at in record[1:])
                before += [self._tags[at] for at in group[: group.index(records[0][0])]]
        wrong = sum(tag is not None and not tag.is_word and tag in inside for tag in before)
        return wrong, len(before)

    def _is_parted(self, first: Tag, groups: Sequence[Group]) -> bool:
        """Return whether most lines with this tag follow one without words, or are its first in a group."""
        starts = parted = 0
        for group in groups:
            tags = [self._tags[at] for at in group]
            above = [last for last, tag in zip([None, *tags], tags, strict=False) if tag == first]
            starts += len(above)
            parted += sum(n == 0 or (tag is not None and not tag.has_word) for n, tag in enumerate(above))
        return parted * 10 >= starts * 8

    def _find_outer(self, groups: Sequence[Group], first: Tag) -> set[Tag | None]:
        """Return the tags that end the last records of groups: they occur there more than once, but not in
        other records."""
        inner: set[Tag | None] = set()
        last: Counter[Tag | None] = Counter()
        again: set[Tag | None] = set()
        for group in groups:
            records = self._cut(group, first)
            inner.update(self._tags[at] for record in records[:-1] for at in record)
            counts = Counter(self._tags[at] for record in records[-1:] for at in record)
            last.update(counts.keys())
            again.update(tag for tag, count in counts.items() if count > 1)
        return {tag for tag, count in last.items() if tag not in inner and (count > 1 or tag in again)}
