"""per_name: an answer for each row, asked once a name."""

import polars as pl

from profiler_core.analysis.per_name import per_name


def test_each_row_gets_the_answer_of_its_name() -> None:
    asked: list[str] = []

    def length(name: str) -> int:
        asked.append(name)
        return len(name)

    names = pl.Series("name", ["a", "bbb", "a", None, "bbb"], dtype=pl.Categorical())
    assert per_name(names, length, pl.Int16).to_list() == [1, 3, 1, None, 3]
    assert sorted(asked) == ["a", "bbb"]


def test_names_among_many_of_other_traces() -> None:
    """Codes count the names of all traces that the process has met."""
    others = pl.Series([f"of another trace {n}" for n in range(5000)], dtype=pl.Categorical())
    names = pl.Series("name", ["late a", "late bbb", None, "late a"], dtype=pl.Categorical())
    assert names.to_physical().max() >= others.len()
    lengths = per_name(names, len, pl.Int16)
    assert (lengths.name, lengths.dtype) == ("name", pl.Int16)
    assert lengths.to_list() == [6, 8, None, 6]
    nothing = per_name(names, lambda _name: None, pl.Boolean)
    assert nothing.to_list() == [None] * 4


def test_all_steps_are_asked_about_once() -> None:
    asked: list[str] = []
    names = pl.Series("name", [f"ProfilerStep#{n}" for n in range(100)] + ["x"])
    answers = per_name(names, lambda name: asked.append(name) or name == "x", pl.Boolean)
    assert asked == ["ProfilerStep#0", "x"]
    assert answers.sum() == 1


def test_no_names() -> None:
    empty = pl.Series("name", [], dtype=pl.Categorical())
    assert per_name(empty, len, pl.Int16).to_list() == []
    assert per_name(pl.Series("name", [None], dtype=pl.String), len, pl.Int16).to_list() == [None]
