"""The faithful protocol: no property is broken and nothing gets stuck, whatever happens within a scenario's budget."""

from __future__ import annotations

import sys

import pytest

from tests.model.checker import check
from tests.model.scenario import Scenario
from tests.model.state import DRIFT, QUEUE, QUEUE_WITH_TIMEOUT, SLEEP, step

STEP = step()
FLAKY = step("ok", "retry")
FAILS = step("terminal")
POISON = step("poison")
POISON_ONCE = step("poison", attempts=1, at_most_once=True)
UNDO_FLAKY = step(undo=("ok", "retry"))
UNDO_POISON = step(undo=("poison",))
MANY = 100

DELIVERY = {
    "two steps, crashes and duplicates": Scenario((STEP, STEP), crashes=3, duplicates=2),
    "three workers": Scenario((STEP, FLAKY), crashes=1, duplicates=3, workers=3),
    "many steps an invocation": Scenario((STEP,) * 4, steps_per_invocation=MANY, crashes=3, duplicates=2),
    "answers are lost": Scenario((STEP, FLAKY), crashes=1, duplicates=1, lost_answers=2),
    "answers are lost, many steps an invocation": Scenario(
        (FLAKY, STEP, STEP), steps_per_invocation=MANY, crashes=2, duplicates=1, lost_answers=2
    ),
    "a sleep, crashes and duplicates": Scenario((STEP, SLEEP, STEP), crashes=3, duplicates=2),
    "code that does not fit its history": Scenario((STEP, DRIFT), crashes=1, duplicates=1, verbs=("pause", "resume")),
}

LATE = {
    "a holder is late": Scenario((STEP, STEP), crashes=1, duplicates=1, late=1),
    "a holder is late, many steps an invocation": Scenario(
        (STEP, STEP, STEP), steps_per_invocation=MANY, crashes=2, duplicates=1, late=1
    ),
    "a holder is late, and its message a dead letter": Scenario(
        (STEP, STEP), steps_per_invocation=MANY, crashes=1, duplicates=1, dead_letters=1, late=1
    ),
    "two holders are late, a sleep": Scenario(
        (STEP, SLEEP, STEP), steps_per_invocation=MANY, crashes=1, duplicates=1, late=2
    ),
    "a holder is late, a failure": Scenario((STEP, FAILS), steps_per_invocation=MANY, crashes=1, duplicates=1, late=1),
    "a holder is late, and answers are lost": Scenario(
        (STEP, STEP), steps_per_invocation=MANY, crashes=1, duplicates=1, lost_answers=1, late=1
    ),
    "a holder is late, a queue": Scenario((STEP, QUEUE, STEP), crashes=1, duplicates=1, late=1, verbs=("send",)),
    "a holder is late, a queue with a timeout": Scenario(
        (QUEUE_WITH_TIMEOUT, STEP), steps_per_invocation=MANY, crashes=1, duplicates=1, late=1, verbs=("send",)
    ),
    "a holder is late, and its execution terminated": Scenario(
        (STEP, STEP), steps_per_invocation=MANY, crashes=1, duplicates=1, lost_answers=1, late=1, verbs=("terminate",)
    ),
    "a holder is late, and its execution cancelled": Scenario(
        (STEP, STEP), steps_per_invocation=MANY, crashes=1, duplicates=1, late=1, verbs=("cancel",)
    ),
    "a holder is late, and its rollback paused": Scenario(
        (STEP, FAILS), steps_per_invocation=MANY, crashes=1, duplicates=1, late=1, verbs=("pause", "resume")
    ),
    "a holder is late, pause and resume": Scenario(
        (STEP, STEP), steps_per_invocation=MANY, crashes=1, duplicates=1, late=1, verbs=("pause", "resume")
    ),
}

ATTEMPTS = {
    "a flaky step, crashes and duplicates": Scenario((FLAKY, STEP), crashes=3, duplicates=2),
    "a poisoned step": Scenario((STEP, POISON), crashes=1, duplicates=1, lost_answers=1),
    "a poisoned step, many steps an invocation": Scenario(
        (STEP, POISON), steps_per_invocation=MANY, crashes=1, duplicates=1, lost_answers=1
    ),
    "a poisoned step with five attempts": Scenario((step("poison", attempts=5),), crashes=1, duplicates=1),
    "a poisoned step at most once": Scenario((POISON_ONCE, STEP), crashes=2, duplicates=1, lost_answers=1),
    "a poisoned step is paused and cancelled": Scenario(
        (POISON,), crashes=1, duplicates=1, verbs=("cancel", "pause", "resume")
    ),
}

ROLLBACK = {
    "a failure after a step": Scenario((STEP, FAILS), crashes=3, duplicates=2),
    "a failure, many steps an invocation": Scenario(
        (STEP, STEP, FAILS), steps_per_invocation=MANY, crashes=2, duplicates=2
    ),
    "a rollback is tried again": Scenario((UNDO_FLAKY, FAILS), crashes=2, duplicates=1, lost_answers=1),
    "a rollback kills its process": Scenario((UNDO_POISON, FAILS), crashes=1, duplicates=1, lost_answers=1),
    "a rollback kills its process, many steps an invocation": Scenario(
        (UNDO_POISON, UNDO_FLAKY, FAILS), steps_per_invocation=MANY, crashes=1
    ),
    "a rollback sometimes kills its process": Scenario((step(undo=("ok", "retry", "poison")), FAILS), crashes=1),
    "cancel between crashes": Scenario((STEP, STEP), crashes=2, duplicates=1, verbs=("cancel",)),
    "cancel, many steps an invocation": Scenario(
        (STEP, STEP), steps_per_invocation=MANY, crashes=2, duplicates=1, verbs=("cancel",)
    ),
    "cancel around a sleep": Scenario((STEP, SLEEP, STEP), crashes=1, duplicates=1, verbs=("cancel",)),
    "cancel, a rollback is tried again": Scenario((UNDO_FLAKY,), crashes=1, duplicates=1, verbs=("cancel", "send")),
}

