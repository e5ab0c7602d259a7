"""Classes that are generic for type checkers and plain at run time.

`Context[State]` must work in annotations that are evaluated (get_type_hints), with defaults for what is left out, and
without typing_extensions, whose import costs a cold start milliseconds. So each generic class of the public API derives
from one of these, and its type variables are imported from here by type checkers alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Generic, ParamSpec

    from typing_extensions import TypeVar

    S = TypeVar("S", default=Any)  # the state document of an execution
    T_co = TypeVar("T_co", covariant=True)  # a value: of an outcome, a message, a step
    I = TypeVar("I")  # the input of a workflow
    O = TypeVar("O")  # its output
    B = TypeVar("B")  # the body of a message
    R = TypeVar("R")  # the reply to it; the result of an action
    W = TypeVar("W")  # the state that an action works on
    P = ParamSpec("P")  # the arguments of an action

    class Scoped(Generic[S]):
        """Generic in the state."""

    class Undoing(Generic[T_co, S]):
        """Generic in the step's output and the state."""

    class Valued(Generic[T_co]):
        """Generic in a value."""

    class Declared(Generic[B, R]):
        """Generic in the body of a message and the reply."""

    class Called(Generic[W, P, R]):
        """Generic in state, arguments and result."""

    class Typed(Generic[I, O, S]):
        """Generic in input, output and state."""

    class Started(Generic[O, S]):
        """Generic in output and state."""
else:
    from types import GenericAlias

    class Subscriptable:
        """Carries its type arguments along."""

        __slots__ = ()
        __class_getitem__ = classmethod(GenericAlias)

    class Undoing:
        """The same, for a class that has another generic base: they would be one class twice."""

        __slots__ = ()
        __class_getitem__ = classmethod(GenericAlias)

    Scoped = Valued = Declared = Called = Typed = Started = Subscriptable
