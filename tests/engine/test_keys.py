"""Idempotency keys: the same whenever it is the same call, another for every other."""

from __future__ import annotations

import re

import pytest

from durable.engine.identities import forward_key, rollback_key

pytestmark = pytest.mark.rule("S6")


def test_a_key_is_stable() -> None:
    assert forward_key("order-1", 0, "charge") == forward_key("order-1", 0, "charge")
    assert rollback_key("order-1", 0, "charge") == rollback_key("order-1", 0, "charge")


def test_a_key_never_changes_between_releases() -> None:
    assert forward_key("order-1", 0, "charge") == "2e11a545d129671fd45d98aed5e70cb96bc1726ee25d347577ee17a0c5732386"
    assert rollback_key("order-1", 0, "charge") == "12e2a403ab8d4f6612eb96688d528ebfda57b0e8681a6ce7475e7ae34f537495"


def test_a_key_can_be_sent_anywhere() -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", forward_key("order-1", 0, "payments[3]/charge"))
    assert re.fullmatch(r"[0-9a-f]{64}", rollback_key("order-1", 0, "payments[3]/charge"))


def test_another_execution_run_step_or_direction_has_another_key() -> None:
    places = [("a", 0, "charge"), ("a", 1, "charge"), ("a", 0, "charge#2"), ("b", 0, "charge"), ("a", 0, "0\0charge")]

    keys = {key(*place) for place in places for key in (forward_key, rollback_key)}

    assert len(keys) == 10
