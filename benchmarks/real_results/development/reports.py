# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
"""Written reports, metrics, a page and a trace, the same on every run."""

from __future__ import annotations

import hashlib
import json
from random import Random

from benchmarks.real_results.development.values import make_hash


def write_coverage() -> str:
    """Return a coverage report with the lines that no test ran."""
    random = Random(25)
    names = [
        f"src/harbor/{folder}/{name}.py"
        for folder in (
            "api", "berths", "billing", "cranes", "customs", "fuel", "lighting", "messages",
            "pilots", "reefers", "reports", "safety", "tides", "towage", "yard",
        )
        for name in ("__init__", "models", "service", "routes", "validation", "tasks", "events")
    ]  # fmt: skip
    rows = [f"{'Name':<40} Stmts   Miss Branch BrPart  Cover   Missing", "-" * 96]
    total = missed = 0
    for name in names:
        statements = random.randint(8, 260)
        misses = 0 if random.random() < 0.4 else random.randint(1, statements // 4 + 1)
        if name.endswith("customs/validation.py"):
            statements, misses = 188, 97
        firsts = sorted(random.sample(range(10, 400), min(misses, 6)))
        missing = ", ".join(f"{first}-{first + random.randint(1, 7)}" for first in firsts)
        cover = 100 - round(100 * misses / statements)
        rows.append(
            f"{name:<40} {statements:5d}  {misses:5d}  {statements // 5:5d}  {misses // 3:5d}   {cover:3d}%   {missing}"
        )
        total, missed = total + statements, missed + misses
    rows += [
        "-" * 96,
        f"{'TOTAL':<40} {total:5d}  {missed:5d}                  {100 - round(100 * missed / total)}%",
    ]
    rows.append(
        f"FAIL Required test coverage of 91.5% not reached. Total coverage: {100 - 100 * missed / total:.2f}%"
    )
    return "\n".join(rows) + "\n"


def write_junit() -> str:
    """Return a test report in JUnit's XML."""
    random = Random(26)
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    lines.append(
        '  <testsuite name="vitest" errors="0" failures="2" skipped="1" tests="170" hostname="runner-9">'
    )
    for number in range(170):
        area = random.choice(("login", "basket", "search", "profile", "payment"))
        name = random.choice(
            ("renders once", "keeps focus", "shows the total", "handles an empty list", "retries on 503")
        )
        head = f'    <testcase classname="e2e.{area}" name="{name} #{number}" time="{random.uniform(0.01, 3):.3f}"'
        if number == 31:
            lines.append(
                '    <testcase classname="e2e.payment" name="asks for the second factor" time="30.017">'
            )
            lines.append(
                "      <failure message=\"locator.click: Timeout 30000ms exceeded\">waiting for getByRole('button',"
                " { name: 'Confirm with BankID' }) - element is covered by &lt;div class=\"cookie-banner\"&gt;</failure>"
            )
            lines.append("    </testcase>")
        elif number == 128:
            lines.append('    <testcase classname="e2e.search" name="sorts by distance" time="1.204">')
            lines.append(
                "      <failure message=\"expected [ 'Solna', 'Nacka' ] to deeply equal [ 'Nacka', 'Solna' ]\"/>"
            )
            lines.append("    </testcase>")
        elif number == 151:
            lines.append(f'{head}><skipped message="flaky on WebKit, see QA-1187"/></testcase>')
        else:
            lines.append(f"{head}/>")
    lines += ["  </testsuite>", "</testsuites>"]
    return "\n".join(lines) + "\n"


def write_metrics() -> str:
    """Return the metrics that a service exposes to Prometheus."""
    random = Random(27)
    lines = [
        "# HELP process_open_fds Number of open file descriptors.",
        "# TYPE process_open_fds gauge",
        "process_open_fds 61",
    ]
    for name, text in (
        ("http_request_duration_seconds", "Time taken to answer a request."),
        ("db_query_duration_seconds", "Time taken by a statement."),
    ):
        lines += [f"# HELP {name} {text}", f"# TYPE {name} histogram"]
        for route in (
            "/quotes",
            "/orders",
            "/login",
            "/export",
            "/search",
            "/cart",
            "/prices",
            "/stock",
            "/users",
        ):
            count = 0
            for bound in ("0.005", "0.01", "0.05", "0.1", "0.5", "1", "5", "+Inf"):
                count += random.randint(1, 4000)
                lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {count}')
            lines.append(f'{name}_sum{{route="{route}"}} {count * random.uniform(0.01, 0.2):.3f}')
            lines.append(f'{name}_count{{route="{route}"}} {count}')
    lines += [
        "# HELP jobs_dead_letter_total Jobs given up after the last attempt.",
        "# TYPE jobs_dead_letter_total counter",
        'jobs_dead_letter_total{queue="default"} 0',
        'jobs_dead_letter_total{queue="invoices"} 214',
        'jobs_dead_letter_total{queue="mail"} 3',
        "# HELP tls_certificate_expiry_days Days until the served certificate ends.",
        "# TYPE tls_certificate_expiry_days gauge",
        'tls_certificate_expiry_days{host="shop.example.org"} 61',
        'tls_certificate_expiry_days{host="partner.example.org"} 9',
        "# HELP build_info Version of the running build.",
        "# TYPE build_info gauge",
        'build_info{version="5.14.2",commit="c0a41fe",go="1.24.1"} 1',
    ]
    return "\n".join(lines) + "\n"


def write_page() -> str:
    """Return a page of a hosting provider's help as the server sends it."""
    plans = (
        ("Sprout", "4 €", "1 GB", "10", "7 days", "community"),
        ("Grove", "19 €", "8 GB", "120", "30 days", "mail, next working day"),
        ("Forest", "89 €", "64 GB", "2,000", "180 days", "phone, 45 minutes"),
    )
    rows = "\n".join(
        "        <tr>" + "".join(f'<td class="cell">{value}</td>' for value in plan) + "</tr>"
        for plan in plans
    )
    menu = "\n".join(
        f'      <li class="menu__item"><a class="menu__link" href="/help/{name}" data-track="nav-{name}">{name.title()}</a></li>'
        for name in (
            "accounts", "backups", "billing", "certificates", "cron", "databases", "dns", "domains", "firewall", "git",
            "images", "limits", "logs", "mail", "migration", "monitoring", "php", "redis", "regions", "ssh", "teams",
        )
    )  # fmt: skip
    questions = "\n".join(
        f'    <section class="faq" id="q{number}">\n      <h3>{head}</h3>\n      <p>{body}</p>\n    </section>'
        for number, (head, body) in enumerate(
            (
                (
                    "Can I move a site between regions?",
                    "Yes. Stop the site, choose <em>Relocate</em> and wait; 10 GB take about 6 minutes. The address changes to the new region's range.",
                ),
                (
                    "Why was my deploy rejected with E417?",
                    "The image is larger than the plan allows. Sprout takes images up to 900 MB, the other plans up to 4 GB.",
                ),
                (
                    "Which ports are closed?",
                    "Outgoing port 25 is closed on every plan. Use the relay <code>relay.arbor.example:2525</code> instead.",
                ),
                (
                    "How do I restore a single table?",
                    "Use <code>arbor db restore --only TABLE --at TIME</code>. The table is restored next to the old one with the suffix <code>_restored</code>.",
                ),
                (
                    "When are certificates renewed?",
                    "Certificates are renewed 21 days before they end. A CAA record that leaves out our authority stops the renewal.",
                ),
                (
                    "What happens when I exceed the traffic?",
                    "Nothing is switched off. Each further terabyte costs 2.40 € and appears on the next invoice.",
                ),
                (
                    "How long are deleted sites kept?",
                    "Deleted sites can be brought back for 72 hours from the bin in the console; after that support cannot help.",
                ),
                (
                    "Do you support IPv6?",
                    "Every site has both. Databases are reachable over IPv6 only inside the private network.",
                ),
            )
        )
    )
    script = "".join(
        f'window.__c{n}=function(e){{return e&&e.detail==="{make_hash(str(n))[:12]}"}};' for n in range(110)
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Plans and limits - Arbor Help</title>
  <link rel="stylesheet" href="/assets/help.{make_hash("css")[:10]}.css">
  <script>{script}</script>
</head>
<body class="help help--limits">
  <header class="top"><a href="/" class="logo">Arbor</a><button class="burger" aria-label="Menu"></button></header>
  <nav class="menu">
    <ul>
{menu}
    </ul>
  </nav>
  <main>
    <h1>Plans and limits</h1>
    <table class="plans">
      <thead>
        <tr><th>Plan</th><th>Price a month</th><th>Memory</th><th>Connections</th><th>Backups kept</th><th>Support</th></tr>
      </thead>
      <tbody>
{rows}
      </tbody>
    </table>
{questions}
  </main>
  <footer class="foot"><p>Last changed 2026-02-27 by the platform team.</p></footer>
</body>
</html>
"""


def write_trace() -> str:
    """Return the output of `curl -v -L` for a download after a redirect."""
    random = Random(28)
    lines = [
        "* Host downloads.example.org:443 was resolved.",
        "* IPv6: (none)",
        "* IPv4: 192.0.2.61, 192.0.2.62",
        "*   Trying 192.0.2.61:443...",
        "* connect to 192.0.2.61 port 443 from 10.0.3.44 port 51224 failed: Connection timed out",
        "*   Trying 192.0.2.62:443...",
        "* ALPN: curl offers h2,http/1.1",
        "* TLSv1.3 (OUT), TLS handshake, Client hello (1):",
        "* TLSv1.3 (IN), TLS handshake, Server hello (2):",
        "* TLSv1.3 (IN), TLS handshake, Certificate (11):",
        "* SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384 / X25519 / RSASSA-PSS",
        "* Server certificate:",
        "*  subject: CN=downloads.example.org",
        "*  start date: Jan 12 00:00:00 2026 GMT",
        "*  expire date: Apr 12 23:59:59 2026 GMT",
        "*  issuer: C=US; O=Let's Encrypt; CN=R11",
        "> GET /releases/latest/index.json HTTP/2",
        "> Host: downloads.example.org",
        "> User-Agent: curl/8.10.1",
        "> Accept: */*",
        ">",
        "< HTTP/2 307",
        "< date: Tue, 17 Mar 2026 08:11:40 GMT",
        "< location: https://eu2.mirror.example.org/releases/9.4.1/index.json?sig=" + make_hash("sig"),
        "< x-mirror-policy: nearest-by-asn",
        "< retry-after: 0",
        "<",
        "* Connection #0 to host downloads.example.org left intact",
        "* Issue another request to this URL: 'https://eu2.mirror.example.org/releases/9.4.1/index.json'",
        "*   Trying 198.51.100.14:443...",
        "* Connected to eu2.mirror.example.org (198.51.100.14) port 443",
        "> GET /releases/9.4.1/index.json HTTP/1.1",
        "> Host: eu2.mirror.example.org",
        ">",
        "< HTTP/1.1 200 OK",
        "< Server: Caddy",
        '< ETag: "5f3a-' + make_hash("etag")[:16] + '"',
        "< Cache-Control: public, max-age=260, stale-while-revalidate=900",
        "< Strict-Transport-Security: max-age=63072000; includeSubDomains; preload",
        "< X-RateLimit-Remaining: 41",
        "< Content-Type: application/json",
        "<",
    ]
    files = [
        {
            "name": f"granite-9.4.1-{target}.tar.zst",
            "size": random.randint(9_000_000, 60_000_000),
            "sha256": hashlib.sha256(target.encode()).hexdigest(),
            "mirrors": [f"https://{zone}.mirror.example.org/releases/9.4.1/" for zone in ("eu1", "eu2", "us1", "ap3")],
            "built": f"2026-03-{number % 9 + 2:02d}T04:12:{number:02d}Z",
        }
        for number, target in enumerate((
            "linux-x86_64", "linux-aarch64", "linux-riscv64", "macos-arm64", "macos-x86_64", "windows-x86_64",
            "freebsd-x86_64", "linux-musl-x86_64", "linux-musl-aarch64", "windows-arm64", "linux-ppc64le",
            "linux-s390x", "linux-armv7", "illumos-x86_64", "netbsd-x86_64", "openbsd-x86_64", "android-arm64",
        ))
    ]  # fmt: skip
    body = {
        "version": "9.4.1",
        "minimum_kernel": "4.18",
        "yanked": ["9.3.7", "9.4.0"],
        "signed_by": "0x7C3F91AA",
        "files": files,
    }
    return (
        "\n".join(lines)
        + "\n"
        + json.dumps(body, indent=2)
        + "\n* Connection #1 to host eu2.mirror.example.org left intact\n"
    )
