# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
# fmt: off
"""Written logs of a device, builds and training, the same on every run."""

from __future__ import annotations

from datetime import datetime
from random import Random

from benchmarks.real_results.evaluation.lines import mix_lines


def write_logcat() -> str:
    """Return a phone's log with a crash, a refused permission and a slow start."""

    def usual(random: Random, now: datetime) -> str:
        head = f"{now:%m-%d %H:%M:%S}.{now.microsecond // 1000:03d} {random.randint(1200, 1900):>5} {random.randint(2000, 2900):>5}"
        return f"{head} " + random.choice(
            (
                f"D WifiStateMachine: rssi={-random.randint(40, 88)} linkSpeed={random.randint(6, 866)} score={random.randint(20, 60)}",
                f"I chatty  : uid=10{random.randint(100, 300)} identical {random.randint(2, 40)} lines",
                f"V SensorService: step counter total={random.randint(2000, 9000)}",
                f"D Zygote  : Forked child process {random.randint(3000, 9000)}",
                f"I PlantApp: image cache {random.randint(1, 99)} of 128 entries, {random.randint(1, 30)} MB",
                f"W Looper  : Slow dispatch took {random.randint(100, 480)}ms main h=android.view.Choreographer",
                f"D OkHttp  : <-- 200 https://api.plants.example/v3/leaf/{random.randint(100, 999)} ({random.randint(20, 400)}ms)",
                f"I ActivityTaskManager: Displayed com.example.plants/.ui.Screen{random.randint(1, 6)}: +{random.randint(90, 700)}ms",
            )
        )

    stamp = "{t:%m-%d %H:%M:%S}.118  1644  2310"
    events = {
        29: [
            f"{stamp} W PackageManager: Permission android.permission.ACCESS_BACKGROUND_LOCATION not granted to com.example.plants, since it targets 34 and the user chose 'while using'"
        ],
        63: [
            f"{stamp} E AndroidRuntime: FATAL EXCEPTION: scan-worker-2",
            f"{stamp} E AndroidRuntime: Process: com.example.plants, PID: 1644",
            f"{stamp} E AndroidRuntime: java.lang.IllegalStateException: model 'leafnet-q8' expects 224x224 input but the camera gave 1080x1920",
            f"{stamp} E AndroidRuntime: \tat com.example.plants.scan.Classifier.run(Classifier.kt:91)",
            f"{stamp} E AndroidRuntime: \tat com.example.plants.scan.ScanWorker.doWork(ScanWorker.kt:47)",
            f"{stamp} I Process : Sending signal. PID: 1644 SIG: 9",
        ],
        88: [f"{stamp} I BatteryStats: com.example.plants held wakelock 'sync:herbarium' for 41m12s since last charge"],
        101: [f"{stamp} W JobScheduler: Job 7702 of com.example.plants stopped: constraint UNMETERED no longer met, 3 of 19 uploads done"],
    }
    return mix_lines(42, 124, 1.6, usual, events)


