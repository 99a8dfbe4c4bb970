"""Who may say that a host is worked on, and what they are answered; behind ``/api/v1/maintenance``."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from typing import Any

from detector.clock import Clock
from detector.maintenance.ask import as_json, asked_period
from detector.maintenance.register import Register

_BEARER = "Bearer "


class Desk:
    """Takes requests from who has the token, or without one from this machine. Safe to use from any thread."""

    def __init__(self, register: Register, token: str, clock: Clock) -> None:
        self._register, self._token, self._clock = register, token, clock

    def refusal(self, address: str, headers: Mapping[str, str]) -> tuple[int, str]:
        """Status and reason where a request to change something is refused; 0 where it is not.

        Web pages may not, whatever machine they are shown on: their requests carry ``Origin``.
        """
        if "Origin" in headers:
            return 403, "not from a web page"
        if self._token:
            given = headers.get("Authorization", "").removeprefix(_BEARER)
            right = hmac.compare_digest(given.encode(), self._token.encode())
            return (0, "") if right else (401, "maintenance.token is needed as Authorization: Bearer")
        return (0, "") if _is_here(address) else (403, "only from this machine: maintenance.token is not set")

    def listed(self) -> Mapping[str, Any]:
        """All periods that are not over, and whether a restart remembers what was set."""
        periods = as_json(self._register.periods(self._clock.wall_s()))
        return {"maintenance": periods, "saved": self._register.saved}

    def begin(self, body: bytes) -> Mapping[str, Any]:
        """The period that was asked for, and whether a restart remembers it: it counts either way.

        Raises:
            AskError: a field is wrong.
            FullError: there are too many.
        """
        now_s = self._clock.wall_s()
        (period,) = as_json([("api", self._register.add(asked_period(body, now_s), now_s))])
        return {**period, "saved": self._register.saved}

    def end(self, period_id: str) -> bool:
        """End a period; False where there is none of that id."""
        return self._register.end(period_id, self._clock.wall_s())


def _is_here(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback
