"""Downloads from a hub: a real client of the hub, and a server on this machine."""

from __future__ import annotations

import hashlib
import http.server
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tersely.runtime.artifacts import load_artifact

pytest.importorskip("huggingface_hub")

NAME = "someone/small-model"
LOAD = """
import sys
from tersely.errors import ArtifactError
from tersely.runtime import artifacts, hub
hub.MAX_SECONDS, hub.MAX_BYTES = float(sys.argv[2]), int(float(sys.argv[3]))
try:
    print("loaded", artifacts.load_artifact(sys.argv[1]).fingerprint)
except ArtifactError as error:
    print(error)
"""

LOAD_FILE = """
import sys
from tersely.errors import TerselyError
from tersely_agents.chat import LocalChat
try:
    LocalChat(sys.argv[1])
except TerselyError as error:
    print(type(error).__name__, error)
"""


class Hub:
    """A hub with the bundled model."""

    def __init__(self) -> None:
        self.files = {
            path.relative_to(load_artifact().path).as_posix(): path.read_bytes()
            for path in load_artifact().path.rglob("*")
            if path.is_file()
        }
        self.announced: dict[str, int] = {}
        """Sizes that the list gives instead of the true ones."""
        self.pause_s = 0.0
        """Seconds between two parts of a file."""
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.answer(with_body=False)

            def do_GET(self) -> None:
                self.answer(with_body=True)

            def answer(self, *, with_body: bool) -> None:
                path = self.path.partition("?")[0]
                if path.startswith("/api/models/"):
                    self.send(json.dumps(hub.describe()).encode(), {}, with_body=with_body)
                elif (file := path.partition("/resolve/")[2].partition("/")[2]) in hub.files:
                    content = hub.files[file]
                    tag = hashlib.sha256(content).hexdigest()
                    self.send(content, {"ETag": f'"{tag}"', "X-Repo-Commit": "0" * 40}, with_body=with_body)
                else:
                    self.send_error(404)

            def send(self, content: bytes, headers: dict[str, str], *, with_body: bool) -> None:
                self.send_response(200)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for start in range(0, len(content) if with_body else 0, 2**16):
                    time.sleep(hub.pause_s)
                    self.wfile.write(content[start : start + 2**16])

            def log_message(self, *_: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def describe(self) -> dict[str, Any]:
        sizes = {name: len(content) for name, content in self.files.items()} | self.announced
        siblings = [{"rfilename": name, "size": size} for name, size in sizes.items()]
        return {"id": NAME, "modelId": NAME, "sha": "0" * 40, "siblings": siblings, "tags": []}

    def load(self, home: Path, seconds: float = 600, size: float = 1e9) -> str:
        """Return the output of a process that loads the model."""
        return self.run(home, LOAD, NAME, str(seconds), str(size))

    def run(self, home: Path, program: str, *arguments: str, **env: str) -> str:
        """Return the output of a process that uses this hub."""
        process = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env={
                "HF_ENDPOINT": f"http://127.0.0.1:{self.http.server_port}",
                "HF_HOME": str(home),
                "PYTHONPATH": ":".join(sys.path),
                **env,
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        return process.stdout.strip()

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()
    yield hub
    hub.stop()


def test_a_model_is_downloaded_once(hub: Hub, tmp_path: Path) -> None:
    assert hub.load(tmp_path) == f"loaded {load_artifact().fingerprint}"
    hub.stop()
    assert hub.load(tmp_path) == f"loaded {load_artifact().fingerprint}"


def test_an_oversized_model_is_not_downloaded(hub: Hub, tmp_path: Path) -> None:
    hub.announced = {"onnx/model.onnx": 10**10}
    message = hub.load(tmp_path)
    assert f"The download of {NAME!r} was stopped: its files have" in message
    assert "1000000000 are allowed" in message
    assert not list(tmp_path.rglob("*.onnx"))


def test_a_hub_that_sends_too_much_is_stopped(hub: Hub, tmp_path: Path) -> None:
    hub.announced = dict.fromkeys(hub.files, 1)
    assert "sends more than the 1000000 bytes" in hub.load(tmp_path, size=1e6)


def test_a_trickling_hub_is_stopped_in_time(hub: Hub, tmp_path: Path) -> None:
    hub.pause_s = 0.5  # the model would take three minutes
    assert "it takes more than 1 s" in hub.load(tmp_path, seconds=1)


def test_a_hub_model_without_configuration_is_refused(hub: Hub, tmp_path: Path) -> None:
    del hub.files["config.json"]
    message = hub.load(tmp_path)
    assert f"The hub's model {NAME!r} has no config.json" in message
    assert "download" not in message.lower()  # no tool can download a file that does not exist


def test_an_unreachable_hub_is_one_clear_error(hub: Hub, tmp_path: Path) -> None:
    hub.stop()
    message = hub.load(tmp_path)
    assert "has no model of that name or cannot be reached" in message
    assert "\n" not in message


def test_a_language_model_is_one_file_of_the_hub(hub: Hub, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    hub.files = {"small.gguf": b"no GGUF file", "other.gguf": b"x" * 10**6}
    asked = f"{NAME}/small.gguf"
    assert "small.gguf is no GGUF file" in hub.run(tmp_path, LOAD_FILE, asked)  # so it came
    assert [path.name for path in tmp_path.rglob("*.gguf")] == ["small.gguf"]
    missing = hub.run(tmp_path, LOAD_FILE, f"{NAME}/missing.gguf")
    assert "has no missing.gguf" in missing
    offline = hub.run(tmp_path, LOAD_FILE, asked, TERSELY_OFFLINE="1")
    assert offline.startswith("OfflineError")
