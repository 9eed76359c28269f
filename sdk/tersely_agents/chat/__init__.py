"""Chat models for the parts of tersely that generate text: summaries, experience, memory and the agent.

```python
from tersely_agents.chat import OpenAIChat

model = OpenAIChat("qwen3-8b", base_url="http://127.0.0.1:8000/v1")
```

`LocalChat` runs a small model in this process. Any object with the methods of `ChatModel` can take the place
of either.
"""

from tersely_agents.chat.local import LocalChat
from tersely_agents.chat.openai import OpenAIChat
from tersely_agents.chat.protocol import (
    ChatError,
    ChatModel,
    Message,
    Options,
    Reply,
    Sampling,
    Token,
    ToolCall,
    Usage,
)
from tersely_agents.chat.scripted import ScriptedChat

__all__ = [
    "ChatError",
    "ChatModel",
    "LocalChat",
    "Message",
    "OpenAIChat",
    "Options",
    "Reply",
    "Sampling",
    "ScriptedChat",
    "Token",
    "ToolCall",
    "Usage",
]
