"""The environment of a process that the server starts: everything but the server's secrets.

What a trace, a model or a browser can read must not hold the password of the database, the key
of the artifacts or the secret that signs cookies.
"""

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

from profiler_core.home import VARIABLE as HOME

# What a module of ours may ask for: the history's database, or the remote stores of artifacts
# and ranks.
Need = Literal["database", "remote"]

_DATABASE = re.compile(r"FUSIONSCOPE_DATABASE_URL|PG[A-Z]+")
_REMOTE = re.compile(
    r"FUSIONSCOPE_ARTIFACTS_URL|"
    r"(AWS|GOOGLE|GCS|GCP|AZURE|FSSPEC|BOTO|S3|MINIO|OSS|HF)_.*|HUGGING_FACE_HUB_TOKEN"
)
_OF_NEED: Mapping[Need, re.Pattern[str]] = {"database": _DATABASE, "remote": _REMOTE}
# Variables of the server itself, which no child gets, on a person's own machine neither.
_OF_THE_SERVER = re.compile(
    r"FUSIONSCOPE_((DATABASE|ARTIFACTS|WEBHOOK)_URL|(METRICS_)?TOKEN|MAIL_PASSWORD)|PG[A-Z]+|"
    r"STREAMLIT_.*"
)
_CREDENTIAL = re.compile(
    r"SECRET|PASSW(OR)?D|PASSPHRASE|TOKEN|CREDENTIAL|WEBHOOK|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_DSN$|"
    r"^(AWS|GOOGLE|GCS|GCP|AZURE)_|^SSH_AUTH_SOCK$"
)
_URL_WITH_PASSWORD = re.compile(r"://[^/@\s:]*:[^/@\s]+@")


def child_environment(
    needs: Collection[Need] = (),
    *,
    kept_names: Collection[str] = (),
    is_own_machine: bool = False,
    inherited: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The variables that a child gets.

    Args:
        needs: what the module that is started must reach; the variables for it stay.
        kept_names: names of further variables that stay, as the owner of the server decided.
        is_own_machine: the child runs the code of the person whose variables these are: only what
            belongs to the server goes, and a HF_TOKEN stays, as it would in that person's shell.
        inherited: what this process has itself.
    """
    variables = {
        name: value
        for name, value in inherited.items()
        if name in kept_names
        or any(_OF_NEED[need].fullmatch(name) for need in needs)
        or not (_OF_THE_SERVER.fullmatch(name) or (not is_own_machine and is_secret(name, value)))
    }
    if variables.get(HOME):  # a child works in another folder, and must not have another home
        variables[HOME] = str(Path(variables[HOME]).expanduser().resolve())
    return variables


def is_secret(name: str, value: str) -> bool:
    """Does a variable or setting of this name and value hold a credential?"""
    return bool(_CREDENTIAL.search(name.upper()) or _URL_WITH_PASSWORD.search(value))
