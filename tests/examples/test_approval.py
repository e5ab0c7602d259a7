"""A request that is approved, declined, or not looked at in time."""

from __future__ import annotations

from decimal import Decimal

import pytest

from durable.testing import Harness
from durable.testing.clock import START
from handler.workflows.approval import IN_TIME, Decision, Mail, Request, approval, decisions, stage

REQUEST = Request("Ada", "Grace", "an engine", Decimal(1_000))


@pytest.fixture
def mail(monkeypatch: pytest.MonkeyPatch) -> Mail:
    mail = Mail()
    monkeypatch.setattr("handler.workflows.approval.mail", mail)
    return mail


@pytest.mark.rule("Q1", "Q3")
@pytest.mark.parametrize(("approved", "said"), [(True, "approved. Go on!"), (False, "declined. Go on!")])
def test_it_is_decided_and_both_are_told(durable: Harness, mail: Mail, approved: bool, said: str) -> None:
    execution = durable.start(approval, REQUEST)
    durable.run(duration=3600)
    assert (execution.status, execution.action(stage)) == ("waiting", "requested")

    durable.faults.before(2, lambda: durable.run(duration=0), operation="GetItem", by="client")
    answer = execution.send(decisions, Decision(approved, "Go on!"), wait=10)

    assert (answer, execution.output) == ("Ada is told", "approved" if approved else "declined")
    assert list(mail.sent.values()) == [("Grace", "Ada wants an engine for 1000"), ("Ada", f"an engine: {said}")]


@pytest.mark.rule("Q1", "Q4")
def test_nobody_decides_and_it_expires(durable: Harness, mail: Mail) -> None:
    execution = durable.start(approval, REQUEST)
    durable.run()

    assert (execution.output, execution.action("stage"), durable.clock.moment - START) == (
        "expired",
        "expired",
        IN_TIME,
    )
    assert list(mail.sent.values())[1:] == [("Ada", "nobody has decided about an engine")]
