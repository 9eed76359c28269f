"""Records that begin with the same two fields and may contain blank lines, headings and lists."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from tersely.split.markers import find_marker
from tersely.split.places import Place, is_rule, opens
from tersely.split.prose import is_prose
from tersely.split.records import LABEL, shape

_TITLE = re.compile(r"\W*(?:title|subject|message|summary|name)\b", re.IGNORECASE)
"""The start of a field that tells the topic of its record."""
_LONGEST_TITLE = 200


def find_keyed(places: Sequence[Place]) -> dict[Place, list[Place]]:
    """Map the first line of each such record, as `Id: 7` above `Title: Cranes`, to the line of its title.

    Each but the first starts a run, or all are right below headings. Most of these lines differ. At least one
    record has several runs or running text. A list item begins a record only below a rule, or in one line
    above an indented field. Then at least one record has lines that are not indented, as copied text may be.
    """
    names = {place: name for place in places if (name := _read_name(place))}
    found: dict[str, list[Place]] = defaultdict(list)
    items: dict[tuple[str, int, str], list[Place]] = defaultdict(list)
    for above, place in pairwise(places):
        if above in names:
            found[names[above]].append(above)
        is_item = above.kind == "list_item" != place.kind and above.has_body and not opens(above)
        if is_item and (field := LABEL.match(place.line)):
            items[find_marker(above.line), above.indent, place.line[: field.start("value")]].append(above)
    spans = {place: at for at, place in enumerate(places)}
    for name, own in found.items():
        if len(own) < 2 or not _are_first(own):
            continue
        seconds = Counter(names.get(place.next) if place.next else None for place in own)
        second, count = seconds.most_common(1)[0]
        fewest = len(own) * 2 / 3
        if second in (None, name) or min(count, len({place.line for place in own})) < fewest:
            continue
        bodies = [places[spans[left] : spans[right]] for left, right in pairwise(own)]
        return {place: _list_titles(place) for place in own} if any(map(_goes_on, bodies)) else {}
    own = max(items.values(), key=len, default=())
    if len(own) < 2 or not all(place.block.is_one_line for place in own):
        return {}
    flush = [place for place in places[spans[own[0]] : spans[own[-1]]] if place.indent <= own[0].indent]
    marker = find_marker(own[0].line)
    others = [place for place in flush if place.kind == "list_item" and find_marker(place.line) == marker]
    return {place: [] for place in own} if len(flush) >= len(own) and len(others) <= 2 * len(own) else {}


def _read_name(place: Place) -> str:
    """Return the name of a field with its bullet and its colon.

    Return "" if the line is not a field, has no value, or looks like part of a dialogue.
    """
    label = LABEL.match(place.line) if place.is_text and not place.block.prefix else None
    if label is None or not label["value"].strip() or (place.speaks and is_prose(label["value"])):
        return ""
    name = place.line[: label.start("value")].rstrip()
    return name if ":" in name else ""


def _list_titles(first: Place) -> list[Place]:
    """Return the line that tells the topic of a record, or nothing if the first line already does."""
    line = None if _TITLE.match(first.line) else first.next
    while line and not (_TITLE.match(line.line) and LABEL.match(line.line)):
        line = line.next
    return [line] if line and line.block.is_one_line and len(line.line) <= _LONGEST_TITLE else []


def _are_first(own: Sequence[Place]) -> bool:
    """Return whether fields of one name begin records."""
    if own[0].is_titled:
        titles = [place.above for place in own if place.is_titled and place.above]
        return len(titles) == len(own) and not any(title.is_titled for title in titles[1:])
    if own[0].kind == "list_item":
        return all(place.above and is_rule(place.above.block, place.above.line) for place in own[1:])
    tops = [(place.above.kind, shape(place.above.line)) for place in own if place.above]
    recurs = len(tops) == len(own) and tops.count(tops[0]) * 2 > len(tops)  # records begin further up
    return not recurs and all(place.starts_run or place.is_titled for place in own[1:])


def _goes_on(body: Sequence[Place]) -> bool:
    """Return whether a record has running text or several runs, or begins with a list item.

    A heading or a rule above the next record does not count as a run.
    """
    first, inner = body[0], [place for place in body if not is_rule(place.block, place.line)]
    if inner[-1].kind == "heading":
        inner.pop()
    is_spoken = any(place.kind == "sentence" for place in inner)
    return first.kind == "list_item" or inner[-1].run != first.run or is_spoken
