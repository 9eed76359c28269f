"""Texts without their keys, tokens and passwords, for files that people do not guard.

The rules are our own, because no library comes near: detect-secrets catches a sixth of the kinds in tests/audit and brings
six packages along; gitleaks and Kingfisher catch half and are programs of 22 and 45 MB. A secret is known by its form, its
place (both in tersely.text.secrets), or by the name in front of it (here).
"""

from __future__ import annotations

import re
from typing import Any, cast

from tersely.text.secrets import has_digit, is_basic, is_no_placeholder, is_random, redact_forms

_HINT = re.compile(
    "pass(?:word|wd|phrase)?|Pass(?:word|wd|phrase)?|PASS(?:WORD|WD|PHRASE)?|pwd|Pwd|PWD|PAT|secret|Secret|SECRET|key|Key|KEY"
    "|token|Token|TOKEN|auth|Auth|AUTH|credentials?|Credentials?|CREDENTIALS?|sessionid|SESSIONID|SESSID"
)
"""The last word of a name that promises a secret."""
_NAME = re.compile(
    r"""(?ix)
    (?: (?: (?<![a-z0-9]) | (?<=\\[nrt]) | (?-i:(?<=[a-z])(?=[A-Z])) )  # also behind a prefix: DB_PASSWORD, dbPassword
        (?: (?P<password> pass(?:word|wd|phrase) | pwd | (?<=[_.-])pass | pgpassword )
          | (?:api|access|app|admin|auth|encryption|master|private|secret|signing)[_ -]?key
          | (?:(?:access|api|auth|bearer|client|id|refresh|shared)[_ -]?)?secret
          | (?:access|api|auth|bearer|client|id|refresh|private|session|security)[_ -]?token | authtoken
          | j?sessionid | phpsessid )
      | (?: (?<![a-z0-9_]) | (?<=\\[nrt]) | (?-i:(?<=[A-Z0-9]_)(?=TOKEN|PAT)) ) (?: token | (?-i:PAT) )
      | (?P<weak> (?-i:(?<=[A-Z0-9]_)KEY) | (?<![a-z0-9])(?:auth|credentials?)
          | (?<!page_)(?<!next_)(?<!prev_)(?<!sync_)(?<!tion_)(?<=[a-z0-9]_)token ) )  # next_page_token is none
    \Z"""
)
_VALUE = re.compile(
    r"""(?x)
    (?P<front> \\{0,3}["']? \]? \s{0,4}
        (?: :\s?(?:str|String|string)\s?= | :=? | => | ==? | (?<=["']), (?=\s?["']) | (?<=["']\s)value= | >
          | \s?\{ (?:\s|\\n){1,8} (?:[a-z]{1,20} \s? = [^\n=]{1,80}\n\s{0,8}){0,3} default \s{0,4} = )
        \s{0,4} (?:[rbfu]{1,2}(?=["']))?
      | (?P<said> \s (?:is|was) :? \s ) | (?P<space> \s ) )
    (?: (?P<quote> \\{0,3}["'`] ) (?P<quoted> (?: (?!\[redacted:\ ) [^\s"'`\\] ){4,400}+ ) (?= \\{0,3}["'`] )
      | (?P<bare> (?: (?!\[redacted:\ ) [^\s"'`\\,;&<>()\[\]{}|] ){6,400}+ ) (?! [(\[{|] ) )
    """
)
_CODE = re.compile(
    r"""(?ix) [a-z_$][\w$]*(?:(?:\.|->|::|\?\.)[a-z_$][\w$]*)+ | .*:// .* | /.*/.* | \w+[-+*/%]=?\w+(?=\Z)(?<!\w\d)
    | .*(?:pass|pwd|secret|token|key|auth|user|name|arg|value|param|sha\d|md\d|utf|base\d|aes|rsa|x509|oauth|ascii|bit|byte).*
    """
)
_HOST = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?|localhost:\d+")
_IDS = frozenset({"id", "tool_call_id", "call_id"})


def redact(text: str) -> str:
    """`text` with "[redacted: kind]" in the place of what looks like a key, a token or a password."""
    while (redacted := _redact_once(text)) != text:  # what is left may have come to stand behind a mark
        text = redacted
    return text


def redact_all(value: Any) -> Any:
    """`redact` for every text in a JSON value; also for what stands under "password" and names like it."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redact_all(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _redact_under(key, item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def _redact_under(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return redact_all(value)
    if key in _IDS:
        return value
    if (
        (name := _NAME.search(key))
        and not re.search(r"\s|\[redacted: ", value)
        and _is_secret(name, value, quoted=True)
    ):
        return "[redacted: secret]"
    return redact(value)


def _redact_once(text: str) -> str:
    text = redact_forms(text)
    parts: list[str] = []
    end = 0
    for hint in _HINT.finditer(text):
        if hint.start() < end or (value := _VALUE.match(text, hint.end())) is None:
            continue
        name = _NAME.search(text, max(end, hint.start() - 24), hint.end())
        if name is not None and (secret := _secret(name, value)):
            start = value.start("quoted" if value["bare"] is None else "bare")
            parts += [text[end:start], "[redacted: secret]"]
            end = start + len(secret)
    return "".join([*parts, text[end:]])


def _secret(name: re.Match[str], value: re.Match[str]) -> str | None:
    """What of the value behind a name is a secret."""
    if value["bare"] is None:
        secret, quoted = value["quoted"], True
    else:
        secret, quoted = value["bare"].rstrip(".,;:!?"), False
    if value["said"] is not None:
        is_secret = name["weak"] is None and (is_random(secret) or _is_said(secret))
    elif value["space"] is not None and name.string[: name.start()].endswith("--"):  # an option of a command
        is_secret = has_digit(secret) and is_no_placeholder(secret)
    elif value["space"] is not None:
        is_secret = name["weak"] is None and is_random(secret)
    else:
        is_secret = _is_secret(name, secret, quoted=quoted)
    return secret if is_secret else None


def _is_secret(name: re.Match[str], value: str, *, quoted: bool) -> bool:
    """Whether a value that is assigned to a name that promises a secret is one: "the secret: patience" is none."""
    if name["weak"] is not None:
        return is_basic(value) or (is_random(value) and len(value) >= 20 and is_no_placeholder(value))
    if not has_digit(value) or len(value) < 6 or not is_no_placeholder(value) or _HOST.fullmatch(value):
        return False
    if value.isdigit():
        return name["password"] is not None
    return is_random(value) or quoted or _CODE.fullmatch(value) is None


def _is_said(value: str) -> bool:
    """Whether a word is a password in a sentence: "the password is hunter22", not "is 64-bit" or "is SHA256"."""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    is_word = _CODE.fullmatch(value) is not None or value[0].isdigit()
    return len(value) >= 7 and letters >= 3 and digits >= 2 and not is_word
