"""Tool results that a coding agent reads, made again by commands over packages and projects."""

from __future__ import annotations

from benchmarks.real_results.development.build_logs import write_build_log, write_pipeline_log
from benchmarks.real_results.development.database import write_database
from benchmarks.real_results.development.documents import write_notebook, write_openapi
from benchmarks.real_results.development.invoices import INVOICE_TESTS, INVOICES
from benchmarks.real_results.development.reports import (
    write_coverage,
    write_junit,
    write_metrics,
    write_page,
    write_trace,
)
from benchmarks.real_results.development.repository import write_repository
from benchmarks.real_results.development.scripts import LINTED, NESTED_ERRORS
from benchmarks.real_results.development.server_logs import (
    write_access_log,
    write_application_log,
    write_journal,
    write_json_lines,
    write_worker_log,
)
from benchmarks.real_results.development.services import (
    write_cloud_events,
    write_issues,
    write_lock,
    write_orders,
    write_pods,
)
from benchmarks.real_results.development.settings import SETTINGS
from benchmarks.real_results.workbench import Make, inspect, list_sources, run, run_after, run_beside, show

_QUERY = (
    "import sqlite3\nfor row in sqlite3.connect('clinic.db').execute("
    "'SELECT visits.id, patient, kind, room, day, state, cents, payer, note FROM visits"
    " JOIN charges ON charges.visit = visits.id'):\n"
    "    print(' | '.join(f'{str(value):<12}' for value in row).rstrip())"
)

_TABLES: dict[str, dict[str, Make]] = {
    "code, numbered": {
        "retry": run("cat -n pip/_vendor/urllib3/util/retry.py"),
        "openai_base": run("cat -n openai/_base_client.py"),
        "chromium_options": run("cat -n selenium/webdriver/chromium/options.py"),
        "datasets_config": run("cat -n datasets/config.py"),
        "pytest_tmpdir": run("cat -n _pytest/tmpdir.py"),
        "gguf_writer": run("cat -n gguf/gguf_writer.py"),
        "span_export": run("cat -n opentelemetry/sdk/trace/export/__init__.py"),
        "pslinux": run("cat -n psutil/_pslinux.py"),
        "dispatch_key": run("cat -n torch/include/c10/core/DispatchKey.h"),
    },
    "code, plain": {
        "pip_session": run("cat pip/_internal/network/session.py"),
        "requests_sessions": run("cat pip/_vendor/requests/sessions.py"),
        "mkdocs_build": run("cat mkdocs/commands/build.py"),
        "mkdocs_defaults": run("cat mkdocs/config/defaults.py"),
        "trainer_callback": run("cat transformers/trainer_callback.py"),
        "accelerate_checkpointing": run("cat accelerate/checkpointing.py"),
        "sft_config": run("cat trl/trainer/sft_config.py"),
        "lr_scheduler": run("cat torch/optim/lr_scheduler.py"),
        "mpl_js": run("cat matplotlib/backends/web_backend/js/mpl.js"),
        "onnx_proto": run("cat onnx/onnx.proto"),
        "environment_variables": run("cat opentelemetry/sdk/environment_variables/__init__.py"),
    },
    "code, taken apart": {
        "builder_dis": run("python -m dis hatchling/builders/plugin/interface.py | sed -n '1,420p'"),
        "import_utils_ast": run("python -m ast peft/import_utils.py | sed -n '1,420p'"),
        "build_tokens": run("python -m tokenize build/_ctx.py"),
    },
    "search": {
        "grep_timeout": run("grep -rn --include=*.py timeout pip/_vendor/requests pip/_internal | sort"),
        "grep_constants": run(
            "grep -rnE --include=*.py '^(DEFAULT_|MAX_|[A-Z_]+_TIMEOUT|[A-Z_]+_LIMIT)'"
            " openai transformers/utils accelerate datasets pip selenium trl peft _pytest hypothesis | sort"
        ),
        "grep_environ": run("grep -rn --include=*.py 'os.environ' accelerate | sort"),
        "grep_raise": run(
            "find gguf _pytest/tmpdir.py _pytest/cacheprovider.py _pytest/mark -name '*.py' | sort"
            " | xargs grep -n -A3 'raise ' | sed -n '1,330p'"
        ),
    },
    "json": {
        "schemathesis_schema": run("cat schemathesis/config/schema.json"),
        "sbom": run("python -m json.tool sentencex-*.dist-info/sboms/sentencex-py.cyclonedx.json"),
        "pip_inspect": inspect("pluggy", "pytest", "accelerate"),
        "issues": show(write_issues),
        "pods": show(write_pods),
        "lock": show(write_lock),
        "notebook": show(write_notebook),
        "orders": show(write_orders),
        "openapi": show(write_openapi),
    },
    "log": {
        "access_log": show(write_access_log),
        "application_log": show(write_application_log),
        "build_log": show(write_build_log),
        "journal": show(write_journal),
        "json_lines": show(write_json_lines),
        "pipeline_log": show(write_pipeline_log),
        "worker_log": show(write_worker_log),
        "cloud_events": show(write_cloud_events),
        "trace": show(write_trace),
    },
    "test output": {
        "pytest_output": run_beside(
            {**INVOICES, **INVOICE_TESTS},
            "PYTHONPATH=. python -m pytest -v -p no:cacheprovider --basetemp=.tmp --log-level=INFO tests",
        ),
        "ruff_output": run_beside(
            LINTED, "ruff check --isolated --no-cache --select E,F,B,S,C4,UP,PLR,A,SIM,RUF,DTZ ."
        ),
        "traceback": run_beside(NESTED_ERRORS, "python pipeline.py"),
        "coverage": show(write_coverage),
        "junit": show(write_junit),
    },
    "documentation": {
        "openai_metadata": run("cat openai-*.dist-info/METADATA"),
        "psutil_metadata": run("cat psutil-*.dist-info/METADATA"),
        "ruff_rules": run(
            "for code in F401 B008 PLR0913 S105 C901 E501 UP007 RUF012; do ruff rule $code; done"
        ),
        "hypothesis_licence": run("cat hypothesis-*.dist-info/licenses/LICENSE.txt"),
        "websocket_readme": run("cat openai/lib/responses_websocket/README.md"),
        "pip_vendor": run("cat pip/_vendor/README.rst; cat pip/_vendor/vendor.txt"),
    },
    "help": {
        "pytest_help": run("python -m pytest --help"),
        "uv_compile_help": run("uv help pip compile"),
        "launch_help": run("accelerate launch --help"),
        "settings_pydoc": run("python -m pydoc hypothesis.settings"),
        "numpy_help": run(
            "python -c 'import numpy; help(numpy.loadtxt); help(numpy.genfromtxt); help(numpy.savetxt)'"
        ),
    },
    "listing": {
        "pip_list": run("python -m pip list --exclude-editable"),
        "pip_show": run("python -m pip show -v torch transformers openai mkdocs schemathesis onnxscript trl"),
        "sizes": run(
            "find numpy/_core openai/types/responses \\( -name '*.h' -o -name '*.py' \\) -printf '%s %p\\n'"
            " | sort -k2 | sed -n '1,300p'"
        ),
    },
    "table": {
        "stocks": run("head -n 160 matplotlib/mpl-data/sample_data/Stocks.csv"),
        "metrics": show(write_metrics),
        "database_dump": run_after(
            write_database,
            "python -c \"import sqlite3; print(*sqlite3.connect('clinic.db').iterdump(), sep='\\n')\"",
        ),
        "query_table": run_after(write_database, f'python -c "{_QUERY}"'),
    },
    "git": {
        "git_log": run_after(write_repository, "git log --stat"),
        "git_patches": run_after(write_repository, "git log --patch --reverse -n 18"),
        "git_blame": run_after(write_repository, "git blame src/reader.py"),
        "settings_diff": run_beside(
            SETTINGS,
            "diff -U 60 --label a/settings.toml --label b/settings.toml settings.old.toml settings.new.toml",
        ),
    },
    "configuration": {
        "matplotlibrc": run("cat matplotlib/mpl-data/matplotlibrc"),
        "tags_yaml": run("cat torchgen/packaged/ATen/native/tags.yaml"),
        "settings_toml": run_beside(SETTINGS, "cat settings.new.toml"),
    },
    "markup": {
        "page": show(write_page),
    },
}

SOURCES = list_sources(_TABLES)
