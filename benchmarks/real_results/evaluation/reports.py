# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
# fmt: off
"""Written reports of tools, tables and XML, the same on every run."""

from __future__ import annotations

from random import Random


def write_go_test() -> str:
    """Return the output of `go test -v -race ./...` with a race, a panic and a failed comparison."""
    random = Random(54)
    areas = ("Parser", "Ledger", "Router", "Cache", "Clock", "Codec", "Quota", "Mailer")
    lines: list[str] = []
    for area in areas:
        for number in range(10):
            name = f"Test{area}_{random.choice(('Empty', 'Large', 'Unicode', 'Retry', 'Close', 'Reuse'))}{number}"
            lines += [f"=== RUN   {name}", f"--- PASS: {name} (0.{random.randint(0, 9)}{random.randint(0, 9)}s)"]
        if area == "Ledger":
            lines += [
                "=== RUN   TestLedger_Interest",
                "=== RUN   TestLedger_Interest/leap_year",
                "    ledger_test.go:88: Interest(2024-02-29, 1 year) = 41.23, want 41.12",
                "        the day count must be ACT/365F, see the contract of the bank",
                "--- FAIL: TestLedger_Interest (0.00s)",
                "    --- FAIL: TestLedger_Interest/leap_year (0.00s)",
            ]
        if area == "Cache":
            lines += [
                "=== RUN   TestCache_Evict",
                "==================",
                "WARNING: DATA RACE",
                "Write at 0x00c0001a2010 by goroutine 31:",
                "  example.org/till/cache.(*LRU).Evict()",
                "      /src/cache/lru.go:114 +0x64",
                "Previous read at 0x00c0001a2010 by goroutine 29:",
                "  example.org/till/cache.(*LRU).Len()",
                "      /src/cache/lru.go:57 +0x3a",
                "==================",
                "    testing.go:1490: race detected during execution of test",
                "--- FAIL: TestCache_Evict (0.02s)",
            ]
        if area == "Clock":
            lines += ["=== RUN   TestClock_Drift", "    clock_test.go:31: skipping: needs CAP_SYS_TIME", "--- SKIP: TestClock_Drift (0.00s)"]
        if area == "Quota":
            lines += [
                "=== RUN   TestQuota_Refill",
                "panic: runtime error: integer divide by zero [recovered]",
                "",
                "goroutine 44 [running]:",
                "example.org/till/quota.refill({0x14, 0x0})",
                "\t/src/quota/bucket.go:73 +0x1c8",
                "FAIL\texample.org/till/quota\t0.311s",
            ]
        seconds, covered = random.uniform(0.1, 3), random.uniform(51, 97)
        if area in ("Ledger", "Cache"):
            lines.append(f"FAIL\texample.org/till/{area.lower()}\t{seconds:.3f}s")
        elif area != "Quota":
            lines.append(f"ok  \texample.org/till/{area.lower()}\t{seconds:.3f}s\tcoverage: {covered:.1f}% of statements")
    return "\n".join([*lines, "FAIL"]) + "\n"


