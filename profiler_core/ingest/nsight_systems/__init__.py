"""`nsys export --type sqlite` -> Trace: the same tables as of a Kineto trace."""
