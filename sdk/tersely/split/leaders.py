"""Leaders: lines that begin the records or the parts of a text, if these contain blank lines."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from tersely.split.column_names import GAP
from tersely.split.counted_titles import SERIES
from tersely.split.dates import PERIOD
from tersely.split.markers import BULLETS, CLAUSE
from tersely.split.places import CUE, Place, is_rule, opens
from tersely.split.records import LABEL, first_word, shape

_MARKS = "●○×"
"""Signs of a state, such as running or failed, at the start of a record."""
_CLOCK = re.compile(r"(?<![\d:.A-SU-Za-z_])\d{1,2}:[0-5]\d\b")
_DATE = re.compile(
    r"\d (?:second|minute|hour|day|week|month|year)s? ago\b"
    r"|\b(?:\d{4}([./-])\d{1,2}\1\d{1,2}|\d{1,2}([./-])\d{1,2}\2\d{4})\b"
)
_VARYING = re.compile(r"\d+|\b[A-Z][a-z]{2}\b|\b[AaPp][Mm]\b")
"""A part that differs from one time to another: a number, or a word such as `Mon`, `Jan` or `AM`."""
_POSTER = re.compile(r"(?:(?<=^)|(?<=^\W)|(?<=^\W\W)|(?<=^\W\W\W))\w\S*|@[\w.-]+|\b[A-Z]\S*|\([^()]*\)")
"""A part that differs from one post to another: the first word, a name such as `@ada`, a word with a capital,
or a remark in parentheses."""
_NAMES = re.compile(r"A(?: A)+")
_PROGRESS = re.compile(
    r"\s*(?:\[\s*(?=\d+/\d+\])|(?:Step\s+)?(?=\d+/\d+\s))\d+/(?P<all>\d+)\]?\s*:?\s+\S|\s*Start\s+\d+:\s"
)
"""A line such as `[3/40] Building a.o`, `3/8 Test #3: a`, `Step 3/9 : RUN a` or `Start 3: a`."""
_TASK = re.compile(r"> Task :\S")
_FAILURES = re.compile(r"\s*(\d+) fail(?:ing|ures?|ed)\s*:?")
_COMMIT = re.compile(r"commit [0-9a-f]{7,40}\b")
_HASH = re.compile(r"(?=\S*\d)[0-9a-f]{7,40}[ \t|,;:]")
_PLACED = re.compile(r".*\.\w+:\d+:\d+:\s*")
"""A line that ends with a position in a file, as a panic of Rust does. The next line says what happened."""
_DIGITS = re.compile(r"\d+")
_LONGEST_STAMP = 200
_SHORTEST_RULE, _LONGEST_HEADER = 8, 4


def find_leaders(places: Sequence[Place]) -> Sequence[Place]:
    """Return the lines that begin records of several runs: the first line of a text, and the lines like it.

    They all differ, but have the same first word, or differ only in it. The runs right below them begin
    alike, but not like the leaders. Sentences may be above a first line with a sign such as `●`.
    """
    above = next((at for at, place in enumerate(places) if place.kind != "sentence"), 0)
    if places and _is_marked(places[above]):
        places = places[above:]
    if not places or first_word(places[0])[:1] in BULLETS or any(p.kind == "heading" for p in places):
        return []  # headings divide a text anyway
    if opens(first := places[0]):
        return []  # its record ends where the block is closed
    starts = [place for place in places if place.starts_run]
    rest = first.line.split()[1:]
    leaders = [
        at
        for at, place in enumerate(starts)
        if place.kind == first.kind != "sentence"
        and place.indent == first.indent
        and (
            first_word(place) == first_word(first)
            or all(map(_is_marked, (place, first)))
            or (len(rest) > 1 and place.line.split()[1:] == rest)
        )
    ]
    ends = {*leaders, len(starts)}
    below = [shape(starts[at + 1].line) for at in leaders if at + 1 not in ends]
    differ = len({starts[at].line for at in leaders}) == len(leaders)
    if not differ or len(below) < 2 or len({*below}) > 1:
        return []
    # `RED CRANE TEAM` and `OLD CRANE TEAM` may be two of many names. They are not leaders if the runs below
    # look like them.
    is_alike = len({first_word(starts[at]) for at in leaders}) > 1 and below[0] == shape(first.line)
    # `Ada (1):` is not a leader if the run below it begins with `Bob (3):`.
    inner = [starts[at + 1] for at in leaders if at + 1 not in ends]
    forms = {(len(words := place.line.split()), shape("".join(words[-1:]))) for place in (first, *inner)}
    is_alike |= len(forms) == 1 and all(place.has_body for place in (first, *inner))
    # Nor is `error[E1]:` above `error[E2]:`, nor `POST /a` if `GET /b` has similar lines below it.
    is_alike |= any(_DIGITS.sub("0", first_word(p)) == _DIGITS.sub("0", first_word(first)) for p in inner)
    shapes = [shape(place.line) for place in starts]
    later = [at for at in range(leaders[0], len(starts) - 1) if at not in ends and at - 1 not in ends]
    is_alike |= any(shapes[at] != below[0] == shapes[at + 1] for at in later)
    return [] if is_alike else [starts[at] for at in leaders]


def _is_marked(place: Place) -> bool:
    """Return whether a line begins with a sign of a state."""
    return first_word(place) in {*_MARKS}


def find_alien(places: Sequence[Place], last: Place) -> Place | None:
    """Return the first line of the first run after the last record; None if the record reaches the end.

    `last` is the first line of the last record. That record ends at a run that begins unlike any run above
    `last`.
    """
    known = {shape(place.line) for place in places if place.starts_run and place.run < last.run}
    return next((p for p in places if p.starts_run and p.run > last.run and shape(p.line) not in known), None)


def find_stamps(places: Sequence[Place]) -> Sequence[Place]:
    """Return the lines with a time that begin the parts of a report, such as each sample of `iostat`.

    They start runs and differ only in their times and numbers. At least two of the parts have more than one
    run. A text with other log entries has no such parts.
    """
    starts = [place for place in places if place.starts_run]
    short = [p for p in starts if p.kind in ("line", "log") and len(p.line) <= _LONGEST_STAMP]
    timed = [p for p in short if _CLOCK.search(p.line) and not (p.speaks or CUE.match(p.line))]
    masks = {place: " ".join(_VARYING.sub("0", place.line).split()) for place in timed}
    counts = Counter(masks.values())
    stamps = {place for place, mask in masks.items() if counts[mask] > 1}
    parts = sum(above in stamps and place not in stamps for above, place in pairwise(starts))
    is_log = any(place.kind == "log" and place not in stamps for place in places)
    return [] if parts < 2 or is_log else [place for place in starts if place in stamps]


def find_hashed(places: Sequence[Place]) -> Sequence[Place]:
    """Return the lines that begin with the hash of a commit, if the first one does and other lines follow."""
    hashed = [place for place in places if not place.indent and _HASH.match(place.line)]
    differ = len({first_word(place) for place in hashed}) == len(hashed)
    begin = len(hashed) > 1 and hashed[0] is places[0] and len(hashed) < len(places)
    return hashed if begin and differ else []


def find_posts(places: Sequence[Place]) -> dict[Place, list[Place]]:
    """Map the first line of each post of a thread to the other lines of its header.

    One of the first three lines of a post has a time or a date. There are at least three posts, and these
    lines differ only in their numbers, their first words and words with capitals. Each post has a text. If
    most of them are below counted titles, such as `Day 2`, these divide the text, so return nothing.
    """
    found: dict[tuple[int, str], list[Sequence[Place]]] = defaultdict(list)
    for place in places:
        above = place.above
        is_apart = place.starts_run and (above is None or above.block.last < place.block.first)
        if is_apart and (header := _read_header(place)):
            stamp = next(at for at, line in enumerate(header) if _is_dated(line))
            mask = _NAMES.sub("A", _VARYING.sub("0", _POSTER.sub("A", header[stamp].line.strip())))
            found[stamp, mask].append(header)
    posts = {first: others for first, *others in max(found.values(), key=len)} if found else {}
    headers = {"".join(line.line for line in (first, *others)) for first, others in posts.items()}
    below = [(others or [first])[-1].below for first, others in posts.items()]
    have_text = all(place is not None and place not in posts for place in below)
    titles = [first.above.line for first in posts if first.above and first.is_titled]
    if sum(SERIES.match(title) is not None for title in titles) * 2 > len(posts):
        return {}
    return posts if have_text and len(posts) > 2 and len(headers) * 2 > len(posts) else {}


def _read_header(place: Place) -> Sequence[Place]:
    """Return the lines of a header that begins here; nothing if all are names and values, as in a mail.

    The header is the first line if that has a time, or two to four lines if the second or third has one.
    """
    header: list[Place] = []
    line: Place | None = place
    if place.kind == "log" and place.below and place.below.kind != "log":
        header, line = [place], None
    while line and line.run == place.run and line.kind in ("line", "heading"):
        header.append(line)
        line = line.below
    stamp = next((at for at, line in enumerate(header[:3]) if _is_dated(line)), None)
    header = header[:1] if stamp == 0 else header
    is_header = stamp is not None and len(header) <= _LONGEST_HEADER
    is_heading = place.kind == "heading" and place.line.lstrip()[:1] != "["
    are_labels = all(LABEL.match(line.line) for line in header)
    return header if is_header and not (is_heading or are_labels or CLAUSE.match(place.line)) else ()


def _is_dated(place: Place) -> bool:
    """Return whether a line has a time or a date, such as `5 hours ago`."""
    is_dated = _DATE.search(place.line) or _CLOCK.search(place.line)
    return len(place.line) <= _LONGEST_STAMP and is_dated is not None


def find_ruled(places: Sequence[Place]) -> Sequence[Place]:
    """Return the first lines of records separated by identical rules, if each record has several runs.

    The first record may have a title above it: it begins with the first run whose first word looks like
    those of the other records.
    """
    rule, parts = _part_at_rules(places)
    if len(rule) < _SHORTEST_RULE:
        return []
    first, *others = [part for part in parts if part] or [[]]
    leaders = [part[0] for part in others]
    are_records = all(part[0].run < part[-1].run and part[0].kind == "line" for part in others)
    if len(leaders) < 2 or not are_records or len({place.line for place in leaders}) < len(leaders):
        return []
    shapes = {shape(place.line) for place in leaders}
    return [*(place for place in first if place.starts_run and shape(place.line) in shapes)][:1] + leaders


def find_fronted(places: Sequence[Place]) -> Sequence[Place]:
    """Return the first lines of posts that begin with fields between rules, as in a thread of `gh`."""
    _, parts = _part_at_rules(places)
    if any(part and part[-1].kind == "heading" for part in parts):
        return []  # the rule is below the heading of the fields
    fronts = [part[0] for part, text in pairwise(parts) if _are_fields(part) and not _are_fields(text)]
    return fronts if len(fronts) > 1 else []


def find_captions(places: Sequence[Place]) -> dict[Place, list[Place]]:
    """Map the first line of each caption of a table to its other lines.

    A caption is made of fields at the margin of the text, and at least two captions have the same ones.
    Only the fields whose values differ count, as `pkg` does in the output of `go test -bench`.
    """
    groups: dict[tuple[str, ...], list[list[Place]]] = defaultdict(list)
    margin = min((place.indent for place in places), default=0)
    blocks: list[Place] = []  # fields that are one block, as the first ones of a text may be
    group: list[Place] = []
    for place in places:
        if place.kind == "line" and LABEL.match(place.line) and not _has_cells(place):
            group = [*group, place] if group and group[-1].run == place.run else [place]
            continue
        if len(group) > 1 and _has_cells(place) and group[0].indent == margin:
            groups[tuple(map(first_word, group))].append(group)
        group = []
        if place.kind == "yaml" and place.below and _has_cells(place.below):
            blocks.append(place)
    captions: dict[Place, list[Place]] = {}
    for names, own in groups.items():
        values = [{place.line for place in line} for line in zip(*own, strict=True)]
        differ = [at for at, lines in enumerate(values) if len(lines) > 1]
        if len(own) > 1 and differ:
            captions |= {group[differ[0]]: [group[at] for at in differ[1:]] for group in own}
            captions |= {place: [] for place in blocks if first_word(place) == names[0]}
    return captions


def _has_cells(place: Place) -> bool:
    return place.kind in ("row", "table") or len(GAP.findall(place.line)) > 1


def find_positions(places: Sequence[Place]) -> dict[Place, list[Place]]:
    """Map the first line above each part of a CV to the other lines there.

    These are up to three lines above a list or a text, one of them with a period. There are at least two
    such parts.
    """
    found: dict[Place, list[Place]] = {}
    for (run, kind), group in groupby(places, lambda place: (place.run, place.kind)):
        first, *others = group
        below = (others or [first])[-1].below
        if kind != "line" or len(others) >= _LONGEST_HEADER - 1 or below is None or below.run > run + 1:
            continue
        has_period = any(PERIOD.search(place.line) for place in (first, *others))
        if has_period and below.kind in ("list_item", "sentence"):
            found[first] = others
    return found if len(found) > 1 else {}


def find_tasks(places: Sequence[Place]) -> Sequence[Place]:
    """Return the lines that begin the output of tasks of Gradle, if there are two or more."""
    found = [place for place in places if _TASK.match(place.block.line)]
    return found if len(found) > 1 else []


def find_progress(places: Sequence[Place]) -> Sequence[Place]:
    """Return the lines that count the steps of a job, if one of them has output right below."""
    found = ((place, _PROGRESS.match(place.line)) for place in places if place.kind != "sentence")
    steps = [(place, step["all"]) for place, step in found if step]
    counts = Counter(number for _, number in steps)
    counted = [place for place, number in steps if counts[number] > 2]
    others = {*counted, None}
    below = ((place.run, place.below) for place in counted if place.below)
    has_output = any(line not in others and line.run == run for run, line in below)
    return counted if has_output else []


def _part_at_rules(places: Sequence[Place]) -> tuple[str, list[list[Place]]]:
    """Return the most frequent rule, and the parts between all such rules; "" if it does not recur."""
    rules = Counter(place.line.strip() for place in places if is_rule(place.block, place.line))
    rule, count = rules.most_common(1)[0] if rules else ("", 0)
    if count < 2:
        return "", [[]]
    at = [number for number, place in enumerate(places) if place.line.strip() == rule]
    return rule, [list(places[left + 1 : right]) for left, right in pairwise([-1, *at, len(places)])]


def _are_fields(part: Sequence[Place]) -> bool:
    """Return whether lines are names and values of one run."""
    count = sum(place.block.last - place.block.first for place in part)
    are_named = all(place.kind in ("line", "row") and LABEL.match(place.line) for place in part)
    return count > 1 and part[0].run == part[-1].run and are_named


def find_failures(places: Sequence[Place]) -> Iterator[Place]:
    """Yield the lines such as `2) Crane lifts` that begin the failures of a report, below their number.

    The text of a failure may be indented less.
    """
    count = last = 0
    for place in places:
        if found := _FAILURES.fullmatch(place.line):
            count, last = int(found[1]), 0
        elif last < count and place.starts_run and place.line.strip().startswith(f"{last + 1}) "):
            last += 1
            yield place


def find_subjects(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield the first line of each commit in a log of git, and the first line of its message."""
    commit: Place | None = None
    for place in places:
        if _COMMIT.match(place.line):
            commit = place
        elif commit and place.run == commit.run + 1 and place.starts_run and place.indent > commit.indent:
            yield commit, place
            commit = None


def find_reasons(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each line that ends with a position in a file, and the line below, which says what happened."""
    for above, place in pairwise(places):
        if place.run == above.run and place.indent == above.indent and _PLACED.fullmatch(above.line):
            yield above, place
