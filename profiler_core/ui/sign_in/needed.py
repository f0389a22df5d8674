"""Does this server ask its visitors to sign in?"""

import os

from streamlit import config
from streamlit.auth_util import get_secrets_auth_section
from streamlit.runtime.secrets import secrets_singleton

from profiler_core.errors import BadInput
from profiler_core.settings import settings


def is_needed() -> bool:
    """True with `[team]` in settings.toml or `[auth]` in Streamlit's secrets.toml.

    Either is enough: of a server that is set up by half nobody sees anything.

    Raises:
        BadInput: settings.toml or secrets.toml cannot be used; nothing is shown then either.
    """
    return settings().team is not None or is_provider_known()


def is_provider_known() -> bool:
    """Can anybody sign in at all?

    Raises:
        BadInput: a secrets.toml is there and cannot be used; it may ask for a sign-in.
    """
    try:
        if get_secrets_auth_section():
            return True
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        path = getattr(error, "filename", None) or _secrets_file() or "Streamlit's secrets.toml"
        raise BadInput(
            f"{path} cannot be read: {why}.",
            remedy="Make it readable to the user who runs the server, or remove it.",
        ) from error
    path = _secrets_file()
    if path and not secrets_singleton.load_if_toml_exists():
        raise BadInput(
            f"{path} cannot be understood.",
            remedy="Write it as TOML, as deploy/secrets.toml is, or remove it.",
        )
    return False


def _secrets_file() -> str | None:
    """The first that Streamlit is told to read and that is there."""
    paths: list[str] = config.get_option("secrets.files")
    return next((path for path in paths if os.path.isfile(path)), None)  # noqa: PTH113
