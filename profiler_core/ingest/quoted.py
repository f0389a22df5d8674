"""The first bytes of a file as people can read them in a message."""


def quoted(head: bytes) -> str:
    r"""In quotation marks, UTF-8 as text; control characters and other bytes as \n and \x80."""
    text = head.decode("utf-8", "backslashreplace")
    characters = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return f"“{''.join(characters)}”"
