"""The house rules of docs/style.md, as far as a program can see them."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import lru_cache

import pytest

from catalog import families
from catalog.family import Family
from detector.settings import walk
from exporter.settings import Settings
from tests.tree import PRODUCT, ROOT, Function, Source, files, product, sources

MOST_LINES = 400
LONGEST_FUNCTION = 59
VAGUE = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
BULKHEADS = {"exporter/slot.py", "detector/loop.py"}  # there a broken part must not stop the others
TALKERS = re.compile(r"(exporter|detector)/(__main__|cli\w*|\w*view\w*|commands?/\w+|view/\w+)\.py")
WAITERS = {"tests/servers/process.py", "deploy/run_local.py"}  # the only polling loops, both bounded
HOSTS = re.compile(rb"(py" rb"pi|python" rb"hosted|deb\.deb" rb"ian|registry\.np" rb"mjs)\." rb"org")
PLACES = re.compile(rb"(?<![\w}])/(work|root)/")
ENDERS = re.compile(rb"pkill +-f|\bkillall\b")
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
SWITCHES = re.compile(r"#\s*(mypy:|ruff:|type: ignore(?!\[)|noqa(?!:))")

Rule = Callable[[Source], Iterator[str]]


def _too_long(source: Source) -> Iterator[str]:
    lines = source.text.count("\n")
    if lines > MOST_LINES:
        yield f"{lines} lines, {MOST_LINES} are allowed"
    for function in source.functions():
        length = _length(function)
        if length > LONGEST_FUNCTION:
            yield f"{function.name} has {length} lines without its docstring, {LONGEST_FUNCTION} are allowed"


def _length(function: Function) -> int:
    last = function.end_lineno or function.lineno
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    return last - function.lineno + 1 - (((first.end_lineno or 0) - first.lineno + 1) if documented else 0)


def _undocumented(source: Source) -> Iterator[str]:
    tells_by_name = source.path.name.startswith("test_")
    if source.text.strip() and not tells_by_name and not ast.get_docstring(source.tree):
        yield "no module docstring"


def _vague_name(source: Source) -> Iterator[str]:
    vague = VAGUE & set(re.split(r"[/_.]", source.name))
    if vague:
        yield f"{vague} says nothing about what is in it"


def _broad_except(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler) and source.name not in BULKHEADS and not _hands_on(node):
            caught = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)} if node.type else {"all"}
            if caught & {"Exception", "BaseException", "all"}:
                yield f"line {node.lineno} catches everything"


def _hands_on(handler: ast.ExceptHandler) -> bool:
    """Whether whoever waits for the result gets the error."""
    nodes = list(ast.walk(handler))
    return any(isinstance(node, ast.Attribute) and node.attr == "set_exception" for node in nodes)


def _print(source: Source) -> Iterator[str]:
    for call in _calls(source, "print"):
        if source.package in PRODUCT and not TALKERS.fullmatch(source.name):
            yield f"line {call.lineno} prints"


def _sleep(source: Source) -> Iterator[str]:
    for call in _calls(source, "sleep"):
        if ast.unparse(call.func) in {"time.sleep", "sleep"} and source.name not in WAITERS:
            yield f"line {call.lineno} sleeps: await a condition (tests.servers.wait_until), with a bound"


def _patched(source: Source) -> Iterator[str]:
    if any(name.partition(".")[0] == "mock" or name.startswith("unittest") for name in source.imports):
        yield "uses mocks"
    if "builtins" + ".open" in source.text:
        yield "patches open"


def _switched_off(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.splitlines(), 1):
        if SWITCHES.search(line):
            yield f"line {number} switches a check off for more than one named rule"


def _asked_for_in_vain(source: Source) -> Iterator[str]:
    for function in source.functions():
        if function.name.startswith("test_"):
            asked = {argument.arg for argument in function.args.args}
            yield from (
                f"{function.name} does not use {name}" for name in sorted(asked - set(_read(function)) - {"self"})
            )


def _never_read(source: Source) -> Iterator[str]:
    made = {target.id for node in source.tree.body for target in _targets(node) if isinstance(target, ast.Name)}
    yield from (f"{name} is never read" for name in sorted(made - set(_read(source.tree))) if re.match("_[^_]", name))


def _targets(node: ast.stmt) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []


def _read(tree: ast.AST) -> Iterator[str]:
    nodes = ast.walk(tree)
    return (node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))


def _calls(source: Source, name: str) -> Iterator[ast.Call]:
    for node in source.nodes:
        if isinstance(node, ast.Call) and _called(node) == name:
            yield node


def _called(call: ast.Call) -> str:
    """The last word of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


