"""The prompt of the strategy "summary", and its replies of four tagged parts (ZipRL, appendix U)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tersely_agents.agent.tools import Tool, ToolError
from tersely_agents.chat.protocol import Message
from tersely_agents.levels import LEVELS, Level
from tersely_agents.prompts import load_prompt

_TURN = re.compile(
    r"\s*<think>(?P<think>.*?)</think>"
    r"\s*<summary_level>\s*(?P<level>[1-5])\s*</summary_level>"
    r"\s*<summary>(?P<summary>.*?)</summary>"
    r"\s*(?P<call><function=.*?</function>)\s*",
    re.DOTALL,
)
_CALL = re.compile(r"<function=(?P<name>[\w-]+)>(?P<body>.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"\s*<parameter=(?P<name>[\w-]+)>(?P<value>.*?)</parameter>\s*", re.DOTALL)
_NOTHING = "(none)"


class MalformedError(ValueError):
    """A reply that is not what was asked for; the message says what is wrong, for the model."""


@dataclass(frozen=True, slots=True)
class Call:
    tool: Tool
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    think: str
    level: Level
    summary: str
    call: Call


def make_prompt(tools: Sequence[Tool], question: str, summary: str, result: str) -> list[Message]:
    """The prompt of one turn."""
    levels = "\n".join(
        f"{level.number} ({level.name}): relevance {'above' if level is LEVELS[-1] else 'from'} "
        f"{level.relevance:.0%}, {level.characters[0]} to {level.characters[1]} characters; {level.content}"
        for level in LEVELS
    )
    described = "\n".join(tool.describe() for tool in tools)
    system = load_prompt("agent_summary_system").render(levels=levels, tools=described)
    user = load_prompt("agent_summary_user").render(
        question=question, summary=summary or _NOTHING, result=result or _NOTHING
    )
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def parse_turn(text: str, tools: Sequence[Tool], *, needs_summary: bool) -> Turn:
    """The four parts of a turn. The summary may be empty unless `needs_summary`.

    Raises MalformedError where a part is missing, doubled, empty or out of place.
    """
    for tag in ("<think>", "<summary_level>", "<summary>", "<function="):
        if text.count(tag) != 1:
            raise MalformedError(f"{tag} has to occur once, and occurs {text.count(tag)} times")
    match = _TURN.fullmatch(text)
    if match is None:
        raise MalformedError(
            "the parts have to be <think>, <summary_level> with a number from 1 to 5, <summary> and "
            "<function=...>, in this order, each closed, with nothing around them"
        )
    summary = match["summary"].strip()
    if needs_summary and not summary:
        raise MalformedError("the summary is empty, and what it does not hold is lost")
    level = LEVELS[int(match["level"]) - 1]
    return Turn(match["think"].strip(), level, summary, parse_call(match["call"], tools))


def write_turn(think: str, level: Level, summary: str, tool: str, arguments: Mapping[str, str]) -> str:
    """A turn as a model writes it in training; `parse_turn` reads it back."""
    parameters = "".join(f"<parameter={name}>{value}</parameter>" for name, value in arguments.items())
    return (
        f"<think>{think}</think>\n<summary_level>{level.number}</summary_level>\n"
        f"<summary>{summary}</summary>\n<function={tool}>{parameters}</function>"
    )


def parse_call(text: str, tools: Sequence[Tool]) -> Call:
    """The only function call in a text. Raises MalformedError."""
    calls = list(_CALL.finditer(text))
    if len(calls) != 1:
        raise MalformedError(f"there are {len(calls)} function calls, and there has to be one")
    name, body = calls[0]["name"], calls[0]["body"]
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise MalformedError(f"there is no function {name!r}, only {', '.join(t.name for t in tools)}")
    arguments: dict[str, str] = {}
    at = 0
    while at < len(body):
        parameter = _PARAMETER.match(body, at)
        if parameter is None:
            if body[at:].strip():
                raise MalformedError(f"{body[at:].strip()[:40]!r} is no <parameter=name>value</parameter>")
            break
        arguments[parameter["name"]] = parameter["value"].strip()
        at = parameter.end()
    try:
        tool.check(arguments)
    except ToolError as error:
        raise MalformedError(str(error)) from error
    return Call(tool, arguments)
