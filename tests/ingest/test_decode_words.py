"""A pid or tid that is a word is none, and does not make its piece be read twice."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from profiler_core.ingest.kineto import decode
from profiler_core.ingest.kineto.decode import DuckDbDecoder

EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1.5, "dur": 2.0}


@pytest.fixture(scope="module")
def decoder():
    decoder = DuckDbDecoder()
    yield decoder
    decoder.close()


def _text(events: list[dict[str, object]], separators: tuple[str, str] | None = None) -> bytes:
    return json.dumps(events, separators=separators)[1:-1].encode()


def _as_text_says(decoder: DuckDbDecoder, events: bytes):
    return decoder._read(events, typed=False)


@pytest.mark.parametrize("separators", [None, (",", ":")])
def test_words_are_read_once(decoder, monkeypatch, separators):
    events = _text(
        [
            EVENT | {"pid": 7, "tid": 8},
            EVENT | {"pid": "Spans", "tid": "PyTorch Profiler"},
            EVENT | {"pid": "", "tid": ""},
        ],
        separators,
    )
    expected = _as_text_says(decoder, events)
    monkeypatch.setattr(decode, "_TEXT_QUERY", "no query")
    found = decoder.decode(events)
    assert_frame_equal(found, expected)
    assert found["pid"].to_list() == [7, None, None]
    assert found["tid"].to_list() == [8, None, None]


def test_words_with_digits_are_still_their_number(decoder):
    events = _text([EVENT | {"pid": 0, "tid": "stream 7"}, EVENT | {"pid": "", "tid": "8"}])
    assert decoder.decode(events)["tid"].to_list() == [7, 8]


def test_texts_that_look_like_a_key_stay(decoder):
    name = 'a "pid": "" b, "tid":"x"'
    found = decoder.decode(_text([EVENT | {"name": name, "pid": "", "tid": 3}]))
    assert found["name"].to_list() == [name]
    assert found["tid"].to_list() == [3]


WORDS = st.one_of(
    st.integers(0, 99), st.text(max_size=8), st.sampled_from(["", "Spans", "stream 7", "-1", '"'])
)


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(st.tuples(st.text(max_size=12), WORDS, WORDS), min_size=1, max_size=6),
)
def test_any_words_say_what_reading_all_as_text_says(decoder, rows):
    events = _text([EVENT | {"name": name, "pid": pid, "tid": tid} for name, pid, tid in rows])
    assert_frame_equal(decoder.decode(events), _as_text_says(decoder, events))


@pytest.mark.parametrize(
    ("text", "n_looks"),
    [(b'{"pid": 1, "tid": 2}', 1), (b'{"pid":1,"tid":2}', 1), (b'{"pid":1,"tid": 2}', 2),
     (b'{"ts": 1}', 2)],
)  # fmt: skip
def test_the_text_is_searched_for_the_spacing_of_its_writer(text, n_looks):
    assert len(decode._text_marks(bytearray(text))) == n_looks


def test_words_after_another_spacing_are_none_too(decoder):
    spaced = _text([EVENT | {"pid": 7, "tid": 8}] * 60)
    close = _text([EVENT | {"pid": "Spans", "tid": "PyTorch Profiler"}], (",", ":"))
    events = spaced + b"," + close
    assert len(spaced) > decode._STYLE_BYTES
    wide = decoder.decode(events)
    assert wide["pid"].to_list() == [7] * 60 + [None]
    assert wide["tid"].to_list() == [8] * 60 + [None]
    assert_frame_equal(wide, _as_text_says(decoder, events))
