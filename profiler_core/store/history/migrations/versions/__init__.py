"""One file a schema, oldest first. A file that was released is never changed."""
