"""The Lambda handler of this name; see durable.functions.api."""

from durable.functions.api import handler as handler
