import pytest

from profiler_core.ingest.quoted import quoted


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        (b"hi\n", r"“hi\n”"),
        (b'{"schema": 1', '“{"schema": 1”'),
        ("größe".encode(), "“größe”"),
        ("größe".encode()[:3], r"“gr\xc3”"),  # cut within a letter
        (b"\x80\x04\x95\x00", r"“\x80\x04\x95\x00”"),
        (b"\x1b[31mred", r"“\x1b[31mred”"),
        ("\u202eabc".encode(), r"“\u202eabc”"),  # would turn the rest of the sentence around
        (b"", "“”"),
    ],
)
def test_bytes_are_text_where_they_are_and_escapes_where_not(head, shown):
    assert quoted(head) == shown
