"""How a server is reached and knows us: passwords, tokens, certificates, proxies, headers; none of it is ever shown.

Certificates are read for each new connection, secrets in files whenever the file changes: all may be exchanged while
the program runs. Tenants: https://grafana.com/docs/mimir/latest/manage/secure/authentication-and-authorization/.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import quote

from pydantic import AfterValidator, Field, SecretStr, model_validator
from requests.utils import get_auth_from_url

from detector.section import Secret, Secrets, Section, check_url

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+:[ \t]*[ -~]+")
_VALUE = re.compile(r"[ -~]*")
_CONCEALED = "<secret>"
_SHORTEST_SECRET = 4  # what is shorter would be found in any text
_MOST_BYTES = 4  # of a character


class AccessError(Exception):
    """A secret cannot be read or used; the message names the setting, never the secret."""


def _check_file(path: str) -> str:
    if path and not os.access(path, os.R_OK):
        raise ValueError(f"{path} cannot be read")
    return path


def _check_proxy(url: str) -> str:
    return check_url(url) if url else url


def _check_headers(headers: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    for number, header in enumerate(headers, 1):
        if not _HEADER.fullmatch(header.get_secret_value()):
            raise ValueError(f"header {number} must be NAME: VALUE in plain characters")
    return headers


ReadableFile = Annotated[str, AfterValidator(_check_file)]


class AccessSettings(Section):
    """How the server is reached and knows us. Secrets belong into files or environment variables."""

    username: str = Field(default="", description="User of basic authentication.")
    password: Secret = Field(default=SecretStr(""), description="Password of that user.")
    password_file: ReadableFile = Field(default="", description="File that holds the password instead.")
    bearer_token: Secret = Field(default=SecretStr(""), description="Token sent as `Authorization: Bearer`.")
    bearer_token_file: ReadableFile = Field(default="", description="File that holds the token instead.")
    ca_file: ReadableFile = Field(
        default="", description="Certificates (PEM) of who may have signed the server's; empty: those of the system."
    )
    certificate_file: ReadableFile = Field(default="", description="Our own certificate (PEM), shown to the server.")
    key_file: ReadableFile = Field(default="", description="Key of our certificate (PEM), where it is not in its file.")
    proxy: Annotated[Secret, AfterValidator(lambda secret: SecretStr(_check_proxy(secret.get_secret_value())))] = Field(
        default=SecretStr(""), description="URL of a proxy; variables such as `HTTPS_PROXY` do not count."
    )
    tenant: str = Field(default="", pattern="[ -~]*", description="Tenant, sent as `X-Scope-OrgID` (Mimir, Cortex).")
    headers: Annotated[Secrets, AfterValidator(_check_headers)] = Field(
        default=(), description="More headers, each `NAME: VALUE`; those that hold a comma as a list in the file."
    )

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        basic = [self.password.get_secret_value(), self.password_file]
        bearer = [self.bearer_token.get_secret_value(), self.bearer_token_file]
        if all(basic) or all(bearer):
            raise ValueError("give a secret or a file that holds it, not both")
        if any(bearer) and (self.username or any(basic)):
            raise ValueError("give a user or a bearer token, not both")
        if any(basic) and not self.username:
            raise ValueError("a password needs a username")
        if self.key_file and not self.certificate_file:
            raise ValueError("key_file needs a certificate_file")
        return self


class _InFile:
    """A secret in a file, read again when the file changes."""

    def __init__(self, setting: str, path: str) -> None:
        self._setting, self._path = setting, Path(path)
        self._stamp: tuple[int, int, int] | None = None
        self._value = ""

    def value(self) -> str:
        """What the file holds, without white space around it."""
        try:
            status = self._path.stat()
            stamp = status.st_mtime_ns, status.st_ino, status.st_size
            if stamp != self._stamp:
                # Empty is what a file that is written in place is for a moment.
                self._value, self._stamp = self._path.read_text(encoding="utf-8").strip() or self._value, stamp
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not text"
            raise AccessError(f"{self._setting}: {self._path} cannot be read: {reason}") from None
        return self._value


def _basic(user: str, password: str) -> list[str]:
    """What stands for both in a header, in the encodings that are in use."""
    pair = f"{user}:{password}"
    encodings = ["utf-8", "latin-1"] if all(ord(letter) < 256 for letter in pair) else ["utf-8"]
    return [base64.b64encode(pair.encode(encoding)).decode() for encoding in encodings]


def _forms(secret: str) -> Iterator[str]:
    """A secret as it may be repeated: plain, in JSON, in HTML and in a URL."""
    yield from (secret, json.dumps(secret)[1:-1], html.escape(secret), quote(secret, safe=""))


class Access:
    """Settings at work."""

    def __init__(self, settings: AccessSettings) -> None:
        self._settings = settings
        self._password = _InFile("password_file", settings.password_file) if settings.password_file else None
        self._token = _InFile("bearer_token_file", settings.bearer_token_file) if settings.bearer_token_file else None

    @property
    def verify(self) -> str | bool:
        """What certificates of servers are checked against, as ``requests`` takes it."""
        return self._settings.ca_file or True

    @property
    def certificate(self) -> str | tuple[str, str] | None:
        """Our certificate, as ``requests`` takes it."""
        settings = self._settings
        if settings.key_file:
            return settings.certificate_file, settings.key_file
        return settings.certificate_file or None

    @property
    def proxies(self) -> Mapping[str, str]:
        """By scheme, as ``requests`` takes them."""
        proxy = self._settings.proxy.get_secret_value()
        return {"http": proxy, "https": proxy} if proxy else {}

    def headers(self) -> Mapping[str, str]:
        """Headers of a request that is sent now.

        Raises:
            AccessError: a file cannot be read, or what it holds cannot be sent.
        """
        settings = self._settings
        pairs = (header.get_secret_value().partition(":") for header in settings.headers)
        found = {name: value.strip() for name, _, value in pairs}
        if settings.tenant:
            found["X-Scope-OrgID"] = settings.tenant
        token, password = self._secrets()
        if not _VALUE.fullmatch(token):
            raise AccessError("the bearer token holds characters that cannot be sent")
        if token:
            found["Authorization"] = f"Bearer {token}"
        elif settings.username:
            found["Authorization"] = f"Basic {_basic(settings.username, password)[0]}"
        return found

    def conceal(self, said: str | bytes, most: int, *urls: str) -> str:
        """The beginning of a text of somebody else, which may be large: its first ``most`` characters or some more,
        without the secrets that it repeats, those in our ``urls`` among them."""
        forms = self._concealed(urls)
        longest = max(map(len, forms), default=0)
        start = said[: _MOST_BYTES * (most + longest)]
        text = start if isinstance(start, str) else start.decode(errors="replace")
        for form in forms:
            text = text.replace(form, _CONCEALED)
        # Of a secret that was cut at the end nothing is found: what may be one is left out.
        return text if len(start) == len(said) else text[: max(0, len(text) - longest)]

    def _concealed(self, urls: Iterable[str]) -> list[str]:
        """What is not to be shown in any form that it may be repeated in, the longest first."""
        settings = self._settings
        try:
            secrets = [*self._secrets(), *self.headers().values()]
        except AccessError:
            secrets = []
        for url in (settings.proxy.get_secret_value(), *urls):
            user, password = get_auth_from_url(url)
            secrets += [password, *_basic(user, password)] if password else []
        secrets += [secret.removeprefix("Basic ") for secret in secrets]
        forms = {form for secret in secrets if secret != settings.tenant for form in _forms(secret)}
        return sorted((form for form in forms if len(form) >= _SHORTEST_SECRET), key=len, reverse=True)

    def _secrets(self) -> tuple[str, str]:
        """Token and password as they are now; empty where there is none."""
        token = self._token.value() if self._token else self._settings.bearer_token.get_secret_value()
        password = self._password.value() if self._password else self._settings.password.get_secret_value()
        return token, password
