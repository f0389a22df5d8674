"""The wheel: both packages, and in `_bundled/` what else lies at the top of the checkout.

`profiler_core/resources.py` looks there first. Everything else about the project is declared in
pyproject.toml; only this mapping of folders cannot be, and what the wheel depends on: that is
listed once, in requirements.txt, whose headings are the extras.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

BUNDLED = "profiler_core._bundled"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")

# What no command of the README needs, so that requirements.txt leaves it out.
EXTRAS = {
    "postgresql": ["psycopg[binary]>=3.1"],  # a history that a team shares
    "s3": ["s3fs"],  # artifacts in a bucket
    "gs": ["gcsfs"],
    "team": ["authlib>=1.3.2", "httpx>=0.25"],  # sign-in on a server for a team, through st.login
    "wandb": ["wandb"],  # fusionscope.integrations.trackers: numbers and reports of comparisons
    "mlflow": ["mlflow-skinny"],
    "tensorboard": ["tensorboard"],
    "dask": ["distributed>=2024.2"],  # `ranks --scheduler`: thousands of ranks on a cluster
}


def sections() -> dict[str, list[str]]:
    """Heading of requirements.txt -> the requirements below it."""
    sections: dict[str, list[str]] = {}
    requirements: list[str] = []
    for line in REQUIREMENTS.read_text("utf-8").splitlines():
        if heading := re.match(r"# \[(\w+)\]", line):
            requirements = sections.setdefault(heading[1], [])
        elif requirement := line.partition("#")[0].strip():
            requirements.append(requirement)
    return sections


def extras(wanted: dict[str, list[str]]) -> dict[str, list[str]]:
    """The extras of the wheel, of which only [all] brings torch."""
    optional = {name: wanted[name] for name in ("capture", "dashboard", "ranks")} | EXTRAS
    server = [*wanted["dashboard"], *EXTRAS["team"], *EXTRAS["postgresql"]]
    everything = [requirement for section in wanted.values() for requirement in section]
    return {**optional, "server": server, "all": everything}


WANTED = sections()

setup(
    install_requires=WANTED["core"],
    extras_require=extras(WANTED),
    packages=[
        *find_packages(include=["fusionscope*", "profiler_core*"]),
        BUNDLED,
        f"{BUNDLED}.docs",
        f"{BUNDLED}.pages",
        f"{BUNDLED}.static",
        f"{BUNDLED}.sample_traces",
    ],
    package_dir={
        BUNDLED: ".",
        f"{BUNDLED}.docs": "docs",
        f"{BUNDLED}.pages": "pages",
        f"{BUNDLED}.static": "static",
        f"{BUNDLED}.sample_traces": "sample_traces",
    },
    package_data={
        "fusionscope": ["py.typed"],
        "profiler_core": ["**/*.html", "**/*.css", "**/*.js"],
        BUNDLED: [".streamlit/config.toml"],
        f"{BUNDLED}.docs": ["*.md", "*.ipynb"],
        f"{BUNDLED}.pages": ["*.py"],
        f"{BUNDLED}.static": ["**/*"],
        f"{BUNDLED}.sample_traces": ["**/*"],
    },
    include_package_data=False,
)
