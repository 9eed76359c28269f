# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
"""Written logs of builds, with the few lines that a question asks about at fixed places."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from benchmarks.real_results.development.lines import START


def write_build_log() -> str:
    """Return the output of a container build that fails at a native extension."""
    random = Random(13)
    packages = (
        "libpq-dev", "gcc", "g++", "make", "libssl-dev", "zlib1g-dev", "libffi-dev", "pkg-config", "git", "curl",
        "libxml2-dev", "libxslt1-dev", "libjpeg62-turbo-dev", "libtiff-dev", "libwebp-dev", "ninja-build",
    )  # fmt: skip
    lines = [
        "#1 [internal] load build definition from Dockerfile",
        "#1 transferring dockerfile: 1.31kB done",
        "#2 [internal] load metadata for registry.example.org/base/python:3.12-slim-bookworm",
        "#2 DONE 0.9s",
        "#5 [builder 1/7] FROM registry.example.org/base/python:3.12-slim-bookworm@sha256:6ed5bff4d7d3",
        "#6 [builder 2/7] RUN apt-get update && apt-get install -y --no-install-recommends build-essential",
    ]
    for number, package in enumerate(packages):
        version = f"{random.randint(1, 15)}.{random.randint(0, 9)}.{random.randint(0, 30)}-{random.randint(1, 5)}+deb12u1"
        lines.append(
            f"#6 {1.2 + number * 0.31:.2f} Get:{number + 1} http://deb.debian.org/debian bookworm/main amd64 {package}"
            f" amd64 {version} [{random.randint(20, 9000)} kB]"
        )
    lines += [f"#6 {9 + n * 0.2:.2f} Setting up {package} ..." for n, package in enumerate(packages)]
    lines.append("#7 [builder 3/7] COPY requirements.lock .")
    lines.append("#8 [builder 4/7] RUN pip wheel --no-deps -w /wheels -r requirements.lock")
    wheels = (
        "anyio",
        "click",
        "fastuuid",
        "greenlet",
        "httptools",
        "lxml",
        "orjson",
        "pillow",
        "psycopg",
        "uvloop",
    )
    for number, wheel in enumerate(wheels):
        version = f"{random.randint(0, 5)}.{random.randint(0, 20)}.{random.randint(0, 9)}"
        lines.append(f"#8 {3 + number * 1.7:.2f} Collecting {wheel}=={version}")
        lines.append(
            f"#8 {3.4 + number * 1.7:.2f}   Downloading {wheel}-{version}.tar.gz ({random.randint(20, 3000)} kB)"
        )
        lines.append(
            f"#8 {3.9 + number * 1.7:.2f}   Preparing metadata (pyproject.toml): finished with status 'done'"
        )
    for number in range(60):
        unit = random.choice(("cursor", "result", "codec", "arena", "column", "frame", "stream", "varint"))
        lines.append(
            f"#8 {22 + number * 0.4:.2f}   [{number + 1}/84] cc -O2 -fPIC -Iinclude -DNDEBUG -c src/{unit}_{number:02d}.c"
            f" -o build/{unit}_{number:02d}.o"
        )
        if number == 22:
            lines.append(
                "#8 31.02   src/result_22.c:118:9: warning: 'strncpy' output may be truncated copying 63 bytes [-Wstringop-truncation]"
            )
    lines += [
        "#8 46.77   FAILED: build/zonecache_61.o",
        "#8 46.77   src/zonecache_61.c:14:10: fatal error: unicode/ucal.h: No such file or directory",
        "#8 46.77      14 | #include <unicode/ucal.h>",
        "#8 46.77         |          ^~~~~~~~~~~~~~~~",
        "#8 46.77   compilation terminated.",
        "#8 46.91   ninja: build stopped: subcommand failed.",
        "#8 47.30   error: subprocess-exited-with-error",
        "#8 47.31   × Building wheel for tzframe (pyproject.toml) did not run successfully.",
        "#8 47.31   │ exit code: 1",
        "#8 47.52 ERROR: Failed building wheel for tzframe",
        '#8 ERROR: process "/bin/sh -c pip wheel --no-deps -w /wheels -r requirements.lock" did not complete successfully: exit code: 1',
        "------",
        "Dockerfile:19",
        "--------------------",
        "  17 |     COPY requirements.lock .",
        "  18 |     ENV PIP_NO_CACHE_DIR=1",
        "  19 | >>> RUN pip wheel --no-deps -w /wheels -r requirements.lock",
        "  20 |     FROM registry.example.org/base/python:3.12-slim-bookworm",
        "--------------------",
    ]
    return "\n".join(lines) + "\n"


def write_pipeline_log() -> str:
    """Return the log of a CI job whose deployment is refused after the tests have passed."""
    random = Random(16)
    now = START
    lines: list[str] = []

    def say(text: str) -> None:
        nonlocal now
        now += timedelta(milliseconds=random.randint(20, 900))
        lines.append(f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond:06d}0Z {text}")

    for text in (
        "##[group]Runner Image",
        "Image: ubuntu-24.04",
        "Version: 20260309.1.0",
        "##[endgroup]",
        "##[group]Run actions/checkout@v5",
        "with:",
        "  fetch-depth: 0",
        "  persist-credentials: false",
        "##[endgroup]",
        "Syncing repository: acme/pricing",
        "HEAD is now at 5b1f0ce Round half even in the quote total",
        "##[group]Run actions/cache@v5",
        "Cache not found for input keys: deps-linux-91f3c0, deps-linux-",
        "##[endgroup]",
        "##[group]Run pnpm install --frozen-lockfile",
    ):
        say(text)
    for number in range(24):
        say(
            f"Progress: resolved {number * 41 + 7}, reused {number * 12}, downloaded {number * 29}, added {number * 27}"
        )
    say(" WARN  deprecated glob@7.2.3: Glob versions prior to v9 are no longer supported")
    say("##[endgroup]")
    say("##[group]Run pnpm test -- --reporter=verbose")
    for number in range(58):
        area = random.choice(("cart", "quote", "tax", "rounding", "discount", "currency", "login", "export"))
        what = random.choice(
            (
                "keeps the order of lines",
                "rejects a negative amount",
                "adds the fee once",
                "is stable",
                "logs the reason",
            )
        )
        say(f" ✓ test/{area}.spec.ts > {area} > {what} {number:02d} {random.randint(1, 90)}ms")
        if number == 33:
            say(
                " ↓ test/export.spec.ts > export > writes a sheet for the auditor [skipped: needs LibreOffice 24]"
            )
    for text in (
        " Test Files  14 passed (14)",
        "      Tests  57 passed | 1 skipped (58)",
        "##[endgroup]",
        "##[group]Run ./deploy.sh staging",
        "Logging in with OIDC role arn:aws:iam::420012345678:role/ci-deployer",
        "Uploading bundle pricing-5b1f0ce.tgz (4.7 MB) to s3://acme-artifacts-eu-north-1/pricing/",
        "Creating change set pricing-staging-1182",
        "Waiting for change set to be created..",
        "An error occurred (AccessDenied) when calling the CreateChangeSet operation: User: "
        "arn:aws:sts::420012345678:assumed-role/ci-deployer/gh-1182 is not authorized to perform: iam:PassRole"
        " on resource: arn:aws:iam::420012345678:role/pricing-task",
        "##[error]Process completed with exit code 254.",
        "##[group]Run actions/upload-artifact@v5",
        "Artifact deploy-logs has been successfully uploaded! Final size is 18227 bytes. Artifact ID is 3119042771",
        "##[endgroup]",
        "Post job cleanup.",
        "Cleaning up orphan processes",
    ):
        say(text)
    return "\n".join(lines) + "\n"
