"""Formats of compilers, tests and stack traces: tools that run on small programs with random mistakes."""

from __future__ import annotations

import functools
import re
import shlex
import sys
import tempfile
from pathlib import Path

from tests.audit.foreign_commands import run
from tests.audit.foreign_draw import Draw, form
from tests.audit.foreign_readers import outline

POOL = 25
"""Different outputs of each slow tool."""


def build(command: str, name: str, text: str) -> str:
    """Return the output of a command about a file, with the folder's name removed."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_text(text)
        printed = run(command, folder, errors=True)
    return printed.replace(f"{folder}/", "").replace(folder, "/src")


@functools.cache
def gcc_errors(number: int) -> str:
    d = Draw(number)
    functions = []
    for name in d.words(d.randint(2, 4)):
        lines = [
            d.choice(
                [
                    f"int {d.word()} = {d.word()};",
                    f"{d.word()}({d.digits(2)});",
                    f"char *{d.word()} = {d.digits(3)};",
                ]
            )
            for _ in range(d.randint(2, 4))
        ]
        functions.append(
            f"int {name}(void)\n{{\n" + "".join(f"    {line}\n" for line in lines) + "    return 0;\n}\n"
        )
    return build("gcc -Wall -c main.c", "main.c", "\n".join(functions))


@form("gcc errors", outline(r"\S+: In function", r"\S+:\d+:\d+: ", nested=False))
def gcc(d: Draw) -> str:
    return gcc_errors(d.randrange(POOL))


@functools.cache
def rustc_errors(number: int) -> str:
    d = Draw(number)
    lines = [
        d.choice(
            [
                f'let {d.word()}: i32 = "{d.word()}";',
                f"{d.word()}({d.digits(2)});",
                f"let {d.word()} = {d.word()};",
            ]
        )
        for _ in range(d.randint(3, 6))
    ]
    command = "rustc main.rs"
    return build(command, "main.rs", "fn main() {\n" + "".join(f"    {line}\n" for line in lines) + "}\n")


@form("rustc errors", outline(r"(error|warning|Some errors|For more)", blank=0))
def rustc(d: Draw) -> str:
    return rustc_errors(d.randrange(POOL))


@functools.cache
def javac_errors(number: int) -> str:
    d = Draw(number)
    lines = [
        f"        {d.choice(['int', 'String'])} {d.word()} = {d.word()};" for _ in range(d.randint(3, 6))
    ]
    text = "class Main {\n    void run() {\n" + "\n".join(lines) + "\n    }\n}\n"
    return build("javac Main.java", "Main.java", text)


@form("javac errors", outline(r"(\S+:\d+: |\d+ errors)"))
def javac(d: Draw) -> str:
    return javac_errors(d.randrange(POOL))


@functools.cache
def java_trace(number: int) -> str:
    d = Draw(number)
    names = d.words(d.randint(3, 6))
    methods = []
    for at, name in enumerate(names):
        call = f"{names[at + 1]}();" if at + 1 < len(names) else f'Integer.parseInt("{d.word()}");'
        again = f'throw new RuntimeException("{d.phrase()}", e);'
        wrap = f"try {{ {call} }} catch (RuntimeException e) {{ {again} }}"
        methods.append(f"    static void {name}() {{ {wrap if d.random() < 0.5 else call} }}")
    main = f"    public static void main(String[] a) {{ {names[0]}(); }}"
    return build(
        "java Main.java", "Main.java", "public class Main {\n" + "\n".join([*methods, main]) + "\n}\n"
    )


@form("java trace", outline("Exception in", "Caused by"))
def java(d: Draw) -> str:
    return java_trace(d.randrange(POOL))


@functools.cache
def python_trace(number: int) -> str:
    d = Draw(number)
    names = d.words(d.randint(3, 7))
    lines = []
    for at, name in enumerate(names):
        call = f"{names[at + 1]}({d.randint(1, 99)})" if at + 1 < len(names) else f"{{}}['{d.word()}']"
        if d.random() < 0.3:
            failing = f"    except Exception as error:\n        raise ValueError('{d.phrase()}') from error\n"
            lines.append(f"def {name}(value=0):\n    try:\n        {call}\n{failing}")
        else:
            lines.append(f"def {name}(value=0):\n    {call}\n")
    return build(f"{shlex.quote(sys.executable)} main.py", "main.py", "\n".join(lines) + f"\n{names[0]}()\n")


@form("python traceback", outline(r"(Traceback|The above|During)", r"  File "))
def python(d: Draw) -> str:
    return python_trace(d.randrange(POOL))


@functools.cache
def pytest_report(number: int) -> str:
    d = Draw(number)
    tests = []
    for name in d.words(d.randint(3, 7)):
        check = d.choice(
            [
                f"assert {d.digits(3)} == {d.digits(3)}",
                f"assert '{d.word()}' in '{d.phrase()}'",
                "assert True",
                "{}[3]",
            ]
        )
        tests.append(
            f"def test_{name}():\n    {d.word()} = '{d.word()}'\n    {check.replace('= 0', '= 1')}\n"
        )
    style = d.choice(["", "-v", "--tb=short"])
    python = f"env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)}"
    command = f"{python} -m pytest -p no:cacheprovider -q {style} ."
    text = "\n".join(re.sub(r"\b0+(\d)", r"\1", test) for test in tests)
    return re.sub(r" in \d+\.\d+s", " in 0.05s", build(command, "test_main.py", text))


@form("pytest report", outline(r"=+ .* =+$|FAILED|\d+ (failed|passed)", r"_+ .* _+$"))
def pytest_run(d: Draw) -> str:
    return pytest_report(d.randrange(POOL))


@functools.cache
def ruff_report(number: int) -> str:
    d = Draw(number)
    lines = [f"import {name}" for name in d.words(3)]
    lines += [f"def {name}():\n    {d.word()} = {d.word()}\n    return f'{d.word()}'" for name in d.words(3)]
    text = "\n".join(lines) + "\n"
    return build(
        f"{shlex.quote(sys.executable)} -m ruff check --no-cache --isolated main.py", "main.py", text
    )


@form("ruff report", outline(r"([A-Z]+\d+ |Found|\[\*\])", blank=0))
def ruff(d: Draw) -> str:
    return ruff_report(d.randrange(POOL))
