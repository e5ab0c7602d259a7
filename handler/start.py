"""The Lambda handler of this name; see durable.functions.start."""

from durable.functions.start import handler as handler
