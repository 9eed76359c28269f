"""`python -m training.summarizer.teacher --config CONFIG --data DATA --teacher openai:URL#MODEL --out FOLDER`

Makes examples with a teacher (RECON, section 3.2 and appendix B.2): for each question and each of the six
aspects, a chat model summarises the passages that the selector kept. Only sentences of its answer that
pass the run-time check of summaries against this text are learned.

FOLDER/answers.jsonl   every answer of the teacher, by its prompt; no prompt is sent twice
FOLDER/lessons.jsonl   the examples, for `python -m training.summarizer --lessons`

A command that was stopped continues when it is run again. OPENAI_API_KEY is the key of a server.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.shared.cache import digest
from benchmarks.shared.tasks import Example
from benchmarks.shared.tasks.rows import find_data_folder
from tersely import Compressor, Document
from tersely_agents.chat import ChatError, ChatModel, Message, Reply
from tersely_agents.chat.protocol import Sampling, complete_safely
from tersely_agents.summaries.types import ASPECTS, Aspect
from tersely_agents.summaries.writing import check_reply, prepare
from training.chats import open_chat
from training.run import Run, read_whole_lines, run_command, show_progress
from training.settings import read_settings
from training.summarizer.examples import (
    Lesson,
    Recipe,
    choose_room,
    draw_questions,
    gather_passages,
    read_shown,
)

FAILURES = 20
"""Number of failed requests in a row after which the teacher counts as down."""


@dataclass(frozen=True, slots=True)
class Teaching:
    """Settings of the teacher's prompts. RECON asks for all six aspects of every question (appendix B.2)."""

    aspects: list[Aspect] = field(default_factory=lambda: list(ASPECTS))
    budgeted: float = 0.25
    """Share of the prompts that name a length."""
    shortest: int = 40
    longest: int = 140
    """Range of the lengths, in tokens."""
    grounded: float = 0.5
    """Minimum share of an answer's sentences that must be supported, because an incomplete summary is not
    worth learning."""
    temperature: float = 0.0
    max_tokens: int = 400
    """Number of tokens of an answer if the prompt names no length."""


@dataclass(frozen=True, slots=True)
class TeacherSettings:
    """Settings of the questions and the teacher; `data.examples` is the maximum number of questions."""

    data: Recipe
    teacher: Teaching = field(default_factory=Teaching)


class Teacher:
    """Chat model that answers each prompt once; its answers are kept in `file`, one per line.

    A failed request is not kept, so the next command sends it again. Several threads may ask.
    """

    def __init__(self, chat: ChatModel, settings: Teaching, file: Path) -> None:
        self.name = chat.name
        self.failed = 0
        """Number of failed requests."""
        self._chat = chat
        self._settings = settings
        self._failed_in_a_row = 0
        self._lock = threading.Lock()
        self._known = {
            row["prompt"]: Reply(row["text"], finish=row["finish"]) for row in read_whole_lines(file)
        }
        self._stream = open(file, "a", encoding="utf-8")  # noqa: SIM115 (closed by close)

    def ask(self, messages: Sequence[Message], limit: int | None) -> Reply | None:
        """Return the answer to a prompt in at most `limit` tokens, or None if the request failed.

        Raises ChatError if `FAILURES` requests in a row have failed.
        """
        sampling: Sampling = {
            "temperature": self._settings.temperature,
            "max_tokens": limit or self._settings.max_tokens,
        }
        key = digest(self.name, json.dumps([list(messages), sampling], sort_keys=True)).hex()
        if key in self._known:
            return self._known[key]
        try:
            reply = complete_safely(self._chat, messages, **sampling)
        except ChatError:
            with self._lock:
                self.failed += 1
                self._failed_in_a_row += 1
                if self._failed_in_a_row >= FAILURES:
                    raise
            return None
        with self._lock:
            self._failed_in_a_row = 0
            self._known[key] = reply
            row = {"prompt": key, "text": reply.text, "finish": reply.finish}
            self._stream.write(json.dumps(row) + "\n")
            self._stream.flush()
        return reply

    def close(self) -> None:
        self._stream.close()


