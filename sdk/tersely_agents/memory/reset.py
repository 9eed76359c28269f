"""When a context is full, and what a reset makes of it: first prompt, what stays word for word, notes, and
the step that was held back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tersely.errors import InvalidInputError
from tersely.messages import Json, get_call_ids, get_text, measure_tokens
from tersely_agents.chat.protocol import Options
from tersely_agents.memory.events import ResetEvent
from tersely_agents.memory.quotes import EARLIER_NOTES, Quote, quote_messages, read_quotes
from tersely_agents.memory.segments import Segment, merge_user_messages
from tersely_agents.memory.settings import SMALLEST_LIMIT, MemorySettings
from tersely_agents.memory.shortening import REFERENCE, Originals, Shortener, Shown, find_source
from tersely_agents.memory.transcript import Count, Transcript
from tersely_agents.prompts import escape_tag, load_prompt
from tersely_agents.summaries.grounding import find_identifiers

PINNED_SHARE = 0.5
"""Share of the limit that system messages and pins may take, and that the first prompt gets with them."""
OPENED_SHARE = 0.6
"""The same where a session is opened: redaction may have made its texts longer."""
TASK_SHARE = 0.15
"""Share of the limit that the user's messages of the first prompt get at least, before they are shortened."""
USER_SHARE = 0.1
"""Share of the limit up to which the user's later messages survive a reset word for word, newest first. The
first that does not fit is shortened, and of it and of older ones the identifiers survive."""
IDENTIFIER_SHARE = 0.05
"""Share of the limit for those, newest first."""

_LATER = ("system", "developer", "user")
"""Roles of messages that neither the model nor a tool wrote."""
_QUESTION = 300
"""Characters at both ends of a long message, where its question stands."""
_TAKEN_OUT = (
    "The conversation so far was longer than fits. These notes stand for the part that was taken out."
)
_NOT_TAKEN_OUT = "These notes are on the conversation so far."

