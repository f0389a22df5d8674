"""The script behind every page: title, logo, menu. Which page runs is the URL's choice.

Streamlit executes this file anew on each interaction; it must stay cheap.
"""

import streamlit as st

from profiler_core.resources import static_directory
from profiler_core.ui.menu import menu
from profiler_core.ui.sign_in.card import signed_in_menu
from profiler_core.ui.sign_in.guard import let_in
from profiler_core.ui.sign_in.wanted import go_on

st.set_page_config(
    page_title="Fusionscope",
    page_icon=str(static_directory() / "icon.png"),  # a :material: icon would fetch a font
    layout="wide",
    initial_sidebar_state="auto",
)
_shade = "dark" if st.context.theme.type == "dark" else "light"
st.logo(
    str(static_directory() / f"wordmark_{_shade}.png"),
    icon_image=str(static_directory() / "icon.png"),
    size="large",
)
_visitor = let_in()  # before any page is known
signed_in_menu(_visitor)
_page = st.navigation(
    menu(for_admin=_visitor.role == "admin", for_member=bool(_visitor.holder)), expanded=True
)
if _visitor.holder:
    go_on()
_page.run()
