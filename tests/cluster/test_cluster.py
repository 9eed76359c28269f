"""Ray Data and Ray Serve on a cluster of several processes. Some of them are killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="run scripts/ray")
import httpx2
import pyarrow.parquet as pq
import ray
from ray import serve

from tersely import Compressor, InvalidInputError
from tersely_ray import compress_dataset, make_application
from tests.cluster.job import ROWS_OF_A_FILE
from tests.docs.pages import blocks
from tests.sdk.fakes import FakeScorer

PATIENCE_S = 900
FILES = 12
ROWS = FILES * ROWS_OF_A_FILE


def write_rows(folder: Path, kill: int | None) -> None:
    """Write files of rows. The row `kill` ends the first actor that reads it; the last row cannot be used."""
    for name in ("rows", "calls"):
        (folder / name).mkdir()
    for file in range(FILES):
        rows: list[dict[str, Any]] = []
        for number in range(file * ROWS_OF_A_FILE, (file + 1) * ROWS_OF_A_FILE):
            word = "kill" if number == kill else "lamp"
            text = f"Page {number} is about the {word}. The harbour was dug in 1871. It rains."
            query = "" if number == ROWS - 1 else f"Which word is on page {number}?"
            rows.append({"id": number, "query": query, "documents": [text, "Nobody reads the rest of it."]})
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "rows" / f"{file:02d}.jsonl").write_text(lines, encoding="utf-8")


def start_job(folder: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.cluster.job", str(folder), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(job: subprocess.Popen[str]) -> None:
    _, log = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 0, log[-3000:]


def wait_until(condition: Callable[[], bool], job: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert job.poll() is None, job.stderr and job.stderr.read()[-3000:]
        assert time.monotonic() < end
        time.sleep(0.1)


def read_results(folder: Path) -> list[dict[str, Any]]:
    files = sorted((folder / "out").rglob("*.parquet"))
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    return sorted(rows, key=lambda row: row["id"])


def count_calls(folder: Path) -> Counter[int]:
    return Counter(int(path.name.split("-")[0]) for path in (folder / "calls").iterdir())


def check_results(folder: Path) -> None:
    """Check that every row is there once, with the compression of its documents."""
    rows = read_results(folder)
    assert [row["id"] for row in rows] == list(range(ROWS)), "no row is lost, none is doubled"
    compressor = Compressor(FakeScorer())
    for row in rows[:-1]:
        expected = compressor.compress(row["query"], row["documents"], budget=12)
        assert row["compression"]["text"] == expected.text
        assert row["compression"]["status"] == expected.status == "compressed"
        receipt = json.loads(row["compression"]["receipt"])
        assert receipt["tokens_after"] == row["compression"]["tokens_after"] == expected.tokens_after
        assert len(receipt["dropped"]) == len(expected.dropped)
        assert (receipt["best_fits"], receipt["answerable"]) == (expected.best_fits, expected.answerable)
    refused = rows[-1]["compression"]
    assert (refused["status"], refused["text"]) == ("refused", "")
    assert "query" in refused["reason"]


def test_rows_survive_a_killed_actor_and_a_killed_worker(cluster: Any, tmp_path: Path) -> None:
    write_rows(tmp_path, kill=5)
    worker = cluster.add_node()
    job = start_job(tmp_path, 0.5)
    wait_until(lambda: len(count_calls(tmp_path)) >= ROWS // 3, job)
    cluster.kill_node(worker)
    finish(job)
    assert (tmp_path / "killed").read_text() == "5", "an actor has ended itself"
    check_results(tmp_path)


def test_a_killed_job_continues_where_it_was(cluster: Any, tmp_path: Path) -> None:
    write_rows(tmp_path, kill=None)
    cluster.add_node()  # the actors take the cores of one, and rows are written by the others
    job = start_job(tmp_path, 4.0)  # so that some are written while others wait
    checkpoint = tmp_path / "checkpoint"
    wait_until(lambda: checkpoint.exists() and len(list(checkpoint.rglob("*.parquet"))) >= 2, job)
    job.kill()
    job.communicate()
    time.sleep(10)  # until the cluster has ended what belonged to the job
    done = {row["id"] for row in read_results(tmp_path)}
    before = count_calls(tmp_path)
    assert 0 < len(before) < ROWS - 1, "it was killed in the middle"
    finish(start_job(tmp_path, 0.0))
    check_results(tmp_path)
    again = count_calls(tmp_path) - before
    kept = {number for number in before if number not in again}
    assert kept, "what was done is not done again"
    assert kept <= done


def test_the_code_of_the_page_runs(cluster: Any, tmp_path: Path) -> None:
    corpus, server = blocks("docs/frameworks.md", "py")
    rows = [
        {"id": n, "query": "Who holds the key?", "documents": ["Ada holds it. It rains."]} for n in range(3)
    ]
    (tmp_path / "questions").mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "questions" / "rows.json").write_text(lines, encoding="utf-8")
    ray.init(address=cluster.address, log_to_driver=False)
    exec(corpus.replace("/shared", str(tmp_path)).replace("(4, 32)", "(1, 1)"), {})
    written = pq.read_table(tmp_path / "compressed").to_pylist()
    assert sorted(row["id"] for row in written) == [0, 1, 2]
    assert all(row["compression"]["status"] == "unchanged" for row in written)
    exec(server.replace("num_replicas=4", "num_replicas=1"), {})
    assert serve.status().applications["default"].status == "RUNNING"
    serve.shutdown()
    ray.shutdown()


def test_the_server_runs_on_the_cluster(cluster: Any) -> None:
    ray.init(address=cluster.address, log_to_driver=False)
    serve.start(http_options={"host": "127.0.0.1", "port": 8123})
    serve.run(make_application(num_replicas=1), name="tersely", route_prefix="/")
    body = {"query": "When was the harbour dug?", "documents": ["The harbour was dug in 1871. It is old."]}
    with httpx2.Client(base_url="http://127.0.0.1:8123", timeout=PATIENCE_S) as client:
        reply = client.post("/v1/compress", json={**body, "budget": 12})
        assert reply.status_code == 200
        assert reply.json()["text"] == "The harbour was dug in 1871."
        batch = client.post("/v1/compress/batch", json={"requests": [body, body], "budget": 12})
        texts = [json.loads(line)["text"] for line in batch.text.splitlines()]
        assert texts == ["The harbour was dug in 1871."] * 2
        assert client.post("/v1/compress", json={**body, "budget": 0}).status_code == 422
        assert 'tersely_compressions_total{status="compressed"} 3.0' in client.get("/metrics").text
    serve.shutdown()


@pytest.mark.parametrize(
    "arguments",
    [
        *({"actors": value} for value in (5, "ab", (3, 1), (0, 1), (1,))),
        *({name: value} for name in ("query", "documents", "into") for value in ("", 5)),
        {"into": "query"},
        {"compressor": "tersely-mini"},
        {"threads": 0},
        {"budget": 0},
        {"budgt": 5},
    ],
    ids=repr,
)
def test_bad_arguments_are_refused_before_an_actor_starts(arguments: dict[str, Any]) -> None:
    rows: Any = None
    with pytest.raises(InvalidInputError):
        compress_dataset(rows, **arguments)


def test_bad_settings_of_the_server_are_refused() -> None:
    for arguments in ({"settings": {}}, {"compressor": "tersely-mini"}, {"compressor": {"threads": 0}}):
        with pytest.raises(InvalidInputError):
            make_application(**arguments)
