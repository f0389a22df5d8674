"""Names of kernels and operators escaped for Plotly, which reads some of HTML in its labels."""

from html import escape


def plotly_text(name: str) -> str:
    """A name as Plotly shows it: it takes tags for markup, and knows no entity of a quote."""
    return escape(name, quote=False)
