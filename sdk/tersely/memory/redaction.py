"""Secrets in texts that are about to be written to a disk: what has the form of one, not all there are."""

from __future__ import annotations

import re
from typing import Any, cast

_KEYS = (
    (
        "private key",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    ),
    ("token", r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    ("api key", r"(?<![\w-])(?:sk|pk|rk)[-_](?=[\w-]*\d)[\w-]{16,}"),
    ("api key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("api key", r"\bAIza[\w-]{35}"),
    ("token", r"\b(?:gh[pousr]_|github_pat_|hf_)\w{20,}|\b(?:glpat-|xox[abprs]-)[\w-]{10,}"),
    ("token", r"(?i:(?<=\bbearer ))[\w.~+/-]{16,}=*|(?i:(?<=\bbasic ))[\w+/]{12,}=*"),
    ("password", r"(?<=://)[^\s:/@]{1,64}:[^\s/@]{1,128}(?=@)"),
)
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _KEYS)

_ASSIGNED = re.compile(
    r"""(?ix)
    ( (?: (?: (?<![a-z0-9]) | (?-i:(?<=[a-z])(?=[A-Z])) )  # also behind a prefix: DB_PASSWORD, dbPassword
          (?: pass(?:word|wd|phrase) | pwd
            | (?:api|access|auth|private|secret)[_-]?key
            | (?:(?:access|api|auth|bearer|client|id|refresh)[_-]?)?secret
            | (?:access|api|auth|bearer|client|id|refresh)[_-]?token )
        | (?: (?<![a-z0-9_]) | (?-i:(?<=[A-Z0-9]_)(?=TOKEN)) ) token )  # next_page_token is none
      \\?["']? \s{0,4} [:=] \s{0,4} \\?["']? )
    ( (?=[^\s"'\\]{0,200}\d) [^\s"'\\&,;]{6,} )
    """
)
"""A name that promises a secret, and its value, which has a digit: "the secret: patience" is none."""


def redact(text: str) -> str:
    """`text` with what looks like a key, a token or a password replaced by "[redacted: kind]"."""
    for kind, pattern in _PATTERNS:
        text = pattern.sub(f"[redacted: {kind}]", text)
    return _ASSIGNED.sub(lambda match: f"{match[1]}[redacted: secret]", text)


def redact_all(value: Any) -> Any:
    """`redact` for every text in a JSON value."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redact_all(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: redact_all(item) for key, item in cast("dict[str, Any]", value).items()}
    return value
