"""Chat models for the parts of tersely that write text: summaries, experience, the agent.

    from tersely.chat import OpenAIChat

    model = OpenAIChat("qwen3-8b", base_url="http://127.0.0.1:8000/v1")

Anything with `complete` and `acomplete` is a `ChatModel`.
"""

from tersely.chat.openai import OpenAIChat
from tersely.chat.protocol import ChatError, ChatModel, Message, Options, Reply, Sampling, ToolCall, Usage
from tersely.chat.scripted import ScriptedChat

__all__ = [
    "ChatError",
    "ChatModel",
    "Message",
    "OpenAIChat",
    "Options",
    "Reply",
    "Sampling",
    "ScriptedChat",
    "ToolCall",
    "Usage",
]
