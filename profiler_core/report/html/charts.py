"""Plotly figures inside one HTML file: the library once, each figure as a script in its place.

Plotly's own encoder writes `<`, `>` and `&` of strings as escapes of JSON, so that no name can
end a script. On paper each figure is drawn anew in the width of the paper,
because its SVG does not shrink.
"""

from dataclasses import dataclass, field
from html import escape

from plotly.offline import get_plotlyjs

from profiler_core.figures.template import CONFIG, Figure

_PAPER_PX = 680  # A4 less the margins of the style sheet, at 96 px an inch

_PRINT = f"""
(function () {{
  var charts = function () {{ return document.querySelectorAll(".js-plotly-plot"); }};
  var width = function (px) {{
    charts().forEach(function (one) {{ Plotly.relayout(one, {{width: px, autosize: !px}}); }});
  }};
  window.addEventListener("beforeprint", function () {{ width({_PAPER_PX}); }});
  window.addEventListener("afterprint", function () {{ width(null); }});
  if (location.hash === "#paper") {{ width({_PAPER_PX}); }}
}})();
"""


@dataclass
class Charts:
    """Numbers the figures of one document, so that equal contents give an equal file."""

    n: int = field(default=0)

    def html(self, figure: Figure, alt: str) -> str:
        """The place of a figure, and the script that draws it.

        Args:
            figure: with its height in the layout; it takes the width of the page.
            alt: what it shows, for whoever does not see it.
        """
        self.n += 1
        drawn = figure.to_html(
            full_html=False,
            include_plotlyjs=False,
            div_id=f"chart-{self.n}",
            config={**CONFIG, "responsive": True},
            default_width="100%",
        )
        return f'<div class=chart role=img aria-label="{escape(alt)}">{drawn}</div>'


def plotly_script() -> str:
    """The library, for the head of the document."""
    return f"<script>{get_plotlyjs()}</script>"


def print_script() -> str:
    """Fits the figures to the paper; stands at the end of the document."""
    return f"<script>{_PRINT}</script>"
