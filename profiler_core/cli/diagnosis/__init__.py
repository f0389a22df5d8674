"""The findings of `doctor`, one module a subject."""
