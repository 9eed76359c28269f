"""`python -m training.summarizer.export --run RUN --out models/my-summarizer`: package an adapter.

adapter_model.safetensors, adapter_config.json   for transformers with peft, and for vLLM
adapter.gguf                                     for llama.cpp, which `tersely_agents.summaries` uses
config.json, manifest.json, README.md            what the runtime needs to know, checksums, the card

Both adapters are float16. The export fails if llama.cpp and transformers disagree on the next token.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from peft import PeftModel
from safetensors.torch import load_file, save_file

from tersely_agents.summaries.summarizer import describe_prompts
from training.causal import Adapter, load_causal
from training.run import read_runs
from training.settings import read_settings
from training.summarizer.card import render_card
from training.summarizer.examples import Lesson, read_lessons
from training.summarizer.package import Base, write_package
from training.summarizer.train import Settings

PRESELECT = 280
"""Number of tokens of the documents that the model reads, by the compressor's counter, as in training."""
MAX_TOKENS = 200
REPLIES = 5
"""Number of replies that the parity check compares."""
TOOLS = ("torch", "transformers", "peft", "gguf", "xllamacpp")


def export_adapter(run: Path, config: Path, target: Path, command: str, base: Base) -> dict[str, float]:
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
    base: Base,
    trained: Path | None = None,
) -> dict[str, float]:
    """Write the adapter of a finished run, with `values` in its configuration and a card of its facts.

    shape: settings with which the adapter was trained.
    facts: facts for the card in addition to the base model, the run, parity, and the adapter's shape.
    heldout: examples whose replies are compared.
    trained: folder of the adapter; `run/final` by default.

    Raises RuntimeError if llama.cpp and transformers disagree; nothing is written to `target` then.
    """
    staging = run / "artifact"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    trained = trained or run / "final"
    weights = load_file(trained / "adapter_model.safetensors")
    save_file({key: value.half() for key, value in weights.items()}, staging / "adapter_model.safetensors")
    adapter = json.loads((trained / "adapter_config.json").read_text(encoding="utf-8"))
    adapter["base_model_name_or_path"] = base.name
    (staging / "adapter_config.json").write_text(json.dumps(adapter, indent=2) + "\n", encoding="utf-8")
    model, tokenizer = load_causal(base.weights)
    facts = {
        **facts,
        "run": read_runs(run / "final")[-1],
        "adapter": asdict(shape),
        "tools": {"python": platform.python_version(), **{tool: version(tool) for tool in TOOLS}},
    }
    adapted = PeftModel.from_pretrained(model, staging)
    return write_package(staging, target, base, adapted, tokenizer, heldout, values, facts, render)


def make_parser(trainer: str, description: str | None, config: str) -> argparse.ArgumentParser:
    """Make the parser of `python -m TRAINER.export`. config: the usual configuration."""
    parser = argparse.ArgumentParser(prog=f"python -m {trainer}.export", description=description)
    parser.add_argument("--run", type=Path, required=True, help="folder of a finished run")
    parser.add_argument("--config", type=Path, default=Path(config), help="configuration of the run")
    parser.add_argument("--max-minutes", type=float, help="limit that the training had; the card names it")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the artifact; its name becomes the model's"
    )
    parser.add_argument("--base", help="folder or hub name of the base model; SmolLM2-135M by default")
    parser.add_argument("--base-gguf", type=Path, help="the same model for llama.cpp")
    parser.add_argument("--base-name", help="its hub name, if --base is a folder")
    parser.add_argument("--base-file", help="owner/name/FILE.gguf of that file on the hub, for users")
    return parser


def read_arguments(trainer: str, parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the command line, and add the command that trained the run."""
    args = parser.parse_args()
    if bool(args.base) != bool(args.base_gguf):
        parser.error("--base and --base-gguf belong together: pass both, or none for SmolLM2-135M")
    own = f" --base {args.base_name or args.base}" if args.base else ""
    if args.base:
        args.base = Base(args.base_name or args.base, args.base, args.base_gguf, args.base_file)
    else:
        args.base = Base()
    limit = "" if args.max_minutes is None else f" --max-minutes {args.max_minutes:g}"
    args.command = f"python -m {trainer} --config {args.config} --data DATA --out RUN{own}{limit}"
    return args


def main() -> None:
    parser = make_parser("training.summarizer", __doc__, "training/configs/summarizer_smollm2.toml")
    args = read_arguments("training.summarizer", parser)
    print(json.dumps(export_adapter(args.run, args.config, args.out, args.command, args.base)))


if __name__ == "__main__":
    main()
