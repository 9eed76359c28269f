# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
"""Written answers of services in JSON, the same on every run."""

from __future__ import annotations

import base64
import hashlib
import json
from random import Random
from typing import Any

from benchmarks.real_results.development.values import dump_json, make_hash

_PEOPLE = ("mira-k", "tomasz", "lena88", "oduya", "pgrant", "sofia-r", "wei-chen", "harald")


def _integrity(text: str) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(text.encode()).digest()).decode()


def write_issues() -> str:
    """Return a page of a code host's issues, as its API lists them."""
    stories: tuple[tuple[int, str, str, str, tuple[str, ...], str], ...] = (
        (2214, "Export drops the last row when the file ends without a newline", "mira-k", "open", ("bug", "csv"),
         "Reproduced on 4.2.1 with `printf 'a,b\\n1,2'`. The reader stops at the final separator, so the tail buffer is never flushed."),
        (2213, "Allow a custom separator in the summary table", "tomasz", "open", ("enhancement",),
         "Our finance team needs semicolons because decimal commas are used here."),
        (2209, "Memory grows while watching a folder on macOS", "lena88", "open", ("bug", "platform: macos"),
         "After 36 hours RSS is at 2.9 GB. `leaks` points to FSEventStreamCreate handles that stay open after a rename."),
        (2207, "Docs: the example for hooks has a wrong import", "oduya", "closed", ("docs", "good first issue"),
         "It says `from gridline import hook` but the decorator is in `gridline.plugins`."),
        (2202, "Timezone of scheduled runs ignores daylight saving", "pgrant", "open", ("bug", "scheduler"),
         "Jobs set to 06:30 Europe/Madrid ran at 05:30 after the change. A workaround is GRIDLINE_TZ_MODE=wall."),
        (2198, "Please publish wheels for linux/riscv64", "sofia-r", "open", ("packaging",),
         "Building from source takes 40 minutes on a VisionFive 2."),
        (2191, "Crash on startup if HOME is unset", "wei-chen", "closed", ("bug", "regression"),
         "Introduced by the move to platformdirs in 4.2.0; in containers without HOME the lookup raises KeyError."),
        (2188, "Support zstd in archive()", "harald", "open", ("enhancement", "help wanted"),
         "Level 3 gave us files 61 % smaller than gzip at twice the speed."),
        (2180, "Pinned header scrolls away in Safari 17", "lena88", "closed", ("bug", "ui"),
         "`position: sticky` inside `overflow: clip` is broken there, so we fall back to fixed."),
        (2176, "Rate limit of the hosted API is not documented", "tomasz", "open", ("docs",),
         "Support told me it is 90 requests a minute for each token, bursts of 15."),
    )  # fmt: skip
    answer: list[dict[str, Any]] = []
    for number, title, author, state, labels, body in stories:
        node = make_hash(f"issue{number}")
        answer.append(
            {
                "id": int(node[:8], 16),
                "node_id": "I_kwDO" + node[:16],
                "url": f"https://api.code.example/repos/gridline/gridline/issues/{number}",
                "html_url": f"https://code.example/gridline/gridline/issues/{number}",
                "comments_url": f"https://api.code.example/repos/gridline/gridline/issues/{number}/comments",
                "number": number,
                "state": state,
                "state_reason": "completed" if state == "closed" else None,
                "locked": False,
                "title": title,
                "user": {
                    "login": author,
                    "id": int(make_hash(author)[:6], 16),
                    "avatar_url": f"https://avatars.code.example/u/{make_hash(author)[:8]}?v=4",
                    "url": f"https://api.code.example/users/{author}",
                    "repos_url": f"https://api.code.example/users/{author}/repos",
                    "type": "User",
                    "site_admin": False,
                },
                "labels": [
                    {
                        "id": int(make_hash(label)[:7], 16),
                        "name": label,
                        "color": make_hash(label)[8:14],
                        "default": False,
                    }
                    for label in labels
                ],
                "assignees": [{"login": "oduya"}] if number == 2202 else [],
                "milestone": {"title": "4.3.0", "due_on": "2026-05-04T07:00:00Z"}
                if number in (2214, 2202)
                else None,
                "comments": number % 7,
                "created_at": f"2026-02-{number % 27 + 1:02d}T09:{number % 60:02d}:11Z",
                "updated_at": f"2026-03-{number % 16 + 1:02d}T16:{number % 59:02d}:40Z",
                "author_association": "CONTRIBUTOR" if author == "oduya" else "NONE",
                "body": body,
                "reactions": {"total_count": number % 5, "+1": number % 4, "-1": 0, "eyes": number % 3},
            }
        )
    return dump_json(answer)


