# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
# fmt: off
"""Written logs of servers, the same on every run."""

from __future__ import annotations

from datetime import datetime
from random import Random

from benchmarks.real_results.evaluation.lines import mix_lines


def write_postgres_log() -> str:
    """Return a database server's log with a deadlock, a full disk and a slow query."""
    stamp = "{t:%Y-%m-%d %H:%M:%S} UTC"

    def usual(random: Random, now: datetime) -> str:
        head = f"{now:%Y-%m-%d %H:%M:%S} UTC [{random.randint(2000, 2090)}]"
        user = random.choice(("web@tickets", "batch@tickets", "report@ledger", "replicator@[unknown]"))
        table = random.choice(("bookings", "seats", "sailings", "vouchers", "passengers"))
        return random.choice(
            (
                f"{head} {user} LOG:  duration: {random.uniform(1, 90):.3f} ms  statement: SELECT * FROM {table} WHERE id = $1",
                f"{head} {user} LOG:  connection authorized: user={user.split('@')[0]} database={user.split('@')[1]} SSL enabled (protocol=TLSv1.3)",
                f"{head} LOG:  checkpoint complete: wrote {random.randint(100, 9000)} buffers ({random.uniform(0.5, 9):.1f}%); 0 WAL file(s) added, {random.randint(0, 3)} removed",
                f"{head} LOG:  automatic vacuum of table \"tickets.public.{table}\": index scans: {random.randint(0, 2)}, pages: 0 removed, {random.randint(90, 4000)} remain",
                f"{head} {user} LOG:  disconnection: session time: 0:0{random.randint(0, 9)}:{random.randint(10, 59)}.{random.randint(100, 999)} host=10.9.0.{random.randint(2, 60)}",
            )
        )

    events = {
        31: [
            f"{stamp} [2041] web@tickets ERROR:  deadlock detected",
            f"{stamp} [2041] web@tickets DETAIL:  Process 2041 waits for ShareLock on transaction 99120417; blocked by process 2077.",
            "\tProcess 2041: UPDATE seats SET held_until = now() + '12 min' WHERE sailing = 4417 AND deck = 6",
            "\tProcess 2077: DELETE FROM seats WHERE held_until < now()",
            f"{stamp} [2041] web@tickets CONTEXT:  while updating tuple (88,14) in relation \"seats\"",
        ],
        58: [
            f"{stamp} [2063] report@ledger LOG:  duration: 418220.514 ms  statement: SELECT route, sum(cents) FROM bookings b JOIN fares f USING (fare) GROUP BY CUBE (route, agent)"
        ],
        77: [
            f"{stamp} [2012] LOG:  could not send data to client: Connection reset by peer",
            f"{stamp} [2012] replicator@[unknown] FATAL:  requested WAL segment 00000001000000A70000003C has already been removed",
        ],
        96: [
            f'{stamp} [2029] batch@tickets ERROR:  could not extend file "base/16402/24718.3": No space left on device',
            f"{stamp} [2029] batch@tickets HINT:  Check free disk space.",
            f"{stamp} [2029] batch@tickets STATEMENT:  COPY passengers_archive FROM STDIN",
        ],
    }
    return mix_lines(41, 118, 7, usual, events)


