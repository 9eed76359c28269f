# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
"""Written logs of servers, with the few lines that a question asks about at fixed places."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

from benchmarks.real_results.development.lines import START

_NAMES = ("amira", "bogdan", "chloe", "dmitri", "esther", "farid", "greta", "hiro", "ines", "jonas")


_CITIES = ("Lyon", "Porto", "Tallinn", "Graz", "Malmo", "Leeds", "Bari", "Kosice")


def _times(random: Random, count: int, most_seconds: float) -> list[datetime]:
    """Return rising times, each a random while after the one before it."""
    now = START
    times: list[datetime] = []
    for _ in range(count):
        now += timedelta(seconds=random.uniform(0.05, most_seconds))
        times.append(now)
    return times


def _write(
    count: int,
    seed: int,
    most_seconds: float,
    line: Callable[[Random, datetime], str],
    fixed: dict[int, list[str]],
) -> str:
    """Return `count` random lines; the fixed ones, whose `{time}` is filled in, follow the line of their number."""
    random = Random(seed)
    lines: list[str] = []
    for number, time in enumerate(_times(random, count, most_seconds)):
        lines.append(line(random, time))
        lines += [text.replace("{time}", _stamp(time)) for text in fixed.get(number, [])]
    return "\n".join(lines) + "\n"


def _stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S,") + f"{time.microsecond // 1000:03d}"


def write_access_log() -> str:
    """Return an nginx access log with its upstream errors between the requests."""
    agents = (
        "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 Version/17.5 Safari/605.1.15",
        "okhttp/4.12.0",
        "kube-probe/1.30",
        "python-requests/2.32.3",
    )

    def line(random: Random, time: datetime) -> str:
        path = random.choice(
            (
                f"/api/v2/orders/{random.randint(10_000, 99_999)}",
                f"/api/v2/search?q={random.choice(_CITIES).lower()}&page={random.randint(1, 9)}",
                f"/static/app.{random.getrandbits(32):08x}.js",
                f"/api/v2/users/{random.choice(_NAMES)}/cart",
                "/healthz",
                "/login",
                f"/img/product-{random.randint(100, 999)}.webp",
            )
        )
        status = random.choice((200, 200, 200, 200, 204, 301, 304, 404))
        address = f"10.{random.randint(0, 9)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
        verb = "POST" if path == "/login" else random.choice(("GET", "GET", "GET", "PUT"))
        return (
            f"{address} - - [{time:%d/%b/%Y:%H:%M:%S} +0000] "
            f'"{verb} {path} HTTP/1.1" {status} {random.randint(120, 48_000)} "-" '
            f'"{random.choice(agents)}" rt={random.uniform(0.002, 0.4):.3f}'
        )

    fixed = {
        37: [
            '203.0.113.77 - - [17/Mar/2026:08:03:52 +0000] "GET /.env HTTP/1.1" 404 162 "-" "zgrab/0.x" rt=0.001',
            '203.0.113.77 - - [17/Mar/2026:08:03:52 +0000] "GET /wp-login.php HTTP/1.1" 404 162 "-" "zgrab/0.x" rt=0.001',
        ],
        71: [
            '10.4.18.201 - - [17/Mar/2026:08:05:40 +0000] "POST /api/v2/exports HTTP/1.1" 499 0 "-" "okhttp/4.12.0" rt=29.981',
        ],
        96: [
            "2026/03/17 08:07:03 [error] 31#31: *88214 connect() failed (111: Connection refused) while connecting to"
            ' upstream, client: 10.2.7.19, server: shop.internal, request: "GET /api/v2/quotes/7719 HTTP/1.1",'
            ' upstream: "http://172.20.4.12:8085/quotes/7719"',
            '10.2.7.19 - - [17/Mar/2026:08:07:03 +0000] "GET /api/v2/quotes/7719 HTTP/1.1" 502 559 "-" "okhttp/4.12.0" rt=0.004',
        ],
    }
    return _write(150, 11, 2.0, line, fixed)


def write_application_log() -> str:
    """Return the log of a Java service with one long stack trace."""
    loggers = (
        "c.a.orders.OrderService",
        "c.a.stock.StockClient",
        "o.h.SQL",
        "c.a.mail.Mailer",
        "c.a.web.RequestFilter",
    )

    def line(random: Random, time: datetime) -> str:
        order = random.randint(400_000, 499_999)
        text = random.choice(
            (
                f"Order {order} moved from PLACED to PACKED by {random.choice(_NAMES)}",
                f"Reserved {random.randint(1, 8)} pieces of SKU {random.randint(1000, 9999)}-{random.choice('ABCD')}",
                f"Slow statement ({random.randint(210, 900)} ms): select * from order_line where order_id=?",
                f"Mail 'dispatch-note' queued for {random.choice(_NAMES)}@example.org",
                f"GET /orders/{order} -> 200 in {random.randint(4, 90)} ms",
                f"Cache miss for price list {random.choice(('retail', 'trade', 'staff'))}, loading from database",
                f"Retrying call to stock-api (attempt {random.randint(2, 3)} of 3)",
                f"Parcel label printed at {random.choice(_CITIES)} depot for order {order}",
            )
        )
        level = random.choice(("INFO ", "INFO ", "INFO ", "DEBUG", "WARN "))
        return f"{_stamp(time)} {level} [exec-{random.randint(1, 12):2d}] {random.choice(loggers)} - {text}"

    trace = [
        "{time} ERROR [exec- 7] c.a.refunds.RefundJob - Refund 90417 for order 455120 abandoned",
        "com.acme.refunds.RefundFailedException: payment provider rejected the refund",
        *(
            f"\tat com.acme.refunds.{name}"
            for name in (
                "RefundGateway.submit(RefundGateway.java:141)",
                "RefundJob.process(RefundJob.java:88)",
                "RefundJob.run(RefundJob.java:52)",
            )
        ),
        "\tat org.springframework.scheduling.support.DelegatingErrorHandlingRunnable.run(DelegatingErrorHandlingRunnable.java:54)",
        "\tat java.base/java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1144)",
        "Caused by: com.acme.http.ProviderException: 422 Unprocessable Entity",
        "\tat com.acme.http.ProviderClient.post(ProviderClient.java:203)",
        "\tat com.acme.refunds.RefundGateway.submit(RefundGateway.java:133)",
        "\t... 7 more",
        "Caused by: java.lang.IllegalArgumentException: currency of capture (SEK) differs from currency of refund (EUR)",
        "\tat com.acme.money.Money.requireSameCurrency(Money.java:64)",
        "\t... 9 more",
    ]
    fixed = {
        20: [
            "{time} INFO  [main   ] c.a.Application - Started Application in 11.842 seconds (process running for 12.6)"
        ],
        48: [
            "{time} WARN  [exec- 3] c.a.stock.StockClient - Circuit breaker 'stock-api' opened after 5 failures in 30 s"
        ],
        74: trace,
        118: [
            "{time} INFO  [scheduler] c.a.jobs.NightlyExport - Wrote 18,204 rows to s3://acme-exports/2026-03-16/orders.parquet"
        ],
    }
    return _write(140, 12, 3.0, line, fixed)


def write_journal() -> str:
    """Return a system journal with a kill for lack of memory, a failed mount and a refused login."""

    def line(random: Random, time: datetime) -> str:
        text = random.choice(
            (
                f"sshd[{random.randint(900, 9999)}]: Accepted publickey for deploy from 10.0.3.{random.randint(2, 250)}"
                f" port {random.randint(30000, 65000)} ssh2: ED25519",
                f"systemd[1]: Started session-{random.randint(10, 900)}.scope - Session of user deploy.",
                "systemd[1]: logrotate.service: Deactivated successfully.",
                f"chronyd[611]: Selected source 192.0.2.{random.randint(1, 99)}",
                f"dhclient[702]: DHCPACK of 10.0.3.44 from 10.0.3.1 (lease {random.randint(3000, 7200)})",
                f"containerd[840]: shim disconnected id={random.getrandbits(48):012x} namespace=k8s.io",
                f"kernel: eth0: renamed from veth{random.getrandbits(28):07x}",
                f"CRON[{random.randint(900, 9999)}]: (root) CMD (command -v debian-sa1 > /dev/null && debian-sa1 1 1)",
                f"kubelet[1022]: I0317 {time:%H:%M:%S} reconciler.go:{random.randint(100, 400)}] volume attached for pod",
                "postfix/qmgr[1203]: 4XyZ: removed",
            )
        )
        return f"{time:%b %d %H:%M:%S} node-14 {text}"

    stamp = "Mar 17 08:0"
    fixed = {
        30: [
            f"{stamp}7:19 node-14 mount[2290]: mount.nfs: access denied by server while mounting nas2:/export/archive",
            f"{stamp}7:19 node-14 systemd[1]: mnt-archive.mount: Mount process exited, code=exited, status=32/n/a",
            f"{stamp}7:19 node-14 systemd[1]: Failed to mount mnt-archive.mount - Cold storage.",
        ],
        66: [
            f"{stamp}9:42 node-14 sshd[4417]: Failed password for invalid user oracle from 198.51.100.23 port 40122 ssh2"
        ],
        92: [
            f"{stamp}9:58 node-14 kernel: report-builder invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0",
            f"{stamp}9:58 node-14 kernel: [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
            f"{stamp}9:58 node-14 kernel: [   3312]  1000  3312   918211   702114      6119424        0           200 report-builder",
            f"{stamp}9:58 node-14 kernel: [   1022]     0  1022   511230    24011       561152        0          -999 kubelet",
            f"{stamp}9:58 node-14 kernel: Out of memory: Killed process 3312 (report-builder) total-vm:3672844kB,"
            " anon-rss:2808456kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:5976kB oom_score_adj:200",
        ],
        110: [
            f"{stamp}9:59 node-14 smartd[588]: Device: /dev/sdc [SAT], 16 Currently unreadable (pending) sectors"
        ],
    }
    return _write(130, 14, 9.0, line, fixed)


def write_json_lines() -> str:
    """Return a structured log, one JSON object a line."""

    def line(random: Random, time: datetime) -> str:
        event = random.choice(
            (
                {
                    "msg": "request completed",
                    "route": "/v1/quotes",
                    "ms": random.randint(3, 240),
                    "status": 200,
                },
                {"msg": "session refreshed", "user": random.choice(_NAMES), "ttl": 3600},
                {
                    "msg": "consumer lag",
                    "topic": "invoices",
                    "partition": random.randint(0, 11),
                    "lag": random.randint(0, 40),
                },
                {"msg": "connection pool", "in_use": random.randint(1, 19), "idle": random.randint(0, 9)},
                {
                    "msg": "document indexed",
                    "doc": f"d-{random.getrandbits(32):08x}",
                    "shard": random.randint(0, 4),
                },
                {
                    "msg": "email delivered",
                    "template": random.choice(("welcome", "receipt", "reset")),
                    "smtp": 250,
                },
            )
        )
        level = random.choice(("info", "info", "info", "debug"))
        return json.dumps(
            {"ts": time.isoformat(timespec="milliseconds"), "level": level, "svc": "billing", **event}
        )

    fixed = {
        25: [
            '{"ts": "2026-03-17T08:02:40.118+00:00", "level": "info", "svc": "billing", "msg": "flag changed",'
            ' "flag": "tax-engine-v2", "from": "off", "to": "25%", "by": "esther"}'
        ],
        80: [
            '{"ts": "2026-03-17T08:03:41.002+00:00", "level": "error", "svc": "billing", "msg": "invoice rejected",'
            ' "invoice": "INV-20871", "code": "VAT_ID_EXPIRED", "customer": "Nordlicht GmbH", "retryable": false}'
        ],
        104: [
            '{"ts": "2026-03-17T08:04:07.730+00:00", "level": "warn", "svc": "billing", "msg": "certificate near expiry",'
            ' "host": "smtp.partner.example", "days_left": 6}'
        ],
    }
    return _write(140, 15, 2.2, line, fixed)


def write_worker_log() -> str:
    """Return the log of a task queue's worker with retries, a lost lock and a dropped task."""

    def line(random: Random, time: datetime) -> str:
        task = f"{random.getrandbits(64):016x}"
        name = random.choice(
            ("thumbs.render", "mail.digest", "sync.contacts", "audit.append", "search.reindex")
        )
        text = random.choice(
            (
                f"INFO/MainProcess] Task {name}[{task}] received",
                f"INFO/ForkPoolWorker-{random.randint(1, 8)}] Task {name}[{task}] succeeded in {random.uniform(0.01, 4):.3f}s",
                f"INFO/ForkPoolWorker-{random.randint(1, 8)}] {name}: {random.randint(1, 400)} items from {random.choice(_CITIES)}",
                f"WARNING/ForkPoolWorker-{random.randint(1, 8)}] {name}: upstream slow, {random.uniform(1, 9):.1f}s for one page",
                f"INFO/MainProcess] Events of group {{task}} enabled by remote ({random.choice(_NAMES)})",
            )
        )
        return f"[{_stamp(time)}: {text}"

    fixed = {
        8: ["[{time}: INFO/MainProcess] Connected to amqp://worker:**@rabbit-2.queue.svc:5672/media"],
        44: [
            "[{time}: INFO/MainProcess] Task sync.contacts[77aa01c9e4b2d610] retry: Retry in 540s: QuotaExceeded('people.list')"
        ],
        83: [
            "[{time}: ERROR/ForkPoolWorker-5] Task thumbs.render[0c31bb7e94d2a8f1] raised unexpected:"
            " DecompressionBombError('Image size (412350000 pixels) exceeds limit of 178956970 pixels')",
            "Traceback (most recent call last):",
            '  File "/srv/media/tasks/thumbs.py", line 71, in render',
            "    image = Image.open(source)",
            '  File "/srv/media/tasks/thumbs.py", line 29, in open_checked',
            "    raise DecompressionBombError(text)",
        ],
        107: [
            "[{time}: CRITICAL/MainProcess] Lost lock 'digest-leader' to worker media-7f9c, stepping down as leader"
        ],
    }
    return _write(135, 17, 4.0, line, fixed)
