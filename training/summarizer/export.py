"""`python -m training.summarizer.export --run RUN --out models/my-summarizer`: package an adapter.

adapter_model.safetensors, adapter_config.json   for transformers with peft, and for vLLM
adapter.gguf                                     for llama.cpp, which `tersely_agents.summaries` uses
config.json, manifest.json, README.md            what the runtime needs to know, checksums, the card

Both adapters are float16. The export fails if llama.cpp and transformers disagree on the next token.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file

from tersely.runtime.artifacts import write_manifest
from tersely_agents.chat import LocalChat
from tersely_agents.chat.local import find_smollm2
from tersely_agents.chat.protocol import Sampling
from tersely_agents.summaries.summarizer import describe_prompts
from training.causal import Adapter, load_causal
from training.run import read_runs
from training.settings import read_settings
from training.summarizer.card import render_card
from training.summarizer.examples import Lesson, read_lessons
from training.summarizer.gguf import write_gguf
from training.summarizer.train import Settings, encode

MIN_AGREEMENT = 0.9
"""Minimum share of llama.cpp's tokens that transformers would choose too."""
BASE = "HuggingFaceTB/SmolLM2-135M-Instruct"
PRESELECT = 280
"""Tokens of the documents that the model reads, by the compressor's counter, as in training."""
MAX_TOKENS = 200
REPLIES = 5
"""Number of replies that the parity check compares."""
TRAINING_FILES = ["adapter_config.json", "adapter_model.safetensors"]
"""Files that the wheel leaves out."""
TOOLS = ("torch", "transformers", "peft", "gguf", "xllamacpp")


def export_adapter(
    run: Path, config: Path, target: Path, command: str, base: Path | None = None
) -> dict[str, float]:
    """Write the artifact of a finished run to `target`, and return how well llama.cpp and transformers agree.

    Raises RuntimeError if they disagree; nothing is written to `target` then.
    """
    lessons = read_lessons(run / "lessons.jsonl")
    settings = read_settings(Settings, config)
    facts = {
        "training_command": command,
        "data": dict(Counter(lesson.source for lesson in lessons)),
        "teachers": sorted({lesson.teacher for lesson in lessons if lesson.teacher}),
    }
    values = {
        "kind": "summarizer",
        "prompts": describe_prompts(),
        "preselect": PRESELECT,
        "max_tokens": MAX_TOKENS,
    }
    heldout = lessons[: min(REPLIES, settings.training.heldout)]
    return write_artifact(run, target, settings.adapter, values, facts, heldout, render_card, base)


def write_artifact(
    run: Path,
    target: Path,
    shape: Adapter,
    values: Mapping[str, Any],
    facts: Mapping[str, Any],
    heldout: Sequence[Lesson],
    render: Callable[[str, dict[str, Any]], str],
    base: Path | None = None,
) -> dict[str, float]:
    """Write the adapter of a finished run, with `values` in its configuration and a card of its facts.

    shape: settings with which the adapter was trained.
    facts: what the card says besides the base model, the run, parity, and the adapter's shape.
    heldout: examples whose replies are compared.

    Raises RuntimeError if llama.cpp and transformers disagree; nothing is written to `target` then.
    """
    staging = run / "artifact"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    trained = run / "final"
    weights = load_file(trained / "adapter_model.safetensors")
    save_file({key: value.half() for key, value in weights.items()}, staging / "adapter_model.safetensors")
    adapter = json.loads((trained / "adapter_config.json").read_text(encoding="utf-8"))
    adapter["base_model_name_or_path"] = BASE
    _write_json(staging / "adapter_config.json", adapter)
    model, tokenizer = load_causal(base)
    heads, kv_heads = model.config.num_attention_heads, model.config.num_key_value_heads
    write_gguf(staging, staging / "adapter.gguf", heads=heads, kv_heads=kv_heads)
    model = PeftModel.from_pretrained(model, staging).eval()
    parity = measure_parity(model, tokenizer, staging / "adapter.gguf", heldout)
    if parity["agreement"] < MIN_AGREEMENT:
        raise RuntimeError(f"llama.cpp and transformers disagree: {parity}")
    facts = {
        "base_model": BASE,
        **facts,
        "run": read_runs(trained)[-1],
        "parity": parity,
        "adapter": asdict(shape),
        "tools": {"python": platform.python_version(), **{tool: version(tool) for tool in TOOLS}},
    }
    base_file = find_smollm2()
    own = {
        "name": target.name,
        "base_model": BASE,
        "base_sha256": hashlib.sha256(base_file.read_bytes()).hexdigest(),
        "adapter": "adapter.gguf",
    }
    _write_json(staging / "config.json", {**own, **values})
    (staging / "README.md").write_text(render(target.name, facts), encoding="utf-8")
    write_manifest(staging, training_files=TRAINING_FILES, **facts)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(staging, target)
    return parity


@torch.no_grad()
def measure_parity(
    model: Any,
    tokenizer: Any,
    adapter: Path,
    lessons: Sequence[Lesson],
    max_tokens: int = 64,
    base: Path | None = None,
) -> dict[str, float]:
    """Compare the greedy replies of llama.cpp with transformers.

    Returns `agreement`, the share of llama.cpp's tokens that transformers ranks first after the same context,
    and the numbers of compared `tokens` and `replies`. `base` is llama.cpp's file of the base model; None for
    SmolLM2.
    """
    same = count = 0
    options: Sampling = {"temperature": 0.0, "max_tokens": max_tokens}
    with LocalChat(base, adapters={"own": adapter}, context=2048, timeout_s=600, **options) as chat:
        for lesson in lessons:
            reply = chat.use("own").complete(lesson.messages).text
            example = encode(lesson, tokenizer)
            written = tokenizer.encode(reply, add_special_tokens=False)
            ids = torch.tensor([[*example.system, *example.prompt, *written]])
            with torch.inference_mode():
                best = model(input_ids=ids).logits[0, -len(written) - 1 : -1].argmax(-1).tolist()
            same += sum(a == b for a, b in zip(best, written, strict=True))
            count += len(written)
    return {"agreement": round(same / max(1, count), 4), "tokens": count, "replies": len(lessons)}


def _write_json(path: Path, values: dict[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def read_arguments(trainer: str, description: str | None, config: str) -> argparse.Namespace:
    """Read the command line of `python -m TRAINER.export`, and add the command that trained the run."""
    parser = argparse.ArgumentParser(prog=f"python -m {trainer}.export", description=description)
    parser.add_argument("--run", type=Path, required=True, help="folder of a finished run")
    parser.add_argument("--config", type=Path, default=Path(config), help="configuration of the run")
    parser.add_argument("--max-minutes", type=float, help="limit that the training had; the card names it")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the artifact; its name becomes the model's"
    )
    parser.add_argument("--base", type=Path, help="folder of the base model; SmolLM2-135M by default")
    args = parser.parse_args()
    limit = "" if args.max_minutes is None else f" --max-minutes {args.max_minutes:g}"
    args.command = f"python -m {trainer} --config {args.config} --data DATA --out RUN{limit}"
    return args


def main() -> None:
    args = read_arguments("training.summarizer", __doc__, "training/configs/summarizer_smollm2.toml")
    print(json.dumps(export_adapter(args.run, args.config, args.out, args.command, args.base)))


if __name__ == "__main__":
    main()
