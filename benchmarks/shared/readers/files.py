"""Answers that were given elsewhere: by a model that this machine cannot run, or by people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.shared.readers.protocol import Prompt, make_prompt_key
from tersely.errors import InvalidInputError


class FileReader:
    """The answers in a file of JSON lines with `id` and `answer`, or in all answers-*.jsonl of a folder."""

    trained_on: frozenset[str] = frozenset()
    """Empty, because this repository does not train the reader."""

    def __init__(self, path: Path) -> None:
        files = sorted(path.glob("answers-*.jsonl")) if path.is_dir() else [path]
        if not all(file.is_file() for file in files) or not files:
            raise InvalidInputError(f"{path} is neither a file of answers nor a folder with answers-*.jsonl")
        self.name = f"file-{path.stem}"
        self._answers: dict[str, str] = {}
        for file in files:
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                try:
                    row = json.loads(line)
                    self._answers[row["id"]] = str(row["answer"])
                except (ValueError, KeyError, TypeError) as error:
                    raise InvalidInputError(
                        f'line {number} of {file} is not a JSON object with "id" and "answer"'
                    ) from error

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Return the answer of each prompt, in order; None for one that the files do not answer."""
        return [self._answers.get(make_prompt_key(prompt)) for prompt in prompts]
