"""What a test reads of a page: its HTML without the whitespace that no reader sees."""

import re

from django.http import HttpResponse

SPACES = re.compile(r"[ \t\n\r\f]+")
TAG = re.compile(r"""(</?[a-z](?:[^>"']|"[^"]*"|'[^']*')*)>""")
VERBATIM = re.compile(r"(?<=\0)[^\0]*(?=</(?:pre|textarea)\0)")
BLOCKS = (
    "address|article|aside|blockquote|body|br|button|caption|dd|details|dialog|div|dl|dt|fieldset|figcaption|"
    "figure|footer|form|h[1-4]|head|header|hr|html|legend|li|link|main|meta|nav|ol|optgroup|option|p|pre|"
    "progress|script|section|select|style|summary|table|tbody|td|template|tfoot|th|thead|title|tr|ul"
)


def markup(response: HttpResponse) -> str:
    """The body; of HTML with one space for each run of whitespace, and none beside a block-level element."""
    text = response.content.decode()
    if not response["Content-Type"].startswith("text/html"):
        return text
    kept: list[str] = []

    def keep(words: re.Match[str]) -> str:
        kept.append(words[0])
        return "\1"

    flat = VERBATIM.sub(keep, TAG.sub(lambda tag: f"{tag[1].rstrip()}\0", text))  # \0 ends a tag
    flat = SPACES.sub(" ", flat)
    flat = re.sub(rf" ?(</?(?:{BLOCKS})(?: [^\0]*)?\0) ?", r"\1", flat)
    return re.sub("\1", lambda _: kept.pop(0), flat).replace("\0", ">")
