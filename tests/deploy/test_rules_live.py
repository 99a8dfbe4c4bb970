"""All rules on a live store: each can be evaluated, and a stack that is well alerts of itself nothing."""

from __future__ import annotations

from typing import Any

from tests import servers
from tests.deploy.test_prometheus import ALERTS

LIMIT_S = 60.0


def _rules(store: servers.Prometheus) -> list[dict[str, Any]]:
    groups = store.get("/api/v1/rules").json()["data"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_each_rule_can_be_evaluated_on_the_series_that_there_really_are(live: servers.Prometheus) -> None:
    servers.wait_until(lambda: all(rule["health"] != "unknown" for rule in _rules(live)), LIMIT_S, "all evaluated")
    assert {rule["name"]: rule["lastError"] for rule in _rules(live) if rule["health"] != "ok"} == {}
    assert {rule["name"] for rule in _rules(live) if rule["type"] == "alerting"} == {one["alert"] for one in ALERTS}


def test_stack_that_is_well_alerts_nothing_of_itself_nor_of_its_gpus(live: servers.Prometheus) -> None:
    assert live.query('ALERTS{alertstate="firing",alertname!~"HostAnomaly.*"}') == []
