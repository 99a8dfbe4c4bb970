"""Sections of the settings table and the kinds of values in them.

A section is a frozen pydantic model. Fields have their unit in their name (``duration_s``), keys have not.
"""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from catalog.duration import parse_duration

_URL = re.compile(r"https?://[^\s/?#]+[^\s?#]*")


def key_of(field_name: str) -> str:
    """The key of a field: its name without the unit.

    >>> key_of("duration_s")
    'duration'
    """
    return field_name.removesuffix("_s")


class Section(BaseModel):
    """A group of settings."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=key_of, validate_by_alias=True, validate_by_name=False
    )


def _seconds(value: Any) -> float:
    """Seconds of a number or of text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return parse_duration(str(value))


def _split(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _has_address(url: str) -> bool:
    """Whether there is a host, and a port that can be one."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check_url(value: str) -> str:
    """The URL without a slash at its end; ValueError for anything else."""
    if not _URL.fullmatch(value) or not _has_address(value):
        raise ValueError("must be a URL such as http://127.0.0.1:9090, without query or fragment")
    return value.rstrip("/")


Duration = Annotated[float, BeforeValidator(_seconds), Field(json_schema_extra={"kind": "duration"})]
Url = Annotated[str, AfterValidator(check_url), Field(json_schema_extra={"kind": "URL"})]
OptionalUrl = Annotated[
    str,
    AfterValidator(lambda value: check_url(value) if value else ""),
    Field(json_schema_extra={"kind": "URL"}),
]
Texts = Annotated[tuple[str, ...], BeforeValidator(_split), Field(json_schema_extra={"kind": "list"})]
Secret = Annotated[SecretStr, Field(json_schema_extra={"kind": "secret"})]
Secrets = Annotated[tuple[SecretStr, ...], BeforeValidator(_split), Field(json_schema_extra={"kind": "list"})]
