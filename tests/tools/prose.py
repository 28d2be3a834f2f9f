"""Counts in the prose of this repository the words that hide a subject or make a machine a person.

    python -m tests.tools.prose             one row for each package: words, and how many per thousand of each kind
    python -m tests.tools.prose sync docs   the same, and each place in these packages
    python -m tests.tools.prose --json      the rows as JSON

Prose is what is written for readers: docstrings and comments of Python and Cython, comments of JavaScript, and the
pages in Markdown. Code in it (in backticks, in a fenced block, in an indented listing of a page) does not count.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("src", "tests", "clients", "examples", "docs", "tools", "benchmarks")
SPLIT = ("wire", "cell")
"""Packages whose rooms have rows of their own."""

KINDS = {
    "who": re.compile(r"\b(?:who|whose|whom|whoever|(?:no|some|every|any)body)\b", re.IGNORECASE),
    "speech": re.compile(
        r"\b(?:tells?|told|telling|hears?|heard|hearing|says?|said|saying|knows?|knew|knowing|wish(?:es|ed)?"
        r"|forgets?|forgot(?:ten)?|believes?|believed|believing)\b",
        re.IGNORECASE,
    ),
}
TECHNICAL = re.compile(r"\b(?:that is to say|needs? to know|you know|hearing aid)\b", re.IGNORECASE)
"""Phrases that are taken out before words are counted."""

CODE = re.compile(r"`[^`\n]*`")
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
JS_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`""",
    re.DOTALL,
)

Lines = Iterator[tuple[int, str]]


class Place(NamedTuple):
    """A word that counts, with its line."""

    file: str
    line: int
    kind: str
    word: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.word!r} in {self.text.strip()[:100]!r}"


class Row(NamedTuple):
    """What one package has of each kind."""

    words: int
    places: tuple[Place, ...]

    def rate(self, kind: str) -> float:
        """How many per thousand words."""
        return 1000 * sum(each.kind == kind for each in self.places) / max(self.words, 1)


def numbered(text: str, first: int) -> Lines:
    yield from enumerate(text.splitlines(), first)


def python_prose(source: str) -> Lines:
    """Comments, and strings that are a statement by themselves: docstrings of modules, classes, functions, fields."""
    before = None
    skipped = {tokenize.NL, tokenize.COMMENT}
    starts = {None, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(?:type:|noqa|cython:|distutils:)", token.string):
            yield token.start[0], token.string.lstrip("# ")
        elif token.type == tokenize.STRING and before in starts:
            yield from numbered(token.string.strip("rb\"'"), token.start[0])
        if token.type not in skipped:
            before = token.type


def script_prose(source: str) -> Lines:
    for found in JS_TOKEN.finditer(source):
        if found[0].startswith(("//", "/*")):
            yield from numbered(found[0].strip("/* "), source.count("\n", 0, found.start()) + 1)


def page_prose(source: str) -> Lines:
    fenced = False
    for line, text in numbered(source, 1):
        if text.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not text.startswith("    "):
            yield line, re.sub(r"\]\([^)]*\)", "]", text)


READERS = {
    ".py": python_prose,
    ".pyx": python_prose,
    ".pxd": python_prose,
    ".js": script_prose,
    ".md": page_prose,
}


def package_of(path: Path) -> str:
    """The row that a file counts in: "sync", "cell/client", "tests/cell", "docs"."""
    first, *rest = path.relative_to(ROOT).parts
    if first == "src":
        names = rest[1:]
        if len(names) < 2:
            return "terrazzo"
        deep = names[0] in SPLIT and len(names) > 2
        if names[0] == "sync" and names[1].startswith("view"):
            return "sync/view"
        return "/".join(names[:2]) if deep else names[0]
    if first == "tests" and len(rest) > 1:
        return f"tests/{rest[0]}"
    return first if rest else "docs"


def places_in(path: Path) -> tuple[int, list[Place]]:
    """How many words of prose a file has, and which of them count."""
    words = 0
    found: list[Place] = []
    for line, text in READERS[path.suffix](path.read_text()):
        plain = TECHNICAL.sub("", CODE.sub("", text))
        words += len(WORD.findall(plain))
        for kind, pattern in KINDS.items():
            file = str(path.relative_to(ROOT))
            found.extend(Place(file, line, kind, each, text) for each in pattern.findall(plain))
    return words, found


def files() -> Iterator[Path]:
    """What is read: sources and pages of this repository, without this tool and its test, which list the words."""
    own = {Path(__file__).resolve(), ROOT / "tests" / "test_prose.py"}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in READERS and path not in own and "node_modules" not in path.parts:
                yield path
    yield ROOT / "README.md"


def rows(paths: Iterable[Path]) -> dict[str, Row]:
    """What each package has, by its name."""
    words: dict[str, int] = {}
    found: dict[str, list[Place]] = {}
    for path in paths:
        count, places = places_in(path)
        package = package_of(path)
        words[package] = words.get(package, 0) + count
        found.setdefault(package, []).extend(places)
    return {package: Row(words[package], tuple(found[package])) for package in sorted(words)}


def main(names: list[str]) -> int:
    """Prints the rows, and the places of the packages that are named."""
    table = rows(files())
    if "--json" in names:
        figures = {
            package: {"words": row.words} | {kind: round(row.rate(kind), 2) for kind in KINDS}
            for package, row in table.items()
        }
        print(json.dumps(figures, indent=1))
        return 0
    for package, row in table.items():
        print(f"{package:20} {row.words:7} words  " + "  ".join(f"{kind} {row.rate(kind):5.1f}" for kind in KINDS))
        if package in names:
            print("".join(f"  {each}\n" for each in row.places), end="")
    total = Row(sum(row.words for row in table.values()), tuple(each for row in table.values() for each in row.places))
    print(f"{'all':20} {total.words:7} words  " + "  ".join(f"{kind} {total.rate(kind):5.1f}" for kind in KINDS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
