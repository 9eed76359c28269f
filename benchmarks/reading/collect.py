"""`python -m benchmarks.reading.collect STEP WORK`: make the rows of `benchmarks.reading`.

WORK is a folder outside the repository. Each step continues where it was stopped. The steps:

compress   write what every system keeps for each question (needs --data)
ask        let a reader answer from every context: --reader causal:FOLDER, openai:URL#MODEL, extractive:FOLDER
           or file:ANSWERS, a file or folder of answers that were given elsewhere
prompts    write files to --out, as many as --batches says, with the prompts that --name has not answered yet.
           No file has a question twice, so a reader of one file sees no question with two contexts
publish    write the rows without texts to benchmarks/reading/rows
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.command import SEED, track
from benchmarks.quality.controls import load_selector
from benchmarks.reading.contexts import SETS, Context, open_set
from benchmarks.reading.rows import CONTEXTS, ROWS, append, get_key, read_contexts
from benchmarks.rows import Line, read_lines, write_lines
from benchmarks.shared.environment import read_environment
from benchmarks.shared.readers import Prompt, Template, open_reader
from benchmarks.shared.readers.protocol import ABSTENTION, READING, make_prompt_key
from tersely.errors import TerselyError
from tersely.metrics import exact_match, normalize_answer, token_f1

BLOCK = 32
"""Number of contexts that a reader gets at once."""
TEMPLATE: Template = "reading"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a step and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reading.collect",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("step", choices=("compress", "ask", "prompts", "publish"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--data", help="data folder (default: $TERSELY_DATA)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    parser.add_argument("--limit", type=int, default=200, help="largest number of questions of each set")
    parser.add_argument("--systems", nargs="+", metavar="SYSTEM", help="for ask and prompts; all by default")
    parser.add_argument("--sizes", nargs="+", metavar="SIZE", help="for ask and prompts; all by default")
    parser.add_argument("--reader", help="the reader that answers")
    parser.add_argument("--name", help="name of the reader in tables")
    parser.add_argument("--batches", type=int, default=1, help="number of files of prompts")
    parser.add_argument("--out", type=Path, help="folder for the prompts")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    try:
        _run(options)
    except TerselyError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


def _run(options: argparse.Namespace) -> None:
    if options.step == "compress":
        options.work.mkdir(parents=True, exist_ok=True)
        compress(options.work, options.sets, data=options.data, limit=options.limit, seed=options.seed)
    elif options.step == "publish":
        publish_rows(options.work)
    else:
        chosen = choose(
            read_contexts(options.work), options.sets, options.limit, options.systems, options.sizes
        )
        if not chosen:
            raise TerselyError(f"{options.work} has no such contexts: run compress first")
        if options.step == "ask":
            if not (options.reader and options.name):
                raise TerselyError("ask needs --reader and --name")
            ask(options.work, chosen, options.reader, options.name)
        elif not (options.out and options.name):
            raise TerselyError("prompts needs --out and --name")
        else:
            left = leave_out_answered(options.work, chosen, options.name)
            write_prompts(options.out, left, options.batches, options.seed)


def compress(work: Path, sets: Sequence[str], *, data: str | None, limit: int, seed: int) -> None:
    """Add the contexts of all questions that the work folder lacks."""
    path = work / CONTEXTS
    # The context of all documents is written last, so a question that has it is complete.
    known = {(row["set"], row["id"]) for row in read_lines(path) if row["size"] == "all"}
    scorer, model = load_selector(None)
    environment = asdict(read_environment())
    (work / "run.json").write_text(json.dumps({"model": model, "seed": seed, "environment": environment}))
    for name in sets:
        opened = open_set(name, scorer, data=data, limit=limit, seed=seed)
        missing = [at for at, key in enumerate(opened.ids) if (name, key) not in known]
        for at in track(missing, name):
            append(path, map(asdict, opened.make(at)))


def choose(
    contexts: Sequence[Context],
    sets: Sequence[str],
    limit: int,
    systems: Sequence[str] | None,
    sizes: Sequence[str] | None,
) -> list[Context]:
    """Return the contexts of the first `limit` questions of each set, of these systems and sizes.

    The context of all documents is always included. The sets take turns, so that a run that is stopped has
    about the same number of questions of each set.
    """
    places: dict[tuple[str, str], int] = {}
    counts: Counter[str] = Counter()
    chosen: list[Context] = []
    for context in contexts:
        question = context.set, context.id
        if question not in places:
            places[question] = counts[context.set]
            counts[context.set] += 1
        is_wanted = context.size == "all" or (
            (not systems or context.system in systems) and (not sizes or context.size in sizes)
        )
        if context.set in sets and places[question] < limit and is_wanted:
            chosen.append(context)
    return sorted(chosen, key=lambda c: (places[c.set, c.id], sets.index(c.set)))


def leave_out_answered(work: Path, contexts: Sequence[Context], name: str) -> list[Context]:
    """Return the contexts that the reader `name` has not answered."""
    known = set(map(get_key, read_lines(work / f"answers-{name}.jsonl")))
    return [context for context in contexts if context.key not in known]


def ask(work: Path, contexts: Sequence[Context], spec: str, name: str) -> None:
    """Add a reader's answers from the contexts that it has not answered yet."""
    path = work / f"answers-{name}.jsonl"
    missing = leave_out_answered(work, contexts, name)
    reader = open_reader(spec, TEMPLATE)
    blocks = [missing[at : at + BLOCK] for at in range(0, len(missing), BLOCK)]
    failed = 0
    for block in track(blocks, name):
        answers = reader.answer([Prompt(c.question, c.text) for c in block])
        append(path, [score(c, a) for c, a in zip(block, answers, strict=True) if a is not None])
        failed += answers.count(None)
    print(f"{len(missing) - failed} answers added to {path}, {failed} contexts without an answer")


