"""Decide when a context must be reset, and what the new context holds.

It holds the first prompt, later messages, notes, and the step that was held back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tersely.errors import InvalidInputError
from tersely.messages import Json, get_call_ids, get_text, measure_tokens
from tersely_agents.chat.protocol import Options
from tersely_agents.memory.notes import (
    EARLIER_NOTES,
    LEFT_OUT,
    Quote,
    extract_notes,
    quote_messages,
    read_quotes,
    wrap_notes,
)
from tersely_agents.memory.pins import Pin, choose_pins, dump_pins, render_pins
from tersely_agents.memory.segments import Segment, merge_user_messages
from tersely_agents.memory.settings import SMALLEST_LIMIT, MemorySettings
from tersely_agents.memory.shortening import (
    REFERENCE_TOKENS,
    ContextMessage,
    Originals,
    Shortener,
    find_source,
    list_messages,
)
from tersely_agents.memory.transcript import Count, ResetEvent, Transcript
from tersely_agents.prompts import load_prompt

PINNED_SHARE = 0.5
"""Share of the limit that the first prompt, later system messages and pins may take together."""
HELD_SHARE = 0.5
"""Share of the limit for the messages that are held back."""
OPENED_SHARE = 0.6
"""`PINNED_SHARE` for a stored session. It is larger, because redaction may have made texts longer."""
TASK_SHARE = 0.15
"""Share of the limit that the user's messages of the first prompt may always take, even with many pins."""
USER_SHARE = 0.1
"""Share of the limit for the user's newest message. A longer one is shortened."""
STATEMENT_SHARES = (0.05, 0.15)
"""Smallest and largest share of the limit for statements of users. The smallest is always reserved. Beyond
it, statements get the room that system messages, pins and the first prompt do not use of their share."""
WEAK_SHARE = 0.75
"""Share of the room for statements that mere facts may fill. Requests and rules may fill all of it."""

_STATEMENTS_PER_NOTES = 3
"""Largest ratio of the tokens of statements to the tokens of notes."""
_OUTSIDE_ROLES = ("system", "developer", "user")
"""Roles of messages that come from outside, neither from the model nor from a tool."""
_QUESTION_CHARACTERS = 300
"""Number of characters at each end of a long message that serve as the query, because a question is likely
there."""

Lookup = Callable[[str], str | None]
"""A function that returns an original by its id, or None if the id is unknown."""


