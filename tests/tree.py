"""The project's own files, as tests of style and structure see them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("catalog", "exporter", "detector")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file."""

    path: Path

    @cached_property
    def name(self) -> str:
        """The path from the root, with slashes."""
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def module(self) -> str:
        """The dotted name it is imported by."""
        return self.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @cached_property
    def package(self) -> str:
        """The top-level folder."""
        return self.name.partition("/")[0]

    @cached_property
    def text(self) -> str:
        """What it holds."""
        return self.path.read_text()

    @cached_property
    def tree(self) -> ast.Module:
        """What it says."""
        return ast.parse(self.text, self.name)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All of what it says, one by one."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def imports(self) -> frozenset[str]:
        """Dotted names of what is imported anywhere in the file; ``from a import b`` gives ``a`` and ``a.b``."""
        return frozenset(name for node in self.nodes for name in _imported(node))

    def functions(self) -> Iterator[Function]:
        """All functions and methods, nested ones too."""
        return (node for node in self.nodes if isinstance(node, Function))


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.module, "imports are absolute"
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


@lru_cache(maxsize=1)
def files() -> tuple[Path, ...]:
    """Each file that is or would be under version control."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=30).stdout
    return tuple(path for name in sorted(listed.split("\0")) if name and (path := ROOT / name).is_file())


@lru_cache(maxsize=1)
def sources() -> tuple[Source, ...]:
    """Each Python file."""
    return tuple(Source(path) for path in files() if path.suffix == ".py")


def product() -> tuple[Source, ...]:
    """The Python files that are installed."""
    return tuple(source for source in sources() if source.package in PRODUCT)
