"""Who can reach this server: only this machine, or others too."""

import logging
import os
import stat
import sys
from pathlib import Path

from streamlit import config
from streamlit.config_option import ConfigOption

from profiler_core.errors import BadInput
from profiler_core.home import HomeAway, claim_home, home_directory
from profiler_core.operate.addresses import is_loopback
from profiler_core.operate.plan import SECRETS
from profiler_core.resources import app_file
from profiler_core.ui.sign_in.needed import is_needed

_log = logging.getLogger(__name__)

_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - an empty address is one to Streamlit


def is_local_server() -> bool:
    """True where the server is bound to the local machine.

    A server where people sign in never is: a proxy beside it may bring anybody.
    """
    return is_loopback(_address()) and not is_needed()


def refuse_public_address() -> None:
    """End the process where others would reach a server that asks nobody to sign in.

    Raises:
        SystemExit: with a sentence for the terminal; also where settings.toml, which may ask for a
            sign-in, cannot be used.
    """
    address = _address()
    if is_loopback(address):
        return
    try:
        if is_needed():
            return
    except BadInput as error:
        sys.exit(f"{error.problem} {error.remedy}")
    named = f"the address {address}" if address else "every address of this machine"
    sys.exit(
        f"Fusionscope does not start on {named}: whoever reaches it could run code as you, and "
        "nobody is asked to sign in. "
        "Use --server.address=localhost, or set up [team] and sign-in (docs/deploy.md)."
    )


def refuse_foreign_secrets() -> None:
    """End the process where Streamlit would read a secrets.toml of the folder it was started in.

    What such a file holds becomes variables of this process and of all that it starts, PATH and
    PYTHONPATH too, and the folder may be somebody else's. The folders of app.py and of the user
    count, and what the command line names; `secrets.files` of that folder's config.toml does not.

    Raises:
        SystemExit: with a sentence for the terminal.
    """
    here = Path.cwd()
    if here.resolve() in (Path.home().resolve(), app_file().parent.resolve()):
        return
    settings = here / SECRETS.with_name("config.toml")
    where = config.get_where_defined("secrets.files")
    if where == str(settings):
        named = settings
    elif where == ConfigOption.DEFAULT_DEFINITION and (here / SECRETS).exists():
        named = here / SECRETS
    else:
        return
    sys.exit(
        f"Fusionscope does not start here: variables of every process would be made of {named}. "
        f"Start it from another folder, or name the file that you mean: --secrets.files={SECRETS}."
    )


def keep_files_private() -> None:
    """From now on only the server's user reads what it writes; the home is closed to others.

    Uploads and caches hold other people's models. What processes of the server write, captures
    too, is as private: they inherit it.
    """
    os.umask(0o077)
    try:
        home = home_directory()
    except HomeAway as away:  # a worker that `serve` starts again, which tries it once more
        sys.exit(str(away))
    try:
        claim_home()
        mode = stat.S_IMODE(home.stat().st_mode)
        if mode & 0o077:
            home.chmod(mode & ~0o077)
    except OSError as error:  # another user's, or read-only: the pages say what cannot be written
        _log.warning("%s stays open to others: %s", home, error.strerror)


def local_url() -> str:
    """Where a browser on this machine finds the server; ends in "/"."""
    address = _address().strip("[]").lower()
    is_usual = address in _EVERYWHERE | {"localhost", "127.0.0.1", "::1"}
    host = "localhost" if is_usual else address
    return f"http://{host}:{config.get_option('server.port')}{base_path()}/"


def base_path() -> str:
    """What stands before every path of this server: "" or "/" and server.baseUrlPath."""
    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""


def _address() -> str:
    return str(config.get_option("server.address") or "")
