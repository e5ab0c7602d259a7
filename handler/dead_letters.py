"""The Lambda handler of this name; see durable.functions.dead_letters."""

from durable.functions.dead_letters import handler as handler
