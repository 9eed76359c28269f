"""A user's words, without what coding agents add to them."""

from __future__ import annotations

import pytest

from tersely.messages import _find_last_request
from tersely.user_text import find_last_request, strip_agent_blocks


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<system-reminder>\nToday is Monday.\n</system-reminder>\n\nFind it.", "Find it."),
        ("Find it.<ide_opened_file>a.py</ide_opened_file>", "Find it."),
        ("<user_query>\nFind it.\n</user_query>", "Find it."),
        ("<command-name>/clear</command-name>\n<command-args></command-args>", ""),
        ("<bash-input>ls</bash-input><bash-stdout>a</bash-stdout>", ""),
        ("# AGENTS.md instructions for /app\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>", ""),
        ("Find it.\n<environment_details>\n# Files\n</environment_details>", "Find it."),
        ("Why is <system-reminder> in my log?", "Why is <system-reminder> in my log?"),
        ("Read <context>a page</context>.", "Read <context>a page</context>."),
    ],
)
def test_blocks_of_agents_are_stripped(text: str, words: str) -> None:
    assert strip_agent_blocks(text) == words


def test_a_text_of_blocks_alone_is_no_request() -> None:
    blocks = "<environment_context>\n  <cwd>/app</cwd>\n</environment_context>"
    assert find_last_request([blocks, f"{blocks} Find it."]) == "Find it."
    assert find_last_request([blocks]) == ""
    messages = [{"role": "user", "content": "Find it."}, {"role": "user", "content": blocks}]
    assert _find_last_request(messages) == "Find it."


def test_many_open_blocks_take_no_time() -> None:
    text = "<system-reminder>" * 100_000
    assert strip_agent_blocks(text) == text
