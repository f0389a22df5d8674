"""One environment and one trial a version, each made once."""

import pytest

from tests.matrix.environments import WANTED, NotPossible, environment
from tests.matrix.results import keep
from tests.matrix.trial import trial


@pytest.fixture(scope="package", params=WANTED, ids=lambda wanted: wanted.name)
def wanted(request):
    """What is asked for."""
    return request.param


@pytest.fixture(scope="package")
def made(wanted):
    """The environment; a version that cannot be had here fails its tests with the reason."""
    try:
        return environment(wanted)
    except NotPossible as problem:
        pytest.fail(str(problem))


@pytest.fixture(scope="package")
def tried(made):
    """All answers of the product about it."""
    return trial(made)


@pytest.fixture(scope="package")
def result(made, tried):
    """What is written into the document."""
    return keep(made, tried)
