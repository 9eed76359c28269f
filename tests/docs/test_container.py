"""The container files agree with the commands that they start, and give away no rights."""

from __future__ import annotations

import json
import re

import pytest

from tersely.cli import arguments
from tests.docs.pages import ROOT

FOLDER = ROOT / "scripts/container"


def test_the_image_starts_a_server_without_root() -> None:
    lines = (FOLDER / "Containerfile").read_text("utf-8").splitlines()
    last = {line.split(" ", 1)[0]: line.split(" ", 1)[1] for line in lines if re.match(r"[A-Z]+ ", line)}
    command = json.loads(last["ENTRYPOINT"]) + json.loads(last["CMD"])
    assert command[0] == "tersely"
    assert arguments.parser().parse_args(command[1:]).host == "0.0.0.0"
    assert int(last["USER"]) > 0
    assert all(
        (ROOT / path).exists()
        for line in lines
        if re.match("COPY (?!--)", line)
        for path in line.split()[1:-1]
    )


def test_the_compose_example_puts_the_proxy_in_front_of_the_model() -> None:
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))["services"]
    args = arguments.parser().parse_args(services["proxy"]["command"])
    assert args.command == "proxy"
    assert args.upstream == "http://model:8000"
    assert "ports" not in services["model"]
    assert all(port.startswith("127.0.0.1:") for port in services["proxy"]["ports"])
    for service in services.values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
    assert (
        FOLDER / services["proxy"]["build"]["context"] / services["proxy"]["build"]["dockerfile"]
    ).exists()
