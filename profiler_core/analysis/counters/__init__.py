"""Hardware counters beside the trace and our own estimates (design 6.10)."""