def write_ansible_run() -> str:
    """Return the run of a playbook over eight hosts, with two failures and the recap."""
    random = Random(43)
    hosts = ("edge-ams", "edge-fra", "edge-mad", "core-1", "core-2", "mon-1", "git-1", "mx-1")
    tasks = (
        "common : Set the time zone", "common : Install base packages", "common : Deploy authorized keys",
        "firewall : Load nftables rules", "nginx : Write virtual hosts", "nginx : Reload", "certs : Renew certificates",
        "backup : Install borgmatic", "backup : Initialise repository", "monitoring : Register exporter",
        "users : Remove former staff", "ntp : Configure servers", "sysctl : Apply limits",
    )
    lines = ["PLAY [Bring every host to the June baseline] " + "*" * 56, "", "TASK [Gathering Facts] " + "*" * 78]
    lines += [f"ok: [{host}]" for host in hosts]
    for task in tasks:
        lines += ["", f"TASK [{task}] ".ljust(101, "*")]
        for host in hosts:
            if host == "mx-1" and tasks.index(task) > 7:
                continue
            if host == "edge-mad" and tasks.index(task) > 6:
                continue
            if (host, task) == ("edge-mad", "certs : Renew certificates"):
                lines += [
                    'fatal: [edge-mad]: FAILED! => {"changed": true, "cmd": ["lego", "--dns", "desec", "renew"], "delta": "0:00:31.4", "rc": 1,'
                    ' "stderr": "acme: error: 429 :: rateLimited :: too many certificates (5) already issued for this exact set of domains in the last 168h, retry after 2026-06-11 04:00 UTC"}'
                ]
            elif (host, task) == ("mx-1", "backup : Install borgmatic"):
                lines += [
                    'fatal: [mx-1]: FAILED! => {"changed": false, "msg": "No package matching \'borgmatic\' is available", "apt_cache_age_h": 1903}'
                ]
            elif host == "git-1" and task.startswith("firewall"):
                lines += ["skipping: [git-1] => (conditional: nft_managed | default(true), set to false in host_vars/git-1.yml)"]
            else:
                verb = random.choice(("ok", "ok", "ok", "changed"))
                lines.append(f"{verb}: [{host}]")
                if verb == "changed" and random.random() < 0.5:
                    lines += ["--- before: /etc/managed.conf", "+++ after: /etc/managed.conf", "@@ -1,3 +1,3 @@"]
                    lines += [f"-generation = {random.randint(100, 300)}", f"+generation = {random.randint(301, 500)}"]
    lines += ["", "RUNNING HANDLER [nginx : Test configuration] ".ljust(101, "*")]
    lines += [f"ok: [{host}]" for host in hosts[:4]]
    lines += ["[WARNING]: edge-fra: server name 'old.tiles.example' is listed in 2 virtual hosts, the first one wins", ""]
    lines += ["PLAY RECAP ".ljust(101, "*")]
    for host in hosts:
        failed = host in ("edge-mad", "mx-1")
        lines.append(
            f"{host:<12} : ok={9 if failed else 11:<4} changed={random.randint(1, 6):<4} unreachable=0    failed={int(failed)}    skipped={int(host == 'git-1')}"
        )
    lines += ["", "Playbook run took 0 days, 0 hours, 6 minutes, 48 seconds", "Slowest task: certs : Renew certificates (153.20s)"]
    return "\n".join(lines) + "\n"


def write_training_log() -> str:
    """Return the log of a training run that loses a node, meets a spike in its loss and stops early."""
    random = Random(46)
    lines = [
        "srun: job 771204 has been allocated resources",
        "world_size=16 nodes=2 gpus_per_node=8 precision=bf16 seed=20417",
        "model: 36 layers, d_model 2048, heads 16 (4 kv), vocab 65536 -> 1.94 B parameters, 1.81 B without embeddings",
        "data: 41 shards, weights web=0.62 code=0.21 books=0.11 math=0.06, 3 shards skipped for a wrong checksum",
        "optimizer: adamw betas=(0.9, 0.95) wd=0.1 clip=1.0 lr=2.4e-4 warmup=1200 schedule=wsd decay=0.15",
    ]
    for number in range(120):
        step = 12000 + number * 25
        loss = 2.61 - number * 0.0009 + random.uniform(-0.012, 0.012) + (1.4 if number == 52 else 0)
        lines.append(
            f"step {step:>6} | loss {loss:.4f} | gnorm {random.uniform(0.2, 0.6) + (38.7 if number == 52 else 0):.2f} | lr 2.40e-04"
            f" | tok/s {random.randint(402, 431)}k | mfu {random.uniform(0.43, 0.47):.3f} | mem {random.uniform(61, 66):.1f} GiB"
        )
        if number % 30 == 29:
            lines.append(f"eval @ {step}: web {2.51 - number * 0.0007:.3f} code {1.21 - number * 0.0003:.3f} math {1.88 - number * 0.0005:.3f}")
        if number == 52:
            lines += [
                "WARN loss spike: 3.9 sigma above the mean of 200 steps; skipping the update and dropping batch 214-0097 (source: books, 61 % of its tokens are one repeated table)",
            ]
        if number == 77:
            lines += [
                "ERROR rank 11 (gpu-node-07:3): NCCL watchdog timeout, collective _ALLGATHER_BASE seq 918822 ran 600014 ms",
                "INFO  Xid 94 on gpu-node-07 device 3: contained ECC error; node drained, standing in: gpu-node-12",
                "INFO  resumed from /ckpt/run-88/step-13900 (2 of 2 nodes, 25 steps lost, 7 min 40 s)",
            ]
        if number == 101:
            lines.append("INFO  checkpoint step-14500 written to /ckpt/run-88 (22.8 GB, 31 s), kept 4, deleted step-12500")
    lines += [
        "INFO  early stop: eval math did not improve by 0.002 in 3 evaluations",
        "INFO  averaged the last 5 checkpoints into /ckpt/run-88/final-ema",
        "srun: Job step 771204.0 completed, elapsed 01:52:09",
    ]
    return "\n".join(lines) + "\n"