def teach(
    settings: TeacherSettings,
    chat: ChatModel,
    compressor: Compressor,
    folder: Path,
    data: Path | None = None,
    parallel: int = 1,
    pairs: Path | None = None,
) -> dict[str, int]:
    """Ask `chat` about each question that the recipe draws, and write the examples to `folder`.

    parallel: number of questions at once.
    pairs: file of `training.rl.harvest` with queries and their passages, which takes the recipe's place
        (RECON, appendix B.2). The passages are shown as they are.

    Returns the numbers of examples, of dropped answers, and of failed requests. Raises ChatError if the
    teacher is down.
    """
    # Questions may be added later; any other change would change the examples.
    recipe = replace(settings.data, questions={}, examples=None)
    Run(folder, identity={**asdict(replace(settings, data=recipe)), "model": chat.name})
    file = folder / "lessons.jsonl"
    done = {row["id"] for row in read_whole_lines(file)}
    subjects: list[_Subject]
    if pairs:
        subjects = [_read_pair(row) for row in read_whole_lines(pairs)]
    else:
        drawn = draw_questions(settings.data, find_data_folder(data))[: settings.data.examples]
        subjects = [
            _Subject(e.id, name, e.question, None, partial(_show, settings, compressor, name, e))
            for name, e in drawn
        ]
    left = [
        subject
        for subject in subjects
        if not {_name_row(subject.id, aspect) for aspect in settings.teacher.aspects} <= done
    ]
    pool = ThreadPoolExecutor(parallel)
    with (
        closing(Teacher(chat, settings.teacher, folder / "answers.jsonl")) as teacher,
        open(file, "a", encoding="utf-8") as stream,
    ):
        try:
            made = pool.map(lambda subject: list(_make_rows(settings, teacher, compressor, subject)), left)
            for rows in show_progress("questions", made, total=len(left), unit="q"):
                # A stopped command may have written some of a question's rows.
                new = [row for row in rows if row["id"] not in done]
                stream.writelines(json.dumps(row) + "\n" for row in new)
                stream.flush()
        finally:
            pool.shutdown(cancel_futures=True)
        rows = read_whole_lines(file)
        examples = sum(row["lesson"] is not None for row in rows)
        return {"examples": examples, "dropped": len(rows) - examples, "failed": teacher.failed}


@dataclass(frozen=True, slots=True)
class _Subject:
    """A question, the query that searches for it (None for the question), and what the teacher is shown."""

    id: str
    source: str
    question: str
    query: str | None
    show: Callable[[], Sequence[Document]]


def _read_pair(row: dict[str, Any]) -> _Subject:
    documents = [Document(d["text"], d["title"]) for d in row["docs"]]
    return _Subject(row["id"], "rollouts", row["question"], row["query"], lambda: documents)


def _show(
    settings: TeacherSettings, compressor: Compressor, name: str, example: Example
) -> Sequence[Document]:
    """Return the passages of a question, shortened by the selector."""
    draw = random.Random(f"{settings.data.seed} {example.id}")
    clean = draw.random() < settings.data.clean
    room = choose_room(settings.data, draw)
    documents, _ = gather_passages(settings.data, name, example, clean, draw)
    return (
        read_shown(compressor.compress(example.question, documents, budget=room), name, clean)
        if documents
        else []
    )


def _name_row(subject: str, aspect: Aspect) -> str:
    return f"{subject} {aspect}"


def _make_rows(
    settings: TeacherSettings, teacher: Teacher, compressor: Compressor, subject: _Subject
) -> Iterator[dict[str, Any]]:
    """Yield a row for each aspect that the teacher answered.

    Its example is None if too little of the answer is supported, or if the question has no passages.
    """
    shown = subject.show()
    for aspect in settings.teacher.aspects:
        lesson = None
        if shown:
            length = random.Random(f"{settings.data.seed} {subject.id} {aspect}")
            budget = _choose_budget(settings.teacher, length)
            query = subject.query or subject.question
            request = prepare(compressor, query, shown, subject.question, aspect, budget, None)
            reply = teacher.ask(request.messages(), request.reply_limit)
            if reply is None:
                continue
            summary = check_reply(request, reply, teacher.name, checks="drop")
            sentences = [
                summary.text[s.start : s.end]
                for s in summary.sentences
                if summary.backend == "llm" and not s.unknown
            ]
            written = len(summary.sentences) + len(summary.dropped)
            if sentences and len(sentences) >= settings.teacher.grounded * written:
                messages = [{"role": m["role"], "content": m["content"]} for m in request.messages()]
                lesson = Lesson(subject.id, subject.source, messages, " ".join(sentences), teacher.name)
        yield {"id": _name_row(subject.id, aspect), "lesson": lesson and asdict(lesson)}


def _choose_budget(teaching: Teaching, draw: random.Random) -> int | None:
    return draw.randint(teaching.shortest, teaching.longest) if draw.random() < teaching.budgeted else None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.summarizer.teacher", description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("training/configs/summarizer_teacher.toml"))
    parser.add_argument("--data", type=Path, help="data folder; TERSELY_DATA by default")
    parser.add_argument("--teacher", required=True, help="openai:URL#MODEL, local or local:FILE")
    parser.add_argument("--out", type=Path, required=True, help="folder of the answers and the examples")
    parser.add_argument("--pairs", type=Path, help="pairs.jsonl of training.rl.harvest, instead of questions")
    parser.add_argument("--parallel", type=int, default=1, help="questions at once")
    args = parser.parse_args()
    settings = read_settings(TeacherSettings, args.config)
    chat = open_chat(args.teacher)
    print(json.dumps(teach(settings, chat, Compressor(), args.out, args.data, args.parallel, args.pairs)))


if __name__ == "__main__":
    run_command(main)
