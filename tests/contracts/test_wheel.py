"""The wheel by itself: built, installed into an empty environment, run without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Offline = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="paths of a Unix environment"),
]

HEAVY = (  # noqa: SIM905 - one per line would fill a page
    "accelerate datasets faiss fastapi haystack jax langchain_core llama_index llmslim mcp onnx "
    "onnxscript pandas peft ray safetensors scipy sentence_transformers sklearn spacy sympy tensorflow "
    "tiktoken torch torchvision transformers trl triton"
).split()

MAX_IMPORT_SECONDS = 0.25
MAX_INSTALL_MB = 220
MAX_MODEL_MB = 25

# Every Python-level use of the network ends the process at once, whatever the code around it would catch.
# Audit events cannot be unhooked; 97 is a code that nothing else uses.
GUARD = """\
import os, sys
def _guard(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        os.write(2, f"network touched: {event} {args[1:]}\\n".encode())
        os._exit(97)
sys.addaudithook(_guard)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    # From a copy, which leaves the checkout alone; without isolation, which leaves the network alone.
    source = out / "source"
    for name in ("sdk", "models/tersely-mini", "integrations"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    _call([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)])
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing but the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=True, symlinks=True)
    constraints = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    _call([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", str(wheel)], constraints)
    return folder


@pytest.fixture
def offline(environment: Path, tmp_path: Path) -> Offline:
    """Runs a command of the environment where the network cannot be reached and nothing is set or cached."""
    home, guard = tmp_path / "home", tmp_path / "guard"
    home.mkdir()
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    # The guard sees Python; a network namespace, where the kernel allows one, stops native code as well.
    unshare = ["unshare", "--map-root-user", "--net"]
    permitted = shutil.which("unshare") and subprocess.run([*unshare, "true"], check=False).returncode == 0
    # No variable of this process goes along: some switch on what a user would not have switched on.
    variables = {"PATH": os.defpath, "HOME": str(home), "PYTHONPATH": str(guard)}

    def run(command: str, *args: str) -> subprocess.CompletedProcess[str]:
        full = [*(unshare if permitted else []), str(environment / "bin" / command), *args]
        done = _run(full, variables, cwd=home)
        assert [str(path) for path in home.rglob("*")] == [], "something was left behind"
        return done

    return run


def test_wheel_carries_the_package_and_the_model_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        model = [
            info for info in archive.infolist() if info.filename.startswith("tersely/models/tersely-mini/")
        ]
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "tersely",
        "tersely_haystack",
        "tersely_langchain",
        "tersely_llamaindex",
        "tersely_mcp",
    }
    needed = ["py.typed", "cli/demo/documents.jsonl", "models/tersely-mini/manifest.json"]
    assert {f"tersely/{name}" for name in needed} <= set(names)
    assert 1 < sum(info.file_size for info in model) / 1e6 <= MAX_MODEL_MB


def test_heavy_modules_are_absent(environment: Path) -> None:
    code = f"import importlib.util as u; print([m for m in {HEAVY!r} if u.find_spec(m)])"
    assert _python(environment, "-c", code) == "[]\n"
    listed = json.loads(_python(environment, "-m", "pip", "list", "--format", "json"))
    installed = {row["name"].lower().replace("-", "_") for row in listed}
    assert {"tersely", "numpy", "onnxruntime", "sentencex", "tokenizers"} <= installed
    assert not installed & {*HEAVY, "scikit_learn", "faiss_cpu", "nvidia_cublas"}


def test_install_is_small(environment: Path) -> None:
    root = _site_packages(environment)
    of_every_environment = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    size = sum(
        path.stat().st_size
        for top in root.iterdir()
        if not top.name.startswith(of_every_environment)
        for path in (top, *top.rglob("*"))
        if path.is_file()
    )
    assert size / 1e6 <= MAX_INSTALL_MB, f"{size / 1e6:.0f} MB"


def test_import_is_quick(environment: Path) -> None:
    code = "import time; t = time.perf_counter(); import tersely; print(time.perf_counter() - t)"
    best = min(float(_python(environment, "-c", code)) for _ in range(7))
    assert best <= MAX_IMPORT_SECONDS, f"{best:.3f} s"


def test_the_guard_catches_a_connection(offline: Offline) -> None:
    code = """if True:
        import urllib.request
        try: urllib.request.urlopen("http://127.0.0.1:9")
        except BaseException: print("went unnoticed")
    """
    done = offline("python", "-c", code)
    assert (done.returncode, done.stdout) == (97, "")


def test_demo_runs_without_a_network_and_leaves_nothing_behind(offline: Offline) -> None:
    done = offline("tersely", "demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "The 20:40 is the last departure of the day" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("compressed: ")


def test_doctor_is_content_without_a_network(environment: Path, offline: Offline) -> None:
    done = offline("tersely", "doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert str(_site_packages(environment) / "tersely/models/tersely-mini") in done.stdout


def test_sdk_tests_do_not_import_what_the_wheel_lacks() -> None:
    """tests/sdk must run in this environment, so it must collect where heavy modules cannot be imported."""
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({HEAVY!r}))\n"
        "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    )
    collect = ["--collect-only", "-q", "-p", "no:cacheprovider", str(ROOT / "tests/sdk")]
    _call([sys.executable, "-c", code, *collect])


def _site_packages(environment: Path) -> Path:
    return next(environment.glob("lib/python3*/site-packages"))


def _python(environment: Path, *args: str) -> str:
    return _call([str(environment / "bin/python"), *args])


def _call(command: list[str], variables: Mapping[str, str] | None = None) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = _run(command, {**inherited, **(variables or {})})
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _run(
    command: list[str], variables: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=variables, cwd=cwd, capture_output=True, text=True, check=False, timeout=300
    )
