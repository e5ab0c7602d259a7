"""A template as data: intrinsics, parameters, globals."""

from __future__ import annotations

from pathlib import Path

import pytest

from durable.errors import ConfigurationError
from durable.testing.template.intrinsics import Intrinsics, Unresolved
from durable.testing.template.template import Template, nearest

TEMPLATE = """
Parameters:
  Stage: { Type: String, Default: test, AllowedValues: [test, live] }
  Size: { Type: Number, Default: 1 }
Mappings:
  Sizes:
    test: { Count: 5 }
    live: { Count: 50 }
Conditions:
  IsLive: !Equals [!Ref Stage, live]
  IsSmall: !And [!Not [Condition: IsLive], !Equals [!Ref Size, 1]]
Globals:
  Function:
    Timeout: 30
    Layers: [shared]
    Environment: { Variables: { A: global, B: global } }
Resources:
  Work:
    Type: AWS::Serverless::Function
    Properties:
      Handler: work.handler
      Layers: [own]
      Environment: { Variables: { B: !Ref Stage } }
  Alarm:
    Type: AWS::CloudWatch::Alarm
    Condition: IsLive
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "template.yaml"
    file.write_text(TEMPLATE)
    return file


@pytest.fixture
def intrinsics(path: Path) -> Intrinsics:
    return Template.load(path).intrinsics(
        {"Queue": "https://queue", "Queue.Arn": "arn:queue", "AWS::Region": "eu-west-1"}
    )


def test_every_intrinsic_that_templates_use_is_resolved(intrinsics: Intrinsics) -> None:
    value = {
        "ref": {"Ref": "Stage"},
        "attribute": [{"Fn::GetAtt": "Queue.Arn"}, {"Fn::GetAtt": ["Queue", "Arn"]}],
        "text": {"Fn::Sub": "${Queue}/${Queue.Arn}/${AWS::Region}/${!Literal}/$default"},
        "local text": {"Fn::Sub": ["${Name}-${Stage}", {"Name": {"Ref": "Queue"}}]},
        "chosen": {"Fn::If": ["IsLive", "yes", "no"]},
        "left out": {"Fn::If": ["IsLive", "yes", {"Ref": "AWS::NoValue"}]},
        "list": ["a", {"Fn::If": ["IsSmall", {"Ref": "AWS::NoValue"}, "b"]}, "c"],
        "mapped": {"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "Count"]},
        "joined": {"Fn::Join": ["-", ["a", {"Ref": "Size"}]]},
        "selected": {"Fn::Select": [1, {"Fn::Split": [":", "a:b:c"]}]},
    }

    assert intrinsics.resolve(value) == {
        "ref": "test",
        "attribute": ["arn:queue", "arn:queue"],
        "text": "https://queue/arn:queue/eu-west-1/${Literal}/$default",
        "local text": "https://queue-test",
        "chosen": "no",
        "list": ["a", "c"],
        "mapped": 5,
        "joined": "a-1",
        "selected": "b",
    }


def test_an_intrinsic_that_has_no_answer_here_is_named(intrinsics: Intrinsics) -> None:
    with pytest.raises(ConfigurationError, match="Fn::ImportValue"):
        intrinsics.resolve({"Bucket": {"Fn::ImportValue": "other-stack"}})


def test_a_name_without_a_value_is_named(intrinsics: Intrinsics) -> None:
    with pytest.raises(Unresolved, match="'Bucket'"):
        intrinsics.resolve({"Ref": "Bucket"})


def test_globals_lie_under_a_functions_own_properties(path: Path) -> None:
    (function,) = Template.load(path).resources("AWS::Serverless::Function")

    assert function.properties == {
        "Handler": "work.handler",
        "Timeout": 30,
        "Layers": ["shared", "own"],
        "Environment": {"Variables": {"A": "global", "B": {"Ref": "Stage"}}},
    }


def test_a_resource_exists_where_its_condition_holds(path: Path) -> None:
    assert [resource.id for resource in Template.load(path).resources()] == ["Work"]
    assert [resource.id for resource in Template.load(path, {"Stage": "live"}).resources()] == ["Work", "Alarm"]


def test_a_parameter_that_the_template_does_not_have_is_refused(path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no parameter Stagee; it has: Size, Stage"):
        Template.load(path, {"Stagee": "live"})


def test_a_value_that_a_parameter_does_not_take_is_refused(path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Stage takes"):
        Template.load(path, {"Stage": "prod"})


def test_the_nearest_template_is_found_from_a_folder_below_it(path: Path) -> None:
    folder = path.parent / "a" / "b"
    folder.mkdir(parents=True)

    assert nearest(folder) == path


def test_a_project_without_a_template_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no template\.yaml"):
        nearest(tmp_path)
