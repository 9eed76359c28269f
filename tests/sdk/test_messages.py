"""Compressed tool results in a chat, and a user's own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Compressor, InvalidInputError
from tersely.messages import LEFT_OUT, SHORTENED, _find_last_request, get_text, measure_tokens
from tersely.user_text import find_last_request, strip_agent_blocks
from tests.sdk.fakes import BrokenScorer, FakeScorer

TASK = "Which lighthouse is the oldest?"
WORDS = ["lamp", "tower", "1861", "oldest", "lighthouse", "|", "ferry", "灯塔", "built.", "keeper\n", "tide."]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def make_call(*ids: str) -> dict[str, Any]:
    function = {"name": "search", "arguments": '{"q": "lighthouse"}'}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": i, "type": "function", "function": function} for i in ids],
    }


def make_result(key: str, content: object) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": key, "content": content}


NOISE = "The gift shop sells postcards. The car park closes at eight. Dogs are welcome on a lead. " * 6
HISTORY = [
    {"role": "system", "content": "Answer from the pages only."},
    {"role": "user", "content": TASK},
    make_call("a", "b"),
    make_result("a", NOISE + "The oldest lighthouse stands on Pellow Head. " + NOISE),
    make_result("b", NOISE),
    {"role": "assistant", "content": "I will look further."},
    make_call("c"),
    make_result("c", "ok"),
]


def count_least_tokens(messages: list[dict[str, Any]], count: Callable[[str], int]) -> int:
    """Return the number of tokens of the messages without everything that can be left out."""
    replacement = max(count(LEFT_OUT), count(SHORTENED))
    saved = [count(get_text(m)) - replacement for m in messages if m["role"] == "tool"]
    return measure_tokens(messages, count) - sum(s for s in saved if s > 0)


@st.composite
def transcripts(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": TASK}]
    for turn in range(draw(st.integers(0, 5))):
        ids = [f"{turn}-{i}" for i in range(draw(st.integers(1, 3)))]
        messages.append(make_call(*ids))
        for key in ids:
            text = draw(TEXTS)
            parts = [{"type": "text", "text": text}, IMAGE]
            messages.append(make_result(key, parts if draw(st.booleans()) else text))
        if draw(st.booleans()):
            messages.append({"role": "assistant", "content": draw(TEXTS)})
    return messages


@settings(max_examples=150)
@given(transcripts(), st.one_of(st.none(), st.floats(0.05, 1.0)))
def test_only_the_texts_of_tool_results_change(messages: list[dict[str, Any]], rate: float | None) -> None:
    compressor = Compressor(FakeScorer())
    count = compressor.count_tokens
    limit = None if rate is None else int(rate * measure_tokens(messages, count) + 1e-9)
    if limit is not None and limit < min(
        count_least_tokens(messages, count), measure_tokens(messages, count)
    ):
        with pytest.raises(InvalidInputError, match="Only tool results become shorter"):
            compressor.compress_messages(messages, rate=rate)
        return
    result = compressor.compress_messages(messages, rate=rate)
    assert limit is None or result.tokens_after <= limit
    assert (
        result.tokens_after
        == measure_tokens(result.messages, count)
        <= result.tokens_before
        == measure_tokens(messages, count)
    )
    assert len(result.messages) == len(messages)
    for position, (before, after) in enumerate(zip(messages, result.messages, strict=True)):
        if position not in result.results:
            assert after == before
            continue
        others = ("role", "tool_call_id")
        assert [after[k] for k in others] == [before[k] for k in others]
        assert (IMAGE in list(after["content"])) == (IMAGE in list(before["content"]))
        source = get_text(before)
        number = result.results.index(position)
        pieces = [source[s.start : s.end] for s in result.receipt.kept if s.doc == number]
        assert all(piece in get_text(after) for piece in pieces)
        assert get_text(after) == LEFT_OUT or pieces


def test_what_the_task_needs_stays_whichever_result_has_it() -> None:
    compressor = Compressor()
    result = compressor.compress_messages(HISTORY, budget=220)
    assert result.tokens_after <= 220 < result.tokens_before
    assert "The oldest lighthouse stands on Pellow Head." in result.messages[3]["content"]
    assert result.messages[7] == HISTORY[7], "a short result stays"
    assert result.results == (4, 3)
    assert result.messages[3]["content"].startswith(SHORTENED)
    assert result == compressor.compress_messages(HISTORY, budget=220)
    postcards = compressor.compress_messages(HISTORY, query="What does the gift shop sell?", budget=220)
    assert "postcards" in str(postcards.messages)


def test_threshold_decides_and_a_wide_limit_changes_nothing() -> None:
    compressor = Compressor()
    result = compressor.compress_messages(HISTORY)
    assert "Pellow Head" in result.messages[3]["content"]
    assert result.tokens_after < result.tokens_before
    whole = compressor.compress_messages(HISTORY, budget=10_000)
    assert whole.messages == HISTORY
    assert whole.receipt.status == "unchanged"
    assert compressor.compress_messages(HISTORY[:2]).receipt.status == "bypassed"


@pytest.mark.parametrize("status", ["bypassed", "unchanged"])
def test_a_limit_holds_if_a_long_result_has_no_text(status: str) -> None:
    """White space has tokens, but nothing to compress."""
    other = {"bypassed": "ok", "unchanged": "The oldest lighthouse stands on Pellow Head."}[status]
    blank = make_result("b", " \n\t" * 3000)
    messages = [*HISTORY[:3], make_result("a", other), blank]
    result = Compressor(FakeScorer()).compress_messages(messages, budget=200)
    assert result.tokens_after <= 200 < result.tokens_before
    assert result.tokens_after == measure_tokens(result.messages, Compressor(FakeScorer()).count_tokens)
    assert [m["content"] for m in result.messages[3:]] == [other, LEFT_OUT]
    assert result.receipt.status == status


def test_the_newer_of_two_equal_results_stays() -> None:
    page = "The oldest lighthouse stands on Pellow Head. " + NOISE
    messages = [*HISTORY[:2], make_call("a"), make_result("a", page), make_call("b"), make_result("b", page)]
    result = Compressor().compress_messages(messages, budget=150)
    assert result.messages[3]["content"] == LEFT_OUT
    assert "Pellow Head" in result.messages[5]["content"]


def test_a_part_without_text_counts_as_empty() -> None:
    parts = [{"type": "text", "text": "lamp"}, {"type": "text", "text": None}, {"type": "text"}, IMAGE]
    parts.append({"type": "text", "text": "tower"})
    assert get_text({"role": "user", "content": parts}) == "lamp\n\n\ntower"


def test_the_messages_of_the_caller_do_not_change() -> None:
    messages = [dict(m) for m in HISTORY]
    Compressor(FakeScorer()).compress_messages(messages, budget=220)
    assert messages == HISTORY


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ("hello", "The messages are a str"),
        ({"role": "user", "content": "x"}, "The messages are a dict"),
        ([*HISTORY[:2], make_result("a", "x")], "no call waits for a result"),
        ([*HISTORY[:3], {"role": "user", "content": "?"}], "have no result yet"),
        ([{"role": "system", "content": "x"}], "Pass query, budget or rate"),
        ([HISTORY[0], {"role": "robot", "content": "x"}], "Message 1 has the unknown role 'robot'"),
        ([*HISTORY, "x"], "Message 8 is a str"),
        (
            [{**make_call("a"), "role": "user", "content": "x"}],
            "Message 0 has the role 'user' and tool_calls",
        ),
        ([{"role": "assistant"}], "Message 0 has neither content nor tool calls"),
        ([{"role": "user", "content": 5}], "Message 0, with the role 'user', has a content that is neither"),
    ],
)
def test_an_invalid_chat_is_refused(messages: Any, error: str) -> None:
    with pytest.raises(InvalidInputError, match=error):
        Compressor(FakeScorer()).compress_messages(messages)


def test_without_a_limit_nothing_is_lost_if_the_model_fails() -> None:
    result = Compressor(BrokenScorer(RuntimeError("down"))).compress_messages(HISTORY)
    assert result.messages == HISTORY
    assert result.receipt.status == "failed_open"


def test_a_limit_holds_even_if_the_model_fails() -> None:
    result = Compressor(BrokenScorer(RuntimeError("down"))).compress_messages(HISTORY, budget=220)
    assert result.tokens_after <= 220 < result.tokens_before
    assert result.receipt.status == "degraded"


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
        ("Why <ide_x>? <bash-input>ls</bash-input>", "Why <ide_x>?"),
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
