"""Start the containers for real: the README's line, then the compose file with three people, a kill and a restore.

Needs Docker and docker-compose (Debian: ``docker.io docker-compose debootstrap``), Chromium and the test requirements.
Where no registry can be reached the base image is made by debootstrap and PostgreSQL, Caddy and the provider come from
packages (``deploy/containers``). Usage: ``python .ci/containers.py``; ``CONTAINER_CA`` names a bundle of certificates
that the base image is to trust beside its own.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from numpy.random import default_rng
from playwright.sync_api import Page, sync_playwright
from playwright.sync_api import expect as sees

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.e2e.conftest import ARGUMENTS, CHROMIUM  # noqa: E402  # found by the line above
from tests.e2e.test_browser import settled  # noqa: E402

BASE = "python:3.11-slim-bookworm"
PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
TEAM = "https://sm.localhost:8443"
ROLES = {"cleo": "curator", "ana": "analyst", "reed": "reviewer"}
PROJECT = "second-moment-test"
_PATIENCE = 180.0


def docker(*arguments: str, given: bytes | None = None) -> str:
    """Run docker; return what it printed."""
    legacy = {**os.environ, "DOCKER_BUILDKIT": "0"}
    done = subprocess.run(["docker", *arguments], input=given, capture_output=True, check=False, env=legacy)
    if done.returncode:
        said = done.stdout.decode()[-1000:] + done.stderr.decode()[-1000:]
        raise SystemExit(f"docker {' '.join(arguments[:4])}: {said}")
    return done.stdout.decode().strip()


def wait(description: str, ready: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            if ready():
                return
        except OSError:
            pass
        time.sleep(0.5)
    raise SystemExit(f"{description}: not within {_PATIENCE:.0f} s")


def expect(description: str, so: bool) -> None:
    """Say what was looked at, and end where it is not so."""
    print(f"{'ok' if so else 'NOT SO'}: {description}", flush=True)
    if not so:
        raise SystemExit(1)


def base_image() -> None:
    """Take the base image that is there, pull it, or make it from Debian's packages under the same name."""
    if docker("images", "-q", BASE):
        return
    if subprocess.run(["docker", "pull", "-q", BASE], check=False, capture_output=True).returncode == 0:
        return
    with tempfile.TemporaryDirectory() as folder:
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        root = Path(folder)
        (root / "usr/bin/python").symlink_to("python3")
        shutil.rmtree(root / "var/lib/apt/lists")
        shutil.rmtree(root / "var/cache/apt/archives")
        if bundle := os.environ.get("CONTAINER_CA"):
            shutil.copy(bundle, root / "etc/ssl/certs/ca-certificates.crt")
            (root / "etc/pip.conf").write_text("[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n")
        packed = subprocess.run(["tar", "-C", folder, "-c", "."], check=True, capture_output=True).stdout
        docker("import", "-", BASE, given=packed)


def build() -> None:
    """Build the application's image and the stand-ins of the compose file."""
    base_image()
    docker("build", "--network", "host", "-t", "second-moment", str(ROOT))
    for target in ("db", "proxy", "provider"):
        at = str(ROOT / "deploy" / "containers")
        docker("build", "--network", "host", "--target", target, "-t", f"second-moment-test-{target}", at)
    size = int(docker("image", "inspect", "-f", "{{.Size}}", "second-moment"))
    below = int(docker("image", "inspect", "-f", "{{.Size}}", BASE))
    print(f"image: {size / 1e6:.0f} MB, of which {below / 1e6:.0f} MB are the base")