def write_pods() -> str:
    """Return a cluster's pods as `kubectl get pods -o json` prints them."""
    rows = (
        ("checkout-6d5c9f7b4-8xk2p", "checkout", "5.14.2", 0, "Running", None, "512Mi"),
        ("checkout-6d5c9f7b4-q7vzn", "checkout", "5.14.2", 1, "Running", None, "512Mi"),
        ("ledger-0", "ledger", "2.9.0", 0, "Running", None, "2Gi"),
        ("mailer-7fb8d9c55-m4tcd", "mailer", "1.31.7", 17, "CrashLoopBackOff",
         "panic: template 'receipt.nl' not found in /etc/mailer/templates", "128Mi"),
        ("resizer-58c7b6d9f-2lq9s", "resizer", "0.8.3", 4, "OOMKilled", None, "256Mi"),
        ("gateway-5c4d7f8b6-zz81h", "gateway", "3.2.1", 0, "ImagePullBackOff",
         "manifest for registry.example.org/shop/gateway:3.2.1 not found", "384Mi"),
    )  # fmt: skip
    items: list[dict[str, Any]] = []
    for name, app, version, restarts, reason, message, memory in rows:
        digest = make_hash(name)
        state: dict[str, Any] = {"running": {"startedAt": "2026-03-16T22:10:04Z"}}
        last: dict[str, Any] = {}
        if reason == "OOMKilled":
            last = {"terminated": {"exitCode": 137, "reason": reason, "finishedAt": "2026-03-17T07:48:31Z"}}
        elif reason != "Running":
            state = {"waiting": {"reason": reason, "message": message}}
            last = {"terminated": {"exitCode": 2, "reason": "Error"}} if restarts else {}
        items.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": "shop",
                    "uid": f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}",
                    "creationTimestamp": "2026-03-16T22:09:51Z",
                    "labels": {"app": app, "pod-template-hash": digest[:9]},
                    "annotations": {"prometheus.io/scrape": "true", "checksum/config": make_hash(app)},
                },
                "spec": {
                    "nodeName": f"node-{int(digest[:2], 16) % 20}",
                    "serviceAccountName": app,
                    "priority": 0,
                    "containers": [
                        {
                            "name": app,
                            "image": f"registry.example.org/shop/{app}:{version}",
                            "imagePullPolicy": "IfNotPresent",
                            "resources": {
                                "limits": {"memory": memory},
                                "requests": {"cpu": "50m", "memory": memory},
                            },
                            "livenessProbe": {
                                "httpGet": {"path": "/live", "port": 8080},
                                "periodSeconds": 10,
                            },
                            "volumeMounts": [
                                {"name": "config", "mountPath": f"/etc/{app}", "readOnly": True}
                            ],
                        }
                    ],
                    "tolerations": [
                        {
                            "effect": "NoExecute",
                            "key": "node.kubernetes.io/not-ready",
                            "tolerationSeconds": 300,
                        }
                    ],
                },
                "status": {
                    "phase": "Pending" if reason == "ImagePullBackOff" else "Running",
                    "podIP": f"10.42.{int(digest[2:4], 16)}.{int(digest[4:6], 16)}",
                    "qosClass": "Burstable",
                    "containerStatuses": [
                        {
                            "name": app,
                            "ready": reason == "Running",
                            "restartCount": restarts,
                            "state": state,
                            "lastState": last,
                            "containerID": f"containerd://{make_hash(name + 'c')}",
                        }
                    ],
                },
            }
        )
    return dump_json(
        {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}
    )


def write_lock() -> str:
    """Return an npm lock file."""
    random = Random(21)
    stems = (
        "acorn", "ajv", "ansi-styles", "balanced-match", "braces", "buffer-from", "chalk", "color-name", "cookie",
        "debug", "decamelize", "detect-libc", "esbuild", "escalade", "fast-glob", "fill-range", "get-stream",
        "graceful-fs", "has-flag", "ignore", "inherits", "is-glob", "jsesc", "kleur", "locate-path", "lodash.merge",
        "magic-string", "micromatch", "minimist", "nanoid", "node-releases", "onetime", "p-limit", "picocolors",
        "postcss", "queue-microtask", "resolve", "rollup", "semver", "strip-ansi", "supports-color", "undici-types",
        "vite", "which", "yallist",
    )  # fmt: skip
    packages: dict[str, Any] = {
        "": {
            "name": "storefront",
            "version": "7.3.0",
            "license": "UNLICENSED",
            "dependencies": {"cookie": "^0.7.2", "nanoid": "^5.1.0", "vite": "^6.2.1"},
            "engines": {"node": ">=22.11"},
        }
    }
    for stem in stems:
        version = f"{random.randint(1, 9)}.{random.randint(0, 20)}.{random.randint(0, 12)}"
        entry: dict[str, Any] = {
            "version": version,
            "resolved": f"https://registry.npmjs.org/{stem}/-/{stem}-{version}.tgz",
            "integrity": _integrity(stem + version),
            "license": random.choice(("MIT", "MIT", "MIT", "ISC", "BSD-3-Clause")),
        }
        if random.random() < 0.6:
            entry["dev"] = True
        if stem in ("vite", "rollup", "postcss"):
            entry["engines"] = {"node": "^20.19.0 || >=22.12.0"}
            entry["dependencies"] = {"nanoid": "^3.3.8", "picocolors": "^1.1.1"}
        packages[f"node_modules/{stem}"] = entry
    packages["node_modules/esbuild"]["hasInstallScript"] = True
    packages["node_modules/postcss/node_modules/nanoid"] = {
        "version": "3.3.11",
        "resolved": "https://registry.npmjs.org/nanoid/-/nanoid-3.3.11.tgz",
        "integrity": _integrity("nanoid3.3.11"),
        "license": "MIT",
        "bin": {"nanoid": "bin/nanoid.cjs"},
    }
    packages["node_modules/inflight"] = {
        "version": "1.0.6",
        "resolved": "https://registry.npmjs.org/inflight/-/inflight-1.0.6.tgz",
        "integrity": _integrity("inflight"),
        "deprecated": "This module is not supported, and leaks memory. Do not use it.",
        "license": "ISC",
    }
    return dump_json({"name": "storefront", "version": "7.3.0", "lockfileVersion": 3, "packages": packages})


