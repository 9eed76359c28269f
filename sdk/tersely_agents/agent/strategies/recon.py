"""One response, which the model goes on with after every search (RECON, algorithm 1; Search-R1).

    <search>spare key</search>
    <information>Ada holds the spare key. [...]</information>
    <answer>Ada</answer>

Each turn is one action: the response goes on to the end of a search, of an answer, or of what the model has
to say. What a search finds is put behind it; behind anything else, a sentence that asks the model to rethink.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tersely.errors import InvalidInputError
from tersely_agents.agent.calls import run_tool
from tersely_agents.agent.episode import EpisodeState, Request
from tersely_agents.agent.strategies.setup import Setup
from tersely_agents.agent.tools import Tool
from tersely_agents.chat.protocol import ChatError, Message, Options, Reply
from tersely_agents.prompts import escape_tag, load_prompt

STOP = ("</search>", "</answer>")
"""What ends a turn, beside the end of the reply."""
TOP_K = 5
"""Documents of a search (RECON, appendix B.4)."""
CORRECTION = "\nMy action is not correct. Let me rethink.\n"
"""What follows a turn that is no action (RECON, algorithm 1, line 23)."""

_ACTION = re.compile(r"<(?P<kind>search|answer)>(?P<text>.*?)</(?P=kind)>", re.DOTALL)
_OPEN = re.compile(r"<(search|answer)>(?!.*<)", re.DOTALL)


def start(question: str, setup: Setup) -> EpisodeState:
    """The first state of an episode."""
    return EpisodeState(question, ReconStrategy(setup))


@dataclass(frozen=True, slots=True)
class ReconStrategy:
    """`state.response` holds the response so far. In strict mode a turn is the reply as it is; else it ends
    with its first action, and a tag that the server has cut off with the stop text is closed."""

    setup: Setup

    def request(self, state: EpisodeState, tools: Sequence[Tool]) -> Request:
        """The question, and the response to go on with. Raises InvalidInputError without a tool `search`."""
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
        """The search or the answer that the reply ends with; else the sentence that asks to rethink."""
        if isinstance(reply, ChatError):
            return state.fail(str(reply), "server")
        text = reply.text if self.setup.strict else _close(reply)
        action = _ACTION.search(text)
        if action is None:
            after = state.with_turn(error="neither a search nor an answer")
            return replace(after, response=state.response + text + CORRECTION)
        if not self.setup.strict:
            text = text[: action.end()]
        state, given = replace(state, response=state.response + text), action["text"].strip()
        if action["kind"] == "answer":
            return state.with_turn("finish", {"answer": given}).finish({"answer": given})
        return self._search(state, given, next(tool for tool in tools if tool.name == "search"))

    def settle(self, state: EpisodeState) -> EpisodeState:
        """The state itself: turns are limited, and so is what each adds."""
        return state

    def original(self, state: EpisodeState, key: str) -> str | None:
        """None: nothing is replaced by a reference."""
        return None

    def _search(self, state: EpisodeState, query: str, tool: Tool) -> EpisodeState:
        own = {"query": query, "question": state.question, "topk": str(TOP_K)}
        result = run_tool(tool, {name: own[name] for name in own if name in tool.parameters})
        tokens = self.setup.compressor.count_tokens(result.text)
        state = state.with_turn(tool.name, {"query": query}, result.error, result_tokens=tokens)
        if result.is_broken and self.setup.strict:
            return state.end(f"the tool {tool.name} broke: {result.error}", "environment")
        found = result.text
        if tokens > self.setup.result_tokens:
            wanted = f"{query} {state.question}"
            found = self.setup.compressor.compress(wanted, [found], budget=self.setup.result_tokens).text
        shown = escape_tag(found, "information")
        return replace(state, response=f"{state.response}\n<information>{shown}</information>\n")


def _close(reply: Reply) -> str:
    """The text of a reply. Servers leave out the stop text that ended it, which is the closing tag."""
    last = _OPEN.search(reply.text)
    return f"{reply.text}</{last[1]}>" if last is not None and reply.finish == "stop" else reply.text
