"""A comparison as a document: one HTML file, Markdown, a PDF, tables.

    contents = gather(comparison, materials)          # or redacted(gather(…), secrets)
    write_html(contents) -> str · markdown(contents) -> str · pdf(html) -> bytes · tables(contents)

Every number and sentence comes from `analysis`, as on the pages; nothing is computed here.
"""
