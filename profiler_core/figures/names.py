"""Names of kernels and operators for Plotly, which reads some of HTML and of TeX in its labels."""

from html import escape


def plotly_text(name: str) -> str:
    """A name as Plotly shows it: it takes tags for markup, and knows no entity of a quote.

    What stands between two dollars it hands to MathJax, where a notebook has that: a formula may
    hold a link that runs a script.
    """
    return escape(name, quote=False).replace("$", "&#36;")
