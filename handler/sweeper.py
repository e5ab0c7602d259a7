"""The Lambda handler of this name; see durable.functions.sweeper."""

from durable.functions.sweeper import handler as handler
