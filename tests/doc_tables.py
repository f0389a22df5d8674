"""`make tables`: the tables of docs/ that follow from declarations; a test compares them."""

import re
from pathlib import Path

from profiler_core.capture.child.backends import BACKENDS
from profiler_core.capture.option import declared
from profiler_core.capture.spec import CaptureSpec

DOCS = Path(__file__).resolve().parents[1] / "docs"

_EAGER = ("`eager`", "torch", "", "torch 2.15.0", "everything", "")
_ANY_OTHER = (
    "`backend:NAME`",
    "your own code registers it",
    "passed on as they are",
    "torch 2.15.0",
    "as onnxrt; where its graphs run PyTorch's operators, these are shown instead",
    "",
)


def backends_table():
    """One row for each declared backend, between eager and those that nobody declared."""
    rows = [_EAGER]
    for backend in BACKENDS:
        about = backend.documented
        names = [name if name in backend.offered else f"backend:{name}" for name in backend.names]
        takes = [
            f"`{option.shown_key}`" + (f" ({option.about})" if option.kind == "table" else "")
            for option in backend.options
        ]
        takes += [about.takes] if about.takes else []
        rows.append(
            (
                about.label or ", ".join(f"`{name}`" for name in names),
                about.needs,
                "none" if backend.takes == "none" else ", ".join(takes),
                about.tried,
                about.measured,
                about.not_measured,
            )
        )
    head = ("backend", "needs", "options (`+KEY=VALUE`)", "tried", "measured", "not measured")
    return _table(head, [*rows, _ANY_OTHER])


def options_table():
    """One row for each option of a capture."""
    rows = []
    for entry in declared(CaptureSpec).values():
        flag = entry.name if entry.about.positional else f"`{entry.flag}`"
        words = "switch" if entry.kind == "switch" else entry.about.metavar or entry.kind
        rows.append(
            (
                f"`{flag.strip('`')}`",
                {"own": "text", "choices": "text"}.get(words, words),
                "on" if entry.default is True else entry.default_text,
                f"{'leaves out: ' if entry.default is True else ''}{entry.help}",
                f"*{entry.label}*" if entry.about.on_page else "",
                f"`{entry.name}`",
            )
        )
    head = ("option", "value", "default", "what it does", "on the page", "for agents, run.json")
    return _table(head, rows)


TABLES = {
    ("backends.md", "backends"): backends_table,
    ("capture.md", "options"): options_table,
}


def written(page, name):
    """The text of the page with this table as it is declared now."""
    text = (DOCS / page).read_text("utf-8")
    start, end = f"<!-- {name}: written by make tables -->\n", "<!-- end -->"
    pattern = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
    table = TABLES[page, name]()
    text, n = pattern.subn(lambda _: f"{start}\n{table}\n{end}", text)
    assert n == 1, f"docs/{page} has {n} places for the table {name}"
    return text


def _table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") + "\n" for cells in lines)


def main():
    """Write all of them."""
    for page, name in TABLES:
        (DOCS / page).write_text(written(page, name), "utf-8")


if __name__ == "__main__":
    main()
