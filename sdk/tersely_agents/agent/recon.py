"""The strategy "recon": one response, which the model continues after every search (RECON, algorithm 1).

    <search>spare key</search>
    <information>Ada holds the spare key. [...]</information>
    <answer>Ada</answer>

A turn ends with a search, with an answer, or at the end of the reply. Search results are added to the
response. After a reply that is neither, a sentence asks the model to rethink.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tersely.errors import InvalidInputError
from tersely_agents.agent.episode import EpisodeState, Request, Strategy
from tersely_agents.agent.tools import READING_HITS, Tool, run_tool
from tersely_agents.chat import ChatError, Message, Options, Reply
from tersely_agents.prompts import escape_tag, load_prompt

STOP = ("</search>", "</answer>")
"""Texts that end a turn."""
CORRECTION = "\nMy action is not correct. Let me rethink.\n"
"""Text after a turn that is not an action (RECON, algorithm 1, line 23)."""

_ACTION = re.compile(r"<(?P<kind>search|answer)>(?P<text>.*?)</(?P=kind)>", re.DOTALL)
_OPEN_TAG = re.compile(r"<(search|answer)>(?!.*<)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReconStrategy(Strategy):
    """The strategy "recon". It keeps the response so far in `state.response`.

    In strict mode a turn is the whole reply. Otherwise it ends with its first action, and a closing tag that
    the server cut off is put back.
    """

    def request(self, state: EpisodeState, tools: Sequence[Tool]) -> Request:
        """Return the question and the response to continue. Raises InvalidInputError without a tool
        `search`."""
        if all(tool.name != "search" for tool in tools):
            raise InvalidInputError("The strategy 'recon' needs a tool with the name 'search'.")
        prompt = load_prompt("recon_user").render(question=state.question)
        messages: list[Message] = [{"role": "user", "content": prompt}]
        options: Options = {"stop": STOP}
        if state.response:
            messages.append({"role": "assistant", "content": state.response})
            options["continue_last"] = True
        return Request(messages, options)

    def step(self, state: EpisodeState, reply: Reply | ChatError, tools: Sequence[Tool]) -> EpisodeState:
        """Take the search or the answer of the reply; without one, ask the model to rethink."""
        if isinstance(reply, ChatError):
            return state.fail(str(reply), "server")
        text = reply.text if self.setup.strict else _restore_closing_tag(reply)
        action = _ACTION.search(text)
        if action is None:
            response = state.response + text + CORRECTION
            return replace(state.with_turn(error="neither a search nor an answer"), response=response)
        if not self.setup.strict:
            text = text[: action.end()]
        state, content = replace(state, response=state.response + text), action["text"].strip()
        if action["kind"] == "answer":
            return state.with_turn("finish", {"answer": content}).finish({"answer": content})
        return self._search(state, content, next(tool for tool in tools if tool.name == "search"))

    def _search(self, state: EpisodeState, query: str, tool: Tool) -> EpisodeState:
        known = {"query": query, "question": state.question, "topk": str(READING_HITS)}
        result = run_tool(tool, {name: text for name, text in known.items() if name in tool.parameters})
        state = self.record(state, tool.name, {"query": query}, result)
        if state.outcome is not None:
            return state
        found, room = result.text, self.setup.result_tokens
        if state.trace[-1].result_tokens > room:
            found = self.setup.compressor.compress(f"{query} {state.question}", [found], budget=room).text
        information = escape_tag(found, "information")
        return replace(state, response=f"{state.response}\n<information>{information}</information>\n")


def _restore_closing_tag(reply: Reply) -> str:
    """Return the text of a reply with its closing tag. Most servers cut the tag off, as the stop text."""
    last = _OPEN_TAG.search(reply.text)
    return f"{reply.text}</{last[1]}>" if last is not None and reply.finish == "stop" else reply.text
