"""Packages of Debian that the tests install where they are missing, as root."""

import os
import shutil
import subprocess


class CannotInstallError(RuntimeError):
    """The package is missing, and nothing here can install it; the message says who can."""


def install_package(package: str, called: str) -> None:
    """Install it; whoever asked looks whether it is there then.

    Args:
        package: its name.
        called: what people call it.

    Raises:
        CannotInstallError: there is no apt-get, or this is not root.
    """
    if not shutil.which("apt-get"):
        raise CannotInstallError(f"No {called} and no apt-get found. Install {called}.")
    if os.geteuid() != 0:
        raise CannotInstallError(
            f"{called} is missing, and only root can install it: sudo apt-get install -y {package}"
        )
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for argv in (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", package]):
        print("+", " ".join(argv), flush=True)
        subprocess.run(argv, check=False, timeout=900, env=environment)
