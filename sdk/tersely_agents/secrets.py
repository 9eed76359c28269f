"""The forms of keys, tokens and passwords of many providers, and the places where they occur.

Every pattern takes linear time: an unbounded repetition begins only where the character in front of it cannot
be part of it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass

Check = Callable[[str], bool]

_CHANGE = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")
"""A change between lower case, upper case and digits. "Aa" is left out: CamelCase has it too."""


_HEXADECIMAL = re.compile(r"[0-9a-f]{24}")


def count_changes(text: str) -> int:
    """Count the changes between lower case, upper case and digits: one in three characters of random text."""
    return len(_CHANGE.findall(text))


def has_digit(text: str) -> bool:
    return re.search(r"\d", text) is not None


def is_random(text: str) -> bool:
    """Return whether a text of 16 characters or more looks like random letters and digits."""
    least = 0.1 if re.fullmatch(r"[0-9a-f-]{32,}", text) else 0.21
    return len(text) >= 16 and has_digit(text) and count_changes(text) >= least * len(text)


def is_mixed(text: str) -> bool:
    """Return whether a text looks like random letters of both cases and digits, unlike a hash, a UUID or a
    name."""
    counts = sum(map(str.isdigit, text)), sum(map(str.isupper, text)), sum(map(str.islower, text))
    return min(counts) >= 3 and count_changes(text) >= 0.25 * len(text) and not _HEXADECIMAL.search(text)


def _is_varied(text: str) -> bool:
    return has_digit(text) or count_changes(text) >= 2


def is_login(text: str) -> bool:
    """Return whether a text is "name:password" in base64."""
    bare = text.rstrip("=")
    try:
        decoded = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    return ":" in decoded and decoded.isprintable()


def _is_key_body(text: str) -> bool:
    """Return whether there are only lines of base64 between the first and the last line of a key."""
    body = re.sub(r"-----(?:BEGIN|END) [^-]*-----", "", text)
    lines = re.split(r"(?:\\+[rn]|[\s\"'+,])+", body)
    return (
        not is_placeholder("".join(lines))
        and any(lines)
        and all(re.fullmatch(r"[A-Za-z0-9/+]*={0,2}|[\w-]+:|[A-Z0-9]+-[A-Z0-9-]+", line) for line in lines)
    )


_PLACEHOLDER = re.compile(
    r"""(?xi) [x*.\#_-]+ | \#[0-9a-f]{3,8} | [<$%{\[].* | .*(?:\$\{|\{\{|%\(|\.\.\.).*
    | (?:(?:my|your|the|some|new|old|db|user|test|super|fake|top)?[-_]?)
      (?:pass(?:word|wd|phrase)?|pwd?|secret|token|(?:api)?[-_]?key|guest|user(?:name)?|host|changeme|example|foo|bar|value
         |string|none|null|true|false|redacted|hidden|masked|dummy|placeholder) [-_]?(?:here|\d)?"""
)


def is_placeholder(text: str) -> bool:
    """Return whether a text is a placeholder, as manuals use it instead of a secret."""
    return _PLACEHOLDER.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of secret: text of the form `pattern`, or its group `secret` if it has one.

    `check` looks at the secret, or at its group `body`.
    """

    kind: str
    pattern: re.Pattern[str]
    marks: tuple[str, ...]
    """Substrings of which a secret of this kind has at least one. A text without any is not searched."""
    check: Check

    def apply(self, text: str) -> str:
        """Replace every secret that this rule finds with "[redacted: kind]"."""
        if not any(mark in text for mark in self.marks):
            return text
        return self.pattern.sub(self._replaced, text)

    def _replaced(self, match: re.Match[str]) -> str:
        group = "secret" if "secret" in self.pattern.groupindex else 0
        if not self.check(match["body" if "body" in self.pattern.groupindex else group]):
            return match[0]
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return f"{match[0][:start]}[redacted: {self.kind}]{match[0][end:]}"


def _rule(kind: str, pattern: str, *marks: str, check: Check = bool) -> Rule:
    return Rule(kind, re.compile(pattern), marks, check)


def _prefixed(kind: str, prefixes: str, body: str = r"[\w-]{16,}") -> Rule:
    """Make a rule for random letters and digits after one of these prefixes."""
    words = prefixes.split()
    form = "|".join(map(re.escape, words))
    return _rule(kind, rf"(?<![A-Za-z0-9])(?<!\w-)(?:{form}){body}", *words, check=_is_varied)


_PLAIN_TOKENS = """
    ghp_ gho_ ghu_ ghs_ ghr_ hf_ api_org_ npm_ rubygems_ CLOJARS_ dapi dop_v1_ doo_v1_ dor_v1_ pul-
    lin_api_ lin_oauth_ ntn_ nfp_ sbp_ shpat_ shpca_ shppa_ shpss_ bkua_ sntryu_ r8_ pnu_
"""
_TOKENS = """
    github_pat_ glpat- glrt- gldt- glptt- glcbt- glsoat- pypi- dckr_pat_ dckr_oat_ xoxa- xoxb- xoxe-
    xoxp- xoxr- xoxs- xapp- glsa_ glc_ pscale_pw_ pscale_tkn_ pscale_oauth_ CCIPAT_ 1//0 GOCSPX-
    aio_ sntrys_ ops_eyJ figd_ sgp_ tfp_ CFPAT- sq0csp- sq0atp- ATATT3 HRKU- fio-u- pat-na1-
    pat-eu1- tskey- access_token$production$
"""
_DOTTED_TOKENS = "ya29. hvs. hvb. hvr. dp.pt. dp.st. dp.ct. xoxe.xoxp-"
_API_KEYS = """
    pplx- pcsk_ xai- gsk_ whsec_ PMAK- NRAK- FLWSECK- rdme_ ico- key- sdk- access-production-
    access-sandbox- v1.0- duffel_test_ duffel_live_ sk_live_ sk_test_ rk_live_ rk_test_ lsv2_pt_
    lsv2_sk_ xkeysib- AGE-SECRET-KEY-1
"""
_WORDS = """
    pat key token tok tkn secret sk rk api live prod oauth auth
"""
_SECRET_WORDS = _WORDS.split()

_KEY_FILE = _rule(
    "private key",
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-(?!----)[^-]*)*"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    "PRIVATE KEY",
    check=_is_key_body,
)
_FORMS = (
    _rule("token", r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}", "eyJ"),
    _rule("api key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "AKIA", "ASIA"),
    _rule("api key", r"\bAIza[\w-]{35}(?![\w-])", "AIza"),
    _rule(
        "api key", r"(?<![\w-])(?:sk|pk|rk)[-_](?!ecdsa-|ssh-)(?=[\w-]{0,200}\d)[\w-]{16,}", "sk", "pk", "rk"
    ),
    _prefixed("token", _PLAIN_TOKENS, r"[A-Za-z0-9]{20,}"),
    _prefixed("token", _TOKENS, r"[\w+/$-]{16,}(?:=[0-9A-F]{8}\b|=*)"),
    _prefixed("token", _DOTTED_TOKENS, r"[\w.-]{19,}[\w-]"),
    _prefixed("api key", _API_KEYS, r"[\w-]{24,}"),
    _prefixed("api key", "rzp_live_ rzp_test_", r"\w{14,}"),
    _prefixed("api key", "LTAI", r"\w{16,24}(?!\w)"),
    _prefixed("token", "ATBB EAAA EAAB AKCp EZAK ABSK oy2 cio AKID", r"[\w+/-]{28,}=*"),
    _rule("token", r"(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,40}(?![\w-])", ".", check=is_mixed),
    _rule("api key", r"\bSG\.[\w-]{16,32}\.[\w-]{16,64}(?![\w-])", "SG."),
    _rule("api key", r"\bSK[0-9a-f]{32}\b", "SK"),
    _rule("api key", r"\b[0-9a-f]{32}-us\d{1,2}\b", "-us"),
    _rule("api key", r"\b[0-9a-f]{36}FFFFNRAL\b", "FFFFNRAL"),
    _rule("token", r"\bdt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b", "dt0c01."),
    _rule("token", r"(?<![\w.])sl\.[\w-]{100,}", "sl."),
    _rule("token", r"\bpat\w{14}\.[0-9a-f]{64}\b", "pat"),
    _rule("token", r"\bfm[12]_[\w+/=-]{20,}", "fm1_", "fm2_"),
    _rule("token", r"\b\w{14}\.atlasv1\.[\w-]{40,}", ".atlasv1."),
    _rule("token", r"\b\d{8,10}:AA[\w-]{33}(?![\w-])", ":AA"),
    _rule("token", r"\b1/\d{16}:[0-9a-f]{32}\b", "1/"),
    _rule("secret", r"(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~-])", "Q~"),
    _rule(
        "webhook",
        r"https://(?:discord(?:app)?\.com/api/webhooks/\d+|hooks\.slack\.com/(?:services|workflows|triggers)"
        r"|hooks\.zapier\.com/hooks/catch|[\w.-]{1,99}\.webhook\.office\.com/webhookb2)/(?P<secret>[\w@/-]{8,})",
        "hook",
        check=has_digit,
    ),
    # Providers that are not named above: a word such as "token" in front, or a long random body.
    _rule(
        "token",
        rf"(?<![A-Za-z0-9])(?<!\w[.-])(?:[A-Za-z0-9]{{1,12}}[-_]){{0,3}}?(?:{'|'.join(_SECRET_WORDS)})"
        r"(?:[-_][A-Za-z0-9]{1,10})?[-_](?P<body>[A-Za-z0-9]{20,200})(?![A-Za-z0-9+/])[\w-]*",
        *_SECRET_WORDS,
        check=is_random,
    ),
    _rule(
        "token",
        r"(?<![\w.+/=~-])(?!sha|SHA|md5)[A-Za-z][A-Za-z0-9]{1,11}[-_.](?:[a-z0-9]{1,10}[-_.]){0,2}"
        r"(?P<body>[\w-]{32,250})(?![\w+/=-])",
        *"-_.",
        check=is_mixed,
    ),
)

_PLACES = (
    _rule(
        "password",
        r"(?<=://)[^\s:/@\"'<>]{0,64}:(?P<secret>[^\s/@\"'<>]{1,128})(?=@)",
        "://",
        check=lambda text: not is_placeholder(text) and (has_digit(text) or len(text) >= 8),
    ),
    _rule("token", r"(?<=https://)(?P<secret>[\w-]{20,})(?=(?::x-oauth-basic)?@)", "://", check=is_random),
    _rule(
        "token",
        r"(?:Bearer|bearer|BEARER|Token|token|SSWS) (?P<secret>[\w.~+/-]{16,}=*)",
        *("earer ", "BEARER ", "oken ", "SSWS "),
        check=lambda text: _is_varied(text) and has_digit(text),
    ),
    _rule("token", r"(?:Basic|basic|BASIC) (?P<secret>[\w+/]{12,}=*)", "asic ", "BASIC ", check=is_login),
    _rule(
        "password",
        r"(?:curl\b[^\n]{0,200}? (?:-u|--user)[ =]\\*[\"']?)[\w.@-]{1,64}:(?P<secret>[^\s\"'\\]{4,128})",
        "curl",
        check=lambda text: not is_placeholder(text),
    ),
    _rule(
        "password",
        r"(?:sshpass|docker login\b[^\n]{0,100}?|mysql(?:dump|admin)?\b[^\n]{0,100}?) -p ?\\*[\"']?"
        r"(?P<secret>[^\s\"'\\]{4,128})",
        *("sshpass", "docker login", "mysql"),
        check=lambda text: _is_varied(text) and not is_placeholder(text),
    ),
    _rule(
        "password",
        r"\blogin \S{1,64}\s{1,8}password (?P<secret>[^\s\"'\\\\]{4,128})",
        "login ",
        check=lambda text: has_digit(text) and not is_placeholder(text),
    ),
    _rule(
        "secret",
        r"\b(?:AccountKey|SharedAccessKey|SharedSecret)=(?P<secret>[\w+/%-]{20,}=*)",
        *("AccountKey", "SharedAccessKey", "SharedSecret"),
    ),
    _rule("secret", r"[?&;](?:sig|signature)=(?P<secret>[\w%+/-]{20,})", "sig", check=is_random),
    _rule(
        "secret",
        r"(?:mnemonic|Mnemonic|MNEMONIC|seed|Seed|SEED)(?:[ _]?(?i:phrase))?"
        r"\\{0,3}[\"']?\s{0,2}(?:[:=]|is)\s{0,2}\\{0,3}[\"']?"
        r"(?P<secret>[a-z]{3,8}(?: [a-z]{3,8}){11,23})\b",
        *("nemonic", "NEMONIC", "seed", "Seed", "SEED"),
    ),
)

_RUN_CHARACTERS = r"\w.~+/=$:@-"
_RUN = re.compile(rf"(?:(?<=\\)[nrt]|(?<![{_RUN_CHARACTERS}]))(?P<run>[{_RUN_CHARACTERS}]{{20,}})")
"""Text that may be a token. The "n" of "\\n" in JSON is not part of it."""


_CALL_ID = re.compile(r"(?:msg|toolu|call|resp|chatcmpl)[_-][A-Za-z0-9]{16,}")
"""Ids that chat APIs give to messages and calls. They give access to nothing."""


def redact_forms(text: str) -> str:
    """Redact the secrets that have a known form or a known place."""
    text = _KEY_FILE.apply(text)
    for rule in _PLACES:
        text = rule.apply(text)
    return _RUN.sub(_redact_run, text)


def _redact_run(match: re.Match[str]) -> str:
    run = match["run"]
    if _CALL_ID.fullmatch(run):
        return match[0]
    for rule in _FORMS:
        run = rule.apply(run)
    return match[0].removesuffix(match["run"]) + run
