"""Chat models of LangChain's that say what a test tells them."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Scripted:
        return self


class Recording(Scripted):
    seen: list[Any] = []  # noqa: RUF012  # pydantic copies it

    def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
        self.seen.append(messages)
        return super()._generate(messages, *args, **options)


def scripted(*answers: AIMessage) -> Scripted:
    return Scripted(messages=iter(answers))


def calls(*names: str, number: int = 0, **arguments: Any) -> AIMessage:
    """Parallel calls with the same arguments, numbered from `number` on."""
    made = [
        {"name": n, "args": arguments, "id": f"{n}{i}", "type": "tool_call"}
        for i, n in enumerate(names, number)
    ]
    return AIMessage(content="", tool_calls=made)
