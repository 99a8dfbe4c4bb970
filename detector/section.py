"""Sections of the settings table and the kinds of values in them.

A section is a frozen pydantic model. Fields have their unit in their name (``duration_s``), keys have not.
"""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

_FACTORS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
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


def parse_duration(value: Any) -> float:
    """Seconds of a number or of text with units.

    >>> parse_duration("1m30s")
    90.0
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    text = str(value).strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    if _DURATION.fullmatch(text):
        return sum(float(number) * _FACTORS_S[unit] for number, unit in _PART.findall(text))
    raise ValueError("must be a duration such as 500ms, 3s, 10m or 1h30m")


def format_duration(seconds: float) -> str:
    """The shortest text that ``parse_duration`` reads back.

    >>> format_duration(600.0), format_duration(0.25), format_duration(90)
    ('10m', '250ms', '90s')
    """
    unit = next((unit for unit in ("d", "h", "m", "s") if seconds and seconds % _FACTORS_S[unit] == 0), "ms")
    return f"{seconds / _FACTORS_S[unit]:.3f}".rstrip("0").rstrip(".") + unit


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


Duration = Annotated[float, BeforeValidator(parse_duration), Field(json_schema_extra={"kind": "duration"})]
Url = Annotated[str, AfterValidator(check_url), Field(json_schema_extra={"kind": "URL"})]
OptionalUrl = Annotated[
    str,
    AfterValidator(lambda value: check_url(value) if value else ""),
    Field(json_schema_extra={"kind": "URL"}),
]
Texts = Annotated[tuple[str, ...], BeforeValidator(_split), Field(json_schema_extra={"kind": "list"})]
Secret = Annotated[SecretStr, Field(json_schema_extra={"kind": "secret"})]
Secrets = Annotated[tuple[SecretStr, ...], BeforeValidator(_split), Field(json_schema_extra={"kind": "list"})]
