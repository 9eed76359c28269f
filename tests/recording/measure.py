"""How much code one call goes through, and how long Python takes beside the model.

    python tests/recording/measure.py [PATH-OF-SDK]

The path is that of the folder that holds the package `tersely`; without one it is that of this tree. The
call is `compress` of ten documents with 38 sentences in all, with rate=0.3, the bundled model and one thread.
What is entered is counted also for a question that needs two documents, so that the model reads twice.

Entered      in a call after a warm-up call, by `sys.setprofile`, from the file names of the code: distinct
             files of the package ("modules"), distinct functions (by file and qualified name), calls, and
             calls from one file of the package to another ("transitions"). The caller is the frame below.
             Where that is outside of the package, as with a property that `dataclasses` reads, the call is
             no transition. Functions in C have no frame: what `sorted` calls back has the caller of `sorted`.
Loaded       in a fresh process, after `import tersely` and one call: modules of the package in `sys.modules`,
             and the lines of their files.
Python time  median of 30 calls after three: the wall time less the time inside `run` of onnxruntime's
             sessions, and `encode` and `encode_batch` of tokenizers. A subclass that measures stands in for
             `InferenceSession`, and a wrapper for `Tokenizer`, which is written in Rust and cannot be
             patched; both are put in place before the package is imported.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

QUERY = "When does the bakery open?"
TWO_HOPS = "Where was the designer of the lighthouse of Brackmoor born?"
"""A question that makes the model read a second time."""
TITLED = [
    (
        "Brackmoor lighthouse",
        "The lighthouse of Brackmoor was designed by Ida Penrose. It was finished in 1871. Its "
        "lamp burned oil until 1920. Today it is lit by a single electric lamp.",
    ),
    (
        "Ida Penrose",
        "Ida Penrose was an engineer. She was born in Lindisvale. She built four lighthouses and "
        "a bridge. She never swam.",
    ),
    (
        "Tarnwick",
        "Tarnwick is a market town. Its main export is barley. The market is held on Tuesday.",
    ),
    (
        "Copper wire",
        "Copper wire is drawn through a die. The die is made of diamond or carbide. The wire is "
        "annealed afterwards. It is sold by weight.",
    ),
    (
        "Tides",
        "The tide at Brackmoor rises nine metres. It is highest in March. The harbour falls dry "
        "twice a day. Boats wait outside until the water is back.",
    ),
    (
        "Ferries",
        "A ferry leaves for the island every hour. The last one leaves at 20:40. There is no "
        "night boat in winter.",
    ),
    (
        "Oil lamps",
        "An oil lamp needs a wick. The wick is trimmed each evening. Whale oil was used before "
        "paraffin. Paraffin burns brighter.",
    ),
    (
        "Bakery",
        "The bakery opens at six. Its rye bread is known far beyond the town. It closes on Mondays.",
    ),
    (
        "Harsund lighthouse",
        "The lighthouse of Harsund was finished in 1902. It was designed by Bruno Falk. A storm "
        "broke its windows in 1911. It has no keeper.",
    ),
    (
        "Keepers",
        "A keeper lived in the tower with a family. The last keeper left in 1968. The house is a "
        "museum now. Entry is free on Thursdays. Its garden is open all year.",
    ),
]
CALLS = 30
WARM_UP = 3


def main(arguments: list[str]) -> None:
    here = Path(__file__).resolve()
    sdk = Path(arguments[0]).resolve() if arguments else here.parents[2] / "sdk"
    if not (sdk / "tersely" / "__init__.py").is_file():
        sys.exit(f"{sdk} holds no package tersely")
    print(f"tree: {sdk}")
    for part in _PARTS:
        # -P, since this folder holds a module with the name of a library.
        command = [sys.executable, "-P", str(here), part, str(sdk)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        for name, value in json.loads(done.stdout).items():
            print(f"  {name:58}{value:>10,}" if isinstance(value, int) else f"  {name:58}{value:>10}")


def _call(compressor: Any, query: str = QUERY) -> Any:
    from tersely import Document

    return compressor.compress(query, [Document(text, title) for title, text in TITLED], rate=0.3)


def measure_entered(package: str) -> dict[str, Any]:
    from tersely import Compressor

    compressor = Compressor(threads=1)
    result = _call(compressor)
    return {
        "documents": len(TITLED),
        "units": len(result.kept) + len(result.dropped),
        **_count_entered(package, compressor, QUERY, ""),
        **_count_entered(package, compressor, TWO_HOPS, ", read twice"),
    }


def _count_entered(package: str, compressor: Any, query: str, suffix: str) -> dict[str, int]:
    _call(compressor, query)
    files, functions, seen = set[str](), set[tuple[str, str]](), Counter[str]()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        name = code.co_filename
        if not name.startswith(package):
            return
        files.add(name)
        functions.add((name, code.co_qualname))
        seen["calls"] += 1
        caller = frame.f_back
        if caller is not None:
            before = caller.f_code.co_filename
            if before != name and before.startswith(package):
                seen["transitions"] += 1

    sys.setprofile(profile)
    try:
        _call(compressor, query)
    finally:
        sys.setprofile(None)
    return {
        f"modules entered{suffix}": len(files),
        f"transitions from file to file{suffix}": seen["transitions"],
        f"functions entered{suffix}": len(functions),
        f"calls of functions of the package{suffix}": seen["calls"],
    }


def measure_loaded(package: str) -> dict[str, Any]:
    import tersely

    at_import = len(_loaded(package))
    _call(tersely.Compressor(threads=1))
    loaded = _loaded(package)
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in loaded)
    return {
        "modules loaded by `import tersely`": at_import,
        "modules loaded after one call": len(loaded),
        "their lines": lines,
    }


def _loaded(package: str) -> list[Path]:
    names = [name for name in sys.modules if name == "tersely" or name.startswith("tersely.")]
    files = [Path(str(sys.modules[name].__file__)) for name in names]
    assert all(str(path).startswith(package) for path in files), "another tersely was imported"
    return files


class _Clock:
    """Seconds inside of libraries. Calls inside of calls count once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0

    def watch(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.perf_counter() - started

        return run


def _wrap_libraries(clock: _Clock) -> None:
    import onnxruntime
    import tokenizers

    class Session(onnxruntime.InferenceSession):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.run = clock.watch(self.run)

    class Tokenizer:
        def __init__(self, own: Any) -> None:
            self._own = own
            self.encode = clock.watch(own.encode)
            self.encode_batch = clock.watch(own.encode_batch)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._own, name)

        @staticmethod
        def from_file(path: str) -> Tokenizer:
            return Tokenizer(original.from_file(path))

        @staticmethod
        def from_str(text: str) -> Tokenizer:
            return Tokenizer(original.from_str(text))

    original = tokenizers.Tokenizer
    onnxruntime.InferenceSession = Session
    tokenizers.Tokenizer = Tokenizer


def measure_time(package: str) -> dict[str, Any]:
    clock = _Clock()
    _wrap_libraries(clock)
    from tersely import Compressor

    compressor = Compressor(threads=1)
    wall: list[float] = []
    python: list[float] = []
    for number in range(WARM_UP + CALLS):
        clock.seconds, started = 0.0, time.perf_counter()
        _call(compressor)
        seconds = time.perf_counter() - started
        assert clock.seconds, "no call of the model was seen"
        if number >= WARM_UP:
            wall.append(seconds)
            python.append(seconds - clock.seconds)
    return {
        f"ms of a call, median of {CALLS}": f"{1000 * statistics.median(wall):.1f}",
        "ms of Python beside model and tokenizer, median": f"{1000 * statistics.median(python):.2f}",
        "the same, least": f"{1000 * min(python):.2f}",
    }


_PARTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "--entered": measure_entered,
    "--loaded": measure_loaded,
    "--time": measure_time,
}
"""What is measured, each in a process of its own."""


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in _PARTS:
        sys.path.insert(0, sys.argv[2])
        print(json.dumps(_PARTS[sys.argv[1]](str(Path(sys.argv[2]) / "tersely") + "/")))
    else:
        main(sys.argv[1:])
