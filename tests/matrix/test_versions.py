"""With every version of torch the same captures end in a comparison; what is lost is said."""

import pytest

from tests.matrix.cells import ROWS

# Gigabytes are fetched, and old versions compile for a minute each.
pytestmark = [pytest.mark.matrix, pytest.mark.timeout(5400)]

# What a version cannot give; everything else must work. The reasons are in the document.
LESS = {
    "2.1": {
        "graph_breaks": "partly",
        "structured_log": "no",
        "compile_seconds": "partly",
        "sources": "no",
    },
    # Its traces have no range around a call of generated code, by which calls are tied to the log.
    "2.6": {"sources": "no"},
    # breaky runs eager beyond the limit of recompiles: what has no graph has no source.
    "newest": {"sources": "partly"},
}


def test_every_command_answers(tried):
    failed = {name: answer.text for name, answer in tried.answers.items() if answer.status}
    assert failed == {}


def test_no_answer_shows_a_traceback(tried):
    assert [name for name, answer in tried.answers.items() if "Traceback" in answer.text] == []


@pytest.mark.parametrize("key", ROWS)
def test_what_works(wanted, result, key):
    cell = result.cells[key]
    assert cell.state == LESS[wanted.name].get(key, "yes"), cell.text


def test_what_is_lost_is_said_and_nothing_is_where_nothing_is(wanted, result):
    said = " ".join(result.lost)
    if wanted.name == "2.1":
        assert "structured log: this torch writes no TORCH_TRACE (2.3 is the first)" in said
        assert "A data-dependent `if` breaks the graph without a line in the log" in said
        assert "cudagraphs is unknown to it" in said
    assert "Use a newer torch" not in said or wanted.name != "newest"