def score(context: Context, answer: str) -> Line:
    """Return an answer with its scores. Abstaining counts as wrong: the documents have the answer."""
    abstained = normalize_answer(answer) in ("", normalize_answer(ABSTENTION))
    return {
        "set": context.set,
        "id": context.id,
        "system": context.system,
        "size": context.size,
        "answer": answer,
        "em": int(exact_match(answer, context.answers)),
        "f1": round(token_f1(answer, context.answers), 4),
        "abstained": int(abstained),
    }


def write_prompts(out: Path, contexts: Sequence[Context], batches: int, seed: int) -> None:
    """Write the prompts, in random order. The contexts of a question go to different batches."""
    out.mkdir(parents=True, exist_ok=True)
    rows: list[list[dict[str, str]]] = [[] for _ in range(batches)]
    draw = random.Random(seed)
    by_question: dict[tuple[str, str], dict[str, Prompt]] = {}
    for context in contexts:
        # Systems that keep the same text get the same answer.
        prompt = Prompt(context.question, context.text)
        by_question.setdefault((context.set, context.id), {})[make_prompt_key(prompt)] = prompt
    most = max(map(len, by_question.values()), default=0)
    if most > batches:
        raise TerselyError(f"{batches} batches are too few: a question has {most} contexts")
    for own in by_question.values():
        for (key, prompt), batch in zip(own.items(), draw.sample(range(batches), len(own)), strict=True):
            rows[batch].append({"id": key, "question": prompt.question, "context": prompt.context})
    for batch, own in enumerate(rows):
        draw.shuffle(own)
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in own)
        (out / f"prompts-{batch + 1:02}.jsonl").write_text(lines, encoding="utf-8")
    (out / "README.txt").write_text(
        f'{READING}\n\nEach line of prompts-NN.jsonl has "id", "question" and "context". Write a line with '
        '"id" and "answer" for each to answers-NN.jsonl. Answer from each context alone: use no other '
        "context, and nothing that you know.\n",
        encoding="utf-8",
    )
    print(f"{sum(map(len, rows))} prompts in {batches} files of {out}")


def publish_rows(work: Path) -> None:
    """Write the rows of a work folder to the repository, without texts."""
    run = json.loads((work / "run.json").read_text(encoding="utf-8"))
    contexts = read_contexts(work)
    answered: set[object] = set()
    for path in sorted(work.glob("answers-*.jsonl")):
        answers = list(read_lines(path))
        answered.update(map(get_key, answers))
        write_lines(ROWS / f"{path.name}.gz", answers)
    write_lines(ROWS / f"{CONTEXTS}.gz", [run, *_describe(contexts, answered)])


def _describe(contexts: Iterable[Context], answered: set[object]) -> Iterable[dict[str, object]]:
    for c in contexts:
        if c.key in answered:
            row = {"set": c.set, "id": c.id, "system": c.system, "size": c.size}
            yield {**row, "tokens": c.tokens, "before": c.before, "kept": c.kept}


if __name__ == "__main__":
    sys.exit(main())
