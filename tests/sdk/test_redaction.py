from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely_agents.redaction import redact, redact_all
from tests.sdk.units import grows_linearly


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
        ("the password is hunter22.", "the password is [redacted: secret]."),
        ("curl -u bob:hunter22 https://x.org", "curl -u bob:[redacted: password] https://x.org"),
        ("tool --password hunter22 run", "tool --password [redacted: secret] run"),
        ("<password>hunter22</password>", "<password>[redacted: secret]</password>"),
        ('"{\\"password\\": \\"hunter22\\"}"', '"{\\"password\\": \\"[redacted: secret]\\"}"'),
        ("log\\npassword=hunter22\\nend", "log\\npassword=[redacted: secret]\\nend"),
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
        "basic optimizations, basic authentication and basic functionality",
        "bearer authentication-and-authorization, token authentication-handlers",
        "a token budget of 4000, a password of 8 characters, the API key is 32 hex digits long",
        "password = sha256(salted).hexdigest()",
        "token = b64encode(userpass).decode()",
        "secret_key = settings.SECRET_KEY_V2",
        "password: ${DB_PASSWORD_1}",
        "auth: Optional[str], auth: Optional handler, bos_token: AddedToken | str",
        "private_key: PKCS7PrivateKeyTypes, Token: '#ddd0c0', token = 1*tchar",
        "self.hf_ds_config.is_zero3(), hf_xet.COMPUTE_SHA256, hf_select_quant_linear_v2",
        "sk-ecdsa-sha2-nistp256@openssh.com",
        'START = b"-----BEGIN OPENSSH PRIVATE KEY-----"\n_END = b"-----END OPENSSH PRIVATE KEY-----"',
        "ssh://687fb701029421ae5549d998@ssh.hf.jobs",
        "PASSWORD=<your-password-1>",
        "http://user:password@example.org",
        'if text.startswith("-----BEGIN PRIVATE KEY-----"): return load_key(text, 1)',
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "numpy==2.1 --hash=sha256:3f786850e387550fdab836ed7e6dc881de23001b3f786850e387550fdab836ed",
        '"integrity": "sha512-9NykojV5Uih4lgo5So5dtw+f0JgJX30KCNI8gwhz2J9A15wD0Ml6tjHKwf6fTSa6fAdVBdZ=="',
        "id 123e4567-e89b-42d3-a456-426614174000, call_AbC123dEf456GhI789jKl012, toolu_01A09q90qw90lq",
        'data: {"type": "message_start", "message": {"id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY"}}',
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_every_text_of_a_value_is_looked_at() -> None:
    value = {"a": ["password=hunter22", 5, None], "b": {"c": "fine"}}
    assert redact_all(value) == {"a": ["password=[redacted: secret]", 5, None], "b": {"c": "fine"}}


def test_the_name_of_a_value_tells_that_it_is_a_secret() -> None:
    value = {"password": "hunter22", "port": 22, "dbPassword": "tr0ub4dor&3", "next_page_token": "page123456"}
    assert redact_all(value) == {
        "password": "[redacted: secret]",
        "port": 22,
        "dbPassword": "[redacted: secret]",
        "next_page_token": "page123456",
    }


def test_the_ids_of_tool_calls_stay() -> None:
    message = {"tool_call_id": "call-9hK2mXq7RzT4vB8nL1wP6sD3fG5jY0cA", "content": "ok"}
    assert redact_all(message) == message


_PARTS = (
    "password", "token", "secret", "_KEY", "=", ": ", " is ", '"', "'", "\\n", "\n", " ", "-", "_", ".",
    "@", "://", "[", "hunter22", "a1B2c3D4e5F6g7H8", "AK" + "IA", "gh" + "p_", "sk" + "-", "ey" + "J",
    "Bearer ", "basic ", "AI" + "za", "[redacted: secret]", "[redacted: token]",
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "curl -u ",
)  # fmt: skip


@given(st.lists(st.sampled_from(_PARTS), max_size=25).map("".join) | st.text(max_size=200))
def test_what_is_redacted_stays_as_it_is(text: str) -> None:
    once = redact(text)
    assert redact(once) == once
    assert redact_all({"password": once, "x": [once]}) == redact_all(
        redact_all({"password": once, "x": [once]})
    )


_HOSTILE = (
    "A", "a-", "sk" + "-", "://a:", "ey" + "J-", "ey" + "Jaaaaaaaa.", "key=", "key=1", "1key=x", 'key="',
    "key='1", "password is ", "gh" + "p_", "ghp_a1B2c3D4", "AIza" + "a1" * 17 + "b",
    "-----BEGIN PRIVATE KEY-----", "curl ", "curl -u a:", "docker login ", "login a", "seed abc ",
    "Bearer ", "Bearer a1", "a1.b2-", "api_", "api_a1", "https://a", "discord.com/api/webhooks/1/", "\\n",
    "\\", '"', "password{ ", "password{\n a = b\n", "[redacted: ", "token=[", " ", "a1B2",
    "x.webhook.office.com",
)  # fmt: skip


@pytest.mark.parametrize("part", _HOSTILE)
def test_time_is_linear_whatever_the_text_holds(part: str) -> None:
    assert grows_linearly(lambda size: redact(part * (60 * size // len(part))))
