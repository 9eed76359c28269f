"""The proxy finds the texts to shorten and changes nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("prometheus_client")
from hypothesis import given
from hypothesis import strategies as st

from tersely import Compressor
from tersely.adapters import ToolLimits
from tersely_http import recent
from tersely_proxy.formats import READERS, Block, read_batch, read_chat, read_messages, read_responses
from tersely_proxy.json_strings import replace_strings
from tersely_proxy.rewriting import Rewriter
from tests.integrations.samples import KEY_ANSWER, KEY_QUESTION, make_failing_compressor, make_page
from tests.sdk.fakes import FakeScorer

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def strings_of(value: Any, place: tuple[str | int, ...] = ()) -> dict[tuple[str | int, ...], str]:
    if isinstance(value, str):
        return {place: value}
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {key: text for k, v in pairs for key, text in strings_of(v, (*place, k)).items()}


@given(value=VALUES, data=st.data(), ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_only_the_named_strings_change(
    value: Any, data: st.DataObject, ascii_only: bool, indent: Any
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    strings = strings_of(value)
    chosen = data.draw(st.sets(st.sampled_from(sorted(strings, key=repr)))) if strings else set()
    new = {place: data.draw(st.text()) for place in chosen}
    changed = replace_strings(text, new)
    assert strings_of(json.loads(changed)) == {**strings, **new}
    assert replace_strings(text, {}) == text
    assert replace_strings(changed, {place: strings[place] for place in chosen}) == replace_strings(
        text, {place: strings[place] for place in chosen}
    ), "all other bytes are the same"


CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"page": 1}'}}
CHAT = {
    "messages": [
        {"role": "system", "content": "<context>not of the user</context>"},
        {"role": "user", "content": [{"type": "text", "text": KEY_QUESTION}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "A result."},
        {"role": "user", "content": "<context>\nA page.\n</context>\nAnd now?"},
    ]
}
RESPONSES = {
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": KEY_QUESTION}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"page": 1}'},
        {"type": "reasoning", "encrypted_content": "x"},
        {"type": "function_call_output", "call_id": "c1", "output": "A result."},
        {"type": "message", "role": "user", "content": "<context>\nA page.\n</context>\nAnd now?"},
    ]
}
MESSAGES = {
    "messages": [
        {"role": "user", "content": KEY_QUESTION},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {"page": 1}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "A result."}]},
        {"role": "user", "content": "<context>\nA page.\n</context>\nAnd now?"},
    ]
}


@pytest.mark.parametrize(
    ("read", "body", "places"),
    [
        (read_chat, CHAT, [("messages", 3, "content"), ("messages", 4, "content")]),
        (read_responses, RESPONSES, [("input", 3, "output"), ("input", 4, "content")]),
        (read_messages, MESSAGES, [("messages", 2, "content", 0, "content"), ("messages", 3, "content")]),
    ],
)
def test_results_and_contexts_are_found_with_their_query(read: Any, body: Any, places: Any) -> None:
    result, context = read(body)
    assert result == Block(places[0], "A result.", 0, "read", f'{{"page": 1}} {KEY_QUESTION}')
    assert context == Block(places[1], "A page.", len("<context>\n"), "context", "And now?")


def test_outputs_of_shells_and_servers_are_results() -> None:
    items = [
        {"role": "user", "content": KEY_QUESTION},
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls", "ps a"]}},
        {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "Out.", "stderr": "Err."}]},
        {"type": "local_shell_call", "id": "l1", "call_id": "c2", "action": {"command": ["ls", "-l"]}},
        {"type": "local_shell_call_output", "id": "l1", "output": "A list."},
        {"type": "mcp_call", "name": "search", "arguments": '{"q": 1}', "output": "A hit."},
        {"type": "shell_call_output", "call_id": "unknown", "output": [{"stdout": 7}, None]},
    ]
    blocks = list(read_responses({"input": items}))
    assert [(block.place, block.text, block.tool, block.query) for block in blocks] == [
        (("input", 2, "output", 0, "stdout"), "Out.", "shell", f"ls\nps a {KEY_QUESTION}"),
        (("input", 2, "output", 0, "stderr"), "Err.", "shell", f"ls\nps a {KEY_QUESTION}"),
        (("input", 4, "output"), "A list.", "local_shell", f"ls -l {KEY_QUESTION}"),
        (("input", 5, "output"), "A hit.", "search", f'{{"q": 1}} {KEY_QUESTION}'),
    ]


def test_the_requests_of_a_batch_are_read_one_by_one() -> None:
    blocks = list(read_batch({"requests": [{"params": {}}, {"custom_id": "1", "params": MESSAGES}, None]}))
    assert [block.text for block in blocks] == ["A result.", "A page."]
    assert blocks[0].place == ("requests", 1, "params", "messages", 2, "content", 0, "content")


GEMINI_TURNS = [
    {"role": "user", "parts": [{"text": "Who?"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "search", "args": {"q": "key"}}}]},
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "search", "response": {"output": "r1", "n": 5, "error": "e"}}}
        ],
    },
]
CONVERSE = [
    {"role": "user", "content": [{"text": "Who?"}]},
    {
        "role": "assistant",
        "content": [{"toolUse": {"toolUseId": "t", "name": "search", "input": {"q": "key"}}}],
    },
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "t", "content": [{"json": {}}, {"text": "r1"}]}},
            {"toolResult": {"toolUseId": "t", "content": [{"text": "e"}], "status": "error"}},
        ],
    },
]
OLLAMA = [
    {"role": "user", "content": "Who?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "search", "arguments": {"q": "key"}}}],
    },
    {"role": "tool", "content": "r1", "tool_name": "search"},
]
RESPONSE = ("parts", 0, "functionResponse", "response", "output")


@pytest.mark.parametrize(
    ("end", "body", "place"),
    [
        (":generateContent", {"contents": GEMINI_TURNS}, ("contents", 2, *RESPONSE)),
        (":countTokens", {"contents": GEMINI_TURNS}, ("contents", 2, *RESPONSE)),
        (
            ":countTokens",
            {"generateContentRequest": {"contents": GEMINI_TURNS}},
            ("generateContentRequest", "contents", 2, *RESPONSE),
        ),
        (
            "/converse",
            {"messages": CONVERSE},
            ("messages", 2, "content", 0, "toolResult", "content", 1, "text"),
        ),
        ("/api/chat", {"messages": OLLAMA}, ("messages", 2, "content")),
    ],
)
def test_results_of_other_interfaces_are_found(end: str, body: Any, place: Any) -> None:
    (block,) = READERS[end](body)
    assert (block.place, block.text, block.tool) == (place, "r1", "search")
    assert block.query == '{"q": "key"} Who?'


def test_documents_without_citations_are_context() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "A page."}
    content = [
        {"type": "document", "source": source},
        {"type": "document", "source": source, "citations": {"enabled": True}},
        {"type": "search_result", "content": [{"type": "text", "text": "A hit."}]},
        {"type": "tool_result", "tool_use_id": "c1", "content": "It failed.", "is_error": True},
        {"type": "text", "text": KEY_QUESTION},
    ]
    blocks = list(read_messages({"messages": [{"role": "user", "content": content}]}))
    assert [(block.text, block.tool, block.query) for block in blocks] == [
        ("A page.", "context", KEY_QUESTION),
        ("A hit.", "context", KEY_QUESTION),
    ]


def test_a_plain_input_may_hold_context() -> None:
    text = "<document index='1'>One.</document> <document>Two.</document> Which?"
    blocks = list(read_responses({"input": text}))
    assert [block.text for block in blocks] == ["One.", "Two."]
    assert all(text[block.start :].startswith(block.text) and block.query == "Which?" for block in blocks)


@pytest.mark.parametrize(
    "body",
    [[], {}, {"messages": None}, {"messages": [1, None, {"role": "tool"}]}, {"input": [{"type": 3}]},
     {"messages": [{"role": "user", "content": "<context>open"}, {"role": "tool", "content": [7, {}]}]}],
)  # fmt: skip
def test_bodies_of_other_shapes_have_nothing_to_shorten(body: Any) -> None:
    if isinstance(body, dict):
        assert [list(read(body)) for read in (read_chat, read_messages, read_responses)] == [[], [], []]


def agent_turn(turns: int) -> bytes:
    """Return an agent's request after `turns` tool results, each a page that answers the question."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": KEY_QUESTION}]
    for number in range(turns):
        call = {**CALL, "id": f"c{number}", "function": {"name": "search", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        page = make_page(f"room {number}", KEY_ANSWER)
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": page})
    return json.dumps({"model": "m", "messages": messages, "temperature": 1.0}, indent=2).encode()


def common_prefix(first: bytes, second: bytes) -> int:
    return next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))


