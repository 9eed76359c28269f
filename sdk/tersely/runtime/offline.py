"""What tersely may reach over the network. Every client in the package asks here, before every request."""

from __future__ import annotations

import base64
import ipaddress
import os
import re
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

from tersely.errors import InvalidInputError, OfflineError

_SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@%]+)(:[0-9]*)?")
"""Host and port. A name with a percent sign may be decoded by one library and not by another."""
_UNSAFE = re.compile(r"[\s\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True)
class Address:
    """An HTTP address, taken apart once, so that two libraries cannot read it in two ways."""

    url: str
    """What a client connects to, without user and password."""
    shown: str
    """For messages: without user, password and query, which may hold a key."""
    host: str
    is_local: bool
    """Whether the host is this machine: "localhost" or a loopback address."""
    authorization: str | None
    """The header that user and password of the address stand for."""


class RefuseRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send texts and keys to a host that the caller did not name."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def network_forbidden() -> bool:
    """Whether TERSELY_OFFLINE is set, and not to "", "0", "false" or "no"."""
    return os.environ.get("TERSELY_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def check_address(url: str) -> Address:
    """The parts of an HTTP address that may be reached now.

    Raises:
        InvalidInputError: `url` is not an HTTP address, or could be read in two ways.
        OfflineError: the server is not on this machine and TERSELY_OFFLINE forbids the network.
    """
    address = parse_address(url)
    if network_forbidden() and not address.is_local:
        raise OfflineError(
            f"TERSELY_OFFLINE is set, and {address.host} is not this machine. Unset it, or use a local "
            "server."
        )
    return address


def check_hub(name: str) -> None:
    """Raises OfflineError if TERSELY_OFFLINE forbids a download from the hub."""
    if network_forbidden():
        raise OfflineError(
            f"{name!r} is not a folder here and TERSELY_OFFLINE forbids downloading it from the hub. "
            "Unset TERSELY_OFFLINE, or download it elsewhere and name its folder."
        )


def parse_address(url: object) -> Address:
    """The parts of an HTTP address. Raises InvalidInputError, without passwords in its message."""
    refusal = InvalidInputError(
        f"{hide_credentials(url)!r} is not an HTTP address. Pass an address that starts with http:// or "
        "https://, such as http://127.0.0.1:8000/v1."
    )
    if not isinstance(url, str) or _UNSAFE.search(url):
        raise refusal
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise refusal from None
    user, _, server = parts.netloc.rpartition("@")
    if parts.scheme not in ("http", "https") or "@" in user or not _SERVER.fullmatch(server):
        raise refusal
    is_ipv6 = ":" in host
    if is_ipv6 and _read_ip(host) is None:
        raise refusal
    netloc = (f"[{host}]" if is_ipv6 else host) + (f":{port}" if port is not None else "")
    plain = urllib.parse.urlunsplit((parts.scheme, netloc, parts.path, parts.query, ""))
    shown = urllib.parse.urlunsplit((parts.scheme, netloc, parts.path, "", ""))
    return Address(plain, shown, host, is_loopback(host), _read_authorization(parts))


def is_loopback(host: str) -> bool:
    """Whether the host is this machine: "localhost" or a loopback address.

    What a resolver would have to read, such as "localhost.example" or "2130706433", is not.
    """
    ip = _read_ip(host)
    return host == "localhost" or (ip is not None and ip.is_loopback)


def _read_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def hide_credentials(url: object) -> object:
    """An address, however malformed, without anything that may be a user, a password or a key."""
    if not isinstance(url, str):
        return url if url is None else type(url).__name__
    return re.sub(r"^([A-Za-z][\w+.-]*:/*)?.*@", r"\1", url, flags=re.DOTALL).partition("?")[0]


def client_settings(address: Address) -> dict[str, Any]:
    """Arguments for a client of httpx: no redirects, and no proxy between this machine and itself."""
    return {"follow_redirects": False, "trust_env": not (address.is_local or network_forbidden())}


def build_opener(address: Address, *handlers: urllib.request.BaseHandler) -> urllib.request.OpenerDirector:
    """An opener of urllib with the same restrictions as `client_settings`."""
    direct = [urllib.request.ProxyHandler({})] if address.is_local or network_forbidden() else []
    return urllib.request.build_opener(RefuseRedirects, *direct, *handlers)


def _read_authorization(parts: urllib.parse.SplitResult) -> str | None:
    if parts.username is None:
        return None
    user, password = (urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
