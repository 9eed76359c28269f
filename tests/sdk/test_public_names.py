"""Names that callers import, and the time that importing takes."""

from __future__ import annotations

import subprocess
import sys

import tersely


def test_the_public_names_are_these() -> None:
    assert sorted(tersely.__all__) == [
        "ArtifactError", "Citation", "Citations", "CompressedDocument", "Compression",
        "CompressionArguments", "CompressionOptions", "Compressor", "Document", "InvalidInputError",
        "MissingDependencyError", "OfflineError", "PreparedDocument", "Span", "TerselyError",
        "TokenCounter", "__version__", "condense", "expand",
    ]  # fmt: skip
    assert all(hasattr(tersely, name) for name in tersely.__all__)


def test_the_import_loads_no_large_library() -> None:
    large_libraries = {"onnxruntime", "tokenizers", "huggingface_hub", "numpy"}
    code = f"import sys, tersely; print({large_libraries} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


IMPORT_EACH_FIRST = """
import importlib, sys
for module in sys.argv[1:]:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tersely", "tersely_agents")]:
        del sys.modules[name]
    importlib.import_module(module)
"""


def test_every_public_module_can_be_imported_first() -> None:
    modules = [
        "tersely.adapters",
        "tersely.cli",
        "tersely.embedding",
        "tersely.messages",
        "tersely.metrics",
        "tersely.options",
        "tersely.rerank",
        "tersely.score",
        "tersely_agents.agent",
        "tersely_agents.chat",
        "tersely_agents.experience",
        "tersely_agents.levels",
        "tersely_agents.memory",
        "tersely_agents.quality",
        "tersely_agents.summaries",
    ]
    subprocess.run([sys.executable, "-c", IMPORT_EACH_FIRST, *modules], check=True)
