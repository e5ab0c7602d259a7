"""The Lambda handler of this name; see durable.functions.terminal_failure."""

from durable.functions.terminal_failure import handler as handler