def write_rust_check() -> str:
    """Return a compiler's warnings and errors for a Rust project."""
    random = Random(55)
    blocks: list[str] = []
    for _ in range(30):
        module, name, line = random.choice(("grid", "wire", "plan", "disk")), random.choice(("width", "retry", "left", "seed", "depth")), random.randint(10, 400)
        kind = random.choice((f"unused variable: `{name}`", f"field `{name}` is never read", f"unused import: `super::{name}`"))
        blocks.append(
            f"warning: {kind}\n  --> src/{module}.rs:{line}:{random.randint(5, 30)}\n   |\n{line:<3}|     let {name} = self.{module}.{name}();\n   |         {'^' * len(name)} help: if this is intentional, prefix it with an underscore: `_{name}`\n   |"
        )
    errors = {
        5: """error[E0502]: cannot borrow `self.lanes` as mutable because it is also borrowed as immutable
  --> src/signal/phase.rs:148:13
    |
141 |         let longest = self.lanes.iter().max_by_key(|lane| lane.queue).unwrap();
    |                       ---------- immutable borrow occurs here
148 |             self.lanes.push(Lane::spare());
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ mutable borrow occurs here
152 |         longest.extend(4);
    |         ------- immutable borrow later used here
    |""",
        12: """error[E0308]: mismatched types
  --> src/signal/timing.rs:67:28
    |
67  |     let clearance: Seconds = Millis(2_400);
    |                    -------   ^^^^^^^^^^^^^ expected `Seconds`, found `Millis`
    |                    expected due to this
    |
help: call `Into::into` on this expression to convert `Millis` into `Seconds`
    |
67  |     let clearance: Seconds = Millis(2_400).into();
    |                                           +++++++""",
        17: """error[E0277]: `Rc<Controller>` cannot be sent between threads safely
   --> src/net/poll.rs:33:24
    |
33  |     std::thread::spawn(move || controller.poll());
    |     ------------------ ^^^^^^^^^^^^^^^^^^^^^^^^^ `Rc<Controller>` cannot be sent between threads safely
    |
    = help: within `{closure@src/net/poll.rs:33:24}`, the trait `Send` is not implemented for `Rc<Controller>`
note: required by a bound in `spawn`""",
    }
    parts = [block for number, block in enumerate(blocks) for block in ([block, errors[number]] if number in errors else [block])]
    parts += [
        "warning: the following packages contain code that will be rejected by a future version of Rust: modbus-rtu v0.4.1",
        "error: could not compile `junction` (lib) due to 3 previous errors; 30 warnings emitted",
    ]
    return "    Checking junction v0.9.2 (/src/junction)\n" + "\n\n".join(parts) + "\n"


