"""Run folder, clock, history and checkpoint."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from training import run as run_module
from training.checkpoint import remove_checkpoint, resume, save_checkpoint
from training.run import Clock, Pace, Run, read_runs


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the clock's seconds, which a test can change."""
    seconds = [1000.0]
    monkeypatch.setattr(run_module.time, "monotonic", lambda: seconds[0])
    return seconds


def test_clock_counts_earlier_processes(now: list[float]) -> None:
    clock = Clock()
    clock.seconds_before = 30.0
    now[0] += 60
    assert (clock.seconds(), clock.minutes()) == (90.0, 2)


def test_clock_has_time_until_its_limit(now: list[float]) -> None:
    clock = Clock(max_minutes=10)
    now[0] += 400
    assert clock.has_time_for(200.0)
    assert not clock.has_time_for(201.0)
    assert Clock().has_time_for(1e9)


def test_share_is_the_larger_of_work_and_time(now: list[float]) -> None:
    limited, unlimited = Clock(max_minutes=10), Clock()
    now[0] += 300
    assert [limited.share(work) for work in (0.2, 0.7)] == [0.5, 0.7]
    now[0] += 600
    assert limited.share(0.2) == 1.0
    assert [unlimited.share(work) for work in (0.25, 1.5)] == [0.25, 1.0]


def test_estimates_the_time_left_from_the_share(now: list[float]) -> None:
    clock = Clock()
    assert clock.estimate_left(0.0) == "just started"
    now[0] += 120
    assert clock.estimate_left(0.25) == "6 min left"
    assert clock.estimate_left(1.0) == "0 min left"


def test_a_pace_divides_what_is_left(now: list[float]) -> None:
    pace = Pace(Clock(max_minutes=1), rows=30)

    def count(rows: int, seconds: float) -> int:
        taken = 0
        for _ in pace.take(range(rows)):
            now[0] += seconds
            taken += 1
        return taken

    assert count(10, 1) == 10  # of 20 seconds; the next ones have 25 each
    assert count(10, 5) == 5
    assert pace.is_half_over()
    assert count(10, 100) == 1  # at least one
    unlimited = Pace(Clock(), rows=1)
    assert len(list(unlimited.take(range(9)))) == 9
    assert not unlimited.is_half_over()


def test_history_drops_an_unfinished_line(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.record(step=1, loss=0.5)
    with open(tmp_path / "history.jsonl", "a", encoding="utf-8") as stream:
        stream.write('{"step": 2, "lo')
    assert Run(tmp_path).history == run.history == [{"step": 1, "loss": 0.5}]


@pytest.mark.parametrize(
    ("scores", "expected"), [([0.1, 0.4, 0.4, 0.3], [0, 1]), ([-1.0], [0])], ids=["first", "negative"]
)
def test_saves_the_weights_of_the_first_highest_score(
    tmp_path: Path, scores: list[float], expected: list[int]
) -> None:
    run = Run(tmp_path)
    saved: list[tuple[int, Path]] = []
    for epoch, score in enumerate(scores):
        run.record_validation(score, lambda folder, n=epoch: saved.append((n, folder)), epoch=epoch)
    assert saved == [(epoch, tmp_path / "final") for epoch in expected]
    assert run.best()["epoch"] == expected[-1]


def test_process_that_does_not_write_changes_nothing(tmp_path: Path) -> None:
    Run(tmp_path).record(step=1)
    other = Run(tmp_path)
    other.writes = False
    other.record(step=2)
    other.cut_history(0)
    assert Run(tmp_path).history == [{"step": 1}]


def test_refuses_a_run_with_another_identity(tmp_path: Path) -> None:
    Run(tmp_path, identity={"seed": 1})
    Run(tmp_path, identity={"seed": 1})
    with pytest.raises(ValueError, match="name a new folder"):
        Run(tmp_path, identity={"seed": 2})


def test_refuses_a_folder_that_another_process_trains_in(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from training.run import Run
run = Run(Path(sys.argv[1]))
run.cut_history(0)
print("training", flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "training\n"
        run = Run(tmp_path)
        for write in (lambda: run.cut_history(0), lambda: run.record(step=1)):
            with pytest.raises(RuntimeError, match="another process trains in"):
                write()
        other.kill()
    assert run.record(step=1) == {"step": 1}  # the lock ended with the process
    assert Run(tmp_path).record(step=2) == {"step": 2}  # one process may have two runs


def test_final_weights_name_all_runs_that_made_them(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.final.mkdir()
    run.origins = [{"seed": 1}]
    run.finish({"seed": 2})
    assert read_runs(run.final) == [{"seed": 1}, {"seed": 2}]


def test_checkpoint_restores_everything(tmp_path: Path, now: list[float]) -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    rng, generator = random.Random(3), torch.Generator().manual_seed(3)
    parts = {"model": model, "optimizer": optimizer, "rng": rng, "generator": generator}
    run = Run(tmp_path)
    run.origins = [{"seed": 1}]
    run.record(step=1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    now[0] += 60
    save_checkpoint(run, parts, {"step": 1})

    def draw() -> list[float]:
        output = model(torch.ones(1, 2)).flatten().tolist()
        ours = [rng.random(), torch.rand(1, generator=generator).item()]
        return [*output, *ours, random.random(), torch.rand(1).item()]

    drawn = draw()
    run.record(step=2)
    torch.nn.init.zeros_(model.weight)
    optimizer.state.clear()
    again = Run(tmp_path)
    assert resume(again, parts) == {"step": 1}
    assert draw() == drawn
    assert optimizer.state[model.weight]["step"] == 1
    assert again.clock.seconds() == 60
    assert again.origins == [{"seed": 1}]
    assert again.history == Run(tmp_path).history == [{"step": 1}]  # the second step is cut off


def test_run_without_a_checkpoint_starts_anew(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.record(step=1)
    save_checkpoint(run, {}, {"step": 1})
    remove_checkpoint(run)
    again = Run(tmp_path)
    assert resume(again, {}) is None
    assert again.history == []
    assert (tmp_path / "history.jsonl").read_text() == ""


def test_unfinished_checkpoint_does_not_replace_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path)
    save_checkpoint(run, {}, {"step": 1})

    def stop(content: object, path: Path) -> None:
        Path(path).write_bytes(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", stop)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(run, {}, {"step": 2})
    assert resume(Run(tmp_path), {}) == {"step": 1}