def write_gradle_log() -> str:
    """Return the output of a build of a phone app that fails while it joins its resources."""
    random = Random(47)
    modules = ("app", "core", "ui", "sync", "maps", "payments", "analytics", "testing")
    libraries = ("androidx.core", "androidx.room", "okio", "moshi", "coil", "timber", "leakcanary", "maplibre", "paging", "work-runtime", "datastore", "navigation")
    steps = ("preBuild", "generateDebugResources", "packageDebugAssets", "compileDebugJavaWithJavac", "extractDeepLinksDebug", "compileDebugKotlin", "processDebugManifest", "bundleDebugAar", "lintAnalyzeDebug", "kspDebugKotlin")
    lines = ["Starting a Gradle Daemon, 1 busy and 2 stopped Daemons could not be reused, use --status for details", "", "> Configure project :app"]
    lines += ["WARNING: The option setting 'android.enableJetifier=true' is deprecated and will be removed in version 10.0 of the plugin."]
    for step in steps:
        for module in modules:
            state = random.choice(("", " UP-TO-DATE", " FROM-CACHE", " NO-SOURCE"))
            lines.append(f"> Task :{module}:{step}{state}")
            if (step, module) == ("compileDebugKotlin", "payments"):
                lines += [
                    "w: file:///src/payments/src/main/kotlin/Receipt.kt:58:21 'fun roundCash(Long): Long' is deprecated. Sweden dropped the 50 öre coin, use roundToKrona()",
                    "w: file:///src/payments/src/main/kotlin/Terminal.kt:112:9 Condition 'state != null' is always 'true'",
                ]
            if (step, module) == ("lintAnalyzeDebug", "maps"):
                lines += ["/src/maps/src/main/res/values-nb/strings.xml:44: Error: \"route_closed\" is translated here but not found in default locale [ExtraTranslation]"]
            if (step, module) == ("kspDebugKotlin", "sync"):
                lines += ["w: [ksp] OutboxDao: the query on line 31 does a full scan of 'outbox', add an index on (attempts, due_at)"]
    lines += [
        f"Download https://maven.example.org/{name.replace('.', '/')}/{random.randint(1, 4)}.{random.randint(0, 30)}.{random.randint(0, 9)}/{name}.{end}, took {random.randint(20, 900)} ms ({random.randint(2, 900)} kB)"
        for name in libraries
        for end in ("pom", "module", "jar")
    ]
    lines += [
        "> Task :app:checkDebugDuplicateClasses FAILED",
        "",
        "FAILURE: Build failed with an exception.",
        "",
        "* What went wrong:",
        "Execution failed for task ':app:checkDebugDuplicateClasses'.",
        "> A failure occurred while executing com.android.build.gradle.internal.tasks.CheckDuplicatesRunnable",
        "   > Duplicate class org.geo.Wkt found in modules geokit-2.8.0.jar -> geokit-2.8.0 (org.geo:geokit:2.8.0) and geo-compat-1.3.jar -> geo-compat-1.3 (org.geo:geo-compat:1.3)",
        "",
        "* Try:",
        "> Run with --stacktrace option to get the stack trace.",
        "",
        "BUILD FAILED in 2m 17s",
        "214 actionable tasks: 61 executed, 118 from cache, 35 up-to-date",
        "Configuration cache entry discarded with 2 problems: :maps reads system property 'tiles.key' at configuration time",
    ]
    return "\n".join(lines) + "\n"
