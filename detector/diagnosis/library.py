"""The signatures that come with the program, one YAML file each; adding one is adding a file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import ValidationError

from detector.diagnosis.signature import Signature

_FOLDER = "signatures"
_END = ".yml"


class SignatureError(Exception):
    """A signature that cannot be used; the message names file, field and what is allowed."""


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key) for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise yaml.constructor.ConstructorError(None, None, f"{twice} stands twice", node.start_mark)
        return super().construct_mapping(node, deep)


def read_signature(text: str, name: str) -> Signature:
    """The signature in a YAML document that stands in the file ``name`` + ``.yml``.

    Raises:
        SignatureError: not YAML, an unknown or missing field, a signal that is not in the catalog.
    """
    try:
        document: Any = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
        signature = Signature.model_validate(document)
    except yaml.YAMLError as error:
        raise SignatureError(f"{name}{_END}: not YAML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(key) for key in first["loc"])
        raise SignatureError(f"{name}{_END}: {where}: {first['msg'].removeprefix('Value error, ')}") from None
    if signature.name != name:
        raise SignatureError(f"{name}{_END}: name: must be {name}, as the file is called")
    return signature


@lru_cache(maxsize=1)
def signatures() -> Mapping[str, Signature]:
    """All signatures by name.

    Raises:
        SignatureError: see ``read_signature``.
    """
    folder = files("detector.diagnosis") / _FOLDER
    names = sorted(file.name.removesuffix(_END) for file in folder.iterdir() if file.name.endswith(_END))
    return MappingProxyType(
        {name: read_signature((folder / f"{name}{_END}").read_text("utf-8"), name) for name in names}
    )
