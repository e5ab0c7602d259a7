"""How the banks answer: what they are asked for, what they decline, and what they do wrong on purpose."""

from __future__ import annotations

from enum import StrEnum

from infra.demo.scenario import Account, Fault, How, Scenario, Transfer


class Operation(StrEnum):
    """What a bank is asked for."""

    DEBIT = "debit"
    CREDIT = "credit"
    NOTICE = "notice"
    ENTRY = "entry"
    DEBIT_BACK = "debit-back"
    CREDIT_BACK = "credit-back"
    WITHDRAWAL = "withdrawal"
    STRIKE = "strike"
    INQUIRY = "inquiry"


FORWARD = (Operation.DEBIT, Operation.CREDIT, Operation.NOTICE, Operation.ENTRY)
BACKWARD = {
    Operation.DEBIT: Operation.CREDIT_BACK,
    Operation.CREDIT: Operation.DEBIT_BACK,
    Operation.NOTICE: Operation.WITHDRAWAL,
    Operation.ENTRY: Operation.STRIKE,
}
FOR_EVER = 99
"""Times of a fault that no retry outlives."""

_PATHS = {
    ("POST", "/debits", False): Operation.DEBIT,
    ("POST", "/debits", True): Operation.DEBIT_BACK,
    ("POST", "/credits", False): Operation.CREDIT,
    ("POST", "/credits", True): Operation.CREDIT_BACK,
    ("POST", "/notices", False): Operation.NOTICE,
    ("POST", "/entries", False): Operation.ENTRY,
    ("GET", "/bookings", False): Operation.INQUIRY,
    ("DELETE", "/notices", False): Operation.WITHDRAWAL,
    ("DELETE", "/entries", False): Operation.STRIKE,
}


def operation(method: str, path: str, *, reverses: bool) -> Operation | None:
    """What an HTTP request asks for; None for what no bank knows."""
    resource = "/" + path.split("?")[0].split("/")[1]
    return _PATHS.get((method, resource, reverses))


def refusal(account: Account, asked: Operation, cents: int) -> str | None:
    """Why the bank declines, for ever; None when it agrees. What it booked itself it always takes back."""
    fault = account.faults.get(asked)
    if fault and fault.how is How.DECLINES:
        return fault.reason
    if account.closed and asked in (Operation.DEBIT, Operation.CREDIT):
        return f"account {account.number} is closed"
    if asked is Operation.DEBIT and cents > account.limit:
        return f"the amount is over the limit of account {account.number}"
    return None


def misbehaviour(account: Account, asked: Operation, call: int) -> Fault | None:
    """What goes wrong at the given call (1, 2 ...) of one idempotency key."""
    fault = account.faults.get(asked)
    if fault and fault.how is not How.DECLINES and call <= fault.times:
        return fault
    return None


def reached(scenario: Scenario, transfer: Transfer) -> tuple[list[Operation], bool]:
    """The forward operations that a transfer comes to, and whether the last of them is its end or its failure."""
    asked: list[Operation] = []
    for each in FORWARD:
        asked.append(each)
        account = scenario.accounts[transfer.source if each is Operation.DEBIT else transfer.target]
        if refusal(account, each, transfer.cents) or misbehaviour(account, each, FOR_EVER):
            return asked, False
    return asked, True
