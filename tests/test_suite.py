"""What the order of the suite and the start of its workers rest on."""

import pytest

from tests.conftest import LONGEST, TESTS
from tests.lazily import Lazily


@pytest.mark.parametrize("name", LONGEST)
def test_a_file_that_is_ordered_exists(name):
    assert (TESTS / name).is_file()


def test_a_late_import_waits_for_its_first_use_when_pytest_looks_for_fixtures():
    late = Lazily("no_such_module")
    for asked in ("__bases__", "__test__", "__wrapped__", "_mock_name"):
        assert getattr(late, asked, None) is None
    with pytest.raises(ModuleNotFoundError):
        late.anything  # noqa: B018
