"""Attempts -> experiences, by a chat model; and experiences -> a prompt (Evolving Rollouts, appendix B.1).

Each trajectory is condensed to JSON by itself; then one prompt sets all attempts at a problem side by side.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

from tersely.chat.protocol import ChatModel, Message, without_thought
from tersely.chat.transcript import render
from tersely.compressor import Compressor
from tersely.experience.types import Experience, ExperienceError, Origin, Recalled
from tersely.prompts import escaped, load_prompt
from tersely.text.approximate import ApproximateCounter

SUCCESS = 0.5
"""Reward from which on an attempt counts as a success (table 3)."""
MOST = 5
"""Experiences of one group."""
LOG_TOKENS = 8000
"""Most tokens of an attempt that the model reads, by the bundled estimate: an agent that needed its memory to
be reset has written more than a model can read."""
TRIES = 2
"""Times that the model is asked before its answer is given up."""

_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_FIELDS = ("TITLE", "DESCRIPTION", "CONTENT")
_HEAD = re.compile(r"^[ \t]*\**EXPERIENCE\s+\d+\s*:?\**[ \t]*$", re.MULTILINE | re.IGNORECASE)
_FIELD = re.compile(rf"^[ \t]*\**({'|'.join(_FIELDS)})\**[ \t]*:\**[ \t]*", re.MULTILINE)

_CAME_OF = {True: "seen in a success", False: "seen in failures only"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a problem, and what it was worth, in [0, 1]."""

    messages: Sequence[Message]
    reward: float

    @property
    def success(self) -> bool:
        return self.reward >= SUCCESS


def condense(model: ChatModel, problem: str, attempt: Attempt) -> dict[str, Any]:
    """An attempt as {"plan", "steps", "takeaways"} (equation 7).

    Of an attempt longer than `LOG_TOKENS` the model reads the sentences that matter most for the problem,
    chosen with the bundled model.

    Raises ExperienceError where the model gives no such object, and ChatError where it does not answer.
    """
    log = render(attempt.messages)
    if ApproximateCounter().count(log) > LOG_TOKENS:
        log = _compressor().compress(problem, [render([m]) for m in attempt.messages], budget=LOG_TOKENS).text
    prompt = load_prompt("experience_step").render(problem=problem, log=log)
    return _ask(model, prompt, _condensed)


def extract(
    model: ChatModel,
    problem: str,
    attempts: Sequence[Attempt],
    *,
    expected: str | None = None,
    run: str | None = None,
) -> list[Experience]:
    """One to five experiences from all attempts at a problem (equation 8), whatever they came to.

    Args:
        expected: the right answer, shown beside attempts that failed.
        run: name of the run, for the experiences' origin.

    Raises ExperienceError where the model's answer cannot be read, and ChatError where there is none.
    """
    if not attempts:
        raise ExperienceError("There is no attempt to learn from. Pass at least one.")
    parts: list[str] = []
    for number, attempt in enumerate(attempts, 1):
        told = json.dumps(condense(model, problem, attempt), ensure_ascii=False)
        parts.append(f"ATTEMPT {number} ({'SUCCESS' if attempt.success else 'FAILURE'}):\n{told}")
        if expected is not None and not attempt.success:
            parts.append(f"EXPECTED: {expected}")
    prompt = load_prompt("experience_group").render(problem=problem, attempts="\n\n".join(parts))
    lessons = _ask(model, prompt, _lessons)
    success = any(a.success for a in attempts)
    origin = Origin(run=run, model=model.name)
    return [
        Experience(title, description, content, problem, success, origin)
        for title, description, content in lessons
    ]


def format_experiences(recalled: Sequence[Recalled]) -> str:
    """Recalled experiences for a prompt, marked as data; empty where there are none."""
    if not recalled:
        return ""
    told = [
        f"[{number}] {found.experience.title} ({_CAME_OF[found.experience.success]})\n"
        f"When: {found.experience.description}\n{found.experience.content}"
        for number, found in enumerate(recalled, 1)
    ]
    # Tags of ours inside an entry would end the block early.
    text = escaped("\n\n".join(told), "experiences")
    return load_prompt("experience_recalled").render(experiences=text)


@cache
def _compressor() -> Compressor:
    return Compressor()


def _ask(model: ChatModel, prompt: str, read: Callable[[str], T]) -> T:
    """What `read` makes of the model's answer; asked again where it raises ValueError."""
    messages: list[Message] = [{"role": "user", "content": prompt}]
    problem = ""
    for _ in range(TRIES):
        answer = model.complete(messages).text
        try:
            return read(without_thought(answer))
        except ValueError as error:
            problem = str(error)
            correction = f"That cannot be read: {problem}. Answer again, in the form asked for only."
            messages = [
                *messages,
                {"role": "assistant", "content": answer},
                {"role": "user", "content": correction},
            ]
    raise ExperienceError(f"{model.name} gave no answer that can be read: {problem}.")


def _condensed(text: str) -> dict[str, Any]:
    match = _OBJECT.search(text)
    value: object = json.loads(match[0]) if match else None
    if not isinstance(value, dict):
        raise ValueError("there is no JSON object")
    found = cast("dict[str, Any]", value)
    if not isinstance(found.get("plan"), str):
        raise ValueError('"plan" is missing')
    for name in ("steps", "takeaways"):
        if not isinstance(found.get(name), list):
            raise ValueError(f'"{name}" is no list')
    return {name: found[name] for name in ("plan", "steps", "takeaways")}


def _lessons(text: str) -> list[tuple[str, str, str]]:
    blocks = _HEAD.split(text)[1:]
    if not blocks:
        raise ValueError('there is no line "EXPERIENCE 1:"')
    if len(blocks) > MOST:
        raise ValueError(f"there are {len(blocks)} experiences, and {MOST} are the most")
    return [_lesson(block, number) for number, block in enumerate(blocks, 1)]


def _lesson(block: str, number: int) -> tuple[str, str, str]:
    parts = _FIELD.split(block)
    names, values = parts[1::2], [v.strip() for v in parts[2::2]]
    if tuple(names) != _FIELDS or not all(values):
        raise ValueError(f"experience {number} lacks one of {', '.join(_FIELDS)}, or their order is another")
    return values[0], values[1], values[2]
