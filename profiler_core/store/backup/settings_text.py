"""settings.toml as it goes into a backup: where the database lies is said anew at a restore."""

import re
import tomllib

from profiler_core.worker.environment import is_secret

DATABASE = "database_url"  # a restored server must not work on the database of the first one


def without_secrets(text: str, *, with_secrets: bool) -> str | None:
    """The text without the lines that do not belong into a backup.

    Args:
        text: of settings.toml.
        with_secrets: keep all but the database's URL.

    Returns:
        None where these lines cannot be told from the others.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    unwanted = {
        name
        for name, value in values.items()
        if name == DATABASE
        or (not with_secrets and not isinstance(value, dict) and is_secret(name, str(value)))
    }
    kept = text
    for name in unwanted:
        kept = re.sub(rf"(?m)^[ \t]*{re.escape(name)}[ \t]*=.*(\n|\Z)", "", kept)
    try:
        is_rest = tomllib.loads(kept) == {n: v for n, v in values.items() if n not in unwanted}
    except tomllib.TOMLDecodeError:
        return None
    return kept if is_rest else None
