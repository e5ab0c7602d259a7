"""Find a rollback that uses the variable to which its own step's result is assigned (D13).

    hold = ctx.step("hold", book, seat, rollback=lambda undo, seat: release(hold))

The rollback's variables are kept as they are at the call, where `hold` is still that of the turn before. Only the
caller's bytecode tells what is assigned after the call, so this is the one place that reads any.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

from durable.errors import InvalidCall
from durable.usercode.reachable import functions

_STORE = "STORE_DEREF"  # what assigns a variable that inner functions use too
_RETURN = "RETURN_VALUE"
_FURTHEST = 200  # instructions: the expression around a call is not longer


class After(NamedTuple):
    """What becomes of what a call returns."""

    assigned: frozenset[str]  # variables of inner functions, too
    returned: bool  # to the caller's own caller


def user_frame() -> FrameType:
    """Return the frame of the user's code that called into this library."""
    frame = sys._getframe(1)
    while not _is_of_users(frame) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def check_own_result(caller: FrameType, rollback: Callable[..., Any], what: str) -> None:
    """Raise InvalidCall if the rollback uses a variable that the caller assigns what its call returns.

    A caller that returns it at once is a helper around `ctx.step`: then it is its caller's variable.
    """
    frame: FrameType | None = caller
    while frame is not None and _is_of_users(frame):
        after = after_call(frame.f_code, frame.f_lasti)
        for function in functions(rollback) if after.assigned else ():
            for name in after.assigned.intersection(function.__code__.co_freevars):
                if _is_of(function.__code__, frame.f_code, name):
                    raise InvalidCall(
                        f"{what}: its rollback uses the variable '{name}', which is assigned the step's own result after the "
                        "call: the rollback would see what was there before. Use undo.output in the rollback."
                    )
        frame = frame.f_back if after.returned else None


def _is_of_users(frame: FrameType) -> bool:
    return not frame.f_globals.get("__name__", "").startswith("durable.")


@lru_cache(maxsize=1024)
def after_call(code: CodeType, call: int) -> After:
    """Return what becomes of what the call at this offset returns, or of a part of it.

    It goes along the instructions after the call, as long as what it returned is on the stack and nothing from below it
    is used: `hold = step(...).value` is found, `holds = [*holds, step(...)]` is something else.
    """
    instructions = list(dis.get_instructions(code))
    places = {instruction.offset: at for at, instruction in enumerate(instructions)}
    waiting = [(max(at for offset, at in places.items() if offset <= call) + 1, 1)]
    assigned: set[str] = set()
    returned = False
    seen: set[tuple[int, int]] = set()
    while waiting and len(seen) < _FURTHEST:
        at, height = waiting.pop()
        if at >= len(instructions) or (at, height) in seen:
            continue
        seen.add((at, height))
        instruction = instructions[at]
        if instruction.opname == _STORE:
            assigned.add(str(instruction.argval))
        returned = returned or instruction.opname == _RETURN
        waiting += _following(instruction, at, height, places)
    return After(frozenset(assigned), returned)


def _following(instruction: dis.Instruction, at: int, height: int, places: dict[int, int]) -> Iterator[tuple[int, int]]:
    """The places where it goes on, each with how much of what the call returned is on the stack there."""
    name, argument = instruction.opname, instruction.arg
    jumps = instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs
    if name.startswith(("RETURN", "RAISE", "RERAISE", "YIELD", "FOR_ITER", "SEND")) or "BACKWARD" in name:
        return
    if jumps and (after := height + dis.stack_effect(instruction.opcode, argument, jump=True)) > 0:
        yield places[instruction.argval], after
    if not name.startswith("JUMP_FORWARD"):
        after = height + dis.stack_effect(instruction.opcode, argument, jump=False if jumps else None)
        if after > 0:
            yield at + 1, after


def _is_of(inner: CodeType, outer: CodeType, name: str) -> bool:
    """Whether the variable of a function is that of the function around it, and of none between them."""
    return any(
        constant is inner or _is_of(inner, constant, name)
        for constant in outer.co_consts
        if isinstance(constant, CodeType) and name in constant.co_freevars
    )