def alone() -> None:
    """Run the README's line and look: healthy, not root, nothing written outside a volume that stays."""
    line = re.search(r"docker run (--init.*?second-moment)`", (ROOT / "README.md").read_text(), re.DOTALL)
    if line is None:
        raise SystemExit("the README has no docker line")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    volume = f"{PROJECT}-alone"
    words = line[1].replace("second-moment:/data", f"{volume}:/data").replace(":8501:", f":{port}:").split()

    def start() -> str:
        id = docker("run", "-d", *words)
        expect("it starts", docker("inspect", "-f", "{{.State.Running}}", id) == "true")
        wait("health", lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health").read() == b"ok")
        return id

    id = start()
    try:
        user = docker("exec", id, "python", "-c", "import os; print(os.getuid())")
        expect("the process is not root", user == "10001")
        tried = subprocess.run(["docker", "exec", "-u", "0", id, "touch", "/app/x"], capture_output=True, check=False)
        expect("the root is read-only, to root too", tried.returncode != 0 and b"Read-only" in tried.stderr)
        urllib.request.urlopen(f"http://127.0.0.1:{port}/ready")
        cap = ("ledger", "cap", "--dataset", "survey", "--mu", "2")
        docker("exec", id, "python", "-m", "pmtcore", *cap)
        wait("Docker's own health check", lambda: "healthy" in docker("inspect", "-f", "{{.State.Health.Status}}", id))
        print(f"memory: {docker('stats', '--no-stream', '--format', '{{.MemUsage}}', id)}")
        docker("stop", "-t", "20", id)
        ended = docker("inspect", "-f", "{{.State.ExitCode}}", id)  # 143: by the signal that asked; 137: killed
        expect(f"it ends when asked to ({ended})", ended in ("0", "143"))
        docker("rm", id)
        id = start()
        listed = docker("exec", id, "python", "-m", "pmtcore", "ledger", "show", "--json")
        expect("the volume keeps the ledger", "survey" in listed)
    finally:
        docker("rm", "-f", id)
        docker("volume", "rm", volume)


class Compose:
    """Run the compose file with its own settings, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copy(ROOT / "compose.yaml", folder)
        shutil.copytree(ROOT / "deploy", folder / "deploy")
        certificates = folder / "deploy" / "certs"
        certificates.mkdir()
        names = "subjectAltName=DNS:sm.localhost,DNS:id.localhost"
        key, certificate = str(certificates / "key.pem"), str(certificates / "cert.pem")
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key]
        command += ["-out", certificate, "-subj", "/CN=sm.localhost", "-addext", names]
        subprocess.run(command, check=True, capture_output=True)
        lines = {
            "redirect_uri": f"{TEAM}/oauth2callback",
            "cookie_secret": secrets.token_hex(32),
            "client_id": "second-moment",
            "client_secret": secrets.token_hex(16),
            "server_metadata_url": "https://id.localhost:8443/.well-known/openid-configuration",
        }
        text = "[auth]\n" + "".join(f'{name} = "{value}"\n' for name, value in lines.items())
        (folder / "deploy" / "secrets.toml").write_text(text)
        roles = {f"{name}@example.org": role for name, role in ROLES.items()}
        (folder / "deploy" / "roles.json").write_text(json.dumps(roles))
        password = f"p@ss:w/r%d#{secrets.token_hex(8)}"  # none of its characters may matter
        (folder / ".env").write_text(f"PMT_DB_PASSWORD={password}\nPMT_LEDGER_KEY={secrets.token_hex(32)}\n")

    def run(self, *arguments: str) -> str:
        """Run docker-compose; return what it printed."""
        command = ["docker-compose", "-p", PROJECT, "-f", "compose.yaml", "-f", "deploy/containers/compose.yaml"]
        done = subprocess.run([*command, *arguments], cwd=self.folder, capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(f"docker-compose {' '.join(arguments)}: {done.stderr.decode()[-3000:]}")
        return done.stdout.decode().strip()

    def id(self, service: str) -> str:
        """Return the container of a service."""
        return self.run("ps", "-q", service)

    def ledger(self, *arguments: str) -> str:
        """Run the command line inside the application's container; return what it printed."""
        return docker("exec", self.id("app"), "python", "-m", "pmtcore", "ledger", *arguments)

    def healthy(self) -> None:
        """Wait until the application and the database are."""
        for service in ("app", "db"):
            state = ("inspect", "-f", "{{.State.Health.Status}}", self.id(service))
            wait(service, lambda state=state: docker(*state) == "healthy")


def table(rows: int, seed: int) -> bytes:
    """Return a table of two columns and a response."""
    draws = default_rng(seed).normal(size=(rows, 3))
    draws[:, 2] += draws[:, 0] - 0.5 * draws[:, 1]
    return ("a,b,y\n" + "".join(",".join(f"{value:.4f}" for value in row) + "\n" for row in draws)).encode()


def people(compose: Compose) -> None:
    """Sign in as nobody, without a verified address, and in three roles; release as the analyst."""
    sees.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)

        def signed_in(name: str) -> Page:
            page = browser.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 900}).new_page()
            page.goto(f"{TEAM}/release")
            sees(page.get_by_role("button", name="Sign in")).to_be_visible()
            if name:
                page.get_by_role("button", name="Sign in").click()
                page.locator("input[name=sub]").first.fill(name)
                page.get_by_role("button", name="Authorize").click()
                page.wait_for_url(f"{TEAM}/**")
                settled(page)
            return page

        page = signed_in("")
        sees(page.get_by_role("heading", name="Release", exact=True)).to_have_count(0)
        expect("before sign-in there is the sign-in page", page.get_by_test_id("stSidebar").count() == 0)
        page = signed_in("mallory")
        sees(page.get_by_text("has no role here")).to_be_visible()
        expect("an address that is not verified has no role", True)
        page = signed_in("cleo")
        page.goto(f"{TEAM}/budget")
        settled(page)
        sees(page.get_by_text("Register a data set")).to_be_visible()
        expect("the curator signs in and has the forms", True)
        page = signed_in("ana")
        page.goto(f"{TEAM}/data")
        settled(page)
        page.get_by_role("radio", name="Registered").click()
        settled(page)
        sees(page.get_by_text("400").first).to_be_visible()
        page.get_by_role("link", name="Release", exact=True).click()
        settled(page)
        page.get_by_test_id("stCheckbox").filter(has_text="It cannot be taken back").locator("label").click()
        settled(page)
        page.get_by_role("button", name="Release", exact=True).click()
        sees(page.get_by_text("These figures may be published").first).to_be_visible()
        expect("the analyst signs in and releases", True)
        page = signed_in("reed")
        page.goto(f"{TEAM}/budget")
        settled(page)
        sees(page.get_by_text("survey").first).to_be_visible()
        expect("the reviewer reads the ledger", page.get_by_text("Register a data set").count() == 0)
        browser.close()


