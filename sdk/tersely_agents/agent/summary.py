"""The strategy "summary": each prompt holds the question, the model's own summary and the last tool result.

A reply has four tagged parts: a thought, a level, a summary of that level, and one call (ZipRL, appendix U).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tersely_agents.agent.episode import EpisodeState, Request, Strategy
from tersely_agents.agent.tools import Tool, ToolError, run_tool
from tersely_agents.chat import ChatError, Message, Options, Reply
from tersely_agents.levels import LEVELS, Level, choose_level_for
from tersely_agents.memory.shortening import ContextMessage, Shortener
from tersely_agents.prompts import load_prompt
from tersely_agents.quality import quality

ANSWER_TOKENS = 60
"""Largest number of tokens of an answer that the compressor gives in the model's place."""
TOKEN_CHARACTERS = 3
"""Low estimate of the characters in a token."""

_TURN = re.compile(
    r"\s*<think>.*?</think>"
    r"\s*<summary_level>\s*(?P<level>[1-5])\s*</summary_level>"
    r"\s*<summary>(?P<summary>.*?)</summary>"
    r"\s*(?P<call><function=.*?</function>)\s*",
    re.DOTALL,
)
_CALL = re.compile(r"<function=(?P<name>[\w-]+)>(?P<body>.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"\s*<parameter=(?P<name>[\w-]+)>(?P<value>.*?)</parameter>\s*", re.DOTALL)
_NOTHING = "(none)"

_THOUGHT_CHARACTERS = 400
_ARGUMENT_CHARACTERS = 200
_OTHER_CHARACTERS = _THOUGHT_CHARACTERS + _ARGUMENT_CHARACTERS
_BLOCK_CHARACTERS = 100
"""Number of characters in a block. A rule of a grammar counts a long text by blocks, because llama.cpp
refuses to count to 2,000."""


class MalformedError(ValueError):
    """A reply that does not have the requested form. The message tells the model its error."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool and the arguments that the model gives it."""

    tool: Tool
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply, without its thought."""

    level: Level
    summary: str
    call: Call


@dataclass(frozen=True)
class SummaryStrategy(Strategy):
    """The strategy "summary". It keeps `state.summary` and `state.result`, so that prompts do not grow."""

    def request(self, state: EpisodeState, tools: Sequence[Tool]) -> Request:
        """Return the prompt of the turn; on a second try, with the reply that could not be read."""
        prompt = make_prompt(tools, state.question, state.summary, state.result)
        options: Options = {}
        if self.setup.constrained:
            material = len(_join(state.summary, state.result))
            is_last = state.turns + 1 == self.setup.max_turns
            allowed = tools[-1:] if is_last else tools  # the last tool gives the answer
            options = {"grammar": write_grammar(allowed, material, self.setup.max_tokens)}
        return Request([*prompt, *state.retry], options)

    def step(self, state: EpisodeState, reply: Reply | ChatError, tools: Sequence[Tool]) -> EpisodeState:
        """Take the turn that the reply describes.

        If a reply cannot be read, the model gets a second try. If that fails too, a fallback takes the turn.
        In strict mode, the first reply that cannot be read ends the episode.
        """
        if isinstance(reply, ChatError):
            return state.fail(str(reply), "server")
        source = _join(state.summary, state.result)
        try:
            turn = parse_turn(reply.text, tools, needs_summary=bool(source))
        except MalformedError as error:
            if self.setup.strict:
                return state.fail(str(error), "malformed")
            if state.retry:
                return self._fall_back(state, reply.text, str(error), tools)
            return replace(state, retry=_ask_for_correction(reply.text, error))
        # In the first turn, only the question can be summarised.
        text = source or (state.question if turn.summary else "")
        score = quality(turn.summary, text, state.question, turn.level).total if text else None
        summary = turn.summary if self.setup.strict else self._shorten_summary(turn.summary, state.question)
        is_retry = bool(state.retry)
        state = replace(state, summary=summary, reason=None)
        return self._run_call(state, turn.call, level=turn.level.number, quality=score, retried=is_retry)

    def _shorten_summary(self, summary: str, question: str) -> str:
        """Shorten a summary that is longer than the highest level allows.

        A model that only adds to its summary would otherwise make the prompt longer in every turn.
        """
        max_characters = LEVELS[-1].characters[1]
        if len(summary) <= max_characters:
            return summary
        short = self.setup.compressor.compress(question, [summary], level=5).text
        return short if 0 < len(short) <= max_characters else summary[:max_characters]

    def _fall_back(self, state: EpisodeState, text: str, problem: str, tools: Sequence[Tool]) -> EpisodeState:
        """Take a turn for a model that failed twice: an extractive summary, and the call that can be read.

        Without a call, search for the question; if that was done before, answer from the summary.
        """
        has_failed = bool(state.trace) and state.trace[-1].error is not None
        source = _join(state.summary, "" if has_failed else state.result)
        summary, level, score = self._summarise(source, state.question)
        fields: dict[str, Any] = {
            "level": level.number,
            "quality": score,
            "retried": True,
            "fallback": problem,
        }
        state = replace(state, summary=summary, reason="the model's turns could not be read")
        try:
            call = parse_call(text, tools)
        except MalformedError:
            search = next((tool for tool in tools if tool.name == "search"), None)
            if search is not None and all(turn.tool != search.name for turn in state.trace):
                call = Call(search, {"query": state.question})
            elif source:
                call = self._answer_from(summary or source, state.question, tools[-1])
            else:
                reason = f"{state.reason}, and nothing was found to answer from"
                return state.with_turn(**fields).end(reason, "malformed")
        return self._run_call(state, call, **fields)

    def _summarise(self, source: str, question: str) -> tuple[str, Level, float | None]:
        """Return an extractive summary, its level and its quality. The best score chooses the level."""
        level = LEVELS[0]
        if not source:
            return "", level, None
        result = self.setup.compressor.compress(question, [source], level=1)
        best = choose_level_for(span.score for span in (*result.kept, *result.dropped))
        if best is not level:
            level = best
            result = self.setup.compressor.compress(question, [source], level=level.number)
        summary = result.text if result.status != "failed_open" else source[: level.characters[1]]
        return summary, level, quality(summary, source, question, level).total

    def _answer_from(self, text: str, question: str, finish: Tool) -> Call:
        answer = self.setup.compressor.compress(question, [text], budget=ANSWER_TOKENS).text
        return Call(finish, {"answer": answer, "explanation": "taken from the summary by the compressor"})

    def _run_call(self, state: EpisodeState, call: Call, **fields: Any) -> EpisodeState:
        """Run the tool that a turn calls. The state already holds the summary of the turn."""
        result = run_tool(call.tool, call.arguments)
        state = self.record(state, call.tool.name, call.arguments, result, summary=state.summary, **fields)
        if state.outcome is not None:
            return state
        if call.tool.name == "finish" and result.error is None:
            return state.finish(call.arguments)
        query = f"{' '.join(call.arguments.values())} {state.question}"
        shortener = Shortener(self.setup.compressor, self.setup.compressor.count_tokens)
        message = ContextMessage({"role": "tool", "content": result.text})
        short, originals = shortener.shorten(message, self.setup.result_tokens, query)
        kept = {**state.originals, **dict(originals)}
        return replace(state, result=short.message["content"], originals=kept)


def make_prompt(tools: Sequence[Tool], question: str, summary: str, result: str) -> list[Message]:
    """Return the prompt of one turn."""
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
    """Read the four parts of a turn. The thought may be empty, and so may the summary unless `needs_summary`.

    Raises MalformedError for a part that is missing, doubled or out of place, and for a call that cannot be
    read.
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
    return Turn(level, summary, parse_call(match["call"], tools))


def parse_call(text: str, tools: Sequence[Tool]) -> Call:
    """Read the only function call in a text. Raises MalformedError unless there is one call that the tool
    accepts."""
    calls = list(_CALL.finditer(text))
    if len(calls) != 1:
        raise MalformedError(f"there are {len(calls)} function calls, and there has to be one")
    name, body = calls[0]["name"], calls[0]["body"]
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise MalformedError(f"there is no function {name!r}, only {', '.join(t.name for t in tools)}")
    arguments: dict[str, str] = {}
    at = 0
    while body[at:].strip():
        parameter = _PARAMETER.match(body, at)
        if parameter is None:
            raise MalformedError(f"{body[at:].strip()[:40]!r} is not <parameter=name>value</parameter>")
        arguments[parameter["name"]] = parameter["value"].strip()
        at = parameter.end()
    try:
        tool.check(arguments)
    except ToolError as error:
        raise MalformedError(str(error)) from error
    return Call(tool, arguments)


def write_grammar(tools: Sequence[Tool], material: int, max_tokens: int | None = None) -> str:
    """Return a grammar (GBNF) under which a model of llama.cpp can only write turns that `parse_turn` reads.

    Every part has a longest length, so that a small model comes to an end. A summary has the length of its
    level. A level is left out if its shortest summary is longer than the material, because the model would
    invent the rest. A call has the arguments that its tool requires; if it requires none, the call has the
    tool's first argument.

    material: number of characters to summarise. If it is 0, the summary may be empty. If it is too small for
        every level, the summary has at least `material` characters.
    max_tokens: the largest number of tokens of a reply; levels that may not fit are left out. None for no
        limit.
    """
    room = 10**9 if max_tokens is None else TOKEN_CHARACTERS * max_tokens - _OTHER_CHARACTERS
    levels = [level for level in LEVELS if level.characters[0] <= min(material, room)] or LEVELS[:1]
    optional = "" if material else "?"
    turns: list[str] = []
    for level in levels:
        shortest, longest = level.characters
        summary = _text_rule("<", min(shortest, material), max(shortest, min(longest, room)))
        turns.append(f'"{level.number}</summary_level>\\n<summary>" ({summary}){optional}')
    rules = {
        "root": f'"<think>" thought "</think>\\n<summary_level>" ({" | ".join(turns)}) "</summary>\\n" call',
        "thought": _text_rule("<", 1, _THOUGHT_CHARACTERS),
        "value": _text_rule("<\\n", 1, _ARGUMENT_CHARACTERS),
        "call": " | ".join(map(_call_rule, tools)),
    }
    return "\n".join(f"{name} ::= {rule}" for name, rule in rules.items())


def _text_rule(excluded: str, shortest: int, longest: int) -> str:
    """Return a rule for a text of `shortest` to `longest` characters without white space at its ends."""
    visible, other = f"[^{excluded} \\t\\n]", f"[^{excluded}]"
    if shortest <= 1:
        return f"{visible} {other}{{0,{longest - 1}}}"
    # The rule counts `first` characters, then whole blocks, then at most `last` characters. If the number of
    # blocks may vary, `last` is at least as large as a block. So every length is possible.
    fewest, first = divmod(shortest - 2, _BLOCK_CHARACTERS)
    more = max(0, (longest - shortest) // _BLOCK_CHARACTERS - 1)
    last = longest - shortest - more * _BLOCK_CHARACTERS
    block = f"{other}{{{_BLOCK_CHARACTERS}}}"
    body = f"{other}{{{first}}} ({block}){{{fewest},{fewest + more}}} {other}{{0,{last}}}"
    return f"{visible} {body} {visible}"


def _call_rule(tool: Tool) -> str:
    names = tool.required or tuple(tool.parameters)[:1]
    parameters = " ".join(f'"<parameter={name}>" value "</parameter>"' for name in names)
    return f'"<function={tool.name}>" {parameters} "</function>"'


def _ask_for_correction(text: str, error: MalformedError) -> tuple[Message, ...]:
    """Return the reply that cannot be read, and a message about its error."""
    complaint = f"That cannot be read: {error}. Answer again with all four parts."
    return {"role": "assistant", "content": text}, {"role": "user", "content": complaint}


def _join(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))
