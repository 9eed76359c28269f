# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
"""A written notebook and a written OpenAPI document, the same on every run."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import Any

from benchmarks.real_results.development.values import dump_json, make_hash


def write_notebook() -> str:
    """Return a notebook with the outputs of its cells."""
    random = Random(22)

    def cell(count: int, source: str, text: str) -> dict[str, Any]:
        return {
            "cell_type": "code",
            "execution_count": count,
            "id": make_hash(source)[:8],
            "metadata": {},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}],
            "source": source.splitlines(keepends=True),
        }

    stations = ("Kiruna", "Visby", "Lund", "Falun", "Umea", "Mora", "Arvika", "Boden")
    table = "station      mean_c   rain_mm   days\n" + "".join(
        f"{name:<12} {random.uniform(-4, 12):6.2f}   {random.uniform(300, 900):7.1f}   {random.randint(300, 365)}\n"
        for name in stations
    )
    epochs = "".join(
        f"epoch {n:02d}  train {2.31 / (1 + n * 0.21):.4f}  valid {2.4 / (1 + n * 0.17) + (0.02 * max(0, n - 14)):.4f}\n"
        for n in range(24)
    )
    points = ["iVBORw0KGgo" + base64.b64encode(random.randbytes(7000)).decode()]
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "markdown",
            "id": "intro",
            "metadata": {},
            "source": ["# Frost forecast\n", "Daily data, 1991-2024."],
        },
        cell(1, "import pandas as pd\nimport numpy as np\nfrom pathlib import Path", ""),
        cell(
            2,
            "raw = pd.read_parquet('stations.parquet')\nprint(raw.groupby('station').agg(AGG).to_string())",
            table,
        ),
        cell(
            3,
            "clean = raw[raw.quality < 3]\nprint(len(raw) - len(clean), 'readings dropped')",
            "4182 readings dropped\n",
        ),
        {
            "cell_type": "markdown",
            "id": "note",
            "metadata": {},
            "source": [
                "The sensor at Mora was moved 40 m uphill in June 2009; values before that get **-0.35 °C**."
            ],
        },
        cell(
            4,
            "model = Net(width=96, depth=3)\nhistory = fit(model, clean, epochs=24, lr=7e-4)\nprint(history)",
            epochs,
        ),
        {
            "cell_type": "code",
            "execution_count": 5,
            "id": "plot0001",
            "metadata": {},
            "outputs": [
                {
                    "data": {"image/png": points[0], "text/plain": ["<Figure size 900x300>"]},
                    "output_type": "display_data",
                }
            ],
            "source": ["plot(history)"],
        },
        {
            "cell_type": "code",
            "execution_count": 6,
            "id": "fail0001",
            "metadata": {},
            "outputs": [
                {
                    "ename": "ValueError",
                    "evalue": "Input contains NaN in column 'dew_point' (1,377 rows)",
                    "output_type": "error",
                    "traceback": ["Cell In[6], line 2", "----> 2 score(model, holdout)", "ValueError"],
                }
            ],
            "source": ["holdout = load_holdout(2024)\n", "score(model, holdout)"],
        },
    ]
    kernel = {"kernelspec": {"display_name": "frost (3.12)", "language": "python", "name": "frost"}}
    return (
        json.dumps(
            {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5},
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def write_openapi() -> str:
    """Return the OpenAPI document of a small service."""
    resources = {
        "parcels": ("Parcel", "a parcel", 200),
        "depots": ("Depot", "a depot", 50),
        "routes": ("Route", "a driver's route", 25),
        "claims": ("Claim", "a claim for damage", 100),
        "webhooks": ("Webhook", "a webhook", 10),
    }
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    problem = {
        "description": "Problem",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for name, (schema, words, limit) in resources.items():
        reference = {"$ref": f"#/components/schemas/{schema}"}
        paths[f"/{name}"] = {
            "get": {
                "operationId": f"list{schema}s",
                "summary": f"List {name}",
                "parameters": [
                    {"name": "cursor", "in": "query", "schema": {"type": "string"}},
                    {
                        "name": "limit",
                        "in": "query",
                        "schema": {"type": "integer", "maximum": limit, "default": 20},
                    },
                ],
                "responses": {
                    "200": {
                        "description": "A page",
                        "content": {"application/json": {"schema": {"type": "array", "items": reference}}},
                    },
                    "401": problem,
                },
            },
            "post": {
                "operationId": f"create{schema}",
                "summary": f"Create {words}",
                "security": [{"oauth": [f"{name}:write"]}],
                "requestBody": {"required": True, "content": {"application/json": {"schema": reference}}},
                "responses": {"201": {"description": "Created"}, "409": problem, "422": problem},
            },
        }
        paths[f"/{name}/{{id}}"] = {
            "get": {
                "operationId": f"get{schema}",
                "summary": f"Read {words}",
                "responses": {"200": {"description": "Found"}, "404": problem},
            },
            "delete": {
                "operationId": f"delete{schema}",
                "summary": f"Remove {words}",
                "security": [{"oauth": [f"{name}:admin" if name == "claims" else f"{name}:write"]}],
                "responses": {"204": {"description": "Gone"}, "404": problem},
            },
        }
        schemas[schema] = {
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": {"type": "string", "format": "uuid"},
                "created": {"type": "string", "format": "date-time"},
            },
        }
    schemas["Parcel"]["properties"]["weight_g"] = {
        "type": "integer",
        "maximum": 31_500,
        "description": "Heavier goods go by freight.",
    }
    schemas["Parcel"]["properties"]["dispatch"] = {
        "type": "string",
        "enum": ["economy", "next_day", "by_noon"],
        "default": "economy",
    }
    schemas["Claim"]["properties"]["deadline_days"] = {
        "type": "integer",
        "default": 21,
        "description": "Days left to send photos.",
    }
    schemas["Webhook"]["properties"]["secret"] = {"type": "string", "minLength": 32, "writeOnly": True}
    schemas["Problem"] = {
        "type": "object",
        "properties": {"type": {"type": "string", "format": "uri"}, "title": {"type": "string"}},
    }
    paths["/routes"]["post"]["deprecated"] = True
    paths["/routes"]["post"]["description"] = (
        "Superseded by the planner, which is switched off on 2026-09-30 for old clients."
    )
    return dump_json(
        {
            "openapi": "3.1.0",
            "info": {"title": "Courier", "version": "2026-02", "contact": {"email": "api@courier.example"}},
            "servers": [
                {"url": "https://api.courier.example/v3"},
                {"url": "https://sandbox.courier.example/v3"},
            ],
            "paths": paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {
                    "oauth": {
                        "type": "oauth2",
                        "flows": {
                            "clientCredentials": {
                                "tokenUrl": "https://login.courier.example/token",
                                "scopes": {},
                            }
                        },
                    }
                },
            },
        }
    )
