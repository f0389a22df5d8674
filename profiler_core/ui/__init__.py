"""What pages share: the frame around a page, pickers, components, routes; the only importer of streamlit here."""
