"""A job that compresses JSON lines on a cluster: `python -m tests.cluster.job FOLDER SECONDS`.

Reads FOLDER/rows, writes FOLDER/out, and leaves a file in FOLDER/calls for every compressed row. A row takes
SECONDS. The first actor that reads a row with the word "kill" ends itself.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import ray.data
from ray.data.checkpoint import CheckpointConfig

from tersely.score import DocumentScores, ScoredInput
from tersely_ray import compress_dataset
from tests.sdk.fakes import FakeScorer

ROWS_OF_A_FILE = 2


class NotingScorer(FakeScorer):
    """Notes its calls, waits for a while, and ends its process when it is told to."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder, self._seconds = folder, seconds

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        number = query.split()[-1].rstrip("?")
        killed = self._folder / "killed"
        if "kill" in documents[0].text and not killed.exists():
            killed.write_text(number)
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self._seconds)
        (self._folder / "calls" / f"{number}-{uuid.uuid4().hex}").touch()
        return super().score(query, documents)


def run(folder: Path, seconds: float) -> None:
    context = ray.data.DataContext.get_current()
    context.checkpoint_config = CheckpointConfig(
        "id", str(folder / "checkpoint"), delete_checkpoint_on_success=False
    )
    files = [str(path) for path in (folder / "rows").iterdir()]
    rows = ray.data.read_json(files, override_num_blocks=len(files))
    done = compress_dataset(
        rows, compressor={"model": NotingScorer(folder, seconds)}, actors=(2, 2), budget=12
    )
    done.write_parquet(str(folder / "out"))


if __name__ == "__main__":
    ray.init(address=os.environ["RAY_ADDRESS"], log_to_driver=False)
    run(Path(sys.argv[1]), float(sys.argv[2]))
