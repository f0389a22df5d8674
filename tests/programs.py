"""Other programs that tests start: nginx and openssl for the proxy's file, zsh and fish.

`python -m tests.programs` says which are missing, `--install` fetches those first if it can. The
proxy needs its programs, so their absence is a failure; a shell that is not here completes nothing.
"""

import shutil
import sys

from tests.debian import CannotInstallError, install_package

PROXY = {"nginx": "nginx-light", "openssl": "openssl"}  # program -> Debian's package
SHELLS = {"zsh": "zsh", "fish": "fish"}


class NoProgramError(RuntimeError):
    """A program that tests need is not on this machine."""


def find(program: str) -> str:
    """Where a program is.

    Raises:
        NoProgramError: it is missing; the message says how to get it.
    """
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/bin:/bin")
    if path is None:
        package = {**PROXY, **SHELLS}[program]
        raise NoProgramError(
            f"No {program} found. Run `make programs` as root, or install it "
            f"(Debian: apt-get install {package})."
        )
    return path


def _install_missing(programs: dict[str, str]) -> None:
    for program, package in programs.items():
        try:
            find(program)
        except NoProgramError:
            install_package(package, program)


def _main() -> None:
    is_installing = "--install" in sys.argv[1:]
    try:
        if is_installing:
            _install_missing(PROXY)
        print(*map(find, PROXY), sep="\n")
    except (NoProgramError, CannotInstallError) as error:
        sys.exit(str(error))
    try:
        if is_installing:
            _install_missing(SHELLS)
        print(*map(find, SHELLS), sep="\n")
    except (NoProgramError, CannotInstallError) as error:
        print(f"{error} Its completion is not tested.")


if __name__ == "__main__":
    _main()
