"""An OpenID Connect provider of its own for the tests, from the package oidc-provider-mock.

A process: the package warns of its own dependencies, and here warnings are errors.
"""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote

from tests.browser.conftest import free_port

COOKIE_SECRET = "only-for-tests-and-long-enough-to-sign-with"
_START_TIMEOUT_S = 300.0


@contextmanager
def running_provider(people: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Its address, as long as the block runs.

    Args:
        people: subject -> claims of everybody it knows; a sign-in is one click on the subject.
    """
    port = free_port()
    words = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)]
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}/.well-known/openid-configuration", process)
        for subject, claims in people.items():
            _put(f"{url}/users/{quote(subject)}", claims)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def secrets_toml(provider: str) -> str:
    """Streamlit's secrets for this provider; {port} is filled in by Streamlit."""
    return f"""[auth]
redirect_uri = "http://localhost:{{port}}/oauth2callback"
cookie_secret = "{COOKIE_SECRET}"
client_id = "fusionscope"
client_secret = "any"
server_metadata_url = "{provider}/.well-known/openid-configuration"
"""


def _put(url: str, claims: Mapping[str, object]) -> None:
    request = urllib.request.Request(
        url,
        json.dumps(claims).encode(),
        {"Content-Type": "application/json"},
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=10):
        pass


def _wait(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"The provider ended with {process.returncode}.")
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("The provider did not start.")