def write_broker_log() -> str:
    """Return a message broker's log with a lost leader, a refused record and a paused consumer group."""

    def usual(random: Random, now: datetime) -> str:
        topic = f"{random.choice(('meter.readings', 'meter.alerts', 'billing.runs', 'geo.updates'))}-{random.randint(0, 23)}"
        head = f"[{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d}]"
        return f"{head} " + random.choice(
            (
                f"INFO [Log partition={topic}, dir=/data/b3] Rolled new log segment at offset {random.randint(10**6, 10**8)} in {random.randint(1, 9)} ms. (log.UnifiedLog)",
                f"INFO [GroupCoordinator 3]: Stabilized group tariff-calc generation {random.randint(100, 900)} with {random.randint(2, 9)} members (coordinator.group)",
                f"INFO [ReplicaFetcher replicaId=3, leaderId={random.choice((1, 2, 4))}, fetcherId=0] Truncating partition {topic} to offset {random.randint(10**6, 10**8)} (server.ReplicaFetcherThread)",
                f"DEBUG [KafkaApi-3] fetch of {topic} throttled for {random.randint(1, 60)} ms (server.KafkaApis)",
                f"INFO [Partition {topic} broker=3] Expanding ISR from 3,1 to 3,1,{random.choice((2, 4))} (cluster.Partition)",
            )
        )

    stamp = "[{t:%Y-%m-%d %H:%M:%S},402]"
    events = {
        22: [f"{stamp} WARN [Partition meter.readings-17 broker=3] Shrinking ISR from 3,2,4 to 3,4. Leader: (highWatermark: 88120441, endOffset: 88120977). Out of sync replicas: (brokerId: 2, endOffset: 88120440) (cluster.Partition)"],
        47: [
            f"{stamp} ERROR [ReplicaManager broker=3] Error processing append operation on partition billing.runs-4 (server.ReplicaManager)",
            "errors.RecordTooLargeException: The record batch size in the append is 6291811 bytes which exceeds the maximum configured value of 5242880.",
            "\tat log.UnifiedLog.analyzeAndValidateRecords(UnifiedLog.scala:1174)",
            "\tat log.UnifiedLog.append(UnifiedLog.scala:801)",
        ],
        71: [f"{stamp} INFO [GroupCoordinator 3]: Member edge-gw-7-91bd in group alarm-push has failed, removing it from the group: session timed out after 45000 ms (coordinator.group)"],
        92: [f"{stamp} WARN [LogCleaner] Skipping meter.alerts-9: 41 % of /data/b3 used by a partition without key, set cleanup.policy=delete (log.LogCleaner)"],
    }
    return mix_lines(44, 108, 3, usual, events)


def write_boot_log() -> str:
    """Return a kernel's messages of one start, with a slow bus, a bad memory bank and a tainted module."""
    random = Random(45)
    clock = 0.0
    lines: list[str] = []
    devices = ("usb 1-4", "usb 2-1", "nvme nvme0", "pci 0000:03:00.0", "ata3", "hid-generic 0003:046D", "i2c i2c-6", "sd 2:0:0:0")
    facts = (
        "new high-speed device number {0} using xhci_hcd", "supports D1 D2, PME# supported from D0 D3hot", "registered as event{0}",
        "link becomes ready, {0} lanes", "allocated {0} MiB host memory buffer", "firmware version 4.{0}", "BAR 0 [mem 0xfd{0}00000-0xfd{0}fffff 64bit]",
        "assigned id {0}, quirks 0x{0}",
    )
    special = {
        14: ["microcode: updated early: 0x2a -> 0x3e, date = 2026-01-28"],
        33: ["EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x7c1f2 offset:0x9c0 grain:32 syndrome:0x0)"],
        52: [
            "ata3: SATA link down (SStatus 0 SControl 300)",
            "ata3: limiting speed to 1.5 Gbps after 4 failed resets",
        ],
        70: [
            "vcamera: loading out-of-tree module taints kernel.",
            "vcamera: module verification failed: signature and/or required key missing - tainting kernel",
            "vcamera: frame grabber found, but interrupt 41 is shared with the sound card; falling back to polling every 8 ms",
        ],
        91: [
            "EXT4-fs (sdb2): warning: mounting fs with errors, running e2fsck is recommended",
            "EXT4-fs (sdb2): last error at time 1780411205: ext4_find_entry:1682: inode 2883707: block 11544092",
        ],
        104: ["thermal thermal_zone3: critical temperature reached (103 C), polling disabled until 2.4 s"],
    }
    for number in range(128):
        clock += random.uniform(0.001, 0.09)
        text = f"{random.choice(devices)}: {random.choice(facts).format(random.randint(2, 60))}"
        lines.append(f"[{clock:12.6f}] {text}")
        for event in special.get(number, ()):
            clock += random.uniform(0.001, 0.02)
            lines.append(f"[{clock:12.6f}] {event}")
    return "\n".join(lines) + "\n"


