"""Statements of users that later messages must respect. Rules find them. A changed statement replaces the old
one.

"The deadline is April 28."          -> pinned
"The deadline is now May 3."         -> pinned in place of the statement above
"Forget Leipzig, I stay in Kiel."    -> "I stay in Kiel" is pinned in place of statements that name Leipzig
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast, get_args

from tersely_agents.memory.cues import (
    CONCEPT_VALUES,
    CUES,
    IMPERATIVE,
    LABEL,
    LABELS,
    NEGATIVE,
    PAST,
    PERSONAL,
    REPLACED,
    SLOTS,
    UPDATE,
    Kind,
)
from tersely_agents.memory.sentences import find_sentences
from tersely_agents.memory.values import (
    COMMON,
    WORD,
    Value,
    find_topic,
    find_values,
    find_words,
    is_concept,
    occurs,
    split_clauses,
    stem,
)

_MAX_CHARACTERS = 400
"""Largest number of characters in a statement. Longer sentences are probably pasted text."""
_MAX_NAME_CHARACTERS = 80
"""Largest number of characters in an identifier that is kept without its statement."""
_SURE = 1.0
"""Amount added to a score of `_compare` if more than a shared concept supports the replacement. A best score
below this amount counts only if a single pin has it."""
_MAX_STATEMENTS = 12
"""Largest number of statements that one message may add or replace."""


@dataclass(frozen=True)
class Pin:
    """A statement of the user."""

    kind: Kind
    text: str
    """The statement, word for word, without clauses that name only replaced values."""
    strength: int = 1
    """3 if the user named its kind, 2 if its wording is binding, 1 if it only states a fact. 0 if it need not
    be kept, but may still replace another statement."""

    @cached_property
    def all_values(self) -> tuple[Value, ...]:
        return tuple(find_values(self.text))

    @property
    def values(self) -> tuple[Value, ...]:
        """The values that may change while the topic stays."""
        return tuple(value for value in self.all_values if not value.is_subject)

    @property
    def subjects(self) -> frozenset[str]:
        return frozenset(value.text.casefold() for value in self.all_values if value.is_subject)

    @cached_property
    def topic(self) -> frozenset[str]:
        """Stems of the words that say what the statement is about, and the concepts that they name."""
        return find_topic(self.text, self.values)

    @cached_property
    def words(self) -> frozenset[str]:
        """Stems of all words except the values, and the concepts that they name: "=home" for "flat"."""
        return find_topic(self.text, self.values, whole=True)


@dataclass(frozen=True, slots=True)
class PinBoard:
    """The statements of the user: the current ones, and those that were replaced."""

    pins: tuple[Pin, ...] = ()
    replaced: tuple[Pin, ...] = ()
    """Replaced statements, in the order in which they were replaced."""

    def read(self, text: str) -> PinBoard:
        """Return the board after another message of the user."""
        board, found = self, 0
        for sentence in _split_sentences(text):
            if found < _MAX_STATEMENTS:
                after = board._read_sentence(sentence)
                found += after is not board
                board = after
        return board

    def remove_known(self, text: str) -> str:
        """Return the text without the sentences that are pinned or that name a replaced value."""
        stated = {pin.text for pin in self.pins}
        replaced = self._find_replaced_values()
        sentences = [text[start:end].strip() for start, end in find_sentences(text)]
        kept = [
            sentence
            for sentence in sentences
            if _read_label(sentence)[1] not in stated
            and not any(occurs(value, sentence.casefold()) for value in replaced)
        ]
        return text if len(kept) == len(sentences) else " ".join(kept)

    def _find_replaced_values(self) -> list[str]:
        """Return the values of replaced statements that occur in no current statement."""
        current = "\n".join(pin.text for pin in self.pins).casefold()
        texts = dict.fromkeys(v.text.casefold() for pin in self.replaced for v in pin.values)
        return [text for text in texts if len(text) > 2 and not occurs(text, current)]

    def _read_sentence(self, sentence: str) -> PinBoard:
        """Return the board after one more sentence; the same object if the sentence changes nothing."""
        label, body = _read_label(sentence)
        pin = _classify(label, body) or Pin("fact", body, 0)
        old = self._find_replaced(pin)
        if not old and pin.strength == 0:
            return self
        if any(other.text.casefold() == pin.text.casefold() for other in self.pins):
            return self
        text = _remove_replaced(pin.text, old)
        kind, strength = pin.kind, pin.strength
        if old and strength < 2:
            kind, strength = old[-1].kind, max(strength, old[-1].strength)
        new = replace(pin, kind=kind, text=text, strength=strength)
        kept = [other for other in self.pins if other not in old]
        has_content = any(word.casefold() not in COMMON for word in WORD.findall(text))
        return PinBoard((*kept, new) if has_content else tuple(kept), (*self.replaced, *old))

    def _find_replaced(self, new: Pin) -> list[Pin]:
        """Return the pins that a statement replaces."""
        replaced = _find_replaced_words(new.text)
        if replaced:
            named = [pin for pin in self.pins if replaced & find_words(pin.text, names_only=True)]
            if named:
                return [pin for pin in named if _overlap(pin, new) > 0.3] or named
        is_update = UPDATE.search(new.text) is not None
        scores = [_compare(new, pin, is_update=is_update) for pin in self.pins]
        best = max(scores, default=0.0)
        if not best or (best < _SURE and scores.count(best) > 1):
            return []
        return [pin for pin, score in zip(self.pins, scores, strict=True) if score == best][-1:]


def render_pins(pins: Sequence[Pin]) -> str:
    """Write pins as text: a heading for each kind, the most binding first."""
    lines: list[str] = []
    for kind in get_args(Kind):
        texts = [pin.text for pin in pins if pin.kind == kind]
        if texts:
            lines += [f"{kind.capitalize()}s:", *(f"- {' '.join(text.split())}" for text in texts)]
    return "\n".join(lines)


def choose_pins(pins: Sequence[Pin], limit: int, count: Callable[[str], int], weak: float = 1.0) -> list[Pin]:
    """Return pins that fit into `limit` tokens when they are rendered, in order.

    The strongest are taken first. Among equally strong ones, facts and identifiers come last; then newer pins
    come before older ones. A pin that only states something is added only if the text then takes at most the
    share `weak` of the limit.
    """

    def rank(at: int) -> tuple[int, bool, int]:
        return -pins[at].strength, pins[at].kind in ("fact", "identifier"), -at

    chosen: dict[int, Pin] = {}
    for place in sorted(range(len(pins)), key=rank):
        most = limit if pins[place].strength > 1 else int(limit * weak)
        for pin in (pins[place], *_keep_identifiers(pins[place])):
            trial = {**chosen, place: pin}
            if count(render_pins([trial[at] for at in sorted(trial)])) <= most:
                chosen = trial
                break
    return [chosen[at] for at in sorted(chosen)]


def _keep_identifiers(pin: Pin) -> list[Pin]:
    """Return the identifiers of a statement that does not fit, as a shorter pin; empty without
    identifiers."""
    names = [v.text for v in pin.all_values if v.kind == "identifier" and len(v.text) <= _MAX_NAME_CHARACTERS]
    return [Pin("identifier", ", ".join(names))] if names else []


def _split_sentences(text: str) -> Iterable[str]:
    """Yield the sentences that may state something. A line with a label, such as "RULE: ...", stays whole."""
    begin = 0
    for line in re.finditer(r"[^\n]+", text):
        label, _ = _read_label(line[0])
        if label and len(line[0]) <= _MAX_CHARACTERS:
            yield from _cut_sentences(text[begin : line.start()])
            yield line[0].strip()
            begin = line.end()
    yield from _cut_sentences(text[begin:])


def _cut_sentences(text: str) -> Iterable[str]:
    for start, end in find_sentences(text):
        sentence = text[start:end].strip().strip("*_ ")
        if 3 < len(sentence) <= _MAX_CHARACTERS and not sentence.endswith(("?", "？")):
            yield sentence


def _read_label(sentence: str) -> tuple[Kind | None, str]:
    match = LABEL.match(sentence)
    if match:
        for kind, pattern in LABELS.items():
            if pattern.fullmatch(match["label"].strip()):
                return kind, match["body"]
    return None, sentence.lstrip("-*• ")


def _classify(label: Kind | None, text: str) -> Pin | None:
    """Return the statement with its kind; None if it states nothing that must be kept."""
    if label is not None:
        return Pin(label, text, 3)
    if NEGATIVE.match(text):
        return Pin("rule", text, 2)
    for kind, pattern in CUES.items():
        if pattern.search(text):
            return Pin(kind, text, 2)
    if IMPERATIVE.match(text):
        return Pin("preference", text, 2)
    if PAST.search(text) and not UPDATE.search(text):
        return None
    values = find_values(text)
    if values or PERSONAL.search(text):
        is_identifier = any(value.kind == "identifier" for value in values)
        return Pin("identifier" if is_identifier else "fact", text, 1)
    return None


def _overlap(one: Pin, other: Pin) -> float:
    """Return the share of the smaller topic that is also in the other topic."""
    least = min(len(one.topic), len(other.topic))
    return len(one.topic & other.topic) / least if least else 0.0


def _compare(new: Pin, old: Pin, *, is_update: bool) -> float:
    """Return a score for a statement that replaces another one; 0 if it does not replace it."""
    topic_words, topic_concepts = _split_concepts(new.topic & old.topic)
    words, concepts = _split_concepts(new.words & old.words)
    generic = {stem(w[0].casefold()) for w in WORD.finditer(new.text) if is_concept(w[0])}
    score = sum(0.5 if word in generic else 1.0 for word in words) + _overlap(new, old)
    # An update of the same subject, such as "Gate 4".
    if is_update and topic_words and new.subjects & old.subjects:
        return score + _SURE
    # Two values that exclude each other, such as two tones for answers.
    if topic_concepts and _differ(new.all_values, old.all_values, tuple(SLOTS)):
        return score + _SURE
    # An update of the same thing, such as another date for a deadline.
    kinds = [kind for name in (concepts if words else topic_concepts) for kind in CONCEPT_VALUES[name[1:]]]
    if is_update and kinds and _differ(new.all_values, old.all_values, kinds):
        return score + (_SURE if words else 0)
    # From here on, the values must differ, and the subjects must be the same.
    if not _differ(new.values, old.values) or new.subjects != old.subjects:
        return 0.0
    # An update that names the old value, such as "Kiel instead of Leipzig".
    folded = new.text.casefold()
    names_old = any(occurs(v.text.casefold(), folded) for v in old.values if v.kind == "name")
    if is_update and names_old and (topic_words or topic_concepts or find_words(new.text) & old.topic):
        return score + _SURE
    # The same topic, even if no word announces an update.
    is_within = new.topic <= old.topic or old.topic <= new.topic
    if is_within and (len(topic_words) > 1 or (topic_words and new.topic == old.topic)):
        return score + _SURE
    # An update of mostly the same topic.
    return score + _SURE if is_update and topic_words and _overlap(new, old) > 0.5 else 0.0


def _split_concepts(names: frozenset[str]) -> tuple[set[str], set[str]]:
    """Return the words and the concepts, such as "=home", of names that statements share."""
    concepts = {name for name in names if name[0] == "="}
    return {*names} - concepts, concepts


def _differ(new: Sequence[Value], old: Sequence[Value], kinds: Sequence[str] = ()) -> bool:
    """Return whether both have values of the same kind, but different ones."""
    shared = {v.kind for v in new} & {v.kind for v in old}
    return any(
        {v.text.casefold() for v in new if v.kind == kind}
        != {v.text.casefold() for v in old if v.kind == kind}
        for kind in shared
        if not kinds or kind in kinds
    )


def _find_replaced_words(text: str) -> set[str]:
    """Return stems of the names that come after a word such as "forget" in the same clause."""
    words: set[str] = set()
    for start, end in split_clauses(text):
        match = REPLACED.search(text, start, end)
        if match:
            words |= find_words(text[match.start() : end], names_only=True) - find_words(match[0])
    return words


def _remove_replaced(text: str, old: Sequence[Pin]) -> str:
    """Return a statement without its clauses about the `old` pins that it replaces.

    First try to drop the clauses that begin with a word such as "forget". If this would drop nothing or
    everything, drop the clauses that name a replaced value but no new one. Drop nothing if no clause names a
    new value.
    """
    clauses = [text[start:end] for start, end in split_clauses(text)]
    kept = [clause for clause in clauses if not REPLACED.match(clause.lstrip())]
    if not old or not kept or len(kept) == len(clauses):
        replaced = {v.text.casefold() for pin in old for v in pin.values}
        new = {v.text.casefold() for v in find_values(text)} - replaced
        is_new = [any(occurs(value, clause.casefold()) for value in new) for clause in clauses]
        is_old = [any(occurs(value, clause.casefold()) for value in replaced) for clause in clauses]
        kept = [c for c, fresh, stale in zip(clauses, is_new, is_old, strict=True) if fresh or not stale]
        if not any(is_new):
            return text
    if len(kept) == len(clauses):
        return text
    left = "".join(kept).strip().rstrip(",;: –—-")
    return left if left.endswith((".", "!")) or not text.endswith(".") else f"{left}."


def dump_pins(pins: Iterable[Pin]) -> list[list[str | int]]:
    """Return pins as JSON values."""
    return [[pin.kind, pin.text, pin.strength] for pin in pins]


def load_pins(rows: Iterable[Sequence[str | int]]) -> tuple[Pin, ...]:
    """Return pins from the values of `dump_pins`."""
    return tuple(Pin(cast("Kind", kind), str(text), int(strength)) for kind, text, strength in rows)
