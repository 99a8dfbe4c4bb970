"""From flags, environment and a YAML file to checked settings: a flag beats the environment, that beats the file."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from detector.section import Section, key_of
from detector.settings import TABLE, Settings, walk

Keys = tuple[str, ...]

_SELF_EXPLAINING = ("list", "secret", "text", "URL")
_TAG = "tag:yaml.org,2002:"
_NULL = f"{_TAG}null"
_WRITTEN = frozenset(f"{_TAG}{kind}" for kind in ("str", "int", "float", "bool", "timestamp", "value"))
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_VARIABLE = re.compile(r"\$\$|\$\{(?P<name>[^}]*)\}")


class ConfigError(Exception):
    """A setting that is not allowed; each line names where it stands and what may stand there."""


def load(
    file: Path | None, flags: Mapping[str, str], environment: Mapping[str, str], *, blank: bool = True
) -> Settings:
    """The settings. ``flags`` by their name without dashes in front; ``blank`` says whether the file may be that.

    Raises:
        ConfigError: names file and line, variable or flag.
    """
    values: dict[Keys, Any] = {}
    origins: dict[Keys, str] = {}
    if file is not None:
        for keys, value, line in read_file(file, environment, blank=blank):
            values[keys], origins[keys] = value, f"{file}:{line}: {'.'.join(keys)}"
    for setting in walk():
        if setting.variable in environment:
            values[setting.path] = environment[setting.variable]
            origins[setting.path] = setting.variable
        if setting.flag.removeprefix("--") in flags:
            values[setting.path] = flags[setting.flag.removeprefix("--")]
            origins[setting.path] = setting.flag
    for keys, value in values.items():
        if not all(map(is_text, [value] if isinstance(value, str) else value)):
            raise ConfigError(f"{origins[keys]}: must be text in UTF-8, without zero bytes")
    try:
        return TABLE.model_validate(_nested(values))
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(error, origins, file))) from None


def is_text(value: str) -> bool:
    """Whether a value can be printed, kept and given to the system: bytes that are no UTF-8 and zero cannot.

    >>> is_text("ä"), is_text("\\udcff"), is_text("a\\0")
    (True, False, False)
    """
    return not _NO_TEXT.search(value)


def nearest(name: str, known: Iterable[str]) -> str:
    """``, did you mean X?``, or nothing.

    >>> nearest("windw", ["window", "web"])
    ', did you mean window?'
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f", did you mean {close[0]}?" if close else ""


def _nested(values: Mapping[Keys, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for keys, value in values.items():
        place = tree
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        place[keys[-1]] = value
    return tree


def _explain(error: ValidationError, origins: Mapping[Keys, str], file: Path | None) -> Iterable[str]:
    settings = {setting.path: setting for setting in walk()}
    for item in error.errors():
        keys = tuple(str(key) for key in item["loc"])
        while keys and keys not in settings and keys not in origins and len(keys) > 1:
            keys = keys[:-1]
        given = [origin for path, origin in origins.items() if path[: len(keys)] == keys]
        where = origins.get(keys) or " and ".join(given) or f"{file or 'settings'}: {'.'.join(keys)}"
        reason = item["msg"].removeprefix("Value error, ")
        setting = settings.get(keys)
        allowed = f" (allowed: {setting.allowed})" if setting and setting.kind not in _SELF_EXPLAINING else ""
        yield f"{where}: {reason}{allowed}"


def read_file(file: Path, environment: Mapping[str, str], *, blank: bool = True) -> list[tuple[Keys, Any, int]]:
    """All values of a YAML file with their keys and lines; ``${NAME}`` is replaced, ``$$`` is a dollar sign.

    Raises:
        ConfigError: unreadable, blank where it may not be, not YAML, an unknown or repeated key, an unset variable.
    """
    try:
        text = file.read_text(encoding="utf-8")
        document = yaml.compose(text, Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from None
    except RecursionError:
        raise ConfigError(f"{file}: cannot be read: it is nested too deep") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{file}:{line}: not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: not YAML: {error}") from None
    if not (blank or text.strip()):  # as one that is written in place is for a moment
        raise ConfigError(f"{file}: is empty; a comment in it says that all defaults are meant")
    if document is None:
        return []
    return list(_values(document, (), TABLE, _Place(file, environment)))


class _Place:
    """Which file is read, for messages, and where its variables come from."""

    def __init__(self, file: Path, environment: Mapping[str, str]) -> None:
        self._file = file
        self._environment = environment

    def error(self, node: yaml.Node, message: str) -> ConfigError:
        """An error at a node."""
        return ConfigError(f"{self._file}:{line_of(node)}: {message}")

    def plain(self, node: yaml.Node, keys: Keys) -> Any:
        """The value of a node that is no section."""
        if isinstance(node, yaml.SequenceNode):
            return [self.text(item, keys) for item in node.value]
        return self.text(node, keys)

    def text(self, node: yaml.Node, keys: Keys) -> str:
        """A single value as it is written, like one of a flag: YAML's own ideas of ``off`` or ``1:30`` do not count."""
        if not isinstance(node, yaml.ScalarNode):
            what = "a mapping" if isinstance(node, yaml.MappingNode) else "a list of lists"
            raise self.error(node, f"{'.'.join(keys)}: a single value or a list belongs here, not {what}")
        if node.tag == _NULL:
            raise self.error(node, f'{".".join(keys)}: a value belongs here, "" where it is to be empty')
        if node.tag not in _WRITTEN:
            raise self.error(node, f"{'.'.join(keys)}: a value without a tag belongs here, not one with {node.tag}")

        def replacement(match: re.Match[str]) -> str:
            name = match["name"]
            if name is None:
                return "$"
            if name not in self._environment:
                raise self.error(node, f"{'.'.join(keys)}: environment variable {name} is not set")
            return self._environment[name]

        return _VARIABLE.sub(replacement, str(node.value))


def line_of(node: yaml.Node) -> int:
    """Line of a node, from 1."""
    return int(node.start_mark.line) + 1


def _values(node: yaml.Node, keys: Keys, section: type[Section], place: _Place) -> Iterable[tuple[Keys, Any, int]]:
    if not isinstance(node, yaml.MappingNode):
        raise place.error(node, f"{'.'.join(keys) or 'the file'}: keys and values belong here")
    fields = {key_of(name): field for name, field in section.model_fields.items()}
    seen: set[str] = set()
    for key_node, value_node in node.value:
        key = str(key_node.value)
        here = (*keys, key)
        if key not in fields:
            full = {".".join((*keys, known)) for known in fields}
            raise place.error(key_node, f"unknown key {'.'.join(here)}{nearest('.'.join(here), full)}")
        if key in seen:
            raise place.error(key_node, f"{'.'.join(here)} stands twice")
        seen.add(key)
        inner: Any = fields[key].annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            yield from _values(value_node, here, inner, place)
        else:
            yield here, place.plain(value_node, here), line_of(value_node)


class Watcher:
    """Notices that a file has other contents; follows the symbolic links that Kubernetes swaps."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp = self._look()
        self._contents = self._read()

    def changed(self) -> bool:
        """Whether the contents differ from those at the last call. A file that is gone has not changed."""
        stamp = self._look()
        if stamp == self._stamp or stamp is None:
            return False
        self._stamp = stamp
        contents, self._contents = self._contents, self._read()
        return contents != self._contents

    def _look(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(self._file)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size

    def _read(self) -> bytes:
        try:
            return self._file.read_bytes()
        except OSError:
            return b""
