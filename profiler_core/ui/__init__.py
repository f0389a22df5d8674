"""What pages share: frame, pickers, components, routes; the only stage with streamlit."""
