"""Readers of a shortened text learn whether its best part had room."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
import httpx2

from tersely import Compressor
from tersely.cli import main
from tersely_hook.daemon import make_reply
from tersely_hook.records import CountingShortener, make_record
from tersely_hook.shortening import TextShortener
from tersely_hook.store import Originals
from tersely_ledger import Ledger, LedgerSettings, RecordingCompressor
from tersely_proxy import ProxySettings
from tersely_proxy import build_app as build_proxy
from tersely_server import ServerSettings, build_app
from tests.integrations.hook_inputs import make_input
from tests.integrations.providers import Provider
from tests.integrations.providers import provider as provider
from tests.integrations.samples import make_chat
from tests.sdk.fakes import FakeScorer
from tests.servers import serve_app

QUESTION = "What does lamp_key return?"
_PARAMETERS = ", ".join(f"room_{n}: int = {n}" for n in range(700))
_OTHERS = "".join(f"def floor_{n}():\n    return {n}\n\n" for n in range(300))
LARGE = f"def lamp_key({_PARAMETERS}):\n    return 'Ada'\n\n{_OTHERS}"
"""The first line of the function that answers has more tokens than any of the limits."""
SMALL = f"def lamp_key():\n    return 'Ada'\n\n{_OTHERS}"


def count_left_out(file: Path) -> int:
    ledger = Ledger(file)
    try:
        (entry,) = ledger.read()
    finally:
        ledger.close()
    return entry.best_left_out


@pytest.mark.parametrize(("text", "fits"), [(LARGE, False), (SMALL, True)], ids=["large", "small"])
def test_a_gateway_is_told_of_each_result(text: str, fits: bool, file: Path) -> None:
    settings = ServerSettings(ledger=LedgerSettings(path=file))
    with serve_app(build_app(Compressor(), settings)) as url:
        body = {"messages": make_chat(text, QUESTION), "model": "m"}
        reply = httpx2.post(f"{url}/v1/compress", json=body, timeout=60).json()
    (result,) = reply["results"]
    assert (result["message"], [result["hash"]], result["best_fits"]) == (2, reply["ccr_hashes"], fits)
    assert 0 <= result["answerable"] <= 1
    assert count_left_out(file) == (not fits)


@pytest.mark.parametrize(("text", "fits"), [(LARGE, False), (SMALL, True)], ids=["large", "small"])
def test_the_proxy_says_it_in_a_header_and_a_receipt(
    text: str, fits: bool, file: Path, provider: Provider
) -> None:
    ledger = LedgerSettings(path=file, holdout=0)
    with serve_app(build_proxy(Compressor(), ProxySettings(upstream=provider.url, ledger=ledger))) as proxy:
        body = {"model": "m", "messages": make_chat(text, QUESTION)}
        reply = httpx2.post(f"{proxy}/v1/chat/completions", json=body, timeout=60)
        receipt = httpx2.get(f"{proxy}/tersely/receipts/{reply.headers['x-tersely-receipt']}").json()
    (change,) = receipt["changes"]
    assert reply.headers["x-tersely-best-left-out"] == ("0" if fits else "1")
    assert change["best_fits"] == fits
    assert 0 <= change["answerable"] <= 1
    assert count_left_out(file) == (not fits)


@pytest.mark.parametrize(("text", "fits"), [(LARGE, False), (SMALL, True)], ids=["large", "small"])
def test_the_hook_tells_the_model(text: str, fits: bool, file: Path, tmp_path: Path) -> None:
    payload = make_input("Bash")
    payload["tool_input"] = {"command": "cat room.log", "description": "See what lamp_key returns"}
    payload["tool_response"]["stdout"] = text
    request = json.dumps(payload).encode()
    shortener = CountingShortener(TextShortener(Originals(tmp_path / "originals")))
    answer = json.loads(make_reply(request, shortener))
    last = answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"].splitlines()[-1]
    assert ("The part with the highest score is too large" in last) == (not fits)
    record = make_record(Ledger(file), "", request, shortener.changes)
    assert record is not None
    record.write()
    assert count_left_out(file) == (not fits)


def test_the_report_counts_them(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compressor = RecordingCompressor(Compressor(FakeScorer()), file)
    for text in (LARGE, LARGE, SMALL):
        compressor.compress(QUESTION, [text], budget=1000)
    sentence = "2 of these texts had no room for the part with the highest score."
    assert main(["report", "--ledger-file", str(file)]) == 0
    assert sentence in capsys.readouterr().out
    page = tmp_path / "report.html"
    assert main(["report", "--ledger-file", str(file), "--json", "--html", str(page)]) == 0
    assert json.loads(capsys.readouterr().out)["delivered"]["best_left_out"] == 2
    assert sentence in page.read_text(encoding="utf-8")