VERBS = {
    "pause and resume": Scenario((STEP, STEP), crashes=2, duplicates=1, verbs=("pause", "resume")),
    "pause and resume in a sleep": Scenario((SLEEP, STEP), crashes=1, duplicates=1, verbs=("pause", "resume")),
    "pause, resume and lost answers": Scenario(
        (FLAKY, STEP), steps_per_invocation=MANY, crashes=1, lost_answers=2, verbs=("pause", "resume")
    ),
    "pause, resume and cancel": Scenario((STEP,), crashes=1, duplicates=2, verbs=("cancel", "pause", "resume")),
    "terminate, pause and cancel": Scenario((STEP, FAILS), crashes=1, verbs=("cancel", "pause", "terminate")),
}

QUEUES = {
    "a queue without a timeout": Scenario((QUEUE, STEP), crashes=2, duplicates=2, verbs=("send",)),
    "a queue with a timeout": Scenario((QUEUE_WITH_TIMEOUT, STEP), crashes=2, duplicates=1, verbs=("send",)),
    "two queues, two messages": Scenario((QUEUE, STEP, QUEUE), crashes=1, duplicates=1, verbs=("send", "send 2")),
    "two queues with timeouts": Scenario((QUEUE_WITH_TIMEOUT,) * 2, crashes=1, verbs=("send", "send 2")),
    "a message in a sleep before its queue": Scenario((SLEEP, QUEUE), crashes=1, duplicates=1, verbs=("send",)),
    "a message in a backoff": Scenario((FLAKY, QUEUE), crashes=1, duplicates=1, verbs=("send",)),
    "a message in a pause": Scenario((QUEUE, STEP), crashes=1, verbs=("pause", "resume", "send")),
    "cancel of a wait": Scenario((QUEUE, STEP), crashes=1, duplicates=1, verbs=("cancel", "send")),
}

RECOVERY = {
    "dead letters of a flaky step": Scenario((STEP, FLAKY), crashes=1, duplicates=1, dead_letters=2),
    "dead letters of a poisoned step": Scenario((POISON,), crashes=1, duplicates=1, dead_letters=2),
    "dead letters around a sleep": Scenario((STEP, SLEEP), crashes=1, duplicates=1, dead_letters=4),
    "dead letters of a wait": Scenario((QUEUE, STEP), crashes=1, dead_letters=2, verbs=("send",)),
    "dead letters and cancel": Scenario((STEP,), crashes=1, dead_letters=2, verbs=("cancel",)),
    "dead letters during a deploy": Scenario((STEP,), crashes=1, dead_letters=4, deploying=True),
    "start dies before it sends": Scenario(
        (STEP,), crashes=2, duplicates=1, sweeper=True, clients_die=True, verbs=("start again",)
    ),
    "a message is lost": Scenario((STEP, SLEEP, FAILS), crashes=2, losses=1, sweeper=True),
    "send dies": Scenario((QUEUE, STEP), crashes=2, losses=1, sweeper=True, clients_die=True, verbs=("send",)),
    "resume and cancel die": Scenario(
        (STEP,), crashes=2, losses=1, sweeper=True, clients_die=True, verbs=("cancel", "pause", "resume")
    ),
}


def passes(scenario: Scenario) -> None:
    report = check(scenario)
    sys.stdout.write(f"{report.states} states\n")  # shown by pytest -rA
    assert report.failure is None, str(report)


def each(scenarios: dict[str, Scenario]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scenario", scenarios.values(), ids=scenarios)


@pytest.mark.rule("E3", "E4", "E5", "D2")
@each(DELIVERY)
def test_no_delivery_and_no_crash_breaks_or_stops_an_execution(scenario: Scenario) -> None:
    passes(scenario)


@pytest.mark.rule("E3", "E4", "E6")
@each(LATE)
def test_a_holder_that_is_late_writes_nothing_of_its_own_and_leaves_nothing_behind(scenario: Scenario) -> None:
    passes(scenario)


@pytest.mark.rule("S4", "S5")
@each(ATTEMPTS)
def test_a_step_ends_when_its_attempts_are_used_up_and_not_before(scenario: Scenario) -> None:
    passes(scenario)


@pytest.mark.rule("R3", "R4", "R5", "R8", "R12")
@each(ROLLBACK)
def test_exactly_the_started_steps_are_rolled_back_in_reverse_order(scenario: Scenario) -> None:
    passes(scenario)


@pytest.mark.rule("E7", "R12")
@each(VERBS)
def test_what_a_client_asks_for_is_never_overwritten(scenario: Scenario) -> None:
    passes(scenario)


@pytest.mark.rule("Q2", "Q5")
@each(QUEUES)
def test_a_message_is_never_lost_and_never_taken_twice(scenario: Scenario) -> None:
    passes(scenario)


@pytest.mark.rule("E3", "R3")
@each(RECOVERY)
def test_lost_messages_and_dead_letters_end_well(scenario: Scenario) -> None:
    passes(scenario)


@pytest.mark.rule("E3")
@pytest.mark.parametrize("length", [1, 2, 4, 6])
def test_the_number_of_live_continuations_does_not_grow_with_the_workflow(length: int) -> None:
    passes(Scenario((STEP,) * length, crashes=1, duplicates=1, most_messages=3))
