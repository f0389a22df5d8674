"""Hardware counters beside the trace and our own estimates (docs/counters.md)."""