def test_later_turns_begin_with_the_same_bytes() -> None:
    rewriter = Rewriter(Compressor(FakeScorer()), ToolLimits(80))
    forgetful = [Rewriter(Compressor(FakeScorer()), ToolLimits(80)) for _ in range(6)]
    sent = [rewriter.rewrite(agent_turn(turn), read_chat) for turn in range(1, 7)]
    for before, after in pairwise(sent):
        end = before.body.rindex(b"}")  # of the last message
        assert common_prefix(before.body, after.body) >= before.body.rindex(b"}", 0, end)
        assert len(after.changes) == len(before.changes) + 1
    assert [own.rewrite(agent_turn(turn), read_chat).body for turn, own in enumerate(forgetful, 1)] == [
        rewritten.body for rewritten in sent
    ], "also if the proxy was started again in between"
    assert KEY_ANSWER in sent[-1].body.decode()
    assert sent[-1].tokens_after < sent[-1].tokens_before / 4


def cached_share(bodies: Sequence[bytes]) -> float:
    """Return the share of message bytes that a prefix cache holds from the request before."""
    prompts = [b"".join(json.dumps(m).encode() for m in json.loads(body)["messages"]) for body in bodies]
    return sum(common_prefix(*pair) for pair in pairwise(prompts)) / sum(map(len, prompts))


