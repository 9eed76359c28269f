"""LiteLLM's own guardrail, set up as the documentation says, with the server as its compressor."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("yaml")

import yaml

from tersely import Compressor
from tersely_server import ServerSettings, build_app
from tests.integrations.samples import KEY_ANSWER, KEY_QUESTION
from tests.integrations.test_gateway import HASH, PAGE, make_call, make_result
from tests.sdk.fakes import FakeScorer
from tests.servers import serve_app

pytestmark = pytest.mark.skipif(find_spec("litellm") is None, reason="the group `servers` has litellm")

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": KEY_QUESTION},
    make_call(1),
    make_result(1),
    {"role": "assistant", "content": "Ada."},
    {"role": "user", "content": "And who holds the lamp?"},
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    app = build_app(Compressor(FakeScorer()), ServerSettings(key="k-1"))
    with serve_app(app) as address:
        yield address


def make_guardrail(url: str, **settings: Any) -> Any:
    """Return LiteLLM's guardrail. Importing it takes seconds, so only the process of these tests does it."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else the import asks a server elsewhere
    from litellm.proxy.guardrails.guardrail_hooks.headroom import initialize_guardrail
    from litellm.types.guardrails import LitellmParams

    page = Path("docs/server.md").read_text(encoding="utf-8")
    recipe = re.search(r"```yaml\n(guardrails:.*?)```", page, re.DOTALL)
    assert recipe
    (entry,) = yaml.safe_load(recipe[1])["guardrails"]
    params = {**entry["litellm_params"], "api_base": url, "api_key": "k-1", **settings}
    return initialize_guardrail(LitellmParams(**params), entry)


def apply(guardrail: Any, messages: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Return the messages that LiteLLM would send to the model, and the originals that it can open."""

    async def run() -> tuple[dict[str, Any], list[str]]:
        inputs = {"structured_messages": messages, "texts": []}
        request = {"model": "gpt-5", "messages": messages}
        try:
            outcome = await guardrail.apply_guardrail(inputs, request, "request")
            keys = HASH.findall(json.dumps(outcome["structured_messages"]))
            originals = [await guardrail._call_retrieve(key, affinity=None, query="key") for key in keys]
            return outcome, originals
        finally:
            await guardrail.async_handler.close()

    return asyncio.run(run())


def test_litellm_shortens_a_result_and_opens_its_original(url: str) -> None:
    outcome, originals = apply(make_guardrail(url), CHAT)
    shown = outcome["structured_messages"]
    assert [row for row in shown if row["role"] != "tool"] == [row for row in CHAT if row["role"] != "tool"]
    assert KEY_ANSWER in shown[3]["content"]
    assert len(shown[3]["content"]) < len(PAGE)
    assert [tool["function"]["name"] for tool in outcome["tools"]] == ["headroom_retrieve"]
    assert originals == [PAGE]


def test_litellm_sends_a_result_without_question_and_call(url: str) -> None:
    messages = [*CHAT[1:4], make_call(2), make_result(2, "Nothing.")]
    assert apply(make_guardrail(url), messages)[1] == [PAGE]


def test_litellm_forwards_the_chat_if_the_server_is_gone() -> None:
    outcome, _ = apply(make_guardrail("http://127.0.0.1:9"), CHAT)
    assert outcome["structured_messages"] == CHAT
