"""Chain single-hop questions into questions of two and three hops, because labelled ones are rare.

If the answer of one question is a name in a question about another passage, a description made from the first
question replaces the name:

    Who founded the Orvelle ferry?   Ada Penrose
    Where was Ada Penrose born?      Tarnwick
    Where was the one who founded the Orvelle ferry born?

A chain is dropped if a single sentence could answer it: if the answer is in an earlier passage, or next to
most of the description's rare words.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tersely.metrics import contains_answer
from training.selector_model.questions import Question, split_words

LONGEST_NAME = 5
"""Maximum words of a name."""
SHORTEST_NAME = 5
"""Minimum letters of a name."""
FIRST_QUESTIONS = 3
"""Maximum number of descriptions that one question is chained with."""
NAME_USES = 25
"""Maximum number of chains over one name, so that countries do not crowd out everything else."""
SHARED = 0.4
"""A sentence with the answer and at least this share of the description's weight gives the answer away."""
LONGEST_QUESTION = 40
"""Maximum words of a chained question; the encoder reads 64 tokens of it."""

_WORD = re.compile(r"\w+")
_COMMON = re.compile(
    r"\w+(?:ish|ese|ian|ean|can|ber|uary|ern)|(?:north|south)\w*|march|april|august|senate|house", re.I
)
"""Single words that are a nationality, month or direction, or are too general."""
_AUXILIARY = "is|are|was|were|has|have|had|does|do|did|can|could|will|would|may|might|must|should"
_VERB = re.compile(
    rf"(?:{_AUXILIARY})$|\w{{2,}}(?:[^s]s|ed)$|(?:won|wrote|sang|led|made|gave|took|built|held|became)$"
)
_RULES = (
    (r"(?:who|what) (?:is|are|was|were) ((?:the|an?) .+)", r"\1"),
    (r"(?:who|what)'s (the .+)", r"\1"),
    (r"who (?:did|does|do) (.+)", r"the one whom \1"),
    (r"who (?:is|are|was|were) ([^ ]+(?: [^ ]+){0,2})", r""),
    (r"who (.+)", r"the one who \1"),
    (r"where (?:did|does|do) (.+)", r"the place where \1"),
    (r"where (is|are|was|were) (.+)", r"the place where \2 \1"),
    (r"(?:in|on|at|to|from|of|by|for|with) (?:what|which) (.+?) (?:did|does|do) (.+)", r"the \1 where \2"),
    (
        r"(?:in|on|at|to|from|of|by|for|with) (?:what|which) (.+?) (is|are|was|were) (.+)",
        r"the \1 where \3 \2",
    ),
    (r"(?:what|which) (.+?) (?:did|does|do) (.+)", r"the \1 that \2"),
)
_PATTERNS = [(re.compile(pattern + "$", re.IGNORECASE), form) for pattern, form in _RULES]
_NOUN_FIRST = re.compile(r"(?:what|which) (.+)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chain:
    """A question over several passages."""

    text: str
    hops: tuple[Question, ...]
    """The questions it was made from, in the order in which they have to be answered."""

    @property
    def answers(self) -> tuple[str, ...]:
        return self.hops[-1].answers


def describe(question: str) -> str | None:
    """Return a noun phrase for the thing that a question asks for, or None if no rule fits."""
    text = re.sub(r"\s+", " ", question).strip(" ?.!")
    for pattern, form in _PATTERNS:
        if match := pattern.match(text):
            return match.expand(form) or None
    if match := _NOUN_FIRST.match(text):
        return _relate(match[1].split())
    return None


def _relate(words: list[str]) -> str | None:
    """Turn "river crosses Orvelle" into "the river that crosses Orvelle"."""
    if _VERB.match(words[0].lower()):
        return None
    for place in range(1, min(len(words) - 1, 6)):
        if _VERB.match(words[place].lower()):
            return f"the {' '.join(words[:place])} that {' '.join(words[place:])}"
    return None


class Chainer:
    """Index of questions with one gold passage each, which finds the chains among them."""

    def __init__(self, questions: Sequence[Question], seed: int) -> None:
        self.questions = questions
        self.seed = seed
        self._words = [set(split_words(q.text)) for q in questions]
        self._passages = [_full_text(q) for q in questions]
        counts = Counter(word for text in set(self._passages) for word in set(split_words(text)))
        total = len(set(self._passages)) + 1
        self._idf = {word: float(np.log(total / (1 + n))) for word, n in counts.items()}
        self._most = float(np.log(total))

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of questions: the answer of the first is a name in the second. In random order."""
        rng = random.Random(self.seed)
        by_word: dict[str, list[int]] = defaultdict(list)
        for i, words in enumerate(self._words):
            for word in words:
                by_word[word].append(i)
        firsts: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for i, question in enumerate(self.questions):
            name = get_name(question)
            if name is None or describe(question.text) is None:
                continue
            pattern = _name_pattern(name)
            rarest = min(split_words(name), key=lambda word: len(by_word.get(word, ())))
            for j in by_word.get(rarest, ()):
                if pattern.search(self.questions[j].text) and self._fits(i, j, pattern):
                    firsts[j].append((i, name.lower()))
        uses: Counter[str] = Counter()
        pairs: list[tuple[int, int]] = []
        for j in rng.sample(sorted(firsts), len(firsts)):
            chosen = rng.sample(firsts[j], min(FIRST_QUESTIONS, len(firsts[j])))
            for i, name in chosen:
                if uses[name] < NAME_USES:
                    uses[name] += 1
                    pairs.append((i, j))
        return rng.sample(pairs, len(pairs))

    def chains(self, hops: int) -> Iterator[Chain]:
        """Yield chains of two or three questions, in random order."""
        pairs = self.pairs
        if hops == 2:
            candidates = [list(pair) for pair in pairs]
        else:
            after: dict[int, list[int]] = defaultdict(list)
            for i, j in pairs:
                after[i].append(j)
            candidates = [[i, j, k] for i, j in pairs for k in after.get(j, ())[:FIRST_QUESTIONS]]
            random.Random(self.seed).shuffle(candidates)
        for places in candidates:
            if (chain := self._join(places)) is not None:
                yield chain

    def _fits(self, first: int, second: int, name: re.Pattern[str]) -> bool:
        """Return whether the second question can follow the first.

        The second passage must differ from the first, contain the first answer, and alone contain the second.
        """
        one, two = self.questions[first], self.questions[second]
        return (
            self._passages[first] != self._passages[second]
            and name.search(self._passages[second]) is not None
            and name.search(one.text) is None
            and not any(name.search(answer) for answer in two.answers)
            and not _is_part(name, two)
            and not contains_answer(one.text, two.answers)
            and not contains_answer(self._passages[first], two.answers)
            and not self._gives_away(first, second)
        )

    def _gives_away(self, first: int, last: int) -> bool:
        """Return whether one sentence contains the last answer and most of the first question's words."""
        weights = {word: self._idf.get(word, self._most) for word in self._words[first] - self._words[last]}
        total = sum(weights.values()) or 1.0
        document = self.questions[last].passage
        title = set(split_words(document.title or ""))
        for start, end in document.support:
            held = set(split_words(document.text[max(0, start - 200) : end + 200])) | title
            if sum(weight for word, weight in weights.items() if word in held) >= SHARED * total:
                return True
        return False

    def _join(self, places: Sequence[int]) -> Chain | None:
        hops = tuple(self.questions[i] for i in places)
        text = hops[0].text
        for before, after in itertools.pairwise(hops):
            name, phrase = get_name(before), describe(text)
            if name is None or phrase is None:
                return None
            text = _name_pattern(name).sub(lambda _, phrase=phrase: phrase, after.text, count=1)
        last = places[-1]
        if len(text.split()) > LONGEST_QUESTION or contains_answer(text, hops[-1].answers):
            return None
        if len(places) == 3 and (
            len({self._passages[i] for i in places}) < 3
            or contains_answer(self._passages[places[0]], hops[-1].answers)
            or self._gives_away(places[0], last)
        ):
            return None
        return Chain(text, hops)


def get_name(question: Question) -> str | None:
    """Return the answer if it is a name: capitalised, of one to five words. Otherwise return None."""
    for answer in question.answers:
        name = re.sub(r"^(?:the|a|an) ", "", answer.strip(" .,\"'"), flags=re.IGNORECASE)
        words = name.split()
        is_name = 1 <= len(words) <= LONGEST_NAME and any(word[:1].isupper() for word in words)
        if len(words) == 1 and _COMMON.fullmatch(name):
            continue
        if is_name and sum(map(str.isalpha, name)) >= SHORTEST_NAME and not re.search(r"\d", name):
            return name
    return None


def _name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(
        r"\b(?:the )?" + r"\W+".join(map(re.escape, _WORD.findall(name))) + r"\b", re.IGNORECASE
    )


def _is_part(name: re.Pattern[str], question: Question) -> bool:
    """Return whether the name is only a part of a longer one in the question, like "Baltic" in "Baltic
    Sea"."""
    match = name.search(question.text)
    assert match is not None
    before, after = _WORD.findall(question.text[: match.start()]), _WORD.findall(question.text[match.end() :])
    neighbours = [*before[-1:], *after[:1]]
    if any(word[:1].isupper() for word in [*before[1:][-1:], *after[:1]]):
        return True
    passage = question.passage
    for text in (passage.title or "", passage.text):
        for place in name.finditer(text):
            beside = _WORD.findall(text[: place.start()])[-1:] + _WORD.findall(text[place.end() :])[:1]
            if any(b[:1].isupper() and b.lower() == n.lower() for b in beside for n in neighbours):
                return True
    title = " ".join(split_words(passage.title or ""))
    own = " ".join(split_words(match[0]))
    return any(f"{own} {n.lower()}" in title or f"{n.lower()} {own}" in title for n in neighbours)


def _full_text(question: Question) -> str:
    document = question.passage
    return f"{document.title or ''} {document.text}"
