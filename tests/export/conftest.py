"""The browser that Perfetto's engine runs in, and a home for what is read on the way."""

import pytest

from tests.browser.conftest import browser, profile

__all__ = ["browser", "profile"]


@pytest.fixture(scope="package", autouse=True)
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(tmp_path_factory.mktemp("home")))
        yield
