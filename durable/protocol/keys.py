"""The sort keys of an execution's items: each is made and parsed here, and nowhere else.

    head                                           the head
    history#<number>#<fence>.<write>#<birth>       a sealed segment of the history
    message#<queue>#<number>                       a message that waits
    sent#<id>#<birth>                              the id of a message was used
    reply#<id>#<birth>                             the response to a message
    db#<key>#<birth>                               what `step.db` keeps
    payload#...#<birth>, state#...#<birth>         a large value, a large document

The birth is the time at which the execution was created. It keeps the lives of an id apart: what a late process writes
or deletes belongs to the life that it knows, never to one that has begun since. Messages need none: they are written
and taken under conditions on the head, and a purge deletes only the very messages that it has read.
"""

from __future__ import annotations

HEAD = "head"
LAST = "~"  # sorts after every character of the keys that are made here


def segment(birth: int, number: int, fence: int, write: int) -> str:
    """Return the key of a segment. `fence` and `write` make it unique: what was refused is never overwritten."""
    return f"{segments_from(number)}{fence}.{write}#{birth}"


def segments_from(number: int) -> str:
    """Return what the keys of the segments of this number begin with; those of later ones sort after it."""
    return f"history#{number:06}#"


def segment_number(key: str) -> int:
    """Return the number of a segment, which its key carries."""
    return int(key.split("#")[1])


def message(queue: str, number: int) -> str:
    """Return the key of a message: in a queue, by number."""
    return f"{messages(queue)}{number:010}"


def messages(queue: str | None = None) -> str:
    """Return what the keys of a queue's messages begin with; None: of all queues."""
    return "message#" if queue is None else f"message#{queue.replace('%', '%25').replace('#', '%23')}#"


def is_message(key: str) -> bool:
    """Return whether an item is a message."""
    return key.startswith(messages())


def sent(birth: int, message_id: str) -> str:
    """Return the key of the item that says that the id of a message was used."""
    return f"sent#{message_id}#{birth}"


def reply(birth: int, message_id: str) -> str:
    """Return the key of the response to a message."""
    return f"reply#{message_id}#{birth}"


def database(birth: int, key: str) -> str:
    """Return the key of an item of `step.db`."""
    return f"db#{key}#{birth}"


def payload(birth: int, *name: object) -> str:
    """Return the key of a large value."""
    return "#".join(["payload", *map(str, name), str(birth)])


def state(birth: int, *name: object) -> str:
    """Return the key of a large document."""
    return "#".join(["state", *map(str, name), str(birth)])


def piece(key: str, at: int) -> str:
    """Return the key of a part of a value that no single item can hold."""
    name, _, born = key.rpartition("#")
    return f"{name}.{at}#{born}"


def birth(key: str) -> int:
    """Return the birth that a key carries; 0: it carries none."""
    _, _, found = key.rpartition("#")
    return 0 if is_message(key) or not found.isdecimal() else int(found)


def goes_with(key: str, life: int) -> bool:
    """Whether an item is of the execution of this birth, or of an earlier one of the same id: its purge deletes it."""
    return 0 < birth(key) <= life
