"""When a context is full, and what a reset makes of it: first prompt, what stays word for word, notes, and
the step that was held back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tersely.chat.messages import (
    PER_MESSAGE,
    Json,
    get_call_ids,
    get_text,
    measure_tokens,
    render_messages,
)
from tersely.chat.protocol import Options
from tersely.errors import InvalidInputError
from tersely.memory.events import ResetEvent
from tersely.memory.settings import MemorySettings
from tersely.memory.shortening import Originals, Shortener
from tersely.memory.transcript import Count, Transcript
from tersely.prompts import escape_tag, load_prompt
from tersely.summarize.grounding import find_identifiers

PINNED_SHARE = 0.5
"""Share of the limit that the first prompt, later system messages and the pins may take."""
USER_SHARE = 0.1
"""Share of the limit up to which the user's later messages survive a reset word for word, newest first. The
first that does not fit is shortened, and of it and of older ones the identifiers survive."""
IDENTIFIER_SHARE = 0.05
"""Share of the limit for those, newest first."""

_LATER = ("system", "developer", "user")
"""Roles of messages that neither the model nor a tool wrote."""


@dataclass(frozen=True, slots=True)
class Resetter:
    """Decides on resets within the limits of `settings`. Changes nothing."""

    settings: MemorySettings
    count: Count
    shortener: Shortener

    def fills(self, transcript: Transcript, message: Json) -> bool:
        """Whether the message completes a step with which the context reaches the limit."""
        waiting = [i for i in transcript.unanswered if i != message.get("tool_call_id")]
        is_complete = not waiting and not (message["role"] == "assistant" and get_call_ids(message))
        return (
            is_complete and transcript.tokens + measure_tokens([message], self.count) >= self.settings.limit
        )

    def may_reset(self, transcript: Transcript) -> bool:
        """Whether a further reset is allowed."""
        most = self.settings.max_summaries
        return most is None or transcript.resets < most

    def check_pinned(self, messages: Sequence[Json], pins: Mapping[str, str]) -> None:
        """Raises InvalidInputError where the messages and the pins would take more than their share."""
        used = measure_tokens([*messages, _wrap_notes("", pins, [])], self.count)
        allowed = int(PINNED_SHARE * self.settings.limit)
        if used > allowed:
            raise InvalidInputError(
                f"The first prompt and the pins take {used} tokens, and may take {allowed} of the limit of "
                f"{self.settings.limit}. Raise the limit, or pin less."
            )

    def summary_request(self, transcript: Transcript) -> list[Json]:
        """The context and the instruction to summarise it (v_sum). Raises InvalidInputError while tool calls
        are unanswered."""
        return [*transcript.messages, self._instruction()]

    def summary_options(self, tools: Sequence[Mapping[str, Any]] | None) -> Options:
        """How the model is asked for a summary. The tools are sent along, unused, because without them the
        prompt would begin differently."""
        most, choice = self.settings.summary_limit, "none" if tools else None
        return {"max_tokens": most, "tools": tools, "tool_choice": choice}

    def extract(self, transcript: Transcript) -> str:
        """The sentences of the context that the user's request needs most."""
        steps = [render_messages(step.messages) for step in transcript.segment.steps]
        # The notes themselves, because the words around them would be taken for a part of the transcript.
        kept = [*(get_text(message) for message in transcript.survivors), transcript.notes]
        most = self.settings.summary_limit
        return self.shortener.extract(transcript.user_request, [*kept, *steps], most)

    def reset(
        self, transcript: Transcript, summary: str, by: Literal["policy", "extractive"]
    ) -> tuple[ResetEvent, Originals]:
        """The reset with `summary` in its notes, shortened where it is too long, and the originals of what
        was shortened."""
        held = list(transcript.held)
        if held and held[0]["role"] == "assistant" and not self.settings.replay:
            held = []
        kept, left, originals = self._surviving(transcript)
        if held and held[0]["role"] in ("system", "developer"):
            kept, held = [*kept, *held], []
        if held and held[0]["role"] == "user":
            left = [*held, *left]
        known = self._known(left, transcript.identifiers)
        base = self._base([*transcript.first, *kept], transcript, summary, known)
        room = self.settings.limit - measure_tokens(base, self.count) - 1
        task = transcript.user_request
        replayed, more = self.shortener.fit_step(held, room, task) if held else ([], [])
        event: ResetEvent = {
            "kind": "reset",
            "request": self._instruction(),
            "answer": {"role": "assistant", "content": summary},
            "by": by,
            "base": base,
            "replayed": replayed,
            "identifiers": known,
        }
        return event, [*originals, *more]

    def _base(
        self, kept: Sequence[Json], transcript: Transcript, summary: str, known: Sequence[str]
    ) -> list[Json]:
        """The messages that stay, and the notes behind them."""
        room, task = self.settings.summary_limit, transcript.user_request
        short = self.shortener.fit(summary, room, task)
        base = [*kept, _wrap_notes(short, transcript.pins, known)]
        while measure_tokens(base, self.count) >= self.settings.limit and room:  # counters need not add up
            room //= 2
            short = self.shortener.fit(summary, room, task) if room else ""
            base[-1] = _wrap_notes(short, transcript.pins, [])
        return base

    def _surviving(self, transcript: Transcript) -> tuple[list[Json], list[Json], Originals]:
        """Messages that stay, in order; those of the user's that do not stay word for word, newest first; and
        the originals of what was shortened."""
        room = int(USER_SHARE * self.settings.limit)
        kept: list[Json] = []
        left: list[Json] = []
        originals: Originals = []
        for message in reversed(transcript.later_messages(*_LATER)):
            cost = measure_tokens([message], self.count)
            if message["role"] != "user":
                kept.append(message)
            elif cost <= room:
                kept.append(message)
                room -= cost
            else:
                left.append(message)
                short, own = self.shortener.shorten(message, room - PER_MESSAGE, transcript.user_request)
                if measure_tokens([short], self.count) <= room:
                    kept.append(short)
                    originals += own
                room = 0  # an older one must not outlive a newer one
        return kept[::-1], left, originals

    def _known(self, left: Sequence[Json], before: Sequence[str]) -> list[str]:
        """Identifiers that the user gave in messages that are gone, newest first, as far as there is room."""
        given = [i for message in left for i in find_identifiers(get_text(message))]
        room = int(IDENTIFIER_SHARE * self.settings.limit)
        known: list[str] = []
        for identifier in dict.fromkeys([*given, *before]):
            cost = self.count(identifier) + 2
            if cost <= room:
                room -= cost
                known.append(identifier)
        return known

    def _instruction(self) -> Json:
        words = str(max(20, self.settings.summary_limit * 2 // 3))
        return {"role": "user", "content": load_prompt("memory_request").render(words=words)}


def _wrap_notes(summary: str, pins: Mapping[str, str], known: Sequence[str]) -> Json:
    pinned = "".join(f"\nPinned, {key}:\n{text}\n" for key, text in pins.items())
    if known:
        pinned += f"\nIdentifiers that the user gave: {', '.join(known)}\n"
    # Tags of ours inside the text would end the notes early.
    text = load_prompt("memory_note").render(summary=escape_tag(summary, "notes"), pins=pinned)
    return {"role": "user", "content": text}
