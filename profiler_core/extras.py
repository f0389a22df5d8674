"""What an extra of the installation brings, and the sentence for who lacks it."""

from importlib.util import find_spec

from profiler_core.errors import BadInput

# Extra -> the modules by whose absence it is known; requirements.txt says what each is for.
_MODULES = {
    "dashboard": ("streamlit", "pandas"),
    "ranks": ("hta", "pandas"),
    "server": ("streamlit", "pandas", "authlib", "httpx"),
}


def require(extra: str, purpose: str) -> None:
    """Raise unless the modules of the extra can be found; they are not imported.

    Args:
        extra: of the installation, "dashboard".
        purpose: what needs it, "The dashboard".

    Raises:
        BadInput: one is not installed.
    """
    modules = missing(extra)
    if modules:
        raise BadInput(
            f"{purpose} needs {' and '.join(modules)}, not installed here.", remedy=how_to(extra)
        )


def missing(extra: str) -> tuple[str, ...]:
    """The modules of the extra that cannot be found; none is imported."""
    return tuple(module for module in _MODULES[extra] if find_spec(module) is None)


def how_to(extra: str) -> str:
    """The remedy for a missing extra."""
    return (
        f"Install Fusionscope with its extra [{extra}]: "
        f'pip install ".[{extra}]" in the checkout, or "path/to/fusionscope-….whl[{extra}]".'
    )
