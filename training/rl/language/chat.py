"""Messages to token ids and back, for a policy."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tersely_agents.agent import Request
from tersely_agents.chat import Message, ToolCall
from training.rl.trajectory import Trajectory

_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chat:
    """A tokenizer with a chat template.

    Tool calls have the form of the Hermes and Qwen families: JSON with `name` and `arguments` between
    <tool_call> and </tool_call>. The template must tell the model so.
    """

    tokenizer: Any
    """A tokenizer of transformers with a chat template and a token that ends a message."""

    @property
    def stop(self) -> int:
        """The token that ends a message."""
        return self.tokenizer.eos_token_id

    def render(self, request: Request) -> str:
        """Return the text that the policy continues. It contains the policy's earlier replies word for
        word."""
        messages = [_without_calls(message) for message in request.messages]
        written = messages.pop()["content"] if request.options.get("continue_last") else ""
        tools = request.options.get("tools")
        text = self.tokenizer.apply_chat_template(
            messages, tools=list(tools) if tools else None, add_generation_prompt=True, tokenize=False
        )
        return text + written

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, with nothing added."""
        return self.tokenizer.encode(text, add_special_tokens=False)

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, with special ones but without the token that ends the message."""
        kept = list(tokens[:-1] if tokens and tokens[-1] == self.stop else tokens)
        return self.tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def read_messages(self, trajectory: Trajectory) -> list[Message]:
        """Return a rollout as messages: of each segment its prompt, the policy's turns, and the text that
        came between them."""
        messages: list[Message] = []
        for segment in trajectory.segments:
            role, at = "user", 0
            for turn in segment.turns:
                if at < turn.start:
                    messages.append({"role": role, "content": self.decode(segment.tokens[at : turn.start])})
                written = self.decode(segment.tokens[turn.start : turn.end])
                messages.append({"role": "assistant", "content": written})
                role, at = "tool", turn.end
        return messages

    def follow(self, context: Sequence[int], reply: Sequence[int], rest: str) -> list[int]:
        """Return the tokens of a context, its reply, and the following text `rest`. Only `rest` is
        encoded."""
        if reply and reply[-1] == self.stop:
            rest = rest.removeprefix(self.tokenizer.eos_token)
        return [*context, *reply, *self.encode(rest)]


def read_tool_calls(text: str) -> tuple[ToolCall, ...]:
    """Read the tool calls in a reply. Malformed ones are skipped."""
    calls: list[ToolCall] = []
    for number, body in enumerate(_CALL.findall(text)):
        try:
            value = json.loads(body)
            name, arguments = str(value["name"]), value.get("arguments", {})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        calls.append(ToolCall(f"call_{number}", name, json.dumps(arguments)))
    return tuple(calls)


def _without_calls(message: Any) -> dict[str, Any]:
    """Remove the calls of a message; its text contains them as the policy wrote them."""
    kept = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**kept, "content": message.get("content") or ""}
