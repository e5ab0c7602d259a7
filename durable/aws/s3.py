"""Large values as objects in a bucket, each under its execution's id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from durable.aws.errors import boundary
from durable.errors import StoreError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef

PAGE = 1_000  # keys that one DeleteObjects takes


class S3Blobs:
    """Implements `durable.runtime.ports.Blobs`. `client` is called when the bucket is first needed."""

    def __init__(self, bucket: str, client: Callable[[], S3Client]) -> None:
        self._bucket = bucket
        self._client = client

    def put(self, key: str, value: bytes) -> None:
        """Write an object."""
        with boundary(f"store '{key}' in the payload bucket"):
            self._client().put_object(Bucket=self._bucket, Key=key, Body=value)

    def get(self, key: str) -> bytes:
        """Return the bytes of an object."""
        with boundary(f"read '{key}' from the payload bucket"):
            return self._client().get_object(Bucket=self._bucket, Key=key)["Body"].read()

    def drop(self, keys: Sequence[str]) -> None:
        """Delete objects; those that are gone already are no fault."""
        with boundary("delete objects from the payload bucket"):
            for start in range(0, len(keys), PAGE):
                self._delete(keys[start : start + PAGE])

    def purge(self, prefix: str) -> None:
        """Delete every object whose key begins so."""
        with boundary(f"delete '{prefix}' from the payload bucket"):
            pages = self._client().get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            for page in pages:
                if found := page.get("Contents"):
                    self._delete([each["Key"] for each in found])

    def _delete(self, keys: Sequence[str]) -> None:
        """S3 answers 200 for objects that it did not delete: each one's error is looked at."""
        objects: Sequence[ObjectIdentifierTypeDef] = [{"Key": key} for key in keys]
        answer = self._client().delete_objects(Bucket=self._bucket, Delete={"Objects": objects, "Quiet": True})
        if errors := answer.get("Errors"):
            first = errors[0]
            raise StoreError(
                f"could not delete {len(errors)} of {len(keys)} objects from the payload bucket, "
                f"'{first.get('Key')}' for one: {first.get('Code')}: {first.get('Message')}"
            )
