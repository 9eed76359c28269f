"""The wheel alone: built, installed into an empty environment, and run without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tersely.runtime.artifacts import ALL_BUNDLED

ROOT = Path(__file__).resolve().parents[2]
RunOffline = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="paths of a Unix environment"),
]

HEAVY_NAMES = (
    "accelerate datasets faiss fastapi haystack jax langchain_core llama_index llmslim mcp onnx "
    "onnxscript pandas peft ray safetensors scipy sentence_transformers sklearn spacy sympy tensorflow "
    "tiktoken torch torchvision transformers trl triton"
)
HEAVY = HEAVY_NAMES.split()

MAX_IMPORTED_MODULES = 100
MAX_INSTALL_MB = 270
MAX_MODEL_MB = 50
MAX_WHEEL_MB = 50

UV = [sys.executable, "-m", "uv"]
# Any use of the network from Python ends the process at once, even if the code around it catches all errors.
# An audit hook cannot be removed. Nothing else exits with 97.
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
    # The copy leaves the checkout unchanged. Without isolation, the build needs no network.
    source = out / "source"
    models = [f"models/{name}" for name in ALL_BUNDLED]
    for name in ("sdk", *models, "integrations"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    _call([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)])
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with the wheel and its dependencies, and nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    _call([*UV, "venv", "--quiet", "--python", sys.executable, str(folder)])
    constraints = {"UV_CONSTRAINT": str(ROOT / "constraints.txt")}
    install = [*UV, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(folder)]
    _call([*install, str(wheel)], constraints)
    return folder


@pytest.fixture
def run_offline(environment: Path, tmp_path: Path) -> RunOffline:
    """Return a function that runs a command of the environment without a network, variables and caches."""
    home, guard = tmp_path / "home", tmp_path / "guard"
    home.mkdir()
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    # The guard sees only Python. A network namespace, if the kernel allows one, stops native code too.
    unshare = ["unshare", "--map-root-user", "--net"]
    can_unshare = shutil.which("unshare") and subprocess.run([*unshare, "true"], check=False).returncode == 0
    # No variable of this process is passed on, because some of them turn on things that a user would not turn
    # on.
    variables = {"PATH": os.defpath, "HOME": str(home), "PYTHONPATH": str(guard)}

    def run(command: str, *args: str) -> subprocess.CompletedProcess[str]:
        full_command = [*(unshare if can_unshare else []), str(environment / "bin" / command), *args]
        result = _run(full_command, variables, cwd=home)
        assert [str(path) for path in home.rglob("*")] == [], "the command left files behind"
        return result

    return run


def test_wheel_holds_only_the_packages_and_the_models(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        model = [
            info for info in archive.infolist() if info.filename.startswith("tersely/models/tersely-mini/")
        ]
    folders = {name.split("/")[0] for name in names}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {
        "tersely", "tersely_agents", "tersely_haystack", "tersely_langchain", "tersely_llamaindex",
        "tersely_hook", "tersely_http", "tersely_ledger", "tersely_mcp", "tersely_proxy", "tersely_ray",
        "tersely_server",
    }  # fmt: skip
    required = [
        "py.typed",
        "cli/demo/documents.jsonl",
        "view.css",
        "models/tersely-mini/manifest.json",
        "models/tersely-agent/adapter.gguf",
    ]
    assert {f"tersely/{name}" for name in required} <= set(names)
    assert not [name for name in names if name.endswith((".safetensors", "adapter_config.json"))]
    assert 1 < sum(info.file_size for info in model) / 1e6 <= MAX_MODEL_MB
    assert wheel.stat().st_size / 1e6 <= MAX_WHEEL_MB


def test_no_heavy_module_is_installed(environment: Path) -> None:
    code = f"import importlib.util as u; print([m for m in {HEAVY!r} if u.find_spec(m)])"
    assert _python(environment, "-c", code) == "[]\n"
    command = [*UV, "pip", "list", "--quiet", "--format", "json", "--python", str(environment)]
    rows = json.loads(_call(command))
    installed = {row["name"].lower().replace("-", "_") for row in rows}
    assert {"tersely", "numpy", "onnxruntime", "sentencex", "tokenizers"} <= installed
    assert not installed & {*HEAVY, "scikit_learn", "faiss_cpu", "nvidia_cublas"}


def test_the_installation_is_small(environment: Path) -> None:
    size = sum(path.stat().st_size for path in _site_packages(environment).rglob("*") if path.is_file())
    assert size / 1e6 <= MAX_INSTALL_MB, f"{size / 1e6:.0f} MB"


def test_the_import_loads_few_modules(environment: Path) -> None:
    code = "import sys; before = len(sys.modules); import tersely; print(len(sys.modules) - before)"
    assert int(_python(environment, "-c", code)) <= MAX_IMPORTED_MODULES


def test_the_guard_ends_a_process_that_connects(run_offline: RunOffline) -> None:
    code = """if True:
        import urllib.request
        try: urllib.request.urlopen("http://127.0.0.1:9")
        except BaseException: print("went unnoticed")
    """
    result = run_offline("python", "-c", code)
    assert (result.returncode, result.stdout) == (97, "")


def test_the_demo_needs_no_network_and_leaves_no_files(run_offline: RunOffline) -> None:
    result = run_offline("tersely", "demo")
    assert (result.returncode, result.stderr) == (0, "")
    assert "The 20:40 is the last departure of the day" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("compressed: ")


def test_doctor_finds_nothing_wrong_without_a_network(environment: Path, run_offline: RunOffline) -> None:
    result = run_offline("tersely", "doctor")
    assert (result.returncode, result.stderr) == (0, "")
    assert str(_site_packages(environment) / "tersely/models/tersely-mini") in result.stdout


@pytest.mark.parametrize("model", ALL_BUNDLED)
def test_every_bundled_model_can_be_verified(run_offline: RunOffline, model: str) -> None:
    result = run_offline("tersely", "inspect", model, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    facts = json.loads(result.stdout)
    listed = facts["files"]
    assert facts["checksums"] == f"{len(listed)} files verified"
    assert ("adapter.gguf" in listed) == (model != "tersely-mini")
    assert "adapter_model.safetensors" not in listed


def test_the_tests_of_the_sdk_need_no_heavy_module() -> None:
    """tests/sdk runs with the wheel alone: pytest must collect it while no heavy module can be imported."""
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
    result = _run(command, {**inherited, **(variables or {})})
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def _run(
    command: list[str], variables: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=variables, cwd=cwd, capture_output=True, text=True, check=False, timeout=300
    )
