"""Foreign text in Markdown: what GitHub would act upon is shown instead."""

import pytest

from profiler_core.markdown_text import document


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("@a &#64;b &commat;c \\@d", "&#64;&#8203;a &#64;&#8203;b &#64;&#8203;c &#64;&#8203;d"),
        ("#1 &#35;&#49; a/b#3 &#4", "&#35;&#8203;1 &#35;&#8203;1 a/b&#35;&#8203;3 &&#35;&#8203;4"),
        ("GH-4 gh\\-5 &#71;H-6", "GH-&#8203;4 gh-&#8203;5 GH-&#8203;6"),
        ("[x](//e) ![i](//e)", "[x]&#8203;(//e) ![i]&#8203;(//e)"),
        ("[x][y]\n[y]: //e", "[x]&#8203;[y]\n[y]&#8203;: //e"),
        ("https://e www.e.com https\\://e", "https&#58;//e www&#46;e.com https&#58;//e"),
        (
            "<img src=x> <!-- m --> <SUB onclick=x>",
            "&lt;img src=x> &lt;!-- m --> &lt;SUB onclick=x>",
        ),
        ("```mermaid\nx\n~~~geojson", "```\nx\n~~~"),
        ("- ```mermaid\nx\n> 1. ~~~geojson", "- ```\nx\n> 1. ~~~"),
        ("&#&#54;4;a &\\#64;b &#3&#53;;1", "&amp;#64;a &amp;#64;b &amp;#35;1"),
        ("_www.e.com _GH-4 high-4", "_www&#46;e.com _GH-&#8203;4 high-4"),
        ("a\u202eb\x1b[31m\x00", "ab[31m"),
    ],
)
def test_what_would_be_active_is_text(text: str, shown: str) -> None:
    assert document(text) == shown


def test_what_reports_are_made_of_stays() -> None:
    text = (
        "### ✅ The gate\n\n| a | b |\n|---|---:|\n| 1.0\u202fms | **+5\u00a0%** |\n\n"
        "1. *x* `y` a&#124;b 12:30\n\n<sub>Fusionscope</sub>\n"
    )
    assert document(text) == text
