"""A few lines of the code around a place."""

from collections.abc import Mapping

from profiler_core.model.compilation import Frame

_EACH_WAY = 4  # lines shown; the capture keeps eight


def lines_around(frame: Frame, lines: Mapping[int, str]) -> list[tuple[int, str, bool]]:
    """(number, text, is it the place) of the lines shown; none where the place was not kept.

    Args:
        frame: the place.
        lines: what was kept of its file, by number.
    """
    if frame.line not in lines:
        return []
    numbers = range(frame.line - _EACH_WAY, frame.line + _EACH_WAY + 1)
    return [(n, lines[n].rstrip(), n == frame.line) for n in numbers if n in lines]
