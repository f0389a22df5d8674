"""Which setting is fastest: what is tried next, which one leads, which lever is responsible."""
