"""`python -m training.rl.experience.start --rollouts FILE --extractor openai:URL#MODEL --out bank.db`

Makes the bank that a run of Evolving Rollouts starts from (section 3.2): a frozen language model condenses
each recorded rollout on its own, and writes lessons. FILE has JSON lines with `question` (or `task`),
`messages` and `reward`, such as those of `training.rl.harvest`. If `reward` is missing or null, the last
message says it ("Episode finished, reward = True"); otherwise the line counts as a success. Runs on questions
that benchmarks may ask are left out. A command that was stopped continues: questions that the bank has
lessons of are skipped.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.shared.tasks.rows import read_lines
from tersely_agents.chat import ChatError, ChatModel
from tersely_agents.experience import Attempt, Embedder, Experience, ExperienceBank, ExperienceError, extract
from training.agent.trajectories import HELD_OUT, read_end
from training.chats import open_chat
from training.run import show_progress

RUN = "start"
"""Name of the run that the lessons come from."""


def make_bank(
    rows: Sequence[dict[str, Any]],
    extractor: ChatModel,
    out: Path,
    *,
    embedder: Embedder | None = None,
    parallel: int = 1,
    show: bool = False,
) -> dict[str, int]:
    """Add lessons of each rollout to the bank `out`. Returns the size of the bank and the number of rollouts
    that gave none. Raises ValueError if the bank is empty in the end."""
    failed = 0
    with closing(ExperienceBank(out, embedder)) as bank, ThreadPoolExecutor(parallel) as pool:
        known = {lesson.problem for lesson in bank.experiences()}
        left = [row for row in rows if _name(row) not in known]
        found = pool.map(lambda row: _extract(extractor, row), left)
        for lessons in show_progress("lessons", found, total=len(left), unit="rollout", visible=show):
            failed += not lessons
            bank.add_all(lessons, over_success=True)
        if not len(bank):
            raise ValueError(f"none of {len(rows)} rollouts gave a lesson, so {out} is empty")
        return {"lessons": len(bank), "failed": failed}


def read_rollouts(file: Path) -> list[dict[str, Any]]:
    """Read recorded rollouts, each with its reward."""
    rows = [row for row in read_lines(file) if not str(row.get("id", "")).startswith(HELD_OUT)]
    return [{**row, "reward": _read_reward(row)} for row in rows]


def _read_reward(row: dict[str, Any]) -> float:
    if row.get("reward") is not None:
        return min(1.0, max(0.0, float(row["reward"])))
    said = read_end(str(row["messages"][-1]["content"]))
    return 1.0 if said is None else float(said)


def _name(row: dict[str, Any]) -> str:
    return str(row.get("question") or row["task"]).strip()


def _extract(extractor: ChatModel, row: dict[str, Any]) -> list[Experience]:
    attempt = Attempt(row["messages"], row["reward"])
    try:
        return extract(extractor, _name(row), [attempt], run=RUN)
    except (ChatError, ExperienceError) as error:
        print(f"no lesson of {_name(row)!r}: {error}")
        return []


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.rl.experience.start", description=__doc__)
    parser.add_argument("--rollouts", type=Path, required=True, help="JSON lines, also compressed with gzip")
    parser.add_argument("--extractor", required=True, help="openai:URL#MODEL, local or local:FILE")
    parser.add_argument("--out", type=Path, required=True, help="file of the bank")
    parser.add_argument("--parallel", type=int, default=1, help="rollouts at once")
    args = parser.parse_args()
    rows = read_rollouts(args.rollouts)
    facts = make_bank(rows, open_chat(args.extractor), args.out, parallel=args.parallel, show=True)
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
