"""Kinds of contract that import-linter lacks; pyproject.toml states the contracts themselves."""
