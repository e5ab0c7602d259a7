"""Large values as objects in a bucket, each under its execution's id."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from durable.aws.errors import boundary

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

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

    def drop(self, prefix: str) -> None:
        """Delete every object whose key begins so."""
        with boundary(f"delete '{prefix}' from the payload bucket"):
            client = self._client()
            while True:
                found = client.list_objects_v2(Bucket=self._bucket, Prefix=prefix, MaxKeys=PAGE).get("Contents", [])
                if not found:
                    return
                client.delete_objects(
                    Bucket=self._bucket, Delete={"Objects": [{"Key": each["Key"]} for each in found], "Quiet": True}
                )
