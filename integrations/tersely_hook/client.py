"""The command of the hook: passes its input to the daemon, and prints the daemon's answer.

Its arguments are the command that starts the daemon. After any failure it prints `{}`, which leaves the
tool's output unchanged, and exits with 0.
"""

# Import nothing of the package, and only the C part of `socket`: the whole of either takes longer to load
# than a call may last.
import _socket
import os
import sys
import time

SWITCH = "TERSELY_HOOK"
"""Environment variable. "off" switches the hook off. "shadow" only records what would be shortened.
"holdout=0.1" shortens nothing in this share of the sessions."""
MAX_BYTES = 8_000_000
"""Largest number of bytes of an input. A larger input stays unchanged."""
TIMEOUT_S = 2.0
START_S = 10.0
"""Seconds after the start of a daemon in which no other one is started."""
UNCHANGED = b"{}\n"


def folder() -> str:
    """Return the folder of the socket and of the originals."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "tersely", "hook")


def is_private(path: str) -> bool:
    """Return whether the folder is the user's, and nobody else may open it."""
    status = os.stat(path)
    return status.st_uid == os.getuid() and not status.st_mode & 0o077


def is_off() -> bool:
    return os.environ.get(SWITCH, "").lower() in ("0", "off", "false", "no")


def read_mode() -> bytes:
    """Return the line that goes in front of a request if the user set "shadow" or "holdout"; empty if not."""
    value = os.environ.get(SWITCH, "").lower()
    return value.encode() + b"\n" if value.startswith(("shadow", "holdout")) else b""


def ask(request: bytes, command: "list[str]") -> bytes:
    """Return the daemon's answer. If none runs, start one with `command`, and leave the output unchanged."""
    place = folder()
    os.makedirs(place, 0o700, exist_ok=True)
    if not is_private(place):
        return UNCHANGED
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(TIMEOUT_S)
    try:
        connection.connect(os.path.join(place, "socket"))
    except (FileNotFoundError, ConnectionRefusedError):
        start_daemon(place, command)
        return UNCHANGED
    connection.sendall(request)
    connection.shutdown(_socket.SHUT_WR)
    parts: list[bytes] = []
    while part := connection.recv(1 << 20):
        parts.append(part)
    answer = b"".join(parts)
    return answer if answer.endswith(b"\n") else UNCHANGED  # the daemon may have died half-way


def start_daemon(place: str, command: "list[str]") -> None:
    """Start the daemon apart from this process, unless another call has just done so."""
    log = os.path.join(place, "log")
    try:
        if time.time() - os.stat(log).st_mtime < START_S:
            return
    except FileNotFoundError:
        pass
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    os.close(os.open(log, flags, 0o600))
    os.utime(log)
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, log, flags, 0o600),
    ]
    # A session of its own, because agents kill the group of a hook that has ended.
    os.posix_spawnp(command[0], command, os.environ, file_actions=files, setsid=True)


def main() -> None:
    """Answer the hook's input on standard input."""
    answer = UNCHANGED
    try:
        request = sys.stdin.buffer.read(MAX_BYTES + 1)
        if not is_off() and len(request) <= MAX_BYTES:
            answer = ask(read_mode() + request, sys.argv[1:])
    except Exception:  # noqa: BLE001 - the tool's output stays, whatever is broken
        pass
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
