from __future__ import annotations

import time

import pytest

from tersely.text.redaction import redact, redact_all


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("use sk-ant-api03-abcDEF123456-ghiJKL789 now", "use [redacted: api key] now"),
        ("sk-proj-abcd1234EFGH-RESTOFKEYxyz99", "[redacted: api key]"),
        ("AKIAABCDEFGHIJKLMNOP", "[redacted: api key]"),
        ("ghp_abcdefghijklmnopqrst12", "[redacted: token]"),
        ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [redacted: token]"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [redacted: token]"),
        ("postgres://bob:hunter22@db/x", "postgres://bob:[redacted: password]@db/x"),
        ('{"password": "hunter22"}', '{"password": "[redacted: secret]"}'),
        ("API_KEY=abc123def", "API_KEY=[redacted: secret]"),
        ("OPENAI_API_KEY=abc123def", "OPENAI_API_KEY=[redacted: secret]"),
        ("DB_PASSWORD=hunter22", "DB_PASSWORD=[redacted: secret]"),
        ("dbPassword: hunter22x", "dbPassword: [redacted: secret]"),
        ("MYAPP_TOKEN=9f8e7d", "MYAPP_TOKEN=[redacted: secret]"),
        ("aws_secret_access_key = wJalr1Utn", "aws_secret_access_key = [redacted: secret]"),
        ("user_access_token=abc123def", "user_access_token=[redacted: secret]"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.SflKxwRJSMeK", "[redacted: token]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "[redacted: private key]"),
    ],
)
def test_what_has_the_form_of_a_secret_is_left_out(text: str, left: str) -> None:
    assert redact(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "All tests pass: 1245/1245",
        "bypass: 2024-01-01 and Compass: 45.12345",
        '{"next_page_token": "page123456"}',
        "the secret: patience",
        "task-based, risk-averse-investment-plan",
        "https://example.org:8080/a@b",
        "tokens: 123456",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_every_text_of_a_value_is_looked_at() -> None:
    value = {"a": ["password=hunter22", 5, None], "b": {"c": "fine"}}
    assert redact_all(value) == {"a": ["password=[redacted: secret]", 5, None], "b": {"c": "fine"}}


@pytest.mark.parametrize("text", ["A" * 200_000, "a-" * 100_000, "sk-" * 60_000, "://a:" * 40_000])
def test_long_runs_take_no_longer_than_they_are_long(text: str) -> None:
    started = time.process_time()
    redact(text)
    assert time.process_time() - started < 5
