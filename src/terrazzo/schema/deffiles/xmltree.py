"""XML as definition files use it: elements with a text, children and a line. Attributes are ignored.

Files in the wild are not clean, so more is read than strict XML allows:
- prefixes need no declaration (an element named `xmlns:xsi` is one like any other), any root will do;
- any text encoding of Python may be declared (the parser itself has few); a file that is not in the encoding that it
  declares, or declares none and is not UTF-8, is read as Latin-1 with a warning (names are ASCII);
- blanks and a byte order mark may stand before the XML declaration.

What a hostile file could use is refused: entity declarations (their expansion has no bound) and nesting
beyond DEPTH_MAX.

The text of an element is its first piece of text between tags that is not blank, trimmed:

    <Type>  ARRAY  <of> UINT8 </of>  </Type>      the text of Type is "ARRAY", that of of is "UINT8"
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from terrazzo.schema.model import SourcePlace
from terrazzo.schema.report import Report

DEPTH_MAX = 256
"""Elements inside elements; types (at most 64 deep, three elements a level) fit well inside."""

_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")
_ENCODING = re.compile(rb"""\s*<\?xml\b[^>]*\bencoding\s*=\s*["']([A-Za-z][\w.\-]*)["']""")
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PACKED_MARK = b"\x45\x4e\xa1\x62"
_TAG_MISMATCH = expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]


@dataclass
class Element:
    """One element; `place` is where its start tag begins."""

    tag: str
    place: SourcePlace
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def child(self, tag: str) -> Element | None:
        """The first child of that name."""
        return next((each for each in self.children if each.tag == tag), None)

    def all(self, tag: str) -> list[Element]:
        """All children of that name."""
        return [each for each in self.children if each.tag == tag]


class _Unacceptable(Exception):
    """Well-formed, but not to be read."""


class _Builder:
    """Turns the parser's events into elements."""

    def __init__(self, parser: expat.XMLParserType, file: str) -> None:
        self.root: Element | None = None
        self.open: list[Element] = []
        self._parser = parser
        self._file = file
        self._piece: list[str] = []
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._piece.append
        parser.EntityDeclHandler = self._entity

    def _start(self, tag: str, _attributes: dict[str, str]) -> None:
        if len(self.open) >= DEPTH_MAX:
            raise _Unacceptable(f"elements are nested more than {DEPTH_MAX} deep: no definition needs that")
        element = Element(tag, SourcePlace(self._file, self._parser.CurrentLineNumber))
        if self.open:
            self._end_piece(self.open[-1])
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _end(self, _tag: str) -> None:
        self._end_piece(self.open.pop())

    def _end_piece(self, owner: Element) -> None:
        if not owner.text:
            owner.text = "".join(self._piece).strip()
        self._piece.clear()

    def _entity(self, name: str, *_rest: object) -> None:
        raise _Unacceptable(f"the entity {name} is declared: definition files may not, write out what it stands for")


def parse_xml(data: bytes, file: str, report: Report) -> Element | None:
    """The root element; None when the bytes are not XML, which has then been reported."""
    if data.startswith(_PACKED_MARK):
        report.error(
            SourcePlace(file, 1), "malformed XML", "this is a packed (binary) section: unpack it to XML text first"
        )
        return None
    content, doubt = _to_utf8(data)
    parser = expat.ParserCreate(None if content.startswith(_UTF16_MARKS) else "UTF-8")
    builder = _Builder(parser, file)
    try:
        parser.Parse(content, True)
    except expat.ExpatError as problem:
        report.error(SourcePlace(file, problem.lineno), "malformed XML", _explain(problem, builder.open))
        return None
    except _Unacceptable as problem:
        report.error(SourcePlace(file, parser.CurrentLineNumber), "malformed XML", str(problem))
        return None
    if doubt:
        report.warn(SourcePlace(file, 1), "text encoding", doubt)
    return builder.root


def _explain(problem: expat.ExpatError, still_open: list[Element]) -> str:
    if problem.code == _TAG_MISMATCH and still_open:
        last = still_open[-1]
        return f"the end tag does not match <{last.tag}>, which was opened on line {last.place.line}"
    text = expat.ErrorString(problem.code)
    where = f", inside <{still_open[-1].tag}>" if still_open else ""
    return f"{text} at column {problem.offset + 1}{where}"


def _to_utf8(data: bytes) -> tuple[bytes, str]:
    """The file as UTF-8 with the declaration blanked out (lines stay), and a doubt about its encoding."""
    if data.startswith(_UTF16_MARKS):
        return data, ""
    data = data.removeprefix(_UTF8_MARK)
    match = _ENCODING.match(data)
    declared = match[1].decode("ascii") if match else "utf-8"
    if declared.lower().startswith(("utf-16", "utf16", "ucs")):
        # The declaration could be read as single bytes, so it is not true.
        declared = "utf-8"
    doubt = ""
    try:
        content = _blanked(data.decode(declared)).encode()
    except (LookupError, ValueError):
        content = _blanked(data.decode("latin-1")).encode()
        doubt = (
            f"the file is not {declared.upper()} text and was read as Latin-1: save it as UTF-8, or declare "
            'its encoding in the first line: <?xml version="1.0" encoding="..."?>'
        )
    return content, doubt


def _blanked(text: str) -> str:
    return _DECLARATION.sub(lambda match: "\n" * match[0].count("\n"), text, count=1)
