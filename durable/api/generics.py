"""Classes that are generic for type checkers and plain at run time.

`Context[State]` must work in annotations that are evaluated (get_type_hints), with defaults for what is left out, and
without typing_extensions, whose import costs a cold start milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Generic

    from typing_extensions import TypeVar

    S = TypeVar("S", default=Any)  # the state document of the execution
    T_co = TypeVar("T_co", covariant=True)

    class Scoped(Generic[S]):
        """Generic in the state."""

    class Undoing(Generic[T_co, S]):
        """Generic in the step's output and the state."""
else:
    from types import GenericAlias

    class Scoped:
        """Carries its type arguments along."""

        __slots__ = ()
        __class_getitem__ = classmethod(GenericAlias)

    Undoing = Scoped

__all__ = ["Scoped", "Undoing"]
