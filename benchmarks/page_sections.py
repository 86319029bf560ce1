"""Generated sections of Markdown pages, between two comments."""


def replace_section(text: str, begin: str, end: str, content: str) -> str:
    """Replace the text between two comments of a page.

    Example:
        >>> replace_section("a <!-- x -->old<!-- y --> b", "<!-- x -->", "<!-- y -->", "new")
        'a <!-- x -->\\nnew\\n<!-- y --> b'
    """
    before, rest = text.split(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.split(end)[1]}"
