"""Inductor's generated code and graphs, from structured logs."""
