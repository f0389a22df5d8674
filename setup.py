"""The wheel: the package, and beside it in `_bundled/` what lies at the top of the checkout.

`profiler_core/resources.py` looks there first. Everything else about the project is declared in
pyproject.toml; only this mapping of folders cannot be.
"""

from setuptools import find_packages, setup

BUNDLED = "profiler_core._bundled"

setup(
    packages=[
        *find_packages(include=["profiler_core*"]),
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
        "profiler_core": ["**/*.html", "**/*.css", "**/*.js"],
        BUNDLED: [".streamlit/config.toml"],
        f"{BUNDLED}.docs": ["*.md"],
        f"{BUNDLED}.pages": ["*.py"],
        f"{BUNDLED}.static": ["**/*"],
        f"{BUNDLED}.sample_traces": ["**/*"],
    },
    include_package_data=False,
)
