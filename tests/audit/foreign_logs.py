"""Formats of logs and stack traces, written from their documented forms with random content."""

from __future__ import annotations

from tests.audit.foreign_draw import Draw, form
from tests.audit.foreign_readers import flat, outline


@form("postgres log", outline(r"\d{4}-\d\d-\d\d .*(LOG|ERROR|WARNING|FATAL):"))
def postgres_log(d: Draw) -> str:
    lines = []
    for _ in range(d.randint(5, 16)):
        start = f"{d.day()} {d.clock()}.{d.digits(3)} UTC [{d.digits(5)}]"
        table_name, column = d.words(2)
        lines.append(
            f'{start} ERROR:  column "{column}" of relation "{table_name}" does not exist at character 9'
        )
        if d.random() < 0.7:
            lines.append(f"\tDETAIL:  Key ({column})=({d.digits(4)}) is missing from {d.noun()} {d.word()}.")
        if d.random() < 0.7:
            lines.append(f"\tHINT:  Perhaps you meant {d.word()}.{d.word()}.")
        lines.append(f"\tSTATEMENT:  SELECT {column} FROM {table_name} WHERE id = {d.digits(3)}")
    return "\n".join(lines) + "\n"


@form("syslog", flat)
def syslog(d: Draw) -> str:
    host = d.word()
    lines = []
    for n in range(d.randint(6, 30)):
        program = d.choice(["sshd", "kernel", "cron", "systemd", "postfix/smtpd"])
        text = d.choice([f"Accepted publickey for {d.word()} from {d.ip()} port {d.digits(5)}", d.phrase()])
        lines.append(f"Nov {n + 1:2} {d.clock()} {host} {program}[{d.digits(4)}]: {text}")
    return "\n".join(lines) + "\n"


@form("access log", flat)
def access_log(d: Draw) -> str:
    return "".join(
        f'{d.ip()} - - [{d.randint(1, 28):02}/Nov/2026:{d.clock()} +0000] "GET /{d.path()} HTTP/1.1" '
        f'{d.choice([200, 304, 404, 500])} {d.digits(4)} "-" "curl/{d.version()}"\n'
        for _ in range(d.randint(5, 20))
    )


@form("logfmt", flat)
def logfmt(d: Draw) -> str:
    return "".join(
        f"ts={d.day()}T{d.clock()}Z level={d.choice(['info', 'warn', 'error'])} "
        f"caller={d.word()}.go:{d.digits(3)} "
        f'msg="{d.phrase()}" user={d.word()} took={d.digits(3)}ms\n'
        for _ in range(d.randint(5, 20))
    )


@form("dmesg", flat)
def dmesg(d: Draw) -> str:
    return "".join(
        f"[{n * 3:5}.{d.digits(6)}] {d.word()}{d.digits(1)}: {d.phrase()} at 0x{d.hexa(8)}\n"
        for n in range(d.randint(6, 30))
    )


@form("java log with traces", outline(r"\d{4}-\d\d-\d\d "))
def java_log(d: Draw) -> str:
    lines = []
    for _ in range(d.randint(4, 9)):
        lines.append(
            f"{d.day()} {d.clock()},{d.digits(3)} {d.choice(['INFO', 'WARN'])} [{d.word()}] {d.phrase()}"
        )
        if d.random() < 0.5:
            package = d.word()
            lines[-1] = lines[-1].replace("INFO", "ERROR").replace("WARN", "ERROR")
            lines.append(f"java.lang.IllegalStateException: {d.phrase()}")
            lines += [
                f"\tat org.{package}.{d.word().title()}.{d.word()}({d.word().title()}.java:{d.digits(2)})"
                for _ in range(d.randint(2, 6))
            ]
            lines.append(f"Caused by: java.io.IOException: {d.path()}")
            lines.append(
                f"\tat org.{package}.{d.word().title()}.{d.word()}({d.word().title()}.java:{d.digits(2)})"
            )
            lines.append(f"\t... {d.digits(2)} more")
    return "\n".join(lines) + "\n"


@form("go panic", outline(r"(panic:|goroutine \d+|exit status)", r"\S+\(.*\)$|created by"))
def go_panic(d: Draw) -> str:
    lines = [f"panic: runtime error: index out of range [{d.digits(2)}] with length {d.digits(1)}", ""]
    for number in d.sample(range(1, 99), d.randint(2, 5)):
        lines.append(f"goroutine {number} [{d.choice(['running', 'chan receive', 'select'])}]:")
        for _ in range(d.randint(2, 4)):
            lines.append(f"main.{d.word()}(0x{d.hexa(10)}, 0x{d.hexa(2)})")
            lines.append(f"\t/srv/{d.word()}/{d.word()}.go:{d.digits(3)} +0x{d.hexa(3)}")
        lines.append("")
    return "\n".join([*lines, "exit status 2"]) + "\n"


@form("rust panic", outline(r"(thread '|note:)", r"\s+\d+: "))
def rust_panic(d: Draw) -> str:
    lines = [
        f"thread '{d.word()}' panicked at src/{d.word()}.rs:{d.digits(3)}:{d.digits(2)}:",
        f"called `Option::unwrap()` on a `None` value: {d.word()}",
        "stack backtrace:",
    ]
    for number in range(d.randint(4, 14)):
        lines.append(f"  {number:2}: {d.word()}::{d.word()}::{d.word()}")
        lines.append(f"             at ./src/{d.word()}.rs:{d.digits(3)}:{d.digits(1)}")
    note = "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace."
    return "\n".join([*lines, note]) + "\n"
