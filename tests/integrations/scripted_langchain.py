"""Chat models of LangChain that give the replies of a test."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic import Field


class Scripted(GenericFakeChatModel):
    """A model that replies with its messages, one by one."""

    def bind_tools(self, tools: Any, **_: Any) -> Scripted:
        return self


class Recording(Scripted):
    """A scripted model that also keeps the messages of every call."""

    seen: list[Any] = Field(default_factory=list)

    def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
        self.seen.append(messages)
        return super()._generate(messages, *args, **options)


def scripted(*replies: AIMessage) -> Scripted:
    return Scripted(messages=iter(replies))


def recording(*replies: AIMessage) -> Recording:
    return Recording(messages=iter(replies))


def call_tools(*names: str, number: int = 0, **arguments: Any) -> AIMessage:
    """Return parallel calls with the same arguments and with ids numbered from `number`."""
    calls = [
        {"name": name, "args": arguments, "id": f"{name}{i}", "type": "tool_call"}
        for i, name in enumerate(names, number)
    ]
    return AIMessage(content="", tool_calls=calls)
