"""Find the words with which a sentence says something different from its source, in nearly the same words.

This module compares modals, negations, quantifiers, comparatives and other opposites, numbers, and units of
measurement. It compares English words, not meaning. So it misses sentences that are false in another way, and
paraphrases in words that the source does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tersely_agents.summaries.claim_words import (
    BOUNDING,
    COMPARING,
    GRADES,
    MAY_ADD,
    MAY_DROP,
    MONTHS,
    OPPOSITES,
    WEAK_MODALS,
)
from tersely_agents.summaries.claims import Claims, Clause, Mark, Number, has_term, is_same


def find_altered(sentence: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Return the words with which a sentence says something different from its sources, each once.

    They are words that the sentence adds, or words of the sources that it leaves out. Modals, negations and
    quantifiers are compared between clauses: each clause with those of the sources that share the most
    content words with it. A word that is added or left out counts only if both sides have the word that it
    governs: "did not approve" may become "rejected", but not "approved".
    """
    claims, source_claims = Claims(sentence), [Claims(text) for text in sources]
    found = [word for clause in claims.clauses for word in _compare_clause(clause, source_claims)]
    found += _compare_opposites(claims, source_claims)
    found += _compare_numbers(claims, source_claims)
    return tuple(dict.fromkeys(found))


def _compare_clause(clause: Clause, source_claims: Sequence[Claims]) -> list[str]:
    """Return the altered marks of a clause, compared with the most similar clauses of the sources: those of
    the comparison with the fewest alterations."""
    shared = [
        (sum(has_term(source.terms, term) for term in clause.terms), source)
        for other in source_claims
        for source in other.clauses
    ]
    most = max((count for count, _ in shared), default=0)
    if not most:
        return []
    compare: Sequence[Callable[[Clause, Clause], Iterable[str]]] = (
        _compare_modals,
        _compare_negations,
        _compare_quantifiers,
    )
    results = [
        [word for function in compare for word in function(clause, source)]
        for count, source in shared
        if count == most
    ]
    return min(results, key=len)


def _leaves_out(clause: Clause, source: Clause, mark: Mark) -> bool:
    """Return whether a clause repeats most of a source's clause, including the word that `mark` governs. The
    caller knows that the mark itself is missing."""
    repeated = sum(has_term(clause.terms, term) for term in source.terms)
    return 2 * repeated > len(source.terms) and has_term(clause.terms, mark.governed)


def _compare_modals(clause: Clause, source: Clause) -> Iterator[str]:
    marks, source_marks = clause.list_marks("modal"), source.list_marks("modal")
    for mark in marks:
        if any(mark.values & source_mark.values for source_mark in source_marks):
            continue
        if has_term(source.terms, mark.governed) and (source_marks or mark.word not in WEAK_MODALS):
            yield mark.word
    for source_mark in source_marks:
        if not marks and "will" not in source_mark.values and _leaves_out(clause, source, source_mark):
            yield source_mark.word


def _compare_negations(clause: Clause, source: Clause) -> Iterator[str]:
    marks, source_marks = clause.list_marks("negation"), source.list_marks("negation")
    if not source_marks:
        yield from (mark.word for mark in marks if has_term(source.terms, mark.governed))
    if not marks:
        yield from (mark.word for mark in source_marks if _leaves_out(clause, source, mark))


def _compare_quantifiers(clause: Clause, source: Clause) -> Iterator[str]:
    marks, source_marks = clause.list_marks("quantifier"), source.list_marks("quantifier")
    for mark in marks:
        if any(mark.values & source_mark.values for source_mark in source_marks):
            continue
        is_replaced = any(_governs_same(mark, source_mark) for source_mark in source_marks)
        is_exact = mark.governed[:1].isdigit() and not BOUNDING.intersection(source.terms)
        may_add = mark.values & MAY_ADD and not (is_exact and mark.values & {"more_than", "less_than"})
        if has_term(source.terms, mark.governed) and (is_replaced or not may_add):
            yield mark.word
    for source_mark in source_marks:
        is_kept = source_mark.values & MAY_DROP or any(mark.values & source_mark.values for mark in marks)
        if not is_kept and _leaves_out(clause, source, source_mark):
            yield source_mark.word


def _governs_same(one: Mark | Number, other: Mark | Number) -> bool:
    return bool(one.governed) and bool(other.governed) and is_same(one.governed, other.governed)


def _compare_opposites(claims: Claims, source_claims: Sequence[Claims]) -> Iterator[str]:
    """Yield the words whose opposite, or another degree, the sources have instead.

    If the sources also have the word itself, it is yielded only if they say the opposite about the same term.
    Also yield comparing words, such as "than", if the sentence swaps the two things that it compares.
    """
    words = frozenset(word for other in source_claims for word in other.words)
    for word in dict.fromkeys(claims.folded):
        opposites = OPPOSITES.get(word, frozenset()) | _list_degrees(word)
        if word not in words:
            if opposites & words:
                yield word
            continue
        governed = claims.list_governed(word)
        same = [term for other in source_claims for term in other.list_governed(word)]
        wrong = [term for other in source_claims for name in opposites for term in other.list_governed(name)]
        if any(has_term(wrong, term) and not has_term(same, term) for term in governed):
            yield word
        if word in COMPARING and _swaps(claims, word, source_claims):
            yield word


def _list_degrees(word: str) -> frozenset[str]:
    """Return the comparative of a superlative, and the reverse."""
    known = GRADES.get(word, frozenset[str]())
    if len(word) < 5 or not word.endswith(("er", "est")):
        return known
    return known | {f"{word[:-2]}est" if word.endswith("er") else f"{word[:-3]}er"}


def _swaps(claims: Claims, word: str, source_claims: Sequence[Claims]) -> bool:
    """Return whether a sentence swaps the two things that its sources compare."""
    compared = claims.list_compared(word)
    theirs = [term for other in source_claims for terms in other.list_compared(word) for term in terms]
    everything = [term for other in source_claims for term in other.terms]
    mine = [term for terms in compared for term in terms]
    is_turned = any(has_term(claims.terms, term) and not has_term(mine, term) for term in theirs)
    return is_turned and any(
        has_term(everything, terms[0]) and not has_term(theirs, terms[0]) for terms in compared if terms
    )


def _compare_numbers(claims: Claims, source_claims: Sequence[Claims]) -> Iterator[str]:
    """Yield the numbers that have another unit in the sources, and those that the sources replace by another
    number."""
    theirs = [number for other in source_claims for number in other.numbers]
    for number in claims.numbers:
        same = [other for other in theirs if other.value == number.value]
        if same and not any(other.units[: len(number.units)] == number.units for other in same):
            yield " ".join((number.word, *number.units))
        elif not any(_counts_same(number, other) for other in same) and (
            any(_counts_instead(number, other) for other in theirs)
        ):
            yield number.word


def _counts_same(number: Number, other: Number) -> bool:
    """Return whether two equal numbers count the same things."""
    if number.origin and other.origin and number.origin != other.origin:
        return False
    return bool(number.units) or number.governed in MONTHS or _governs_same(number, other)


def _counts_instead(number: Number, other: Number) -> bool:
    """Return whether one number is in the place of the other: with the same unit, or the same word."""
    if number.units and number.units == other.units and not number.origin:
        return True
    alike = number.is_before == other.is_before and number.is_rank == other.is_rank
    return alike and _governs_same(number, other)
