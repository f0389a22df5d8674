"""Dossiers of kernels whose names are hostile: a trace comes from anybody."""

import gzip
import json
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest

from profiler_core.analysis.item import (
    kernel_item,
    module_item,
    operator_item,
    read_item,
    source_item,
)
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.ui.dossier.draw import dossier_html
from tests.session.test_dossier import BARE

NAMES = (
    "<script>alert(1)</script>",
    """a" onmouseover="alert(1)' x='<img src=x onerror=alert(1)>""",
    "100 %s %d %(name)s {name} {{ item }} {% raw %}",
    "a&amp;b &lt;i&gt; & c",
    "two\nlines\r\n\tand a tab",
    "kernel~" + "x<\"'&%" * 1600,  # longer ones are cut on reading
    "_ZN" + "4<img" * 1900,
)


class Reader(HTMLParser):
    """The tags, attributes, title and whole name of a page.

    Attributes:
        title: the text of the heading.
        whole: the first paragraph that is opened by "in full", "" where the heading is not cut.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.title = self.whole = ""
        self._read = ""
        self._is_folded = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "wbr":
            return
        self._read = "title" if tag == "h2" else ""
        if tag == "p" and self._is_folded:
            self._read, self._is_folded = "whole", False

    def handle_endtag(self, tag: str) -> None:
        self._read = ""

    def handle_data(self, data: str) -> None:
        if self._read == "title":
            self.title += data
        elif self._read == "whole":
            self.whole += data
        elif data == "in full" and not self.whole:
            self._is_folded = True


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """A capture whose first kernels have these names."""
    trace = json.loads(gzip.decompress(BARE.read_bytes()))
    kernels = {event["name"] for event in trace["traceEvents"] if event.get("cat") == "kernel"}
    renamed = dict(zip(sorted(kernels), NAMES, strict=False))
    for event in trace["traceEvents"]:
        event["name"] = renamed.get(event.get("name"), event.get("name"))
    path = tmp_path_factory.mktemp("hostile") / "trace.json"
    path.write_text(json.dumps(trace))
    return Comparison.open([path])


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:16])
def test_the_name_is_text_and_nothing_else(hostile: Comparison, name: str) -> None:
    harmless = next(row.name for row in hostile.kernels if row.name not in NAMES)
    plain = Reader(str(dossier_html(dossier(hostile, kernel_item(harmless)))))
    page = Reader(str(dossier_html(dossier(hostile, kernel_item(name)))))
    assert (page.whole or page.title).split() == name.split()
    if page.whole:
        start, end = page.title.split("…")
        assert name.startswith(start) and name.endswith(end)
    assert page.tags <= plain.tags | {"br", "wbr", "small", "span", "b", "details", "summary", "p"}
    assert not any(attribute.startswith("on") for attribute in page.attributes)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:16])
def test_an_address_names_it_and_is_short(name: str) -> None:
    for item_of in (kernel_item, operator_item, module_item, source_item):
        item = item_of(name)
        assert read_item(item.text) == item
        assert item != item_of(f"{name}x")
        assert len(urlencode({"item": item.text})) < 600
