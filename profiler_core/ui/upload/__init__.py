"""Files from a browser to this server, streamed to disk: the drop zone, its route, its panel."""
