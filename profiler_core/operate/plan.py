"""What is to be served, where, and the command line of each of its processes."""

from dataclasses import dataclass
from pathlib import Path

from profiler_core.resources import dashboard_words

SECRETS = Path(".streamlit") / "secrets.toml"


@dataclass(frozen=True)
class Plan:
    """A server for a team.

    name: what people type, without https://; empty where neither the command line nor redirect_uri
    says. base_path: below which it lies, "fusionscope", or empty. is_behind_proxy: a proxy
    elsewhere speaks TLS, so an address that others reach is meant.
    """

    name: str
    secrets: Path
    address: str = "127.0.0.1"
    port: int = 8501
    base_path: str = ""
    n_workers: int = 1
    is_behind_proxy: bool = False

    @property
    def ports(self) -> range:
        """One for each worker."""
        return range(self.port, self.port + self.n_workers)

    def command(self, port: int) -> list[str]:
        """The command line of the worker at this port."""
        return dashboard_words(
            "--server.headless=true",
            f"--server.address={self.address}",
            f"--server.port={port}",
            f"--server.baseUrlPath={self.base_path}",
            f"--browser.serverAddress={self.name}",
            f"--secrets.files={self.secrets.absolute()}",
            "--browser.gatherUsageStats=false",
            "--logger.hideWelcomeMessage=true",
        )


def usual_secrets() -> Path:
    """Where Streamlit looks: in this folder, else in the user's own."""
    in_home = Path.home() / SECRETS
    return in_home if in_home.is_file() and not SECRETS.is_file() else SECRETS
