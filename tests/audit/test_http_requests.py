"""A small part of `python -m tests.audit.http_requests`."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("schemathesis")

from tests.audit.http_requests import audit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sockets of Unix")


def test_hostile_requests_do_no_harm() -> None:
    assert audit(count=60, plain=20) == []
