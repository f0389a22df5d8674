"""Does this server ask its visitors to sign in?"""

from streamlit.auth_util import get_secrets_auth_section

from profiler_core.settings import settings


def is_needed() -> bool:
    """True with `[team]` in settings.toml or `[auth]` in Streamlit's secrets.toml.

    Either is enough: of a server that is set up by half nobody sees anything.

    Raises:
        BadInput: settings.toml cannot be used; nothing is shown then either.
    """
    return settings().team is not None or is_provider_known()


def is_provider_known() -> bool:
    """Can anybody sign in at all?"""
    return bool(get_secrets_auth_section())
