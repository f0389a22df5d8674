"""What pytest loads: the fixture `fusionscope`, its marker and its option.

It is loaded by every session of an environment that Fusionscope is installed in, so it imports
nothing but pytest until a test asks for the fixture.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from profiler_core.testing.checks import Fusionscope

_UPDATE = "--fusionscope-update"
_MARKER = (
    "fusionscope(backend=…, by=…, seconds=…): what the fixture `fusionscope` takes in this test "
    "where a check does not say it itself (docs/pytest.md)."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.getgroup("fusionscope").addoption(
        _UPDATE, action="store_true", help="write the snapshots of fused groups anew"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def fusionscope(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[Fusionscope]":
    """Checks of what torch.compile makes of a model; skips where torch is not installed."""
    pytest.importorskip("torch", reason="The fixture fusionscope needs torch.")
    from profiler_core.testing.checks import Fusionscope, Usual

    usual: dict[str, object] = {}
    for marker in reversed(list(request.node.iter_markers("fusionscope"))):  # the nearest wins
        usual |= marker.kwargs
    unknown = sorted(set(usual) - set(Usual.__dataclass_fields__))
    if unknown:
        pytest.fail(
            f"The marker fusionscope takes no {unknown[0]}. "
            f"Use one of {', '.join(Usual.__dataclass_fields__)}.",
            pytrace=False,
        )
    yield Fusionscope(
        Usual(**usual),  # type: ignore[arg-type]  # as the test's author wrote them
        folder=tmp_path_factory.mktemp("fusionscope"),
        test=request.node.name,
        file=request.path,
        writes_snapshots=bool(request.config.getoption(_UPDATE)),
    )
