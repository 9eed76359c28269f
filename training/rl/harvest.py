"""`python -m training.rl.harvest --config RECIPE --policy URL#MODEL --count N --out FOLDER`: rollouts of a
recipe's agent with a policy on a vLLM server.

FOLDER/rollouts.jsonl   a line for each rollout: question, answers, reward, outcome, messages, and the
                        trajectory with its exact tokens
FOLDER/pairs.jsonl      RECON's queries with their passages (appendix B.2): the distinct queries of each
                        rollout, each with the k best passages, as they are

`training.rl.imitate` learns from the rollouts, `training.rl.experience.start` makes a bank of them, and
`training.summarizer.teacher --pairs` asks a teacher about the pairs. The first rollouts, from which the bank
and the summarizer are made, need --without-learned. No question is one that the run validates with, or, with
`sft_questions` in the recipe, one that it trains on. A command that was stopped continues.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from training.rl.environments.search import SearchEnvironment, SearchTask
from training.rl.language.vllm import VllmPolicy
from training.rl.recipes import Recipe, load_questions, make_environment
from training.rl.rollout import Policy, run_episodes
from training.run import read_whole_lines, show_progress
from training.settings import read_settings

PARALLEL = 64
"""Number of episodes at once."""


def harvest(environment: SearchEnvironment, policy: Policy, count: int, out: Path) -> dict[str, float]:
    """Roll out the first `count` questions once each, and write rollouts and pairs. Rollouts are not
    written if the server failed, so that the next call repeats them. Return figures of all rollouts in the
    folder.
    """
    out.mkdir(parents=True, exist_ok=True)
    rollouts, pairs = out / "rollouts.jsonl", out / "pairs.jsonl"
    done = {row["id"] for row in read_whole_lines(rollouts)}
    left = [q for q in environment.questions[:count] if q.id not in done]
    bar = show_progress("rollouts", total=len(left), unit="rollout")
    for at in range(0, len(left), PARALLEL):
        tasks = [environment.make_task(q, random.Random(q.id), 1.0) for q in left[at : at + PARALLEL]]
        made = run_episodes(policy, tasks)
        with open(pairs, "a", encoding="utf-8") as first, open(rollouts, "a", encoding="utf-8") as second:
            for task, trajectory in zip(tasks, made, strict=True):
                if trajectory.outcome not in ("server", "environment"):
                    first.writelines(_dump(row) for row in _make_pairs(environment, task, trajectory.facts))
                    second.write(
                        _dump(
                            {
                                "id": task.question.id,
                                "question": task.question.text,
                                "answers": list(task.question.answers),
                                "reward": trajectory.reward,
                                "outcome": trajectory.outcome,
                                "messages": environment.chat.read_messages(trajectory),
                                "trajectory": trajectory.to_dict(),
                            }
                        )
                    )
                bar.update()
    bar.close()
    rows = read_whole_lines(rollouts)
    return {
        "rollouts": len(rows),
        "reward": sum(row["reward"] for row in rows) / max(1, len(rows)),
        "pairs": len(read_whole_lines(pairs)) if pairs.exists() else 0,
    }


def strip_learned(recipe: Recipe) -> Recipe:
    """Return a recipe without its bank and summarizer, which are made from rollouts."""
    return replace(recipe, bank="", extractor="", summarizer="")


def _make_pairs(environment: SearchEnvironment, task: SearchTask, facts: Any) -> Iterator[dict[str, Any]]:
    """Yield the distinct queries of a rollout with their passages."""
    for number, query in enumerate(dict.fromkeys(facts["queries"])):
        hits = task.index.search(query, environment.k)
        docs = [{"title": hit.title, "text": hit.passage} for hit in hits]
        yield {
            "id": f"{task.question.id}-{number}",
            "question": task.question.text,
            "query": query,
            "docs": docs,
        }


def _dump(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.rl.harvest", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="a recipe of training/runs/verl")
    parser.add_argument("--data", type=Path, help="data folder; TERSELY_DATA by default")
    parser.add_argument("--policy", required=True, help="URL#MODEL of a vLLM server")
    parser.add_argument("--count", type=int, required=True, help="questions to roll out")
    parser.add_argument("--out", type=Path, required=True, help="folder of the rollouts")
    parser.add_argument(
        "--without-learned", action="store_true", help="without the recipe's bank and summarizer"
    )
    args = parser.parse_args()

    from transformers import AutoTokenizer  # takes seconds

    recipe = read_settings(Recipe, args.config)
    if args.without_learned:
        recipe = strip_learned(recipe)
    url, _, model = args.policy.partition("#")
    policy = VllmPolicy(
        url,
        model,
        max_reply=recipe.reply_tokens,
        stop_texts=recipe.stop_texts,
        temperature=recipe.temperature,
    )
    tokenizer = AutoTokenizer.from_pretrained(recipe.policy)
    questions, documents = load_questions(recipe, data=args.data, part="sft")
    if len(questions) < args.count:
        parser.error(f"the recipe has {len(questions)} questions for rollouts")
    environment = make_environment(recipe, tokenizer, questions, documents)
    print(json.dumps(harvest(environment, policy, args.count, args.out)))


if __name__ == "__main__":
    main()
