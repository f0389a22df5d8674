"""Plotly figures inside one HTML file: the library once, each figure as a script in its place.

Plotly's own encoder writes `<`, `>` and `&` of strings as escapes of JSON, so that no name can
end a script. On paper each figure is drawn anew in the width of the paper,
because its SVG does not shrink.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from plotly.offline import get_plotlyjs

from profiler_core.figures.template import CONFIG, Figure
from profiler_core.markup import Markup

_PAPER_PX = 680  # A4 less the margins of the style sheet, at 96 px an inch

_PRINT = f"""
(function () {{
  var charts = function () {{ return document.querySelectorAll(".js-plotly-plot"); }};
  var width = function (px) {{
    charts().forEach(function (chart) {{ Plotly.relayout(chart, {{width: px, autosize: !px}}); }});
  }};
  window.addEventListener("beforeprint", function () {{ width({_PAPER_PX}); }});
  window.addEventListener("afterprint", function () {{ width(null); }});
  if (location.hash === "#paper") {{ width({_PAPER_PX}); }}
}})();
"""


@dataclass(frozen=True)
class Chart:
    """The script that draws a figure, what it shows, and (label, colour) of its keys."""

    drawn: Markup
    alt: str
    legend: Sequence[tuple[str, str]] = ()


@dataclass
class Charts:
    """Numbers the figures of one document, so that equal contents give an equal file."""

    n: int = field(default=0)

    def chart(self, figure: Figure, alt: str, legend: Sequence[tuple[str, str]] = ()) -> Chart:
        """The next figure of the document.

        Args:
            figure: with its height in the layout; it takes the width of the page.
            alt: what it shows, for whoever does not see it.
            legend: its kinds.
        """
        self.n += 1
        drawn = figure.to_html(
            full_html=False,
            include_plotlyjs=False,
            div_id=f"chart-{self.n}",
            config={**CONFIG, "responsive": True},
            default_width="100%",
        )
        return Chart(Markup(drawn), alt, legend)


PRINT_SCRIPT = Markup(f"<script>{_PRINT}</script>")


def plotly_script() -> Markup:
    """The library, for the head of the document."""
    return Markup(f"<script>{get_plotlyjs()}</script>")
