"""The capture page: form, start, progress, list of jobs."""