def team() -> None:
    """Run the compose file and look: three people, a release, everything killed, the database lost and restored."""
    with tempfile.TemporaryDirectory() as folder:
        compose = Compose(Path(folder))
        try:
            compose.run("up", "-d", "--no-build")
            compose.healthy()
            app = compose.id("app")
            for name, rows, seed in (("p", 400, 1), ("b", 60, 2)):
                docker("exec", "-i", app, "sh", "-c", f"cat > /data/{name}.csv", given=table(rows, seed))
            names = ("--dataset", "survey", "--private", "/data/p.csv", "--public", "/data/b.csv", "--mu", "2")
            compose.ledger("register", *names)
            people(compose)
            before = json.loads(compose.ledger("verify", "--json"))
            expect("the ledger is intact and sealed", before["intact"] and before["sealed"])
            for service in ("app", "db"):
                docker("kill", compose.id(service))
                compose.run("up", "-d", "--no-build")
                compose.healthy()
                after = json.loads(compose.ledger("verify", "--json"))
                expect(f"nothing is lost when {service} is killed", after == before)
            key = docker("exec", app, "sh", "-c", "ls /certs; head -c 20 /certs/key.pem 2>&1 || true")
            expect("the application has the certificate and not its key", "BEGIN" not in key and "cert.pem" in key)
            dump = docker("exec", compose.id("db"), "sh", "-c", "pg_dump -h /run/postgresql -U pmt pmt")
            compose.run("down", "-v")
            compose.run("up", "-d", "--no-build", "db")
            wait("db", lambda: docker("inspect", "-f", "{{.State.Health.Status}}", compose.id("db")) == "healthy")
            restore = ("psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", "/run/postgresql", "-U", "pmt", "pmt")
            docker("exec", "-i", compose.id("db"), *restore, given=dump.encode())
            compose.run("up", "-d", "--no-build")
            compose.healthy()
            restored = json.loads(compose.ledger("verify", "--head", before["head"], "--json"))
            # What was noted beside the ledger went with its volume: the head of a record takes its place.
            same = all(restored[name] == before[name] for name in ("intact", "events", "head", "sealed"))
            expect("a dump is restored into a new volume", same)
            memory = docker("stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}")
            print(f"memory:\n{memory}")
        except (Exception, SystemExit):
            print(compose.run("logs", "--tail", "30"), file=sys.stderr)
            raise
        finally:
            compose.run("down", "-v")


if __name__ == "__main__":
    build()
    alone()
    team()
