"""Data formats, written from their documented forms with random content."""

from __future__ import annotations

import csv
import io
import json

import yaml

from tests.audit.foreign_draw import Draw, form
from tests.audit.foreign_readers import flat, outline, with_comments


def draw_record(d: Draw, fields: list[str]) -> dict[str, object]:
    makers = [d.word, d.day, lambda: int(d.digits(3)), d.phrase, d.ip, d.sentence, lambda: d.random() < 0.5]
    return {"id": int(d.digits(4)), "name": d.word(), **{field: d.choice(makers)() for field in fields}}


def draw_tree(d: Draw) -> dict[str, object]:
    fields = d.words(d.randint(2, 5))
    return {
        "status": "ok",
        "next": None,
        d.word(): {d.word(): d.word(), "limits": {key: int(d.digits(3)) for key in d.words(3)}},
        "items": [
            {
                **draw_record(d, fields),
                "tags": d.words(d.randint(0, 3)),
                "owner": {"name": d.person(), "id": d.digits(3)},
            }
            for _ in range(d.randint(2, 9))
        ],
    }


@form("json compact", None, "json")
def json_compact(d: Draw) -> str:
    return json.dumps(draw_tree(d))


@form("json indented", None, "json")
def json_indented(d: Draw) -> str:
    return json.dumps(draw_tree(d), indent=d.choice([2, 4])) + "\n"


@form("json lines", None, "jsonl")
def json_lines(d: Draw) -> str:
    fields = d.words(d.randint(2, 5))
    return "".join(json.dumps(draw_record(d, fields)) + "\n" for _ in range(d.randint(5, 20)))