def test_a_run_of_50_turns_keeps_the_cached_share() -> None:
    whole = [agent_turn(turn) for turn in range(1, 51)]
    rewriter = Rewriter(Compressor(FakeScorer()), ToolLimits(80))
    assert cached_share([rewriter.rewrite(body, read_chat).body for body in whole]) >= cached_share(whole)


def test_limits_are_those_of_each_tool() -> None:
    body = agent_turn(1)
    for limits, is_changed in (
        (ToolLimits(80), True),
        (ToolLimits(80, {"search": None}), False),
        (ToolLimits(None), False),
        (ToolLimits(None, {"search": 80}), True),
        (ToolLimits(100_000), False),
    ):
        rewritten = Rewriter(Compressor(FakeScorer()), limits).rewrite(body, read_chat)
        assert bool(rewritten.changes) == is_changed
        assert is_changed or rewritten.body is body


def test_what_was_sent_whole_stays_whole() -> None:
    rewriter = Rewriter(Compressor(FakeScorer()), ToolLimits(80))
    assert rewriter.leave(agent_turn(2), read_chat).body == agent_turn(2)
    later = rewriter.rewrite(agent_turn(3), read_chat)
    assert [change.place for change in later.changes] == [("messages", 6, "content")]


def test_what_was_sent_whole_is_forgotten_when_nobody_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriter = Rewriter(Compressor(FakeScorer()), ToolLimits(80))
    rewriter.leave(agent_turn(1), read_chat)
    assert not rewriter.rewrite(agent_turn(1), read_chat).changes
    monkeypatch.setattr(recent, "MAX_AGE_S", -1.0)
    assert rewriter.rewrite(agent_turn(1), read_chat).changes


def test_signed_blocks_and_compactions_keep_every_byte() -> None:
    page, signature = make_page("room", KEY_ANSWER), "EqQBCgIYAh\\u002bw/=="
    body = (
        '{"model":"m","context_management":{"edits":[{"type":"compact-2026-09-04", "x" : 1.0}]}, "messages":['
        '{"role":"user","content":%s},{"role":"assistant","content":[{"type":"compaction","content":"a  b",'
        '"encrypted":"%s"},{"type":"thinking","thinking":"Caf\\u00e9","signature":"%s"},'
        '{"type":"redacted_thinking","data":"%s"},{"type":"tool_use","id":"t","name":"search","input":{ }}]},'
        '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":%s}]}]}'
    )
    parts = json.dumps(KEY_QUESTION), signature, signature, signature
    rewriter = Rewriter(Compressor(FakeScorer()), ToolLimits(80))
    sent = rewriter.rewrite((body % (*parts, json.dumps(page))).encode(), read_messages).body.decode()
    short = json.loads(sent)["messages"][2]["content"][0]["content"]
    assert short.startswith("[shortened from ")
    assert sent == body % (*parts, json.dumps(short))


def test_a_result_without_a_question_becomes_an_overview() -> None:
    page = "The crane of Maren lifts 40 tonnes. " + "There is something somewhere. " * 60
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": page},
        {"role": "user", "content": f"<context>{page}</context>"},
    ]
    rewriter = Rewriter(make_failing_compressor(), ToolLimits(60))
    rewritten = rewriter.rewrite(json.dumps({"messages": messages}).encode(), read_chat)
    shown = json.loads(rewritten.body)["messages"]
    assert "The crane of Maren lifts 40 tonnes." in shown[1]["content"]
    assert len(shown[1]["content"]) < len(page) / 4
    assert shown[2] == messages[2], "the user may yet ask about it"
