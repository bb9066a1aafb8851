"""What a test reads of a page: its HTML without whitespace that no reader sees, and without directions."""

import re

from django.http import HttpResponse

DIRECTIONS = re.compile(r"</?bdi>|\s+dir=\"auto\"")
"""Of texts; `core/test_direction.py` is about them."""
SPACES = re.compile(r"[ \t\n\r\f]+")
TAG = re.compile(r"""(</?[a-z](?:[^>"']|"[^"]*"|'[^']*')*)>""")
VERBATIM = re.compile(r"(?<=\0)[^\0]*(?=</(?:pre|textarea)\0)")
BLOCKS = (
    "address|article|aside|blockquote|body|br|button|caption|dd|details|dialog|div|dl|dt|fieldset|figcaption|"
    "figure|footer|form|h[1-4]|head|header|hr|html|legend|li|link|main|meta|nav|ol|optgroup|option|p|pre|"
    "progress|script|section|select|style|summary|table|tbody|td|template|tfoot|th|thead|title|tr|ul"
)


def markup(response: HttpResponse) -> str:
    """Return the body; of HTML with one space for each run of whitespace, none beside a block-level element,
    and no directions.
    """
    text = response.content.decode()
    if not response["Content-Type"].startswith("text/html"):
        return text
    text = DIRECTIONS.sub("", text)
    kept: list[str] = []

    def keep(words: re.Match[str]) -> str:
        kept.append(words[0])
        return "\1"

    flat = VERBATIM.sub(keep, TAG.sub(lambda tag: f"{tag[1].rstrip()}\0", text))  # \0 ends a tag
    flat = SPACES.sub(" ", flat)
    flat = re.sub(rf" ?(</?(?:{BLOCKS})(?: [^\0]*)?\0) ?", r"\1", flat)
    return re.sub("\1", lambda _: kept.pop(0), flat).replace("\0", ">")
