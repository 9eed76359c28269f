"""Remove keys, tokens and passwords from texts before the texts are written to unprotected files.

The rules are our own, because no available library finds 95 % of the kinds of secrets in
tests/audit/secrets.py: detect-secrets finds 16 %, Kingfisher 47 %, gitleaks 50 % and redact-secret 58 %.
Kingfisher and gitleaks are programs of 45 and 22 MB, redact-secret is a beta, and detect-secrets
needs six more packages.

tersely_agents.secrets recognises secrets by their form or their place; this module recognises the others, by
the name in front of them.
"""

from __future__ import annotations

import re
from typing import Any, cast

from tersely.inputs import check_text
from tersely_agents.secrets import has_digit, is_login, is_placeholder, is_random, redact_forms

_LAST_WORDS = (
    *("password", "passwd", "passphrase", "pass", "pwd", "secret", "key", "token", "auth"),
    *("credentials", "credential", "sessionid", "sessid"),
)
_HINT = re.compile("|".join(f"{word}|{word.capitalize()}|{word.upper()}" for word in _LAST_WORDS) + "|PAT")
"""The last word of a name whose value may be a secret. Literals only, because `re` finds them fast."""
_NAME = re.compile(
    r"""(?ix)
    (?: (?: (?<![a-z0-9]) | (?<=\\[nrt]) | (?-i:(?<=[a-z])(?=[A-Z])) )  # DB_PASSWORD, dbPassword
        (?: (?P<password> pass(?:word|wd|phrase) | pwd | (?<=[_.-])pass | pgpassword )
          | (?:api|access|app|admin|auth|encryption|master|private|secret|signing)[_ -]?key
          | (?:(?:access|api|auth|bearer|client|id|refresh|shared)[_ -]?)?secret
          | (?:access|api|auth|bearer|client|id|refresh|private|session|security)[_ -]?token | authtoken
          | j?sessionid | phpsessid )
      # not next_page_token
      | (?: (?<![a-z0-9_]) | (?<=\\[nrt]) | (?-i:(?<=[A-Z0-9]_)(?=TOKEN)) ) token
      | (?P<weak> (?-i:(?<=[A-Z0-9]_)(?:KEY|PAT)) | (?<![a-z0-9])(?:auth|credentials?)
          | (?<!page_)(?<!next_)(?<!prev_)(?<!sync_)(?<!tion_)(?<=[a-z0-9]_)token ) )
    \Z"""
)
"""A name whose value may be a secret. Names in the group "weak", such as KEY or auth, have many other values
too: a value is a secret only if it looks random, or is a login in base64."""
_VALUE = re.compile(
    r"""(?x)
    (?P<front> \\{0,3}["']? \]? \s{0,4}
        (?: :\s?(?:str|String|string)\s?= | :=? | => | ==? | (?<=["']), (?=\s?["']) | (?<=["']\s)value= | >
          | \s?\{ (?:\s|\\n){1,8} (?:[a-z]{1,20} \s? = [^\n=]{1,80}\n\s{0,8}){0,3} default \s{0,4} = )
        \s{0,4} (?:[rbfu]{1,2}(?=["']))?
      | (?P<said> \s (?:is|was) :? \s ) | (?P<space> \s ) )
    (?: (?P<quote> \\{0,3}["'`] ) (?P<quoted> [^\s"'`\\]{4,}+ ) (?= \\{0,3}["'`] )
      | (?P<bare> [^\s"'`\\,;&<>()\[\]{}|]{6,}+ ) (?! [(\[{|] ) )
    """
)
_CODE = re.compile(
    r"""(?ix) [a-z_$][\w$]*(?:(?:\.|->|::|\?\.)[a-z_$][\w$]*)+ | .*://.* | /.*/.* | \w+[*+/%]\w+
    | .*(?:pass|pwd|secret|token|key|auth|user|name|arg|value|param|ascii|bit|byte).*
    | .*(?:sha\d|md\d|utf|base\d|aes|rsa|x509).*
    """
)
"""A value in code that is not a literal, or a technical term: settings.key2, password1, SHA256."""
_HOST = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?|localhost:\d+")
_MAX_PASSES = 8
"""Largest number of passes over a text. A second finds a secret right after another; more rarely help."""
_MAX_PASSWORD_CHARACTERS = 100
_LONG_VALUE = 256
"""A value of more characters that is not a secret is not searched for secrets, so that time stays linear."""
_ID_KEYS = frozenset({"id", "tool_call_id", "call_id"})


def redact(text: str) -> str:
    """Replace everything that looks like a key, a token or a password with "[redacted: kind]".

    The time is linear in the length of the text. Text that is already redacted stays as it is.
    """
    check_text(text, "text")
    for _ in range(_MAX_PASSES):
        redacted = _redact_once(text)
        if redacted == text:
            break
        text = redacted
    return text


def redact_all(value: Any) -> Any:
    """Redact every text in a JSON value, and the values of keys such as "password"."""
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
    if key in _ID_KEYS:
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
    end = searched = 0
    for hint in _HINT.finditer(text):
        if hint.start() < searched or (value := _VALUE.match(text, hint.end())) is None:
            continue
        name = _NAME.search(text, max(end, hint.start() - 24), hint.end())
        if name is not None and (secret := _find_secret(name, value)):
            start = value.start("quoted" if value["bare"] is None else "bare")
            parts += [text[end:start], "[redacted: secret]"]
            end = searched = start + len(secret)
        elif value.end() - value.start() > _LONG_VALUE:
            searched = value.end()
    return "".join([*parts, text[end:]])


def _find_secret(name: re.Match[str], value: re.Match[str]) -> str | None:
    """Return the secret part of a named value; None if it has none."""
    if value["bare"] is None:
        secret, quoted = value["quoted"], True
    else:
        secret, quoted = value["bare"].rstrip(".,;:!?"), False
    if value["said"] is not None:
        is_secret = name["weak"] is None and (is_random(secret) or _is_said(secret))
    elif value["space"] is not None and name.string[: name.start()].endswith("--"):  # an option of a command
        is_secret = has_digit(secret) and not is_placeholder(secret)
    elif value["space"] is not None:
        is_secret = name["weak"] is None and is_random(secret)
    else:
        is_secret = _is_secret(name, secret, quoted=quoted)
    return secret if is_secret else None


def _is_secret(name: re.Match[str], value: str, *, quoted: bool) -> bool:
    """Return whether the value that is assigned to a name is a secret: "the secret: patience" is not.

    `name` is a match of `_NAME`.
    """
    if "[redacted" in value:
        return False
    if name["weak"] is not None:
        return is_login(value) or (is_random(value) and len(value) >= 20 and not is_placeholder(value))
    if not has_digit(value) or len(value) < 6 or is_placeholder(value) or _HOST.fullmatch(value):
        return False
    if value.isdigit():
        return name["password"] is not None
    if is_random(value):
        return True
    return len(value) <= _MAX_PASSWORD_CHARACTERS and (quoted or _CODE.fullmatch(value) is None)


def _is_said(value: str) -> bool:
    """Return whether a word after "is" is a password: "the password is hunter22", not "is 64-bit"."""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    is_word = _CODE.fullmatch(value) is not None or value[0].isdigit()
    return len(value) >= 7 and letters >= 3 and digits >= 2 and not is_word