def write_orders() -> str:
    """Return a page of orders from a shop's API, in one line as it is sent."""
    random = Random(23)
    orders: list[dict[str, Any]] = []
    for number in range(24):
        lines = [
            {
                "sku": f"{random.choice(('LMP', 'CHR', 'TBL', 'RUG'))}-{random.randint(100, 999)}",
                "qty": random.randint(1, 4),
                "unit_price": {"amount": random.randint(900, 45_000), "currency": "EUR"},
                "tax_rate": random.choice((0.07, 0.19)),
            }
            for _ in range(random.randint(1, 4))
        ]
        orders.append(
            {
                "id": f"ord_{make_hash(str(number))[:12]}",
                "reference": f"W-{31040 + number}",
                "status": random.choice(("paid", "packed", "shipped", "shipped", "delivered")),
                "customer": {
                    "id": f"cus_{make_hash('c' + str(number))[:10]}",
                    "email": f"{random.choice(_PEOPLE)}@example.com",
                },
                "lines": lines,
                "shipping": {
                    "carrier": random.choice(("DHL", "UPS", "PostNL")),
                    "tracking": make_hash("t" + str(number))[:14].upper(),
                },
                "notes": [],
            }
        )
    orders[6]["status"] = "on_hold"
    orders[6]["hold"] = {"reason": "address_mismatch", "placed_by": "fraud-rules/12"}
    orders[13]["notes"] = ["Leave the parcel with the florist at number 9, the bell is broken."]
    orders[19]["refund"] = {
        "amount": 12_990,
        "currency": "EUR",
        "initiated_at": "2026-03-11T14:20:08Z",
        "method": "voucher",
    }
    return json.dumps(
        {
            "object": "list",
            "data": orders,
            "has_more": True,
            "next_cursor": "eyJvIjozMTA2M30",
            "request_id": "req_8f02c7",
        }
    )


def write_cloud_events() -> str:
    """Return a cluster's events as `kubectl get events` prints them."""
    random = Random(24)
    rows = ["LAST SEEN   TYPE      REASON                  OBJECT                               MESSAGE"]
    for number in range(95):
        app = random.choice(("checkout", "ledger", "resizer", "search", "gateway", "cron-report"))
        kind, reason, text = random.choice(
            (
                ("Normal", "Scheduled", f"Successfully assigned shop/{app} to node-{random.randint(1, 20)}"),
                (
                    "Normal",
                    "Pulled",
                    f'Container image "registry.example.org/shop/{app}" already present on machine',
                ),
                ("Normal", "Created", f"Created container {app}"),
                ("Normal", "ScalingReplicaSet", f"Scaled up replica set {app} to {random.randint(2, 6)}"),
                ("Warning", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"),
                ("Normal", "SawCompletedJob", f"Saw completed job: {app}, status: Complete"),
            )
        )
        rows.append(
            f"{number // 3 + 1}m{'':<10}{kind:<10}{reason:<24}{'pod/' + app + '-' + make_hash(str(number))[:5]:<37}{text}"
        )
        if number == 40:
            rows.append(
                f"14m         Warning   {'FailedScheduling':<24}{'pod/search-master-0':<37}0/20 nodes are available: 3 had untolerated"
                " taint {dedicated: gpu}, 17 Insufficient memory. preemption: 0/20 nodes are available"
            )
        if number == 71:
            rows.append(
                f"24m         Warning   {'FailedMount':<24}{'pod/ledger-1':<37}MountVolume.SetUp failed for volume"
                ' "ledger-keys" : secret "ledger-signing-2025" not found'
            )
    return "\n".join(rows) + "\n"
