"""Secrets: what is taken for one, and what is left alone."""

from __future__ import annotations

import pytest

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.masking import is_secret, masked, masked_values, secrets

CANARY = "c4n4ry"


@pytest.mark.parametrize(
    "text",
    [
        f"http://me:{CANARY}@there:8081/x refused",
        f"http://{CANARY}@there",
        f"https://me:p@{CANARY}@there/x",
        f"jdbc:postgresql://there/db?user=me&password={CANARY}&ssl=true",
        f"SET 'sasl.jaas.config' = 'x ''{CANARY}'' y';",
        f"SET 'ssl.keystore.key'='{CANARY}'",
        f"ALTER SYSTEM 'ksql.schema.registry.basic.auth.user.info'='me:{CANARY}';",
        f"CREATE SINK CONNECTOR c WITH (\"connection.password\" = '{CANARY}');",
        f"create source connector if not exists c with (`aws.secret.access.key`='{CANARY}', x='y');",
        f"CREATE SOURCE CONNECTOR c WITH (PASSWORD='{CANARY}');",
        f'{{"connection.password": "{CANARY}", "x": 1}}',
        f'org.x.PlainLoginModule required username="me" password="{CANARY}";',
        f"-Xmx1g -Djavax.net.ssl.trustStorePassword={CANARY} -Dx=y",
        f"CREATE /* quietly */ SOURCE CONNECTOR c WITH (PASSWORD='{CANARY}');",
        f"CREATE SOURCE CONNECTOR c WITH ('db.pwd'='{CANARY}', 'x.api-key'='a');",
        f"CREATE SINK CONNECTOR c WITH ('headers'='Accept: x, Authorization: Bearer {CANARY}');",
        f"DEFINE db_password = '{CANARY}';",
        f"SET 'a.password' = 'x ''{CANARY}",  # the beginning of a statement
    ],
)
def test_what_looks_like_a_secret_is_hidden(text):
    assert CANARY not in masked(text)
    assert "[hidden]" in masked(text)


@pytest.mark.parametrize("unit", ["a.", "a-", "password", "-Da.", "'a.key", "';", "&token", "a://", "x='"])
def test_long_text_of_anybodys_choice_takes_no_time(unit):
    # in the square of its length, each of these would take hours, and nothing else would run meanwhile
    text = unit * (300_000 // len(unit))
    assert len(masked(f"CONNECTOR {text}", ["secret"])) >= 100


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM users WHERE password = 'x' EMIT CHANGES;",
        "SELECT token, key FROM s WHERE url = 'http://there:80/a@b?x=1';",
        "INSERT INTO s VALUES ('me@there.org', 'a:b');",
        "SET 'auto.offset.reset' = 'earliest';",
        "CREATE SINK CONNECTOR c WITH (\"connection.url\" = 'jdbc:x://there/db');",
    ],
)
def test_other_text_is_left_alone(text):
    assert masked(text) == text


def test_known_secrets_are_hidden_wherever_they_are():
    config = Config(
        {
            "sasl.jaas.config": f'x required username="me" password="{CANARY}";',
            "ksql.schema.registry.url": "http://me:se:cret@there",
            "ksql.schema.registry.basic.auth.user.info": "me:pass word",
            "ssl.key.password": "abc",  # too short to look for
        }
    )
    assert config.secrets() >= {CANARY, "se:cret", "pass word"}
    assert (
        masked(f"<{CANARY}> se:cret (pass word) abc", config.secrets())
        == "<[hidden]> [hidden] ([hidden]) abc"
    )
    assert secrets({"connection.url": "http://token1@there"}) == {"token1"}


def test_values():
    given = {"a.password": 1, "url": f"http://me:{CANARY}@there", "n": 2}
    assert masked_values(given) == {"a.password": "[hidden]", "url": "http://[hidden]@there", "n": 2}
    assert is_secret("ssl.keystore.key") and not is_secret("key.converter") and not is_secret("KEY")


def test_errors_hide_secrets():
    error = KsqlError(
        "REMOTE_UNREACHABLE", name="X", url=f"http://me:{CANARY}@there", reason="no", setting="s"
    )
    assert "http://[hidden]@there" in error.message and CANARY not in str(error)
