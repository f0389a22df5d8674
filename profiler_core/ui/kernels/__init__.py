"""The kernels page: filter, table, and one kernel opened."""
