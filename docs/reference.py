"""Write the pages and blocks of the documentation that are generated from code.

    python docs/reference.py           write them
    python docs/reference.py --check   name those that are not up to date, and exit 1

A block stands between `<!-- reference: NAME -->` and `<!-- end -->`. `tests/architecture/test_reference.py` compares
all of them with the code.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent

BLOCK = re.compile(r"(<!-- reference: (.+?) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a Markdown table; cells are Markdown themselves."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"


def _compat_options() -> str:
    from pytest_devperf.compat.options import OPTIONS

    return table(("pytest-benchmark", "here"), ((f"`{each.flag}`", each.means) for each in OPTIONS))


def _compat_marker() -> str:
    from pytest_devperf.compat.options import MARKER_KEYWORDS

    return table(("keyword", "here"), ((f"`{name}`", means) for name, means in MARKER_KEYWORDS.items()))


GENERATED = "<!-- Written by docs/reference.py. -->\n"

DEFAULT = re.compile(r"\s*\(default: (.+?)\)\s*$")


def _page(title: str, *parts: str) -> str:
    return "\n".join((f"{GENERATED}\n# {title}\n", *(part.strip("\n") + "\n" for part in parts)))


# -- options and markers --------------------------------------------------------------------------------


def _options() -> str:
    from pytest_devperf.session.options.row import FLAGS
    from pytest_devperf.session.options.table import COMPAT, INI_ONLY, PLAN_ROWS, ROWS, SESSION_FIELDS

    in_marker = {row.name for row in PLAN_ROWS} - SESSION_FIELDS

    def cells(row: Any, *, typed: bool = True) -> tuple[str, ...]:
        default = DEFAULT.search(row.help)
        value = "" if row.kind in FLAGS or row.metavar is None else f"={row.metavar}"
        off = f"<br>`{row.flag.replace('--devperf-', '--devperf-no-', 1)}`" if row.kind == "tristate" else ""
        return (
            f"`{row.flag}{value}`{off}" if typed else "",
            f"`{row.key}`",
            f"`{row.name}=`" if row.name in in_marker else "",
            _escaped(default[1]) if default else ("off" if row.kind in FLAGS else ""),
            _escaped(DEFAULT.sub("", row.help)),
        )

    heading = ("option", "ini key", "marker keyword", "default", "meaning")
    return _page(
        "Options",
        "The command line beats the marker, the marker beats the ini file, the ini file beats the default. A flag is "
        "true or false in the ini file.",
        "## Everyday\n\n" + table(heading, (cells(row) for row in ROWS if row.everyday)),
        "## Advanced\n\n" + table(heading, (cells(row) for row in ROWS if not row.everyday)),
        "## In the ini file only\n\n" + table(heading, (cells(row, typed=False) for row in (*INI_ONLY, COMPAT))),
    )


def _markers() -> str:
    from pytest_devperf.plugin import MARKERS
    from pytest_devperf.session.options.marker import OWN_KEYWORDS
    from pytest_devperf.session.options.table import PLAN_ROWS, SESSION_FIELDS

    plan = [row for row in PLAN_ROWS if row.name not in SESSION_FIELDS and row.name not in OWN_KEYWORDS]
    rows = [(f"`{name}`", means) for name, means in OWN_KEYWORDS.items()]
    rows += [(f"`{row.name}`", f"{_escaped(row.help)}, as `{row.flag}`") for row in plan]
    listed = "\n".join(f"* `{name}`: {means}" for name, _, means in (line.partition(": ") for line in MARKERS))
    return _page("Markers", listed, "## Keywords of `devperf`\n\n" + table(("keyword", "meaning"), rows))


# -- Python interfaces ------------------------------------------------------------------------------------


def _fixture() -> str:
    from pytest_devperf.plugin.fixture import Benchmark

    tree = _class_tree(Benchmark)
    parts = []
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or (node.name.startswith("_") and node.name != "__call__"):
            continue
        if node.name in {"close", "explain"}:  # pytest's side of the fixture
            continue
        name = "devperf" if node.name == "__call__" else f"devperf.{node.name}"
        is_property = any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)
        written = name if is_property else f"{name}({_arguments(node)})"
        parts.append(f"## `{name}`\n\n    {written}\n\n{_docstring(ast.get_docstring(node))}")
    return _page("The fixture `devperf`", *parts)


def _hooks() -> str:
    from pytest_devperf.plugin import hookspec

    parts = []
    for node in ast.parse(inspect.getsource(hookspec)).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("pytest_"):
            first = any("firstresult" in ast.unparse(each) for each in node.decorator_list)
            ends = "The first answer that is not None counts." if first else "Every implementation is called."
            returns = ast.unparse(node.returns) if node.returns else "None"
            called = f"{node.name}({_arguments(node, with_self=False)}) -> {returns}"
            parts.append(f"## `{node.name}`\n\n    {called}\n\n{_docstring(ast.get_docstring(node))}\n\n{ends}")
    return _page("Hooks", "How to use them: [howto-plugins](../howto-plugins.md).", *parts)


def _class_tree(kind: type) -> ast.ClassDef:
    module = ast.parse(inspect.getsource(sys.modules[kind.__module__]))
    return next(node for node in module.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)


def _arguments(node: ast.FunctionDef, *, with_self: bool = True) -> str:
    """Write the parameters of a function without their annotations."""
    taken = node.args
    for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg):
        if each is not None:
            each.annotation = None
    text = ast.unparse(taken)
    return re.sub(r"^self(, /)?(, )?", "", text).removeprefix("/, ") if with_self else text


def _docstring(text: str | None) -> str:
    """Turn a docstring with Google sections into Markdown."""
    lines: list[str] = []
    in_section = False
    for line in (text or "").splitlines():
        if re.fullmatch(r"(Args|Returns|Raises|Yields):", line):
            in_section = True
            lines += [f"**{line}**", ""]
        elif in_section and re.match(r"    \S", line):
            name, colon, rest = line.strip().partition(": ")
            item = f"* `{name}`: {rest}" if colon and re.fullmatch(r"[*\w]+", name) else f"* {line.strip()}"
            lines.append(item)
        else:
            lines.append(line.strip() if not in_section else f"  {line.strip()}".rstrip())
    return _escaped("\n".join(lines))


# -- the command ------------------------------------------------------------------------------------------


def _command() -> str:
    from pytest_devperf.cli.command import VERBS, module_of, parser_of

    parts = []
    for verb in VERBS:
        module = module_of(verb)
        actions = [each for each in parser_of(verb)._actions if each.dest != "help"]
        described = inspect.cleandoc(module.__doc__)
        rows = [(_written(action), _escaped(_help_of(action))) for action in actions]
        arguments = f"\n\n{table(('argument', 'meaning'), rows)}" if rows else "\n"
        examples = "\n".join(f"    {each}" for each in module.EXAMPLES)
        parts.append(f"## `devperf {verb}`\n\n{_escaped(described)}{arguments}\n{examples}")
    exits = "Exit codes: 0 success, 1 a regression or nothing compared, 4 a usage error."
    return _page("The command `devperf`", exits, *parts)


def _written(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else None
    if value is None and action.choices is not None:
        value = "|".join(map(str, action.choices))
    if value is None and action.nargs != 0:
        value = action.dest.upper()
    if not action.option_strings:
        return f"`{value}{' ...' if action.nargs in ('+', '*') else ''}`"
    flags = ", ".join(action.option_strings)
    return f"`{flags} {value}`" if action.nargs != 0 else f"`{flags}`"


def _help_of(action: argparse.Action) -> str:
    return (action.help or "") % {"default": action.default, "prog": "devperf"} if action.help else ""


# -- cautions, readers, the document ------------------------------------------------------------------------


def _cautions() -> str:
    from pytest_devperf.record.caution import CAUTIONS

    def refuses(caution: Any) -> str:
        if not caution.refuses:
            return "no"
        reported = next((value for name, value in _fields_of_caution(caution) if name.startswith("host_")), False)
        return "yes, on a host only with `--devperf-strict-context`" if reported else "yes"

    rows = [(f"`{each.slug}`", each.words, refuses(each), each.remedy or "") for each in CAUTIONS.values()]
    return _page(
        "Cautions",
        "A caution is a reason to doubt a measurement. One that refuses makes its case incomparable, unless "
        "`--devperf-accept` names it.",
        table(("caution", "meaning", "refuses a comparison", "what to do"), rows),
    )


def _fields_of_caution(caution: Any) -> Iterator[tuple[str, Any]]:
    return ((name, getattr(caution, name)) for name in type(caution).__dataclass_fields__)


def _readers() -> str:
    from pytest_devperf.tool.operators import OperatorReader
    from pytest_devperf.tool.readers import READERS

    def described(reader: Any) -> str:
        parse = reader.parse if isinstance(reader, OperatorReader) else reader
        words = _escaped((inspect.getdoc(parse) or "").splitlines()[0])
        options = " ".join(f"`{option}`" for option in getattr(reader, "options", ()))
        return f"{words} Changes are explained by the table that {options} prints." if options else words

    rows = [(f"`{name}`", described(reader)) for name, reader in READERS.items()]
    rows.append(("`time`", "Read nothing: each start of the program is timed as a whole."))
    return _page(
        "Readers",
        "`devperf.command(argv, read=NAME)` names how the output of a program becomes samples.",
        table(("reader", "what it does"), rows),
    )


PACKED, ROWS = "PackedRows", "tuple[tuple[float, ...], ...]"
"""The class of rows that were read, and the type that it looks like."""


def _document() -> str:
    from pytest_devperf.record.record import Document

    parts = [
        "`--devperf-json` writes this document, and a store keeps one for each run. `null` means *not known*. "
        "[schema.json](../schema.json) is its JSON Schema."
    ]
    for kind in _kinds(Document):
        rows = [(f"`{name}`", f"`{type_}`", _escaped(text)) for name, type_, text in _fields(kind)]
        about = inspect.cleandoc(kind.__doc__ or "")
        parts.append(f"## {kind.__name__}\n\n{_escaped(about)}\n\n{table(('key', 'type', 'meaning'), rows)}")
    return _page("The run document", *parts)


def _kinds(kind: type, seen: list[type] | None = None) -> list[type]:
    """List the classes that a class is made of, itself first."""
    seen = [] if seen is None else seen
    if kind in seen:
        return seen
    seen.append(kind)
    for hint in typing.get_type_hints(kind).values():
        for part in _parts(hint):
            if isinstance(part, type) and part.__module__.startswith("pytest_devperf") and part.__name__ != PACKED:
                _kinds(part, seen)
    return seen


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for inner in typing.get_args(hint):
        yield from _parts(inner)


def _fields(kind: type) -> Iterator[tuple[str, str, str]]:
    """Read the fields of a class with their types, and the text below each."""
    body = _class_tree(kind).body
    for at, node in enumerate(body):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        following = body[at + 1] if at + 1 < len(body) else None
        text = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            text = " ".join(str(following.value.value).split())
        yield node.target.id, ast.unparse(node.annotation).replace("Rows", ROWS), text


def _escaped(text: str) -> str:
    """Keep text outside code from being read as a tag."""
    parts = text.split("`")
    return "`".join(part if at % 2 else part.replace("<", "&lt;") for at, part in enumerate(parts))


BLOCKS: Mapping[str, Callable[[], str]] = {
    "compat options": _compat_options,
    "compat marker": _compat_marker,
}
"""Name of a block -> its content."""

PAGES: Mapping[str, Callable[[], str]] = {
    "reference/options.md": _options,
    "reference/markers.md": _markers,
    "reference/fixture.md": _fixture,
    "reference/hooks.md": _hooks,
    "reference/command.md": _command,
    "reference/cautions.md": _cautions,
    "reference/readers.md": _readers,
    "reference/document.md": _document,
}
"""Path of a whole page below `docs/` -> its content."""


def with_blocks(text: str) -> str:
    """Return a page with the current content of its blocks."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]]()}\n{found[4]}", text)


def generated() -> dict[Path, str]:
    """Return every file of the documentation that is generated, wholly or in part."""
    files = {DOCS / path: make() for path, make in PAGES.items()}
    for path in sorted({*DOCS.glob("*.md"), DOCS.parent / "README.md"}):
        text = path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            files[path] = with_blocks(text)
    return files


def main() -> int:
    """Write the files, or with --check return 1 and name those that would change."""
    stale = [
        (path, text)
        for path, text in generated().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in stale:
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(DOCS.parent)} is not up to date: run python docs/reference.py")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
