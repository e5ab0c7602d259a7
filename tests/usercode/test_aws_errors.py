"""An error of AWS keeps its code."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from durable import ErrorInfo
from durable.usercode.failures import described

pytestmark = pytest.mark.rule("D4")


def client_error(code: Any) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "Rate exceeded"}}, "PutItem")


def test_the_code_is_in_the_details() -> None:
    assert described(client_error("ThrottlingException")) == ErrorInfo(
        "ClientError",
        "An error occurred (ThrottlingException) when calling the PutItem operation: Rate exceeded",
        {"code": "ThrottlingException", "operation_name": "PutItem"},
    )


def test_an_attribute_of_the_error_s_own_stands_before_it() -> None:
    error = client_error("ThrottlingException")
    error.code = "mine"

    assert described(error).details["code"] == "mine"


@pytest.mark.parametrize("response", [None, {}, {"Error": None}, {"Error": {}}, {"Error": {"Code": {}}}, "text"])
def test_a_response_of_another_kind_has_none(response: Any) -> None:
    error = OSError("no line")
    error.response = response

    assert "code" not in described(error).details
