"""Where libraries find object stores."""

from __future__ import annotations

from ksql_spark.object_stores import hadoop_settings

AWS = {
    "AWS_ENDPOINT_URL": "http://store:9000",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_SESSION_TOKEN": "",
}


def test_hadoop_gets_what_the_environment_says() -> None:
    assert hadoop_settings({"a": "b"}, AWS) == {
        "a": "b",
        "spark.hadoop.fs.s3a.endpoint": "http://store:9000",
        "spark.hadoop.fs.s3a.endpoint.region": "eu-central-1",
        "spark.hadoop.fs.s3a.access.key": "key",
        "spark.hadoop.fs.s3a.secret.key": "secret",
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }
    assert hadoop_settings({}, {}) == {}


def test_properties_of_the_server_take_precedence() -> None:
    given = {
        "spark.hadoop.fs.s3a.endpoint": "https://other",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.access.key": "mine",
        "spark.hadoop.fs.s3a.secret.key": "mine",
        "spark.hadoop.fs.s3a.path.style.access": "false",
    }
    assert hadoop_settings(given, AWS) == given
