#!/usr/bin/env python3
"""Measures certctl beside the bare protocol and the peers that are installed; see tests/bench.

Times are shown and fail nothing. Counts (requests, system calls, syncs, bytes written to the state,
peak memory, instructions) are compared with those kept in tests/bench-figures.json, under "release":
one that grew by more than a tenth ends the run with 1, and so does the binary, which is stripped, by
more than a twentieth. --keep keeps those of this run instead.
"""

import argparse
import base64
import ctypes
import http.server
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = os.path.join(HERE, "bench-figures.json")
SYSTEM_ROOTS = "/etc/ssl/certs/ca-certificates.crt"
CLONE_NEWNS = 0x20000
# Seconds after which the index says something of a file; more than in src/store/index.rs.
SETTLED = 3
# A run that says more than the terminal needs does not end by a glance at the index.
NO_FLAGS = ()
# As many as the moment makes them: they wait for a thread or an event.
WAITS = {"futex", "epoll_wait", "epoll_pwait", "sched_yield", "restart_syscall"}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def loud(text):
    print(f"tests/bench: {text}", file=sys.stderr, flush=True)


def write(path, text, mode=0o600):
    """Writes a file of this mode, whatever the umask; returns its path."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
        file.write(text)
    return path


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


class Failed(Exception):
    """A program that is measured ended in an error."""


class Pebble:
    """Pebble and its DNS server, which says 127.0.0.1 for every name."""

    def __init__(self, folder):
        self.folder = folder
        port, management, self.http, dns = (free_port() for _ in range(4))
        self.url, self.resolver = f"https://127.0.0.1:{port}/dir", f"127.0.0.1:{dns}"
        self.root = self.path("root.pem")
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("req", "-x509", *curve, "-keyout", self.path("root.key"), "-out", self.root,
                "-days", "2", "-subj", "/CN=root of the bench")
        openssl("req", *curve, "-keyout", self.path("key.pem"), "-out", self.path("csr"),
                "-subj", "/CN=127.0.0.1")
        write(self.path("extensions"), "subjectAltName=IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", self.path("csr"), "-CA", self.root, "-CAkey",
                self.path("root.key"), "-out", self.path("cert.pem"), "-days", "2", "-extfile",
                self.path("extensions"))
        write(self.path("config.json"), json.dumps({"pebble": {
            "listenAddress": f"127.0.0.1:{port}",
            "managementListenAddress": f"127.0.0.1:{management}",
            "certificate": self.path("cert.pem"), "privateKey": self.path("key.pem"),
            "httpPort": self.http, "tlsPort": free_port(), "keyAlgorithm": "ecdsa",
            "retryAfter": {"authz": 0, "order": 0},
            "profiles": {"default": {"description": "90 days", "validityPeriod": 7776000}},
        }}))
        tools = os.environ["CERTCTL_TEST_TOOLS"]
        log = open(self.path("log"), "w")
        start = lambda words, env: subprocess.Popen(
            words, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.servers = [
            start([f"{tools}/pebble-challtestsrv", "-dnsserver", self.resolver, "-http01", "",
                   "-https01", "", "-tlsalpn01", "", "-doh", "", "-defaultIPv6", "",
                   "-defaultIPv4", "127.0.0.1", "-management", f"127.0.0.1:{free_port()}"], {}),
            start([f"{tools}/pebble", "-config", self.path("config.json"), "-dnsserver",
                   self.resolver],
                  {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0",
                   "PEBBLE_AUTHZREUSE": "0"}),
        ]
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.02)
        sys.exit("tests/bench: Pebble does not listen")

    def path(self, name):
        return os.path.join(self.folder, name)

    def stop(self):
        for server in self.servers:
            server.kill()
            server.wait()


class Work:
    """certctl in a folder of its own."""

    def __init__(self, program, ca, folder):
        self.program, self.ca, self.folder, self.made = program, ca, folder, 0
        os.makedirs(os.path.join(folder, "config"))
        with open(ca.root, "rb") as file:
            root = base64.b64encode(file.read()).decode()
        write(os.path.join(folder, "config/issuer.yaml"),
              "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: { name: pebble }\nspec:\n"
              f"  acme:\n    server: {ca.url}\n    caBundle: {root}\n"
              "    privateKeySecretRef: { name: account }\n    solvers: [ http01: { ingress: {} } ]\n")

    def manifest(self, certificates, names, where=""):
        """Writes these certificates, with names that were never used; returns the file."""
        self.made += 1
        name = f"m{self.made}"
        host = os.path.basename(self.folder)
        documents = []
        for one in range(certificates):
            listed = "".join(f"  - n{n}.c{one}.{name}.{host}.test\n" for n in range(names))
            documents.append(
                "apiVersion: cert-manager.io/v1\nkind: Certificate\n"
                f"metadata: {{ name: {name}-{one} }}\nspec:\n  secretName: {name}-{one}-tls\n"
                "  issuerRef: { name: pebble }\n  privateKey: { algorithm: ECDSA, size: 256 }\n"
                f"  dnsNames:\n{listed}")
        return write(os.path.join(self.folder, where, f"{name}.yaml"), "---\n".join(documents))

    def words(self, *words):
        port = str(self.ca.http)
        return [self.program, *words, "--state-dir", "state", "--config-dir", "config",
                "--resolver", self.ca.resolver, "--http01-listen", f"127.0.0.1:{port}",
                "--http01-check-port", port]

    def environment(self):
        return {"HOME": self.folder, "PATH": os.environ["PATH"]}

    def run(self, *words):
        return measured(self.words(*words), self.folder, self.environment())


def measured(words, folder, environment):
    """Runs a program; returns the milliseconds of the wall and of the processor."""
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        child = subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(child.pid, 0)
        wall = (time.perf_counter() - start) * 1000
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            said.seek(0)
            text = said.read().decode(errors="replace")[-2000:]
            raise Failed(f"{' '.join(words)}: {child.returncode}\n{text}")
    return wall, (used.ru_utime + used.ru_stime) * 1000


def counts(work, again, instructions=False, flags=("-vv",)):
    """The counts of a run; `again` returns the words of one like it."""
    found = {}
    if shutil.which("strace"):
        trace = os.path.join(work.folder, "trace")
        words = ["strace", "-f", "-y", "-qq", "-s", "0", "-o", trace, *work.words(*again(), *flags)]
        run = subprocess.run(words, cwd=work.folder, env=work.environment(), text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, check=True)
        if flags:
            sent = re.search(r"run ended requests=(\d+)", run.stderr)
            found["requests"] = int(sent.group(1)) if sent else 0
        found.update(of_trace(open(trace), os.path.join(work.folder, "state")))
    else:
        loud("NOT COUNTED: system calls, syncs, bytes and requests: strace is missing")
    if os.path.exists("/usr/bin/time"):
        # Not from this process: what a program begins with counts as its peak.
        words = ["/usr/bin/time", "-f", "peak %M", *work.words(*again())]
        run = subprocess.run(words, cwd=work.folder, env=work.environment(), text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, check=True)
        found["peak memory, KiB"] = int(re.search(r"peak (\d+)", run.stderr).group(1))
    else:
        loud("NOT COUNTED: peak memory: GNU time is missing")
    if instructions and shutil.which("valgrind"):
        words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                 *work.words(*again())]
        run = subprocess.run(words, cwd=work.folder, env=work.environment(), text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, check=True)
        found["instructions"] = int(re.search(r"Collected : (\d+)", run.stderr).group(1))
    elif instructions:
        loud("NOT COUNTED: instructions: valgrind is missing")
    return found


def of_trace(lines, state):
    """As tests/flow/counts.rs counts."""
    calls = syncs = written = 0
    synced_writes = set()
    for line in lines:
        call = re.match(r"\d+ +(\w+)\((.*)", line)
        if not call or call.group(1) in WAITS:
            continue
        name, rest = call.groups()
        calls += 1
        path = re.search(r"<([^>]*)>", rest)
        path = path.group(1) if path else ""
        result = re.search(r" = (\d+)(?:<([^>]*)>)?", rest)
        if name in ("fsync", "fdatasync", "syncfs", "sync", "sync_file_range"):
            syncs += 1
        elif name == "openat" and result and ("O_DSYNC" in rest or "O_SYNC" in rest):
            synced_writes.add(result.group(2))
        elif name in ("write", "pwrite64", "writev") and path.startswith(state):
            written += int(result.group(1)) if result else 0
            syncs += path in synced_writes
    return {"system calls": calls, "syncs": syncs, "bytes written": written}


class Bare:
    """The bare protocol, in a process that keeps its connection and its account."""

    def __init__(self, program, ca):
        words = [program, ca.url, ca.root, str(ca.http)]
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)

    def run(self, certificates, names):
        self.child.stdin.write(f"{certificates} {names}\n")
        self.child.stdin.flush()
        return float(self.child.stdout.readline()), 0.0


class Folder(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Web:
    """A web server of a folder, for the peers that have none, in a process of its own."""

    def __init__(self, folder, port):
        self.process = os.fork()
        if self.process == 0:
            os.chdir(folder)
            http.server.ThreadingHTTPServer(("127.0.0.1", port), Folder).serve_forever()
        for _ in range(500):
            try:
                return socket.create_connection(("127.0.0.1", port)).close()
            except OSError:
                time.sleep(0.01)

    def stop(self):
        os.kill(self.process, 9)
        os.waitpid(self.process, 0)


class Peers:
    """The installed peers: each issues a certificate for one name that is new."""

    def __init__(self, ca, folder, trusted):
        self.ca, self.folder, self.made = ca, folder, 0
        self.web = os.path.join(folder, "web")
        self.tokens = os.path.join(self.web, ".well-known/acme-challenge")
        os.makedirs(self.tokens)
        self.environment = {**os.environ, "HOME": folder, "TMPDIR": folder,
                            "LEGO_CA_CERTIFICATES": ca.root, "REQUESTS_CA_BUNDLE": ca.root,
                            "CURL_CA_BUNDLE": ca.root}
        self.found = {}
        for name in ("uacme", "certbot", "lego", "dehydrated", "acme.sh"):
            if not shutil.which(name):
                loud(f"NOT MEASURED: {name} is not installed")
            elif name == "acme.sh":
                loud("NOT MEASURED: acme.sh: it takes no CA at another port of this machine")
            elif name == "uacme" and not trusted:
                loud("NOT MEASURED: uacme: it believes the system's roots alone; run as root")
            else:
                self.found[name] = getattr(self, name)
        hook = f'#!/bin/sh\ncase $1 in begin) [ "$2" = http-01 ] || exit 1; ' \
               f'printf %s "$5" > {self.tokens}/"$4";; *) rm -f {self.tokens}/"$4";; esac\n'
        write(f"{folder}/hook", hook, 0o755)
        write(f"{folder}/dehydrated", f"CA={ca.url}\nBASEDIR={folder}/d\nWELLKNOWN={self.tokens}\n"
                                 "KEY_ALGO=prime256v1\nCHALLENGETYPE=http-01\n")
        os.makedirs(f"{folder}/d")
        register = {
            "uacme": ["uacme", "-c", f"{folder}/u", "-a", ca.url, "-y", "-t", "EC", "new"],
            "dehydrated": ["dehydrated", "-f", f"{folder}/dehydrated", "--register",
                           "--accept-terms"]}
        for name in list(self.found):
            try:
                if name in register:
                    measured(register[name], folder, self.environment)
                # The first issuance of the others registers the account.
                self.run(name)
            except Failed as error:
                loud(f"NOT MEASURED: {name} fails: {error}")
                del self.found[name]

    def run(self, name):
        """uacme 1.7 stumbles over challenges that it does not know, in some orders: tried again."""
        for left in reversed(range(20)):
            self.made += 1
            try:
                return self.found[name](f"p{self.made}.{name}.test")
            except Failed:
                if left == 0:
                    raise

    def served(self, words):
        web = Web(self.web, self.ca.http)
        try:
            return measured(words, self.folder, self.environment)
        finally:
            web.stop()

    def uacme(self, name):
        return self.served(["uacme", "-c", f"{self.folder}/u", "-a", self.ca.url, "-y", "-t", "EC",
                            "-h", f"{self.folder}/hook", "issue", name])

    def dehydrated(self, name):
        return self.served(["dehydrated", "-f", f"{self.folder}/dehydrated", "-c", "-d", name])

    def certbot(self, name):
        folder = self.folder
        words = ["certbot", "certonly", "--standalone", "--http-01-port", str(self.ca.http),
                 "--server", self.ca.url, "--agree-tos", "--register-unsafely-without-email",
                 "-n", "--key-type", "ecdsa", "--config-dir", f"{folder}/c", "--work-dir",
                 f"{folder}/c", "--logs-dir", f"{folder}/c/log", "-d", name]
        return measured(words, folder, self.environment)

    def lineages(self, count):
        """Gives certbot so many certificates, copies of its first: what `renew` reads of each."""
        base = f"{self.folder}/c"
        first = sorted(os.listdir(f"{base}/live"))
        first = next(name for name in first if os.path.isdir(f"{base}/live/{name}"))
        with open(f"{base}/renewal/{first}.conf") as file:
            settings = file.read()
        for number in range(count - len(os.listdir(f"{base}/renewal"))):
            name = f"copy{number}.certbot.test"
            shutil.copytree(f"{base}/archive/{first}", f"{base}/archive/{name}")
            os.mkdir(f"{base}/live/{name}")
            for part in ("cert", "chain", "fullchain", "privkey"):
                os.symlink(f"../../archive/{name}/{part}1.pem", f"{base}/live/{name}/{part}.pem")
            write(f"{base}/renewal/{name}.conf", settings.replace(first, name))

    def certbot_renew(self):
        words = ["certbot", "renew", "-n", "--no-random-sleep-on-renew", "--config-dir",
                 f"{self.folder}/c", "--work-dir", f"{self.folder}/c", "--logs-dir",
                 f"{self.folder}/c/log"]
        return measured(words, self.folder, self.environment)

    def lego(self, name):
        words = ["lego", "--server", self.ca.url, "--email", "a@example.test", "--accept-tos",
                 "--http", "--http.port", f"127.0.0.1:{self.ca.http}", "--path",
                 f"{self.folder}/l", "--domains", name, "run"]
        return measured(words, self.folder, self.environment)


class Table:
    """The figures, as they are made."""

    def __init__(self):
        self.times, self.counts = {}, {}

    def alternate(self, scene, runs, contenders):
        """Runs each in turn, so that what else the machine does meets all of them."""
        seen = {who: [] for who in contenders}
        for _ in range(runs):
            for who, run in contenders.items():
                seen[who].append(run())
        self.times[scene] = {}
        first = None
        for who, both in seen.items():
            wall, used = ([one[n] for one in both] for n in (0, 1))
            median = statistics.median(wall)
            first = first or median
            self.times[scene][who] = {
                "median": median, "least": min(wall), "most": max(wall),
                "processor": statistics.median(used), "runs": runs}
            print(f"{scene:28} {who:14} {median:9.1f} ms ({min(wall):.1f} … {max(wall):.1f})"
                  f"  processor {statistics.median(used):8.1f} ms   certctl ÷ it {first / median:.2f}",
                  flush=True)

    def count(self, scene, found):
        self.counts[scene] = found
        print(f"{scene:28} " + ", ".join(f"{name} {n}" for name, n in found.items()), flush=True)

    def grown(self, kept):
        """What grew by more than a tenth, the binary by more than a twentieth, and by more than one."""
        for scene, found in self.counts.items():
            part = 20 if scene == "binary" else 10
            for name, now in found.items():
                before = kept.get(scene, {}).get(name)
                if before is not None and now > before + max(before / part, 1):
                    yield f"{scene}: {name}: {now}, kept {before}"


def rooted(ca):
    """Makes this process and its children believe the CA, in a mount namespace of their own."""
    if os.geteuid() != 0 or not os.path.exists(SYSTEM_ROOTS):
        return False
    if ctypes.CDLL(None).unshare(CLONE_NEWNS) != 0:
        return False
    words = [["mount", "--make-rprivate", "/"], ["mount", "--bind", ca.root, SYSTEM_ROOTS]]
    return all(subprocess.run(one, capture_output=True).returncode == 0 for one in words)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("program")
    options.add_argument("bare")
    options.add_argument("--certificates", type=int, default=1000, help="for idle and status")
    options.add_argument("--runs", type=int, default=15)
    options.add_argument("--base", help="an older certctl, to be measured beside")
    options.add_argument("--json", default="target/bench.json")
    options.add_argument("--keep", action="store_true", help="keep the counts of this run")
    options = options.parse_args()
    table = Table()
    load = os.getloadavg()
    print(f"load before: {load}; in turns on one Pebble: median (least … most)", flush=True)
    with tempfile.TemporaryDirectory(dir=os.environ.get("CERTCTL_BENCH_FOLDER")) as folder:
        os.mkdir(os.path.join(folder, "pebble"))
        ca = Pebble(os.path.join(folder, "pebble"))
        # The files that peers remove would slow down certctl's; memory only makes them faster.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else folder
        try:
            with tempfile.TemporaryDirectory(dir=memory) as peers:
                measure(options, ca, folder, peers, table)
        except Failed as error:
            sys.exit(f"tests/bench: {error}")
        finally:
            ca.stop()
    table.counts["binary"] = {"bytes": os.path.getsize(options.program)}
    os.makedirs(os.path.dirname(os.path.abspath(options.json)), exist_ok=True)
    with open(options.json, "w") as file:
        json.dump({"load before": load, "times": table.times, "counts": table.counts}, file,
                  indent=2, sort_keys=True, ensure_ascii=False)
    with open(FIGURES) as file:
        figures = json.load(file)
    if options.keep:
        figures["release"] = table.counts
        with open(FIGURES, "w") as file:
            json.dump(figures, file, indent=2, sort_keys=True, ensure_ascii=False)
            file.write("\n")
        return
    grown = list(table.grown(figures.get("release", {})))
    for line in grown:
        loud(f"GREW TOO MUCH: {line} (--keep keeps the new figures)")
    sys.exit(1 if grown else 0)


def measure(options, ca, folder, peers, table):
    place = lambda name: os.path.join(folder, name)
    programs = {"certctl": os.path.abspath(options.program)}
    if options.base:
        programs["base"] = os.path.abspath(options.base)
    works = {who: Work(program, ca, place(who)) for who, program in programs.items()}
    work = works["certctl"]
    for one in works.values():
        one.run("issue", one.manifest(1, 1, "config"))
    runs = options.runs
    each = lambda *words: {who: (lambda one=one: one.run(*words)) for who, one in works.items()}
    table.alternate("version", runs, each("version"))
    table.count("version", counts(work, lambda: ["version"], True))
    for wait in (0, SETTLED):
        time.sleep(wait)
        for one in works.values():
            for _ in range(3):
                one.run("issue")
    table.alternate("idle, 1 certificate", runs, each("issue"))
    table.count("idle, 1 certificate", counts(work, lambda: ["issue"], True, NO_FLAGS))

    bare = Bare(os.path.abspath(options.bare), ca)
    fresh = lambda one, certificates, names: one.run("issue", one.manifest(certificates, names))
    issuing = lambda certificates, names: {
        **{who: (lambda one=one: fresh(one, certificates, names)) for who, one in works.items()},
        "bare protocol": lambda: bare.run(certificates, names)}
    peers = Peers(ca, peers, rooted(ca))
    beside = {name: (lambda name=name: peers.run(name)) for name in peers.found}
    # Others pause for seconds, after which the machine is slow for whoever comes next.
    quick = {name: run for name, run in beside.items() if name == "uacme"}
    table.alternate("one name", runs, {**issuing(1, 1), **quick})
    slow = {name: run for name, run in beside.items() if name not in quick}
    table.alternate("one name, after pauses", max(runs // 3, 3), {**issuing(1, 1), **slow})
    table.alternate("100 names", runs, issuing(1, 100))
    table.alternate("50 certificates", max(runs // 3, 3), issuing(50, 1))
    for scene, certificates, names in (("one name", 1, 1), ("25 names", 1, 25),
                                       ("100 names", 1, 100), ("50 certificates", 50, 1)):
        # A state of its own: what it holds already is read as well.
        alone = Work(work.program, ca, place(f"counted-{certificates}-{names}"))
        alone.run("issue", alone.manifest(1, 1, "config"))
        table.count(scene, counts(alone, lambda: ["issue", alone.manifest(certificates, names)],
                                  scene == "50 certificates"))

    many = options.certificates
    crowd = {who: Work(program, ca, place(f"{who}-many")) for who, program in programs.items()}
    for one in crowd.values():
        for _ in range(0, many, 100):
            one.manifest(min(many, 100), 1, "config")
    table.alternate(f"{many} first issuances", 1, {
        who: (lambda one=one: one.run("issue")) for who, one in crowd.items()})
    for wait in (0, SETTLED):
        # Of so many, the last may not be asked about in the run that issues them, and the index
        # says nothing of files that have just changed.
        time.sleep(wait)
        for one in crowd.values():
            for _ in range(8):
                one.run("issue")
    renews = {}
    if "certbot" in peers.found and many <= 1000:
        peers.lineages(many)
        renews = {"certbot": peers.certbot_renew}
    for scene, words, beside in ((f"idle, {many}", ["issue"], renews),
                                 (f"status of {many}", ["status"], {}),
                                 (f"status NAME of {many}", ["status", "m1-0"], {})):
        table.alternate(scene, max(runs // 3, 3), {
            **{who: (lambda one=one: one.run(*words)) for who, one in crowd.items()}, **beside})
        table.count(scene, counts(crowd["certctl"], lambda: words, scene != f"status NAME of {many}",
                                  NO_FLAGS))


if __name__ == "__main__":
    main()
