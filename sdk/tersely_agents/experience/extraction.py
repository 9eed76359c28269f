"""Extract experiences with a chat model, and format them for a prompt (Evolving Rollouts, appendix B.1).

First each attempt is condensed to JSON. Then one prompt compares all attempts at a problem.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import Any, TypeVar, cast

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import check_list, check_members, check_text, show_value
from tersely.messages import render_messages
from tersely.runtime.limits import parse_json
from tersely.tokens import ApproximateCounter
from tersely_agents.chat.protocol import ChatModel, Message, complete_safely, remove_thoughts
from tersely_agents.experience.types import Experience, ExperienceError, Origin, Recalled
from tersely_agents.prompts import escape_tag, load_prompt

SUCCESS = 0.5
"""Smallest reward of an attempt that counts as a success (table 3)."""
MAX_EXPERIENCES = 5
"""Largest number of experiences from one group of attempts."""
LOG_TOKENS = 8000
"""Largest number of tokens of an attempt that the model reads, by the built-in estimate. An attempt with
several resets is longer than a model can read."""
TRIES = 2
"""Number of calls of the model before an answer that cannot be read is an error."""

_JSON_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_FIELDS = ("TITLE", "DESCRIPTION", "CONTENT")
_LESSON_HEADING = re.compile(r"^[ \t]*\**EXPERIENCE\s+\d+\s*:?\**[ \t]*$", re.MULTILINE | re.IGNORECASE)

_ASK_OUTCOME = (
    "OUTCOME: success if the lesson comes from what a successful attempt did, failure if it comes from what "
    "went wrong in another one"
)
_OUTCOME = re.compile(r"\W*(success|failure)\b", re.IGNORECASE)
_OUTCOMES = {True: "from a success", False: "from a failure"}

T = TypeVar("T")
Lesson = tuple[str, str, str, bool | None]
"""Title, description, content, and whether it comes from a success; None if the model was not asked."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a problem. Raises InvalidInputError for messages or a reward that cannot be used."""

    messages: Sequence[Message]
    reward: float
    """The reward, in [0, 1]."""

    def __post_init__(self) -> None:
        remedy = "Pass a list of messages."
        messages: list[Mapping[str, Any]] = check_list(self.messages, Mapping, "messages", remedy)
        for message in messages:
            check_text(message.get("role"), "The role of a message")
        reward: object = self.reward
        if not isinstance(reward, Real) or not 0 <= float(reward) <= 1:
            raise InvalidInputError(f"reward is {show_value(reward)}. Pass a number from 0 to 1.")

    @property
    def success(self) -> bool:
        return self.reward >= SUCCESS


def condense(model: ChatModel, problem: str, attempt: Attempt) -> dict[str, Any]:
    """Condense an attempt to {"plan", "steps", "takeaways"} (equation 7).

    The model is asked for steps with "intent", "tool", "query_strategy", "url_selection_strategy",
    "extraction_focus", "observation" and "key_information_extracted". Steps keep anything else that the model
    puts into them.

    If an attempt is longer than `LOG_TOKENS`, the bundled model selects the sentences that the problem needs,
    and the chat model reads those.

    Raises:
        ExperienceError: the model gives no such object.
        ChatError: the model does not answer.
        InvalidInputError: another argument cannot be used.
    """
    _check_arguments(model, problem, [attempt])
    log = render_messages(attempt.messages)
    if ApproximateCounter().count(log) > LOG_TOKENS:
        documents = [render_messages([message]) for message in attempt.messages]
        log = _load_compressor().compress(problem, documents, budget=LOG_TOKENS).text
    prompt = load_prompt("experience_step").render(problem=problem, log=log)
    return _ask(model, prompt, _parse_condensed)


def extract(
    model: ChatModel,
    problem: str,
    attempts: Sequence[Attempt],
    *,
    expected: str | None = None,
    run: str | None = None,
) -> list[Experience]:
    """Extract one to five experiences from successful and failed attempts at a problem (equation 8).

    If some attempts succeeded and others failed, the model says for each experience which of the two it comes
    from. Otherwise all attempts have one outcome, and every experience gets it.

    Args:
        model: compares the attempts and writes the experiences.
        problem: the problem that was attempted.
        attempts: at least one.
        expected: the right answer, which the model sees next to failed attempts.
        run: name of the run, for the origin of the experiences.

    Raises:
        ExperienceError: there is no attempt, or the model's answer cannot be read.
        ChatError: the model does not answer.
        InvalidInputError: another argument cannot be used.
    """
    attempts = _check_arguments(model, problem, attempts)
    for name, value in (("expected", expected), ("run", run)):
        if value is not None:
            check_text(value, name, "Pass text, or None.")
    if not attempts:
        raise ExperienceError("There is no attempt to learn from. Pass at least one.")
    parts: list[str] = []
    for number, attempt in enumerate(attempts, 1):
        condensed = json.dumps(condense(model, problem, attempt), ensure_ascii=False)
        parts.append(f"ATTEMPT {number} ({'SUCCESS' if attempt.success else 'FAILURE'}):\n{condensed}")
        if expected is not None and not attempt.success:
            parts.append(f"EXPECTED: {expected}")
    outcomes = {attempt.success for attempt in attempts}
    is_mixed = len(outcomes) > 1
    prompt = load_prompt("experience_group").render(
        problem=problem, attempts="\n\n".join(parts), outcome=f"\n{_ASK_OUTCOME}" if is_mixed else ""
    )
    lessons = _ask(model, prompt, lambda text: _parse_lessons(text, is_mixed))
    origin = Origin(run=run, model=model.name)
    return [
        Experience(
            title, description, content, problem, True in outcomes if success is None else success, origin
        )
        for title, description, content, success in lessons
    ]


