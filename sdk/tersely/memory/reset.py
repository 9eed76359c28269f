"""What a reset makes of a context: first prompt, what stays word for word, notes, and the step held back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tersely.chat.transcript import PER_MESSAGE, Json, size, text_of
from tersely.errors import InvalidInputError
from tersely.memory.shortening import Originals, Shortener
from tersely.prompts import escaped, load_prompt
from tersely.summarize.grounding import identifiers

PINNED_SHARE = 0.5
"""Share of the limit that the first prompt, later system messages and the pins may take."""
USER_SHARE = 0.1
"""Share of the limit up to which the user's later messages survive a reset word for word, newest first. The
first that does not fit is shortened, and of it and of older ones the identifiers survive."""
IDENTIFIER_SHARE = 0.05
"""Share of the limit for those, newest first."""


@dataclass(frozen=True, slots=True)
class Before:
    """What a reset starts from."""

    task: str
    first: Sequence[Json]
    spoken: Sequence[Json]
    """The later messages of system, developer and user, in order, notes left out."""
    held: Sequence[Json]
    """The step that is held back; empty where it is to be dropped or there is none."""
    identifiers: Sequence[str]
    """Those that the last notes named."""
    pins: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class After:
    """What a reset leaves."""

    base: list[Json]
    """The new context, notes last."""
    replayed: list[Json]
    """The step that was held back, shortened where it would not fit."""
    identifiers: list[str]
    originals: Originals


class Resetter:
    """Resets within `limit` tokens, with summaries of at most `summary_tokens`."""

    def __init__(
        self, limit: int, summary_tokens: int, count: Callable[[str], int], shortener: Shortener
    ) -> None:
        self._limit, self._summary_tokens = limit, summary_tokens
        self._count, self._shortener = count, shortener

    def reset(self, before: Before, summary: str) -> After:
        """The context with `summary` in its notes; a longer one than allowed is shortened."""
        kept, left, originals = self._surviving(before)
        held = list(before.held)
        if held and held[0]["role"] in ("system", "developer"):
            kept, held = [*kept, *held], []
        if held and held[0]["role"] == "user":
            left = [*held, *left]
        known = self._known(left, before.identifiers)
        room = self._summary_tokens
        short = self._shortener.fit(summary, room, before.task)
        base = [*before.first, *kept, _note(short, before.pins, known)]
        while size(base, self._count) >= self._limit and room:  # counters need not add up
            room //= 2
            short = self._shortener.fit(summary, room, before.task) if room else ""
            base[-1] = _note(short, before.pins, [])
        left_over = self._limit - size(base, self._count) - 1
        replayed, more = self._shortener.fit_step(held, left_over, before.task) if held else ([], [])
        return After(base, replayed, known, [*originals, *more])

    def check_pinned(self, messages: Sequence[Json], pins: Mapping[str, str]) -> None:
        """Raises InvalidInputError where the messages and the pins would take more than their share."""
        used = size([*messages, _note("", pins, [])], self._count)
        allowed = int(PINNED_SHARE * self._limit)
        if used > allowed:
            raise InvalidInputError(
                f"The first prompt and the pins take {used} tokens, and may take {allowed} of the limit of "
                f"{self._limit}. Raise the limit, or pin less."
            )

    def _surviving(self, before: Before) -> tuple[list[Json], list[Json], Originals]:
        """Messages that stay, in order; those of the user's that do not stay word for word, newest first; and
        the originals of what was shortened."""
        room = int(USER_SHARE * self._limit)
        kept: list[Json] = []
        left: list[Json] = []
        originals: Originals = []
        for message in reversed(before.spoken):
            cost = size([message], self._count)
            if message["role"] != "user":
                kept.append(message)
            elif cost <= room:
                kept.append(message)
                room -= cost
            else:
                left.append(message)
                short, own = self._shortener.shorten(message, room - PER_MESSAGE, before.task)
                if size([short], self._count) <= room:
                    kept.append(short)
                    originals += own
                room = 0  # an older one must not outlive a newer one
        return kept[::-1], left, originals

    def _known(self, left: Sequence[Json], before: Sequence[str]) -> list[str]:
        """Identifiers that the user gave in messages that are gone, newest first, as far as there is room."""
        found = [i for message in left for i in identifiers(text_of(message))]
        room = int(IDENTIFIER_SHARE * self._limit)
        known: list[str] = []
        for identifier in dict.fromkeys([*found, *before]):
            cost = self._count(identifier) + 2
            if cost <= room:
                room -= cost
                known.append(identifier)
        return known


def _note(summary: str, pins: Mapping[str, str], known: Sequence[str]) -> Json:
    pinned = "".join(f"\nPinned, {key}:\n{text}\n" for key, text in pins.items())
    if known:
        pinned += f"\nIdentifiers that the user gave: {', '.join(known)}\n"
    # Tags of ours inside the text would end the notes early.
    text = load_prompt("memory_note").render(summary=escaped(summary, "notes"), pins=pinned)
    return {"role": "user", "content": text}
