"""Options that cannot be are refused when the Recorder is made; docs/recorder.md names all."""

import ast
import re
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.record import Recorder
from profiler_core.record.logs import _append_rest, _taken
from profiler_core.record.plan import Plan

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "recorder.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rounds": -1}, "Recorder(rounds=-1) is too small. Pass 0 or more."),
        ({"warm_up_floor": 9, "warm_up_ceiling": 3}, "floor 9 lies above its ceiling 3"),
        ({"round": 3}, "Recorder has no option round. Use one of skip_steps,"),
    ],
)
def test_what_cannot_be_is_said(options, sentence):
    with pytest.raises(BadInput) as caught:
        Recorder("runs", "w", "v", **options)
    assert sentence in str(caught.value)


def test_steps_outside_of_a_recording_do_nothing(tmp_path):
    recorder = Recorder(tmp_path, "w", "v")
    recorder.step()
    recorder.close()
    assert list(tmp_path.iterdir()) == []
    assert not recorder.is_done


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(BadInput) as caught:
        Recorder(tmp_path / "runs", "w", "v").start()
    assert f"A run cannot be written into {tmp_path / 'runs'}: Not a directory." in str(
        caught.value
    )


def test_every_option_is_explained():
    missing = [name for name in Plan.__dataclass_fields__ if f"`{name}" not in DOCS]
    assert [name for name in missing if name not in ("profile", "stacks", "memory_snapshot")] == []
    for name in ("profile=False", "stacks=True", "memory_snapshot=True"):
        assert name in DOCS


def test_the_examples_are_python():
    blocks = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        assert "recorder" in block
        ast.parse(block)


def test_a_second_recording_takes_the_rest_of_a_log_and_the_names_of_all(tmp_path):
    source = tmp_path / "log"
    source.write_bytes(b'V {"str": ["a.py", 0]}\nV {"first": 0}\n')
    _append_rest(source, tmp_path / "1", keep=b'{"str": ')
    with source.open("ab") as file:
        file.write(b'V {"str": ["b.py", 1]}\nV {"second": 1}\n')
    _append_rest(source, tmp_path / "2", keep=b'{"str": ')
    assert (tmp_path / "1").read_text() == 'V {"str": ["a.py", 0]}\nV {"first": 0}\n'
    assert (tmp_path / "2").read_text() == (
        'V {"str": ["a.py", 0]}\nV {"str": ["b.py", 1]}\nV {"second": 1}\n'
    )
    _taken.clear()