def write_mail_log() -> str:
    """Return a mail server's log with a greylisted, a refused and a looping message."""

    def usual(random: Random, now: datetime) -> str:
        queue = f"{random.getrandbits(40):010X}"
        who = random.choice(("anna", "board", "lists", "noreply", "invoices", "kaspar"))
        text = random.choice(
            (
                f"postfix/smtpd[{random.randint(700, 990)}]: connect from out{random.randint(1, 9)}.mailer.example[203.0.113.{random.randint(2, 250)}]",
                f"postfix/cleanup[{random.randint(700, 990)}]: {queue}: message-id=<{random.getrandbits(48):012x}@choir.example>",
                f"postfix/qmgr[611]: {queue}: from=<{who}@choir.example>, size={random.randint(900, 90000)}, nrcpt=1 (queue active)",
                f"postfix/smtp[{random.randint(700, 990)}]: {queue}: to=<{who}@partner.example>, relay=mx.partner.example[198.51.100.9]:25, delay={random.uniform(0.2, 4):.1f}, dsn=2.0.0, status=sent (250 2.0.0 Ok)",
                f"dovecot: imap({who}): Logged out in={random.randint(40, 900)} out={random.randint(900, 90000)} deleted=0 expunged=0",
                f"rspamd[580]: <{random.getrandbits(24):06x}>; task; score {random.uniform(-4, 5):.2f} / 15.00, time: {random.randint(8, 400)}ms",
            )
        )
        return f"{now:%b %d %H:%M:%S} mx-1 {text}"

    stamp = "{t:%b %d %H:%M:%S} mx-1"
    events = {
        24: [f"{stamp} postfix/smtp[804]: 7C1F0A22B9: to=<tenor2@uni.example>, relay=mail.uni.example[192.0.2.77]:25, delay=1.9, dsn=4.7.1, status=deferred (host said: 451 4.7.1 Greylisted, please try again in 340 seconds)"],
        49: [f"{stamp} postfix/smtp[822]: 91D2C4F1E0: to=<press@daily.example>, relay=mx.daily.example[198.51.100.80]:25, delay=0.8, dsn=5.7.26, status=bounced (host said: 550 5.7.26 DKIM signature s=key2023 did not verify: public key has been revoked)"],
        73: [f"{stamp} postfix/local[841]: B00F1177AC: to=<board@choir.example>, relay=local, dsn=5.4.6, status=bounced (mail forwarding loop for chair@choir.example)"],
        97: [
            f"{stamp} dovecot: lmtp(kaspar)<31207>: save failed to mailbox INBOX: Quota exceeded (mailbox for user is full: 5120 MB of 5120 MB, 61 % in 'Recordings 2024')"
        ],
        108: [f"{stamp} rspamd[580]: <a41d9e>; task; score 23.10 / 15.00 [FORGED_SENDER(0.30) PHISH_LINK(7.00) EXE_IN_ARCHIVE(12.50) R_SPF_FAIL(1.00)], action: reject, from=<it-desk@choir-login.example>"],
    }
    return mix_lines(48, 122, 9, usual, events)


def write_vpn_log() -> str:
    """Return a VPN gateway's log with an expired certificate, an address that is taken and a small packet size."""

    def usual(random: Random, now: datetime) -> str:
        peer = random.choice(("office-oslo", "van-03", "van-11", "depot-north", "lab", "keiko-laptop"))
        text = random.choice(
            (
                f"{peer}/198.51.100.{random.randint(2, 250)}:{random.randint(1024, 65000)} TLS: soft reset sec={random.randint(3000, 3600)} bytes={random.randint(10**6, 10**8)}",
                f"{peer} PUSH: Received control message: 'PUSH_REQUEST'",
                f"{peer} Data Channel: cipher 'AES-256-GCM', peer-id: {random.randint(0, 40)}",
                f"{peer} keepalive answered after {random.randint(9, 240)} ms",
                f"MANAGEMENT: CMD 'status {random.randint(1, 3)}'",
                f"{peer} route 10.{random.randint(20, 60)}.0.0/16 via tun0 metric {random.randint(50, 200)}",
            )
        )
        return f"{now.isoformat(timespec='seconds')}Z gw-2 tunneld: {text}"

    stamp = "{t:%Y-%m-%dT%H:%M:%S}Z gw-2 tunneld:"
    events = {
        19: [
            f"{stamp} van-07/203.0.113.61:40188 VERIFY ERROR: depth=0, error=certificate has expired: CN=van-07, notAfter=Jun  7 00:00:00 2026 GMT",
            f"{stamp} van-07/203.0.113.61:40188 TLS Error: TLS handshake failed",
        ],
        44: [f"{stamp} lab MULTI: address 10.44.0.17 is already used by printer-lab (since 2026-05-30), assigning 10.44.0.83"],
        69: [f"{stamp} depot-north WARNING: 'link-mtu' is used inconsistently, local=1549, remote=1412; fragments above 1384 bytes are dropped on the LTE side"],
        86: [f"{stamp} ALERT 41 failed logins for user 'svc-scanner' from 5 addresses within 10 min, account locked until 23:30 UTC"],
        99: [f"{stamp} keiko-laptop AUTH: one-time code rejected, clock of the token is 97 s ahead (window is 60 s)"],
    }
    return mix_lines(49, 116, 8, usual, events)