Lookup = Callable[[str], str | None]
"""The original with an id; None where it is not known."""


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
        return is_complete and transcript.tokens_with(message, self.count) >= self.settings.limit

    def may_reset(self, transcript: Transcript) -> bool:
        """Whether a further reset is allowed."""
        most = self.settings.max_summaries
        return most is None or transcript.resets < most

    def takes_out(self, transcript: Transcript) -> bool:
        """Whether a reset would take something out of the context that its notes should stand for."""
        if _has_notes(transcript):
            return True
        if any(m["role"] in ("assistant", "tool") for m in transcript.segment.written):
            return True
        if any(m["role"] == "assistant" for m in transcript.held) and not self.settings.replay:
            return True
        return measure_tokens(transcript.later_messages("user"), self.count) > int(
            USER_SHARE * self.settings.limit
        )

    def check_pinned(
        self, messages: Sequence[Json], pins: Mapping[str, str], share: float = PINNED_SHARE
    ) -> None:
        """Raises InvalidInputError where the system messages among `messages` and the pins would take more
        than their share. The user's messages are never refused: they are shortened."""
        used, limit = self._pinned(messages, pins), self.settings.limit
        allowed = int(share * limit)
        if used > allowed:
            least = max(SMALLEST_LIMIT, int((used + 1) / share) + 1)
            raise InvalidInputError(
                f"The system messages and the pins take {used} tokens, and may take {allowed} of the limit "
                f"of {limit}. Raise the limit to {least}, or pin less."
            )

    def fit_first(
        self, first: Sequence[Shown], later: Sequence[Json] = (), pins: Mapping[str, str] | None = None
    ) -> tuple[list[Shown], Originals]:
        """The first prompt within its share of the limit, next to the `later` system messages and the pins:
        the user's messages are shortened where they have to be."""
        limit, users = self.settings.limit, [s for s in first if s.message["role"] == "user"]
        pinned = self._pinned([*(s.message for s in first), *later], pins or {})
        room = max(int(PINNED_SHARE * limit) - pinned, int(TASK_SHARE * limit))
        if measure_tokens([s.message for s in users], self.count) <= room:
            return list(first), []
        text = get_text(users[-1].message).strip()
        query = text if len(text) <= 2 * _QUESTION else f"{text[:_QUESTION]}\n{text[-_QUESTION:]}"
        shown, originals = self.shortener.fit_newest(users, room, query or None)
        if len(shown) < len(users):
            return [s for s in first if s.message["role"] != "user"] + shown, originals
        left = iter(shown)
        return [next(left) if s.message["role"] == "user" else s for s in first], originals

    def summary_request(self, transcript: Transcript) -> list[Json]:
        """The context and the instruction to summarise it (v_sum). Of a context that is longer than the
        limit, the beginning and the newest steps. Raises InvalidInputError while tool calls are
        unanswered."""
        messages = transcript.messages
        if measure_tokens(messages, self.count) >= self.settings.limit:
            messages = self._newest(transcript)
        return [*messages, self._instruction()]

    def _newest(self, transcript: Transcript) -> list[Json]:
        segment, left = transcript.segment, self.settings.limit
        base = [m for m in segment.base if get_text(m)]
        others = [m for m in base if m["role"] != "user"]
        users = [Shown(m) for m in base if m["role"] == "user"]
        task = transcript.user_request
        begin = [*others, *(s.message for s in self.shortener.fit_newest(users, left // 4, task)[0])]
        left -= measure_tokens(begin, self.count)
        newest: list[Json] = []
        for step in reversed(segment.steps):
            left -= measure_tokens(step.messages, self.count)
            if left <= 0:
                break
            newest = [*step.messages, *newest]
        return merge_user_messages([*begin, *newest])

    def summary_options(self, tools: Sequence[Mapping[str, Any]] | None) -> Options:
        """How the model is asked for a summary. The tools are sent along, unused, because without them the
        prompt would begin differently."""
        most, choice = self.settings.summary_limit, "none" if tools else None
        return {"max_tokens": most, "tools": tools, "tool_choice": choice}

    def extract(self, transcript: Transcript) -> str:
        """The sentences of the context that the user's request needs most, each quoted as what it is."""
        if not self.takes_out(transcript):
            return ""
        # The notes themselves, because the words around them would be taken for a part of the transcript.
        last = transcript.closed[-1].notes if transcript.closed else None
        is_quoted = last is not None and not last.is_by_policy
        notes = read_quotes(transcript.notes) if is_quoted else [Quote(EARLIER_NOTES, transcript.notes)]
        quotes = [
            *quote_messages(transcript.survivors),
            *notes,
            *quote_messages(transcript.segment.written),
        ]
        return self.shortener.extract(transcript.user_request, quotes, self.settings.summary_limit)

    def reset(
        self, transcript: Transcript, summary: str, by: Literal["policy", "extractive"], original: Lookup
    ) -> tuple[ResetEvent, Originals]:
        """The reset with `summary` in its notes, shortened where it is too long, and the originals of what
        was shortened. `original` finds earlier ones."""

        def shown(message: Json) -> Shown:
            key = transcript.original_key(message)
            return find_source(message, key, None if key is None else original(key))

        held = self._held(transcript)
        kept, left, originals = self._surviving(
            [shown(m) for m in transcript.later_messages(*_LATER)], transcript
        )
        if held and held[0]["role"] in ("system", "developer"):
            kept, held = [*kept, *(shown(m) for m in held)], []
        if held and held[0]["role"] == "user":
            left = [*held, *left]
        known = self._known(left, transcript.identifiers)
        later = [s.message for s in kept if s.message["role"] != "user"]
        first, more = self.fit_first([shown(m) for m in transcript.first], later, transcript.pins)
        originals += more
        reserve = REFERENCE if held else 0
        base = [*first, *kept]
        notes = self._notes([s.message for s in base], transcript, summary, by, known, reserve)
        base.append(Shown(notes))
        used = measure_tokens(Segment(tuple(s.message for s in base), follows_reset=True).shown, self.count)
        room, task = self.settings.limit - used - 1, transcript.user_request
        replayed, more = self.shortener.fit_step([shown(m) for m in held], room, task)
        event: ResetEvent = {
            "kind": "reset",
            "request": self._instruction(),
            "answer": {"role": "assistant", "content": summary},
            "by": by,
            "base": [s.message for s in base],
            "replayed": [s.message for s in replayed],
            "identifiers": known,
        }
        if any(s.key for s in (*base, *replayed)):
            event["originals"] = [s.key for s in (*base, *replayed)]
        if tuple(s.message for s in first) != transcript.first:
            event["first"] = [s.message for s in first]
        return event, [*originals, *more]

    def _held(self, transcript: Transcript) -> list[Json]:
        """The step that follows the notes."""
        held = list(transcript.held)
        if not held and transcript.is_over and transcript.segment.steps:
            held = list(transcript.segment.steps[-1].messages)
            # Messages of the user survive by themselves.
            held = held if held[0]["role"] == "assistant" else []
        return held if self.settings.replay or not held or held[0]["role"] != "assistant" else []

    def _notes(
        self,
        kept: Sequence[Json],
        transcript: Transcript,
        summary: str,
        by: Literal["policy", "extractive"],
        known: Sequence[str],
        reserve: int,
    ) -> Json:
        """The notes behind the messages that stay, so that `reserve` tokens are left."""
        room, task, taken = self.settings.summary_limit, transcript.user_request, self.takes_out(transcript)

        def shortened() -> str:
            if by == "extractive" and self.count(summary) > room:
                return self.shortener.fit_notes(summary, room)
            return self.shortener.fit(summary, room, task) if room else ""

        notes = _wrap_notes(shortened(), transcript.pins, known, taken)
        most = self.settings.limit - reserve

        def used() -> int:
            return measure_tokens(Segment((*kept, notes), follows_reset=True).shown, self.count)

        while used() >= most and room:  # counters need not add up
            room //= 2
            notes = _wrap_notes(shortened(), transcript.pins, [], taken)
        return notes

    def _surviving(
        self, later: Sequence[Shown], transcript: Transcript
    ) -> tuple[list[Shown], list[Json], Originals]:
        """Messages that stay, in order; those of the user's that do not stay word for word, newest first; and
        the originals of what was shortened."""
        room = int(USER_SHARE * self.settings.limit)
        kept: list[Shown] = []
        left: list[Json] = []
        originals: Originals = []
        for shown in reversed(later):
            message = shown.message
            cost = measure_tokens([message], self.count)
            if message["role"] != "user":
                kept.append(shown)
            elif cost <= room:
                kept.append(shown)
                room -= cost
            else:
                left.append(message)
                short, own = self.shortener.fit_step([shown], room, transcript.user_request)
                if measure_tokens([s.message for s in short], self.count) <= room:
                    kept += short
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

    def _pinned(self, messages: Sequence[Json], pins: Mapping[str, str]) -> int:
        """Tokens of the system messages and the pins, and of the words around notes."""
        pinned = [m for m in messages if m["role"] != "user"]
        return measure_tokens([*pinned, _wrap_notes("", pins, [], taken=True)], self.count)


def _has_notes(transcript: Transcript) -> bool:
    return bool(transcript.resets) and get_text(transcript.segment.base[-1]).startswith("<notes>")


def _wrap_notes(summary: str, pins: Mapping[str, str], known: Sequence[str], taken: bool) -> Json:
    """The message with notes and pins; empty, where there are none and nothing was taken out."""
    pinned = "".join(f"\nPinned, {key}:\n{text}\n" for key, text in pins.items())
    if known:
        pinned += f"\nIdentifiers that the user gave: {', '.join(known)}\n"
    if not summary and not taken:
        return {"role": "user", "content": pinned.strip("\n") and pinned.lstrip("\n")}
    # Tags of ours inside the text would end the notes early.
    text = load_prompt("memory_note").render(
        about=_TAKEN_OUT if taken else _NOT_TAKEN_OUT,
        summary=escape_tag(summary, "notes") or "Nothing of it was kept.",
        pins=pinned,
    )
    return {"role": "user", "content": text}
