"""All results about one run, and about a baseline with its candidates; every surface uses them."""