def write_job_table() -> str:
    """Return the finished jobs of a cluster as an accounting command prints them."""
    random = Random(56)
    lines = [
        "JobID        JobName              User       Partition  State          ExitCode Elapsed    MaxRSS     NodeList       Comment",
        "------------ -------------------- ---------- ---------- -------------- -------- ---------- ---------- -------------- ------------------------------",
    ]
    for number in range(70):
        name = random.choice(("align-reads", "fold-protein", "render-dome", "cfd-wing", "train-ocr", "kmer-count"))
        row = [f"{88210 + number}", name, random.choice(("ines", "marek", "yuto", "bronwyn", "tariq")), random.choice(("cpu", "gpu", "fat")),
               "COMPLETED", "0:0", f"{random.randint(0, 23):02d}:{random.randint(0, 59):02d}:{random.randint(0, 59):02d}",
               f"{random.randint(200, 99999)}M", f"c{random.randint(100, 160)}", ""]
        if number == 17:
            row[1:10] = ["assemble-axolotl", "bronwyn", "fat", "OUT_OF_MEMORY", "0:125", "61:40:09", "1510233M", "f03", "asked for 1475G"]
        if number == 33:
            row[1:10] = ["fold-protein", "yuto", "gpu", "NODE_FAIL", "1:0", "03:12:55", "40112M", "g07", "fan tray replaced, see HW-559"]
        if number == 46:
            row[1:10] = ["cfd-wing", "marek", "cpu", "TIMEOUT", "0:15", "48:00:13", "88120M", "c[101-108]", "diverged at iteration 90412"]
        if number == 58:
            row[1:10] = ["train-ocr", "tariq", "gpu", "PREEMPTED", "0:0", "00:41:30", "23118M", "g02", "by urgent-flood-model of ines"]
        widths = (12, 20, 10, 10, 14, 8, 10, 10, 14, 30)
        lines.append(" ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    return "\n".join(lines) + "\n"


def write_benchmark_table() -> str:
    """Return a report with tables in Markdown of how compressors did on several kinds of files."""
    random = Random(57)
    tools = ("zstd -3", "zstd -19", "brotli -5", "lz4 -1", "xz -6", "gzip -6", "snappy", "bzip2 -9")
    lines = ["# Compression of the archive, June 2026", "", "All runs on one core of an EPYC 9354, files in memory, median of 7.", ""]
    for kind in ("Scanned letters (TIFF)", "Sensor logs (CSV)", "Genome reads (FASTQ)", "Mail archives (mbox)", "Meshes (STL)", "Satellite tiles (JP2)", "Chess games (PGN)", "Source trees (tar)", "Core dumps (ELF)", "Phone calls (AMR)", "Weather fields (GRIB)"):
        lines += [f"## {kind}", "", "| tool | ratio | compress MB/s | expand MB/s | peak memory | remarks |", "|---|---:|---:|---:|---:|---|"]
        for tool in tools:
            remark = {
                ("Genome reads (FASTQ)", "xz -6"): "stopped after 40 min, figures are for 3 of 5 files",
                ("Sensor logs (CSV)", "zstd -19"): "with a dictionary of 112 kB trained on May",
                ("Meshes (STL)", "lz4 -1"): "grows two files by 0.4 %",
                ("Mail archives (mbox)", "brotli -5"): "window set to 24 bits",
            }.get((kind, tool), "")
            lines.append(
                f"| {tool} | {random.uniform(1.1, 9):.2f} | {random.uniform(3, 900):.1f} | {random.uniform(40, 3000):.0f} | {random.randint(2, 680)} MB | {remark} |"
            )
        lines += ["", f"Best trade for {kind.split(' (')[0].lower()}: see the row in bold on the wiki.", ""]
    return "\n".join(lines) + "\n"


def write_pom() -> str:
    """Return the build file of a Java project."""
    random = Random(58)
    known = ("slf4j-api", "logback-classic", "jackson-databind", "guava", "caffeine", "jooq", "flyway-core", "h2", "micrometer-core", "picocli",
             "assertj-core", "mockito-core", "junit-jupiter", "wiremock", "awaitility", "archunit", "commons-csv", "jts-core", "okhttp", "kotlin-stdlib",
             "hikaricp", "jakarta-inject", "proj4j", "saxon-he", "fop-core", "testcontainers", "shedlock", "zstd-jni")
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<project xmlns="http://maven.apache.org/POM/4.0.0">',
        "  <modelVersion>4.0.0</modelVersion>",
        "  <groupId>org.example.cadastre</groupId>",
        "  <artifactId>parcel-importer</artifactId>",
        "  <version>3.18.0-SNAPSHOT</version>",
        "  <properties>",
        "    <maven.compiler.release>21</maven.compiler.release>",
        "    <argLine>-Xmx1400m -Duser.timezone=Europe/Vienna</argLine>",
        "    <!-- 42.7.5 breaks geometry columns, see CAD-871 -->",
        "    <postgresql.version>42.7.4</postgresql.version>",
        "  </properties>",
        "  <dependencies>",
    ]
    for name in known:
        parts += ["    <dependency>", f"      <groupId>org.example.deps.{name.split('-')[0]}</groupId>", f"      <artifactId>{name}</artifactId>",
                  f"      <version>{random.randint(1, 9)}.{random.randint(0, 20)}.{random.randint(0, 9)}</version>"]
        if name in ("assertj-core", "mockito-core", "junit-jupiter", "wiremock", "awaitility", "archunit"):
            parts.append("      <scope>test</scope>")
        if name == "jts-core":
            parts += ["      <exclusions>", "        <exclusion>", "          <groupId>com.googlecode.json-simple</groupId>",
                      "          <artifactId>json-simple</artifactId>", "        </exclusion>", "      </exclusions>"]
        parts.append("    </dependency>")
    parts += ["  </dependencies>", "  <build>", "    <plugins>"]
    settings = {
        "maven-surefire-plugin": ["<forkCount>2</forkCount>", "<excludedGroups>slow,gis-server</excludedGroups>"],
        "jacoco-maven-plugin": ["<rule>BRANCH</rule>", "<minimum>0.71</minimum>"],
        "maven-enforcer-plugin": ["<requireMavenVersion>[3.9.6,4)</requireMavenVersion>"],
        "jib-maven-plugin": ["<from>eclipse-temurin:21-jre-noble</from>", "<user>10001</user>", "<port>9464</port>"],
    }
    for plugin, lines in settings.items():
        parts += ["      <plugin>", f"        <artifactId>{plugin}</artifactId>", "        <configuration>"]
        parts += [f"          {line}" for line in lines] + ["        </configuration>", "      </plugin>"]
    parts += ["    </plugins>", "  </build>", "  <profiles>"]
    for profile, key, value in (("fast", "skipITs", "true"), ("oracle", "jdbc.url", "jdbc:oracle:thin:@//legacy-db:1521/KATASTER"), ("release", "gpg.keyname", "releases@cadastre.example")):
        parts += ["    <profile>", f"      <id>{profile}</id>", "      <properties>", f"        <{key}>{value}</{key}>", "      </properties>", "    </profile>"]
    return "\n".join([*parts, "  </profiles>", "</project>"]) + "\n"
