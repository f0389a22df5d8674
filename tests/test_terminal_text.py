"""What a terminal would act upon is taken from text that came from elsewhere."""

import io
import json
import sys
from pathlib import Path

import pytest

from profiler_core.capture.progress import ProgressLine
from profiler_core.cli.capture_progress import Printer
from profiler_core.cli.main import main
from profiler_core.cli.table import table
from profiler_core.terminal_text import only_printable, printable

# Each steers a terminal: a colour, the title, the clipboard, the 8-bit CSI, another direction.
CODES = ("\x1b[31m", "\x1b]0;title\x07", "\x1b]52;c;eA==\x1b\\", "\x9b2J", "\u202e", "\r", "\b")
EVIL = "a".join(CODES) + "é → 日本"


def is_harmless(text: str) -> bool:
    return not set(text) & set("\x1b\x07\x9b\u202e\r\b\x7f") and "é" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nof two lines: é → 日本 😀 العربية\n", None),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\x\x1b(By\x1bcz", "xyz"),
        ("\x1b]0;without an end", "0;without an end"),
        ("\x1b\x1b[2J", r"\u001b"),
        ("a\x9b2Jb\x85", r"a\u009b2Jb\u0085"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
        ("kept\r\nand \roverwritten\x08\x7f", "kept\nand \\u000doverwritten\\u0008\\u007f"),
        (b"\xff".decode("utf-8", "surrogateescape"), r"\udcff"),  # print would raise
    ],
)
def test_text_as_a_terminal_may_show_it(text: str, shown: str | None) -> None:
    assert printable(text) == (text if shown is None else shown)


def test_hostile_text_without_end_takes_no_time() -> None:
    assert printable("\x1b[" + "1" * 500_000) == "1" * 500_000
    assert printable("\x1b]" * 200_000) == printable("\x1bP" * 200_000) == ""


def test_a_json_document_keeps_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    with only_printable():
        print(json.dumps({EVIL: [EVIL]}, ensure_ascii=False))
    text = capsys.readouterr().out
    assert is_harmless(text) and json.loads(text) == {EVIL: [EVIL]}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream_type", [Terminal, io.StringIO])
def test_progress_of_a_far_machine(
    monkeypatch: pytest.MonkeyPatch, stream_type: type[io.StringIO]
) -> None:
    """Its own codes are all that a line sends to a terminal, also below the guard."""
    bare, guarded = stream_type(), stream_type()
    line = ProgressLine(0.0, "starting", EVIL, None, None, EVIL)
    Printer(bare, clock=lambda: 0.0).show(line)
    monkeypatch.setattr(sys, "stderr", guarded)
    with only_printable():
        Printer(sys.stderr, clock=lambda: 0.0).show(line)
    assert bare.getvalue() == guarded.getvalue()
    own = "\r\x1b[K" if stream_type is Terminal else ""
    assert bare.getvalue().startswith(own) and is_harmless(bare.getvalue().removeprefix(own))


def test_columns_of_a_table_stay_aligned() -> None:
    lines = table(["name", "n"], [["\x1b[31mred\x1b[0m", "1"], ["blue", "2"]]).splitlines()
    assert lines[2:] == ["red   1", "blue  2"]


def traced(path: Path) -> Path:
    """A bare trace with such names, as somebody uploads it."""
    events = [
        {"ph": "X", "cat": "kernel", "name": f"kernel {EVIL}", "ts": 10 + 50 * n, "dur": 30,
         "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7, "correlation": n}}
        for n in range(3)
    ]  # fmt: skip
    ends = {"ph": "X", "cat": "cpu_op", "name": f"op {EVIL}", "ts": 0, "dur": 200}
    path.write_text(json.dumps({"traceEvents": [*events, {**ends, "pid": 1, "tid": 1}]}))
    return path


def test_no_cell_begins_a_row_of_its_own() -> None:
    """`audit` is evidence: a file that is called so would tell of a deed that nobody did."""
    forged = "a.json\n2026-11-23 18:00  Ada  delete  run/1"
    lines = table(["when", "who", "did", "what"], [["17:00", "Bob", "upload", forged]]).split("\n")
    assert len(lines) == 3 and lines[2].startswith("17:00") and "a.json\\n2026" in lines[2]


def test_names_of_an_uploaded_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    eager, compiled = (traced(tmp_path / f"x{n}{EVIL}.json") for n in (1, 2))
    for words in (["summary", str(eager)], ["compare", str(eager), str(compiled)]):
        for option in ([], ["--json"]):
            main([*words, *option])
            shown = capsys.readouterr()
            assert is_harmless(shown.out)
            assert not shown.err


def test_words_of_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / EVIL).write_text("no trace")
    assert main(["summary", str(tmp_path / EVIL)]) == 2
    assert is_harmless(capsys.readouterr().err)
    assert main([EVIL]) == 2
    assert is_harmless(capsys.readouterr().err)


def test_a_log_with_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        f"V0101 00:00:00.000000 1 torch/_dynamo/x.py:1] [0/0] [__graph_breaks] Graph break from "
        f"{EVIL}\nV0101 00:00:00.000000 1 torch/_dynamo/symbolic_convert.py:1] [0/0] "
        f"[__graph_breaks] Graph break in user code at /x/{EVIL}.py:3\n",
        "utf-8",
    )
    main(["logs", str(log)])
    shown = capsys.readouterr()
    assert not set(shown.out + shown.err) & set("\x1b\x07\x9b\u202e\r\b")
