"""Page: what may CI and agents do on this server in one's name? For who signs in."""

from profiler_core.page_specs import PageSpec
from profiler_core.ui.api_tokens.list import show_tokens
from profiler_core.ui.api_tokens.make import ask_for_token
from profiler_core.ui.page import page

SPEC = PageSpec(
    title="API tokens",
    icon=":material/key:",
    question="What may CI and agents do here in your name?",
    section="Runs",
    order=260,
    needs="nothing",
    for_members=True,
)

with page(SPEC):
    ask_for_token()
    show_tokens()