@form("notebook", None, "json")
def notebook(d: Draw) -> str:
    cells: list[dict[str, object]] = []
    for number in range(d.randint(3, 8)):
        cells.append(
            {"cell_type": "markdown", "metadata": {}, "source": [f"## {d.noun()}\n", "\n", d.sentence()]}
        )
        source = [f"{name} = load('{d.path()}', {d.digits(3)})\n" for name in d.words(3)]
        output = {"name": "stdout", "output_type": "stream", "text": [f"{d.phrase()}\n"]}
        code = {
            "cell_type": "code",
            "execution_count": number,
            "metadata": {},
            "outputs": [output],
            "source": source,
        }
        cells.append(code)
    meta = {"kernelspec": {"display_name": "Python 3", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": meta, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def draw_openapi(d: Draw) -> dict[str, object]:
    paths = {}
    for word in d.words(d.randint(2, 5)):
        parameter = {"name": d.word(), "in": "query", "required": True, "schema": {"type": "integer"}}
        answer = {"200": {"description": d.sentence()}, "404": {"description": d.sentence()}}
        paths[f"/{word}"] = {
            "get": {
                "summary": d.sentence(),
                "operationId": f"get_{word}",
                "parameters": [parameter],
                "responses": answer,
            },
            "post": {"summary": d.sentence(), "operationId": f"post_{word}", "responses": dict(answer)},
        }
    return {"openapi": "3.1.0", "info": {"title": d.noun(), "version": d.version()}, "paths": paths}


@form("openapi json", None, "json")
def openapi_json(d: Draw) -> str:
    return json.dumps(draw_openapi(d), indent=2) + "\n"


@form("openapi yaml", flat, "yaml")
def openapi_yaml(d: Draw) -> str:
    return yaml.safe_dump(draw_openapi(d), sort_keys=False, width=200)


@form("kubernetes manifests", flat, "yaml")
def manifests(d: Draw) -> str:
    documents = []
    for name in d.words(d.randint(2, 4)):
        port = int(d.digits(2)) + 8000
        container = {
            "name": name,
            "image": f"registry.example/{name}:{d.version()}",
            "ports": [{"containerPort": port}],
            "env": [{"name": key.upper(), "value": d.word()} for key in d.words(d.randint(1, 4))],
            "resources": {"limits": {"cpu": f"{d.digits(3)}m", "memory": f"{d.digits(3)}Mi"}},
        }
        labels = {"app": name, "team": d.word()}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        documents.append(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": name, "namespace": d.word()},
                "spec": {
                    "replicas": d.randint(1, 9),
                    "selector": {"matchLabels": {"app": name}},
                    "template": template,
                },
            }
        )
        ports = [{"port": int(d.digits(3)), "targetPort": port}]
        service = {"selector": {"app": name}, "ports": ports, "type": d.choice(["ClusterIP", "NodePort"])}
        documents.append({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": service})
    return yaml.dump_all(json.loads(json.dumps(documents)), sort_keys=False)


@form("compose yaml", flat, "yaml")
def compose(d: Draw) -> str:
    services = {
        name: {
            "image": f"{name}:{d.version()}",
            "environment": {key.upper(): d.word() for key in d.words(3)},
            "ports": [f"{d.digits(4)}:{d.digits(4)}"],
            "depends_on": d.words(2),
        }
        for name in d.words(d.randint(2, 6))
    }
    return yaml.safe_dump({"services": services, "volumes": dict.fromkeys(d.words(2))}, sort_keys=False)


@form("pyproject toml", outline(r"\[+[\w.\"-]+\]+"), "toml")
def pyproject(d: Draw) -> str:
    lines = [
        "[project]",
        f'name = "{d.word()}"',
        f'version = "{d.version()}"',
        f'description = "{d.sentence()}"',
    ]
    lines += [
        "dependencies = [",
        *(f'    "{name}>={d.version()}",' for name in d.words(d.randint(2, 8))),
        "]",
        "",
    ]
    lines += ["[project.scripts]", *(f'{name} = "{name}.cli:main"' for name in d.words(2)), ""]
    for name in d.words(d.randint(2, 5)):
        lines += [
            f"[tool.{name}]",
            *(f"{key} = {d.digits(2).lstrip('0') or 0}" for key in d.words(d.randint(2, 4))),
        ]
        lines += [f'{d.word()} = ["{d.word()}", "{d.word()}"]', ""]
    for name in d.words(d.randint(0, 4)):
        lines += [
            "[[package]]",
            f'name = "{name}"',
            f'version = "{d.version()}"',
            f'checksum = "{d.hexa(40)}"',
            "",
        ]
    return "\n".join(lines)


@form("ini", with_comments(outline(r"\[")), "ini")
def ini(d: Draw) -> str:
    lines = []
    for name in d.words(d.randint(3, 8)):
        lines.append(f"[{name}]")
        lines += [f"; {d.sentence()}"] if d.random() < 0.3 else []
        lines += [
            f"{key} = {d.choice([d.word(), d.digits(3), d.path()])}" for key in d.words(d.randint(2, 5))
        ]
        lines.append("")
    return "\n".join(lines)


@form("properties", flat)
def properties(d: Draw) -> str:
    groups = d.words(4)
    return "".join(
        f"{d.choice(groups)}.{d.word()}.{d.word()}={d.phrase()}\n" for _ in range(d.randint(5, 20))
    )


@form("csv", flat, "csv")
def csv_file(d: Draw) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "name", "note", "price"])
    for _ in range(d.randint(5, 20)):
        note = d.choice(
            [d.phrase(), f"{d.phrase()}, {d.phrase()}", f"{d.sentence()}\n{d.sentence()}", f'"{d.word()}"']
        )
        writer.writerow([d.digits(4), d.person(), note, d.price()])
    return out.getvalue()


@form("maven pom", flat, "xml")
def pom(d: Draw) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<project xmlns="http://maven.apache.org/POM/4.0.0">']
    lines += [
        "  <modelVersion>4.0.0</modelVersion>",
        f"  <artifactId>{d.word()}</artifactId>",
        "  <properties>",
    ]
    lines += [f"    <{key}.version>{d.version()}</{key}.version>" for key in d.words(3)]
    lines += ["  </properties>", "  <dependencies>"]
    for name in d.words(d.randint(2, 7)):
        lines += [
            "    <dependency>",
            f"      <groupId>org.{d.word()}</groupId>",
            f"      <artifactId>{name}</artifactId>",
        ]
        lines += [f"      <version>{d.version()}</version>", "    </dependency>"]
    return "\n".join([*lines, "  </dependencies>", "</project>"]) + "\n"


@form("junit xml", flat, "xml")
def junit(d: Draw) -> str:
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    for suite in d.words(d.randint(1, 3)):
        lines.append(f'  <testsuite name="{suite}" tests="{d.digits(2)}" time="{d.price()}">')
        for test in d.words(d.randint(2, 6)):
            start = f'    <testcase classname="{suite}.{d.word()}" name="test_{test}" time="{d.price()}"'
            if d.random() < 0.5:
                lines.append(start + "/>")
                continue
            lines += [
                start + ">",
                f'      <failure message="assert {d.digits(3)} == {d.digits(3)}">{d.path()}:{d.digits(2)}',
            ]
            lines += [f"        {d.phrase()}", "      </failure>", "    </testcase>"]
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


@form("web page", None, web=True)
def web_page(d: Draw) -> str:
    lines = ["<!DOCTYPE html>", f"<html><head><title>{d.noun().title()} {d.word()}</title></head>", "<body>"]
    for _ in range(d.randint(2, 4)):
        lines += [f"<h2>{d.noun().title()} {d.word()}</h2>", f"<p>{d.paragraph()}</p>"]
        lines.append("<dl>")
        lines += [f"<dt>{name}</dt><dd>{d.sentence()}</dd>" for name in d.words(d.randint(2, 5))]
        lines += ["</dl>", "<table>", "<tr><th>Region</th><th>Name</th><th>Price</th></tr>"]
        for region in d.words(2):
            lines.append(f'<tr><td rowspan="2">{region}</td><td>{d.word()}</td><td>{d.price()}</td></tr>')
            lines.append(f"<tr><td>{d.word()}</td><td>{d.price()}</td></tr>")
        lines += [
            "</table>",
            "<pre>",
            *(f"{d.word()} --{d.word()} {d.digits(3)}" for _ in range(3)),
            "</pre>",
        ]
        lines += ["<ul>", *(f"<li>{d.phrase()}</li>" for _ in range(d.randint(2, 5))), "</ul>"]
    return "\n".join([*lines, "</body></html>"]) + "\n"
