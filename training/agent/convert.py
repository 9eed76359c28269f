"""`python -m training.agent.convert --checkpoint FOLDER --kind agent --base MODEL --base-gguf FILE --out OUT`

Turns a checkpoint of verl, TRL or transformers into an artifact that `load_agent` or `Summarizer` loads: an
adapter of the model that the training started from. A checkpoint of all weights becomes an adapter of rank
`--rank`, and the command says how much of the difference that keeps. It fails, and writes nothing, if
llama.cpp with the adapter does not choose the tokens that the checkpoint chooses.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any, Literal

from peft import PeftModel

from tersely.types import Document
from tersely_agents.agent import DocumentIndex, search_tools
from tersely_agents.agent.summary import make_prompt
from tersely_agents.agent.tools import finish_tool
from tersely_agents.agent.trained import describe_prompts as describe_agent_prompts
from tersely_agents.summaries.summarizer import describe_prompts as describe_summary_prompts
from tersely_agents.summaries.writing import write_messages
from training.agent.checkpoint import copy_adapter, find_weights, make_adapter, read_weights
from training.agent.export import count_context
from training.causal import ADAPTER_FILES, load_causal
from training.summarizer.examples import Lesson
from training.summarizer.export import PRESELECT
from training.summarizer.package import SMOLLM2, Base, write_package

Kind = Literal["agent", "summarizer"]
_QUESTIONS = ("Who keeps the lighthouse at Brel?", "When was the ferry of Kordale built?", "What is a spit?")
_REPLY_TOKENS = 24
SEARCH_TOKENS = 2000
"""Maximum number of tokens that an agent reads of a search."""
MAX_TOKENS = 2048
"""Maximum number of tokens of a reply."""
_TEXT = "Ada Holt keeps the lighthouse at Brel. The ferry of Kordale was built in 1931."


def convert(
    checkpoint: Path,
    kind: Kind,
    out: Path,
    *,
    base: str | None = None,
    base_gguf: Path | None = None,
    rank: int = 64,
) -> dict[str, float]:
    """Write the artifact, and return how well llama.cpp agrees and, of a whole model, what the adapter keeps.

    base: model that the training started from, by its folder or hub name; None for SmolLM2. base_gguf: the
    same model for llama.cpp. rank: of the adapter of a whole model.

    Raises ValueError for weights of another model, and RuntimeError if llama.cpp disagrees: raise `rank`.
    """
    source = find_weights(checkpoint)
    model, tokenizer = load_causal(base)
    name, longest = base or SMOLLM2, model.config.max_position_embeddings
    with tempfile.TemporaryDirectory() as folder:
        staging = Path(folder)
        facts: dict[str, float] = {}
        if (source / ADAPTER_FILES[1]).exists():
            copy_adapter(source, name, staging)
            model = PeftModel.from_pretrained(model, staging)
        else:
            weights = read_weights(source)
            facts = make_adapter(weights, model, name, staging, rank)
            model.load_state_dict(weights, strict=False)
        lessons = [_make_lesson(kind, question) for question in _QUESTIONS]
        values: dict[str, Any] = {"kind": kind, "max_tokens": MAX_TOKENS}
        if kind == "agent":
            context = count_context(SEARCH_TOKENS, MAX_TOKENS)
            values |= {"prompts": describe_agent_prompts(), "search_tokens": SEARCH_TOKENS}
        else:
            context = count_context(PRESELECT, MAX_TOKENS)
            values |= {"prompts": describe_summary_prompts(), "preselect": PRESELECT}
        values["context"] = min(longest, context)
        parity = write_package(
            staging,
            out,
            Base(name, base, base_gguf),
            model,
            tokenizer,
            lessons,
            values,
            {"kind": kind, "checkpoint": facts},
            _render_card,
            _REPLY_TOKENS,
        )
    return facts | parity


def _make_lesson(kind: Kind, question: str) -> Lesson:
    """Make a prompt as the artifact will read it."""
    document = Document(_TEXT, "Brel", "brel")
    if kind == "summarizer":
        messages = write_messages(question, question, [document], "clarity", None)
    else:
        tools = [*search_tools(DocumentIndex({"brel": document})), finish_tool(needs_explanation=True)]
        messages = make_prompt(tools, question, "", "")
    plain = [{"role": str(m["role"]), "content": str(m["content"])} for m in messages]
    return Lesson(question, "parity", plain, "")


def _render_card(name: str, facts: dict[str, Any]) -> str:
    figures = {**facts["checkpoint"], **facts["parity"]}
    lines = "\n".join(f"- {key}: {value:.4g}" for key, value in figures.items())
    return f"""---
base_model: {facts["base_model"]}
tags: [{facts["kind"]}, lora, gguf]
---
# {name}

An adapter of {facts["base_model"]}, converted from a checkpoint by `training.agent.convert`.

{lines}
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.agent.convert", description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--kind", choices=("agent", "summarizer"), required=True)
    parser.add_argument("--base", help="model that the training started from; SmolLM2-135M by default")
    parser.add_argument("--base-gguf", type=Path, help="the same model for llama.cpp")
    parser.add_argument("--out", type=Path, required=True, help="folder of the artifact")
    parser.add_argument("--rank", type=int, default=64, help="of the adapter of a whole model")
    args = parser.parse_args()
    print(
        json.dumps(
            convert(
                args.checkpoint, args.kind, args.out, base=args.base, base_gguf=args.base_gguf, rank=args.rank
            )
        )
    )


if __name__ == "__main__":
    main()
