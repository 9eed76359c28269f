"""Decide which addresses may be reached. Every client in the package asks here, before every request."""

from __future__ import annotations

import base64
import ipaddress
import os
import re
import urllib.parse
from dataclasses import dataclass
from typing import Any

from tersely.errors import InvalidInputError, OfflineError

_SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@%]+)(:[0-9]*)?")
"""Host and port. A name with a percent sign may be decoded by one library and not by another."""
_UNSAFE = re.compile(r"[\s\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True)
class Address:
    """An HTTP address, parsed once, so that two libraries cannot read it in two ways."""

    url: str
    """The address to connect to, without user and password."""
    public_url: str
    """The address for messages: without user, password and query, which may hold a key."""
    host: str
    authorization: str | None
    """The header for the user and password of the address; None without them."""

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)


def network_forbidden() -> bool:
    """Return whether TERSELY_OFFLINE is set, and not to "", "0", "false" or "no"."""
    return os.environ.get("TERSELY_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def check_address(url: object) -> Address:
    """Parse an HTTP address, and check that it may be reached now.

    Raises:
        InvalidInputError: `url` is not an HTTP address, or could be read in two ways. The message has no
            password.
        OfflineError: the server is not on this machine and TERSELY_OFFLINE forbids the network.
    """
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
    _check_host(host)
    netloc = (f"[{host}]" if is_ipv6 else host) + (f":{port}" if port is not None else "")
    plain = urllib.parse.urlunsplit((parts.scheme, netloc, parts.path, parts.query, ""))
    return Address(plain, plain.partition("?")[0], host, _read_authorization(parts))


def is_loopback(host: str) -> bool:
    """Return whether the host is this machine: "localhost" or a loopback address.

    A name that needs a resolver, such as "localhost.example" or "2130706433", is not.
    """
    ip = _read_ip(host)
    return host == "localhost" or (ip is not None and ip.is_loopback)


def hide_credentials(url: object) -> object:
    """Return an address, however malformed, without anything that may be a user, a password or a key."""
    if not isinstance(url, str):
        return url if url is None else type(url).__name__
    return re.sub(r"^([A-Za-z][\w+.-]*:/*)?.*@", r"\1", url, flags=re.DOTALL).partition("?")[0]


def client_settings(address: Address) -> dict[str, Any]:
    """Return arguments for an asynchronous client of httpx2: it checks every request, follows no redirects,
    and uses no proxy between this machine and itself."""
    hooks = {"request": [_check_request]}
    return {"follow_redirects": False, "trust_env": not address.is_local, "event_hooks": hooks}


async def _check_request(request: Any) -> None:
    """Check the host that httpx2 has read from the address."""
    _check_host(request.url.host)


def _check_host(host: str) -> None:
    if network_forbidden() and not is_loopback(host):
        raise OfflineError(
            f"TERSELY_OFFLINE is set, and {host} is not this machine. Unset it, or use a local server."
        )


def _read_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _read_authorization(parts: urllib.parse.SplitResult) -> str | None:
    if parts.username is None:
        return None
    user, password = (urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
