"""The shipped nginx.conf in a real nginx, in front of whatever listens here."""

import re
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.attack.servers import ROOT, free_port
from tests.programs import find

CONF = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
NAME = "fusionscope.example.org"


@contextmanager
def nginx(folder: Path, ports: Sequence[int], path: str) -> Iterator[tuple[int, int]]:
    """Its plain and its TLS port.

    Args:
        folder: an empty one, for its files.
        ports: of the workers.
        path: below which the dashboard is, "/" or "/fusionscope/".

    Raises:
        NoProgramError: nginx or openssl is missing.
    """
    program, openssl = find("nginx"), find("openssl")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-keyout", key, "-out", certificate, "-subj", f"/CN={NAME}"],
        check=True, capture_output=True,
    )  # fmt: skip
    plain, secure = free_port(), free_port()
    text = re.sub(r".*listen \[::\].*\n", "", CONF)  # a machine may have no IPv6
    for shipped, here in {
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl;": f"listen 127.0.0.1:{secure} ssl;",
        "/etc/ssl/certs/fusionscope.pem": str(certificate),
        "/etc/ssl/private/fusionscope.key": str(key),
        "server 127.0.0.1:8501;": "".join(f"server 127.0.0.1:{port};" for port in ports),
        "location /": f"location {path}",
    }.items():
        assert shipped in text
        text = text.replace(shipped, here)
    (folder / "site.conf").write_text(text)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {paths} include {folder}/site.conf; }}\n"
    )
    command = [program, "-p", str(folder), "-e", str(folder / "error.log"),
               "-c", str(folder / "nginx.conf")]  # fmt: skip
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr.replace('"user" directive', ""), checked.stderr
    process = subprocess.Popen(command)
    try:
        wait_for_port(secure)
        yield plain, secure
    finally:
        process.terminate()
        process.wait(30)


def wait_for_port(port: int) -> None:
    """Until something listens there."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on {port}")