def format_experiences(recalled: Sequence[Recalled]) -> str:
    """Write recalled experiences as text for a prompt, marked as data; empty without any.

    Raises InvalidInputError for anything but a list of experiences from `ExperienceBank.recall`.
    """
    recalled = check_list(recalled, Recalled, "recalled", "Pass what ExperienceBank.recall gives.")
    if not recalled:
        return ""
    entries = [
        f"[{number}] {entry.experience.title} ({_OUTCOMES[entry.experience.success]})\n"
        f"When: {entry.experience.description}\n{entry.experience.content}"
        for number, entry in enumerate(recalled, 1)
    ]
    # The closing tag inside an entry would end the block early.
    text = escape_tag("\n\n".join(entries), "experiences")
    return load_prompt("experience_recalled").render(experiences=text)


def _check_arguments(model: object, problem: object, attempts: object) -> list[Attempt]:
    check_members(model, ("complete", "name"), "The model", "Pass a model of tersely_agents.chat.")
    if not check_text(problem, "problem").strip():
        raise InvalidInputError("The problem is empty. Pass what was attempted.")
    return check_list(attempts, Attempt, "attempts", "Pass a list of Attempt.")


@cache
def _load_compressor() -> Compressor:
    return Compressor()


def _ask(model: ChatModel, prompt: str, read: Callable[[str], T]) -> T:
    """Return what `read` makes of the model's answer. If it raises ValueError, ask the model again."""
    messages: list[Message] = [{"role": "user", "content": prompt}]
    problem = ""
    for _ in range(TRIES):
        answer = complete_safely(model, messages).text
        try:
            return read(remove_thoughts(answer))
        except ValueError as error:
            problem = str(error)
            correction = f"That cannot be read: {problem}. Answer again, in the form asked for only."
            messages = [
                *messages,
                {"role": "assistant", "content": answer},
                {"role": "user", "content": correction},
            ]
    raise ExperienceError(f"{model.name} gave no answer that can be read: {problem}.")


def _parse_condensed(text: str) -> dict[str, Any]:
    match = _JSON_OBJECT.search(text)
    value: object = parse_json(match[0]) if match else None
    if not isinstance(value, dict):
        raise ValueError("there is no JSON object")
    condensed = cast("dict[str, Any]", value)
    if not isinstance(condensed.get("plan"), str):
        raise ValueError('"plan" is missing')
    for name in ("steps", "takeaways"):
        if not isinstance(condensed.get(name), list):
            raise ValueError(f'"{name}" is not a list')
    return {name: condensed[name] for name in ("plan", "steps", "takeaways")}


def _parse_lessons(text: str, is_mixed: bool) -> list[Lesson]:
    """Return the lessons of an answer. Raises ValueError with the problem, for the model."""
    blocks = _LESSON_HEADING.split(text)[1:]
    if not blocks:
        raise ValueError('there is no line "EXPERIENCE 1:"')
    if len(blocks) > MAX_EXPERIENCES:
        raise ValueError(f"there are {len(blocks)} experiences, and {MAX_EXPERIENCES} are the most")
    return [_parse_lesson(block, number, is_mixed) for number, block in enumerate(blocks, 1)]


def _parse_lesson(block: str, number: int, is_mixed: bool) -> Lesson:
    fields = [*_FIELDS, "OUTCOME"] if is_mixed else _FIELDS
    parts = re.split(rf"^[ \t]*\**({'|'.join(fields)})\**[ \t]*:\**[ \t]*", block, flags=re.MULTILINE)
    names, values = parts[1::2], [v.strip() for v in parts[2::2]]
    if names != list(fields) or not all(values):
        raise ValueError(f"experience {number} lacks one of {', '.join(fields)}, or their order is another")
    title, description, content, *outcome = values
    if not outcome:
        return title, description, content, None
    word = _OUTCOME.match(outcome[0])
    if word is None:
        raise ValueError(f"the OUTCOME of experience {number} is neither success nor failure")
    return title, description, content, word[1].lower() == "success"
