"""An agent of OpenAI's Agents SDK behind the proxy: its tool's result is shortened, and can be opened."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("agents", reason="the group `servers` has openai-agents")

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
)
from openai import AsyncOpenAI

from tests.integrations.opening_model import PAGE, SEEN, UNSEEN, Model
from tests.integrations.samples import KEY_ANSWER, KEY_QUESTION
from tests.integrations.test_proxy import make_proxy
from tests.servers import serve_app


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    with serve_app(model) as model.url:
        yield model


def run_agent(kind: type[Any], url: str, model: Model, stream: bool) -> str:
    """Return the answer of an agent that calls its tool first."""

    @function_tool
    def search() -> str:
        """Search the notes."""
        model.after, model.rounds = False, 2  # the next turn opens the original, the one after it answers
        return PAGE

    async def run() -> str:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            agent = Agent("Guide", model=kind("m", openai_client=client), tools=[search])
            config = RunConfig(tracing_disabled=True)
            if not stream:
                return (await Runner.run(agent, KEY_QUESTION, run_config=config)).final_output
            streamed = Runner.run_streamed(agent, KEY_QUESTION, run_config=config)
            async for _ in streamed.stream_events():
                pass
            return streamed.final_output

    model.reset(after=True, rounds=0)
    return asyncio.run(run())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", [OpenAIChatCompletionsModel, OpenAIResponsesModel])
@pytest.mark.parametrize("opens", [False, True], ids=["closed", "open"])
def test_an_agent_reads_a_shortened_result(kind: type[Any], stream: bool, opens: bool, model: Model) -> None:
    with serve_app(make_proxy(model.url, open_originals=opens)) as proxy:
        answer = run_agent(kind, proxy, model, stream)
    assert answer.endswith(SEEN if opens else UNSEEN)
    sent = json.dumps(model.bodies[1])
    assert "[shortened from " in sent
    assert KEY_ANSWER in sent
    assert len(model.bodies) == (3 if opens else 2)
