"""Places in pages that commands write into: between two comments that nobody sees."""


def between(text: str, begin: str, end: str, content: str) -> str:
    """A page with what stands between two comments replaced.

    Example:
        >>> between("a <!-- x -->old<!-- y --> b", "<!-- x -->", "<!-- y -->", "new")
        'a <!-- x -->\\nnew\\n<!-- y --> b'
    """
    before, rest = text.split(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.split(end)[1]}"
