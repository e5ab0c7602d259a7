"""Where values are kept that are too large to ride in the history: items of their own, or objects in a bucket (S13).

A reference says where: `item:<key>`, `items:<key>:<count>`, `object:<key>`. What it names never changes.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict

from durable.errors import CodecError
from durable.protocol import keys
from durable.runtime.ports import Blobs, Store

INLINE = 16_000  # bytes of a value that ride in the history: every cold load reads them
ITEM = 350_000  # bytes of one item; DynamoDB's limit is 400 KB
ITEMS = 4  # items of one value, where there is no bucket
OBJECT = 64_000_000  # bytes of a value in a bucket: a function has to hold it
CACHE = 16_000_000  # bytes that a warm process keeps


class Vault:
    """Keeps values and finds them again; sizes are counted in encoded bytes, and what is stored is compressed."""

    def __init__(self, store: Store, blobs: Blobs | None = None) -> None:
        self._store = store
        self._blobs = blobs
        self._cache: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._cached = 0

    @property
    def capacity(self) -> int:
        """Bytes of the largest value."""
        return ITEM * ITEMS if self._blobs is None else OBJECT

    def checked(self, stored: bytes, what: str) -> bytes:
        """The value; raises CodecError that names it when it is too large to be kept."""
        if len(stored) <= self.capacity:
            return stored
        hint = "" if self._blobs is not None else " Configure a bucket (DURABLE_BUCKET), or put"
        raise CodecError(
            f"{what} is {len(stored):,} bytes; at most {self.capacity:,} can be stored here."
            f"{hint or ' Put'} the data where it belongs, and keep its key."
        )

    def keep(self, execution_id: str, key: str, stored: bytes, *, expires: int = 0) -> str:
        """Write a value under a key that was never used before; the reference to it. It counts once a head names it.

        `expires`: when its items may be deleted; an object is kept as long as its execution.
        """
        packed = zlib.compress(stored, 1)
        if len(packed) > ITEM and self._blobs is not None:
            self._blobs.put(_object(execution_id, key), packed)
            reference = f"object:{key}"
        elif len(packed) > ITEM:
            pieces = [packed[start : start + ITEM] for start in range(0, len(packed), ITEM)]
            for at, piece in enumerate(pieces):
                self._store.keep(execution_id, keys.piece(key, at), piece, expires=expires)
            reference = f"items:{key}:{len(pieces)}"
        else:
            self._store.keep(execution_id, key, packed, expires=expires)
            reference = f"item:{key}"
        self._remember(execution_id, reference, stored)
        return reference

    def kept(self, execution_id: str, reference: str) -> bytes:
        """The value of a reference."""
        cached = self._cache.get((execution_id, reference))
        if cached is not None:
            self._cache.move_to_end((execution_id, reference))
            return cached
        form, _, key = reference.partition(":")
        if form == "object":
            if self._blobs is None:
                raise CodecError(
                    f"a value of execution '{execution_id}' is in a bucket, and none is configured: DURABLE_BUCKET"
                )
            packed = self._blobs.get(_object(execution_id, key))
        else:
            packed = b"".join(self._store.kept(execution_id, each) for each in item_keys(reference))
        stored = zlib.decompress(packed)
        self._remember(execution_id, reference, stored)
        return stored

    def drop(self, execution_id: str, references: list[str]) -> None:
        """Delete values that no head names any more."""
        self._store.drop(execution_id, [key for reference in references for key in item_keys(reference)])
        if self._blobs is not None:
            forms = [reference.partition(":") for reference in references]
            self._blobs.drop([_object(execution_id, key) for form, _, key in forms if form == "object"])

    def purge(self, execution_id: str, birth: int) -> None:
        """Delete every object of an execution; its items go with the table's."""
        if self._blobs is not None:
            self._blobs.purge(f"{execution_id}/{birth}/")

    def _remember(self, execution_id: str, reference: str, stored: bytes) -> None:
        if len(stored) > CACHE // 4:
            return
        self._cached += len(stored) - len(self._cache.pop((execution_id, reference), b""))
        self._cache[execution_id, reference] = stored
        while self._cached > CACHE:
            _, oldest = self._cache.popitem(last=False)
            self._cached -= len(oldest)


def _object(execution_id: str, key: str) -> str:
    """The key of an object: all of one life of an execution begin alike."""
    return f"{execution_id}/{keys.birth(key)}/{key}"


def item_keys(reference: str) -> list[str]:
    """The keys of the items that hold a value; none for one in a bucket."""
    form, _, rest = reference.partition(":")
    if form == "item":
        return [rest]
    if form == "items":
        key, _, count = rest.rpartition(":")
        return [keys.piece(key, at) for at in range(int(count))]
    return []
