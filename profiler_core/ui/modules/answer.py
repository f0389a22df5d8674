"""The page's answer in a line: the most expensive operator, and what the layers changed."""

from profiler_core.analysis.rows.modules import most_expensive
from profiler_core.analysis.rows.server import bucket_name
from profiler_core.ui.modules.data import Shown
from profiler_core.ui.page import FirstLine


def show_answer(shown: Shown, first_line: FirstLine) -> None:
    """Write it in place of the page's question, which stays where no kernel ran."""
    divided = shown.divided
    sentence = most_expensive(
        divided.modules, divided.operators, shown.labels, is_pair=shown.is_pair
    )
    if sentence and shown.bucket is not None:
        sentence = f"Steps of {bucket_name(shown.bucket)}: {sentence}"
    first_line.answer(sentence)