RULES: tuple[Rule, ...] = (
    _too_long, _undocumented, _vague_name, _broad_except, _print, _sleep, _patched, _switched_off,
    _asked_for_in_vain, _never_read,
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__.strip("_"))
def test_source_keeps_the_rule(rule: Rule) -> None:
    complaints = [f"{source.name}: {complaint}" for source in sources() for complaint in rule(source)]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("words", [HOSTS, PLACES, ENDERS], ids=["registry-hosts", "machine-paths", "broad-kills"])
def test_no_file_holds_what_belongs_to_one_machine(words: re.Pattern[bytes]) -> None:
    read = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in files()}
    found = [name for name, content in read.items() if words.search(content) and name != "tests/test_tidy.py"]
    assert not found, f"{words.pattern!r}: {found}"


def test_nothing_is_left_unfinished() -> None:
    texts = ((path, path.read_text(errors="replace")) for path in files() if path.suffix in {".py", ".md", ".yml", ""})
    assert [str(path.relative_to(ROOT)) for path, text in texts if UNFINISHED.search(text)] == []


def test_each_test_asserts_and_is_a_sentence() -> None:
    silent, short = [], []
    for source in sources():
        for function in source.functions() if source.path.name.startswith("test_") else ():
            if function.name.startswith("test_"):
                if not any(_asserts(node) for node in ast.walk(function)):
                    silent.append(f"{source.name}: {function.name}")
                if function.name.count("_") < 3:
                    short.append(f"{source.name}: {function.name}")
    assert not silent, "\n".join(silent)
    assert not short, "\n".join(short)


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        name = _called(node)
        return name in {"raises", "warns", "fail"} or re.match(r"_?(assert|check|expect|await)(_|$)", name) is not None
    return isinstance(node, ast.Assert)


def test_no_module_is_dead() -> None:
    users = [source for source in sources() if source.package != "tests"]
    imported = {name for source in users for name in source.imports if source.module not in name}
    dead = [
        source.name
        for source in product()
        if source.module not in imported
        and source.module.rpartition(".")[0] not in _discovered()
        and not source.name.endswith(("__main__.py", "__init__.py"))
        and "if __name__ ==" not in source.text
    ]
    assert not dead, "\n".join(dead)


@lru_cache(maxsize=1)
def _discovered() -> frozenset[str]:
    """Packages whose modules are all imported by a registry: it reads ``package.__path__``."""
    found = set()
    for source in product():
        names = {name.rpartition(".")[2]: name for name in source.imports}
        names |= {
            alias.asname: f"{node.module}.{alias.name}"
            for node in source.nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.asname
        }
        for node in source.nodes:
            if isinstance(node, ast.Attribute) and node.attr == "__path__" and isinstance(node.value, ast.Name):
                found.add(names.get(node.value.id, node.value.id))
    return frozenset(found)


def test_no_function_or_class_is_dead() -> None:
    used = set[str]()
    for source in sources():
        if source.package != "tests":
            used.update(name for node in source.nodes for name in _mentions(node))
    # What registries pick up by its kind has no need of a name.
    named = (source for source in product() if source.module.rpartition(".")[0] not in _discovered())
    defined = ((source, node) for source in named for node in source.tree.body)
    dead = [
        f"{source.name}: {node.name}"
        for source, node in defined
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name not in used
    ]
    assert not dead, "\n".join(dead)


def _mentions(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.alias):
        yield node.name.rpartition(".")[2]


def test_each_family_is_written_by_the_exporter() -> None:
    constants = {
        constant
        for module in pkgutil.iter_modules(families.__path__, "catalog.families.")
        for constant, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, Family)
    }
    exporter = (source for source in product() if source.package == "exporter")
    written = {name for source in exporter for node in source.nodes for name in _mentions(node)}
    assert not constants - written, sorted(constants - written)


def test_each_setting_is_named_in_a_test() -> None:
    texts = [source.text for source in sources() if source.package == "tests" and source.name != "tests/test_tidy.py"]
    named = set(re.findall(r"[\w.-]+", "\n".join(texts)))
    named |= {word for dotted in named for word in re.split(r"[.-]", dotted)} | {word.strip(".-") for word in named}
    exporter = {entry.metadata["flag"]: {entry.metadata["flag"], entry.name} for entry in fields(Settings)}
    detector = {setting.key: {setting.key, setting.flag.strip("-"), setting.path[-1]} for setting in walk()}
    unnamed = [flag for flag, names in (exporter | detector).items() if not names & named]
    assert not unnamed, unnamed