@dataclass(frozen=True, slots=True)
class Resetter:
    """The rules of resets, with the limits of `settings`. No method changes a transcript."""

    settings: MemorySettings
    count: Count
    shortener: Shortener

    def must_hold_back(self, transcript: Transcript, message: Json) -> bool:
        """Return whether the message completes a step that must be held back, because the context is full or
        would reach the limit with it."""
        waiting = [i for i in transcript.unanswered if i != message.get("tool_call_id")]
        is_complete = not waiting and not (message["role"] == "assistant" and get_call_ids(message))
        if not is_complete or transcript.is_full:
            return is_complete
        return transcript.tokens_with(message, self.count) >= self.settings.limit

    def holds_too_much(self, transcript: Transcript, message: Json) -> bool:
        """Return whether the messages that are held back, with this one, would take more than half of the
        limit."""
        if len(transcript.held) < 2 or transcript.open_step:
            return False
        held = measure_tokens([*transcript.held, message], self.count)
        return held > self.settings.share(HELD_SHARE)

    def may_reset(self, transcript: Transcript) -> bool:
        max_resets = self.settings.max_summaries
        return max_resets is None or transcript.resets < max_resets

    def removes_messages(self, transcript: Transcript) -> bool:
        """Return whether a reset would remove something from the context, so that notes are needed."""
        if transcript.resets and get_text(transcript.segment.base[-1]).startswith(("<notes>", LEFT_OUT)):
            return True
        if any(m["role"] in ("assistant", "tool") for m in transcript.segment.written):
            return True
        if not self.settings.replay and any(m["role"] == "assistant" for m in transcript.held):
            return True
        users = transcript.later_messages("user")
        return len(users) > 1 or measure_tokens(users, self.count) > self.settings.share(USER_SHARE)

    def check_pinned(
        self, messages: Sequence[Json], pins: Mapping[str, str], share: float = PINNED_SHARE
    ) -> None:
        """Raise InvalidInputError if the system messages among `messages` and the pins take more than their
        share. The user's messages are never refused: they are shortened."""
        used, limit = self._measure_pinned(messages, pins), self.settings.limit
        allowed = self.settings.share(share)
        if used > allowed:
            least = max(SMALLEST_LIMIT, int((used + 1) / share) + 1)
            raise InvalidInputError(
                f"The system messages and the pins take {used} tokens, and may take {allowed} of the limit "
                f"of {limit}. Raise the limit to {least}, or pin less."
            )

    def fit_first(
        self,
        first: Sequence[ContextMessage],
        later: Sequence[Json] = (),
        pins: Mapping[str, str] | None = None,
    ) -> tuple[list[ContextMessage], Originals]:
        """Shorten the user's messages of the first prompt, if it is longer than its share of the limit. The
        `later` system messages and the pins take from this share."""
        users = [s for s in first if s.message["role"] == "user"]
        pinned = self._measure_pinned([*list_messages(first), *later], pins or {})
        room = max(self.settings.share(PINNED_SHARE) - pinned, self.settings.share(TASK_SHARE))
        if measure_tokens(list_messages(users), self.count) <= room:
            return list(first), []
        text, end = get_text(users[-1].message).strip(), _QUESTION_CHARACTERS
        query = text if len(text) <= 2 * end else f"{text[:end]}\n{text[-end:]}"
        shown, originals = self.shortener.fit_newest([[user] for user in users], room, query or None)
        if len(shown) < len(users):
            return [s for s in first if s.message["role"] != "user"] + shown, originals
        left = iter(shown)
        return [next(left) if s.message["role"] == "user" else s for s in first], originals

    def summary_request(self, transcript: Transcript) -> list[Json]:
        """Return the context and the instruction to summarise it (v_sum). If the context reaches the limit,
        take its beginning and its newest steps. Raises InvalidInputError while tool calls are
        unanswered."""
        messages = transcript.messages
        if measure_tokens(messages, self.count) >= self.settings.limit:
            messages = self._cut_context(transcript)
        return [*messages, self._instruction()]

    def _cut_context(self, transcript: Transcript) -> list[Json]:
        """Return the beginning of the context, shortened, and as many of its newest steps as fit."""
        segment, left = transcript.segment, self.settings.limit
        base = [m for m in segment.base if get_text(m)]
        others = [m for m in base if m["role"] != "user"]
        users = [ContextMessage(m) for m in base if m["role"] == "user"]
        task = transcript.user_request
        short_users, _ = self.shortener.fit_newest([[user] for user in users], left // 4, task)
        begin = [*others, *list_messages(short_users)]
        left -= measure_tokens(begin, self.count)
        newest: list[Json] = []
        for step in reversed(segment.steps):
            left -= measure_tokens(step.messages, self.count)
            if left <= 0:
                break
            newest = [*step.messages, *newest]
        return merge_user_messages([*begin, *newest])

    def summary_options(self, tools: Sequence[Mapping[str, Any]] | None) -> Options:
        """Return the options of a request for a summary. The tools cannot be called: they are sent so that
        the prompt begins as before."""
        max_tokens, choice = self.settings.summary_limit, "none" if tools else None
        return {"max_tokens": max_tokens, "tools": tools, "tool_choice": choice}

    def extract(self, transcript: Transcript) -> str:
        """Quote the sentences of the context that the user's request needs most."""
        if not self.removes_messages(transcript):
            return ""
        last = transcript.closed[-1].notes if transcript.closed else None
        is_quoted = last is not None and not last.is_by_policy
        notes = read_quotes(transcript.notes) if is_quoted else [Quote(EARLIER_NOTES, transcript.notes)]
        messages = [*transcript.survivors, *transcript.segment.written]
        if messages and messages[-1]["role"] == "user":
            messages.pop()  # `_keep_later` keeps the newest one
        quotes = [*notes, *quote_messages(messages)]
        quotes = [quote._replace(text=transcript.board.remove_known(quote.text)) for quote in quotes]
        total_room = self._measure_room(transcript)
        statements = render_pins(self._choose_statements(transcript, transcript.first, total_room))
        room = min(self.settings.summary_limit, total_room - self.count(statements))
        return extract_notes(self.shortener, transcript.user_request, quotes, room)

    def reset(
        self, transcript: Transcript, summary: str, by: Literal["policy", "extractive"], lookup: Lookup
    ) -> tuple[ResetEvent, Originals]:
        """Return the reset with `summary` in its notes, shortened if it is too long, and the originals of all
        that was shortened."""

        def trace(message: Json) -> ContextMessage:
            key = transcript.original_key(message)
            return find_source(message, key, None if key is None else lookup(key))

        held = self._find_held(transcript)
        later = [trace(m) for m in transcript.later_messages(*_OUTSIDE_ROLES)]
        kept, originals = self._keep_later(later, transcript)
        kept += [trace(m) for m in held if m["role"] in ("system", "developer")]
        held = [m for m in held if m["role"] not in ("system", "developer")]
        system = [m for m in list_messages(kept) if m["role"] != "user"]
        first, more = self.fit_first([trace(m) for m in transcript.first], system, transcript.pins)
        originals += more
        reserve = REFERENCE_TOKENS if held else 0
        base = [*first, *kept]
        notes = self._write_notes(list_messages(base), transcript, summary, by, reserve)
        base.append(ContextMessage(notes))
        used = measure_tokens(Segment(tuple(list_messages(base)), follows_reset=True).shown, self.count)
        room, task = self.settings.limit - used - 1, transcript.user_request
        steps = [[trace(m) for m in step] for step in _split_steps(held)]
        replayed, more = self.shortener.fit_newest(steps, room, task)
        event: ResetEvent = {
            "kind": "reset",
            "request": self._instruction(),
            "answer": {"role": "assistant", "content": summary},
            "by": by,
            "base": list_messages(base),
            "replayed": list_messages(replayed),
            "found": dump_pins(transcript.board.pins),
        }
        keys = [shown.key for shown in (*base, *replayed)]
        if any(keys):
            event["originals"] = keys
        if tuple(list_messages(first)) != transcript.first:
            event["first"] = list_messages(first)
        return event, [*originals, *more]

    def _find_held(self, transcript: Transcript) -> list[Json]:
        """Return the messages that follow the notes in the new context."""
        held = list(transcript.held)
        if not held and transcript.is_over and transcript.segment.steps:
            held = list(transcript.segment.steps[-1].messages)
            # `_keep_later` takes care of the messages of the user.
            held = held if held[0]["role"] == "assistant" else []
        return held if self.settings.replay else [m for m in held if m["role"] not in ("assistant", "tool")]

    def _write_notes(
        self,
        kept: Sequence[Json],
        transcript: Transcript,
        summary: str,
        by: Literal["policy", "extractive"],
        reserve: int,
    ) -> Json:
        """Return the notes that follow the `kept` messages, so that `reserve` tokens stay free."""
        is_taken_out, task = self.removes_messages(transcript), transcript.user_request
        total_room = self._measure_room(transcript)
        notes_room = self.settings.summary_limit
        if by == "policy":
            summary = self.shortener.fit(summary, notes_room, task) if notes_room else ""
            total_room -= self.count(summary)
        while True:
            statements = render_pins(self._choose_statements(transcript, kept, total_room))
            if by == "policy":
                text = self.shortener.fit(summary, notes_room, task) if notes_room else ""
            else:
                text, left = summary, min(notes_room, total_room - self.count(statements))
                if self.count(summary) > left:
                    text = extract_notes(self.shortener, task, read_quotes(summary), left)
            notes = wrap_notes(text, transcript.pins, statements, is_taken_out)
            used = measure_tokens(Segment((*kept, notes), follows_reset=True).shown, self.count)
            if used < self.settings.limit - reserve or not (notes_room or total_room):
                return notes
            # Halve the room: the texts together may have more tokens than the sum of their counts.
            notes_room, total_room = notes_room // 2, total_room // 2

    def _measure_room(self, transcript: Transcript) -> int:
        """Return how many tokens the notes and the user's statements may have together."""
        least, largest = (self.settings.share(share) for share in STATEMENT_SHARES)
        used = self._measure_pinned(
            [*transcript.first, *transcript.later_messages("system", "developer")], transcript.pins
        )
        users = measure_tokens([m for m in transcript.first if m["role"] == "user"], self.count)
        free = least + self.settings.share(PINNED_SHARE) - used - users
        notes = self.settings.summary_limit
        return notes + max(least, min(largest, free, _STATEMENTS_PER_NOTES * notes))

    def _choose_statements(self, transcript: Transcript, kept: Sequence[Json], room: int) -> list[Pin]:
        """Return the user's statements that the kept messages do not already contain."""
        texts = [get_text(m) for m in kept]
        pins = [pin for pin in transcript.board.pins if not any(pin.text in text for text in texts)]
        return choose_pins(pins, room, self.count, WEAK_SHARE)

    def _keep_later(
        self, later: Sequence[ContextMessage], transcript: Transcript
    ) -> tuple[list[ContextMessage], Originals]:
        """Return the `later` messages that are kept, and the original of one that was shortened.

        System messages are kept, and so is the user's newest message if it can be shortened to its share.
        """
        newest = next((s for s in reversed(later) if s.message["role"] == "user"), None)
        kept: list[ContextMessage] = []
        originals: Originals = []
        for shown in later:
            if shown.message["role"] != "user":
                kept.append(shown)
            elif shown is newest:
                room = self.settings.share(USER_SHARE)
                short, more = self.shortener.fit_step([shown], room, transcript.user_request)
                if measure_tokens(list_messages(short), self.count) <= max(room, REFERENCE_TOKENS):
                    kept += short
                    originals += more
        return kept, originals

    def _instruction(self) -> Json:
        words = str(max(20, self.settings.summary_limit * 2 // 3))
        return {"role": "user", "content": load_prompt("memory_request").render(words=words)}

    def _measure_pinned(self, messages: Sequence[Json], pins: Mapping[str, str]) -> int:
        """Count the tokens of the system messages, of the pins, and of the words around notes."""
        system = [m for m in messages if m["role"] != "user"]
        return measure_tokens([*system, wrap_notes("", pins, "", is_taken_out=True)], self.count)


def _split_steps(messages: Sequence[Json]) -> list[list[Json]]:
    """Split messages into steps: a message and the tool results that follow it."""
    steps: list[list[Json]] = []
    for message in messages:
        if message["role"] == "tool":
            steps[-1].append(message)
        else:
            steps.append([message])
    return steps
