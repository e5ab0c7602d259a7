"""The Lambda handler of this name; see durable.functions.worker."""

from durable.functions.worker import handler as handler
