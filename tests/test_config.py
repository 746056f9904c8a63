"""Properties: names, types, sources and their order, overrides."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ksql_spark.config import (
    PROPERTIES,
    Config,
    canonical,
    default_data_dir,
    environment_properties,
    find,
    is_valid_property,
    parse_properties,
    warning,
)
from ksql_spark.config.kafka_settings import KAFKA_SETTINGS, PASSED_ON
from ksql_spark.errors import KsqlError


@pytest.mark.parametrize("entry", PROPERTIES.values(), ids=list(PROPERTIES))
def test_every_default_is_a_value_of_its_type(entry):
    assert entry.parse(entry.default) == entry.default
    assert entry.description.endswith(".")
    assert entry.level == "server" or entry.editable
    assert canonical(entry.name) == entry.name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("auto.offset.reset", "ksql.streams.auto.offset.reset"),
        ("ksql.streams.consumer.max.poll.records", "ksql.streams.consumer.max.poll.records"),
        ("producer.linger.ms", "ksql.streams.producer.linger.ms"),
        ("ksql.streams.topic.retention.ms", "ksql.streams.topic.retention.ms"),
        ("ssl.keystore.location", "ssl.keystore.location"),
        ("ksql.schema.registry.basic.auth.user.info", "ksql.schema.registry.basic.auth.user.info"),
        ("spark.sql.shuffle.partitions", "spark.sql.shuffle.partitions"),
        ("ksql.streams.nonsense", None),
        ("ksql.nonsense", None),
        ("fs.s3a.endpoint", "fs.s3a.endpoint"),
        ("spark.", None),
        ("fs.", None),
        ("", None),
    ],
)
def test_names(name, expected):
    assert canonical(name) == expected
    assert is_valid_property(name) == (expected is not None)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ksql.lambdas.enabled", "FALSE", False),
        ("ksql.lambdas.enabled", True, True),
        ("ksql.checkpoint.interval.ms", "60000", 60000),
        ("auto.offset.reset", "EARLIEST", "earliest"),
        ("ksql.hidden.topics", "a, b,", ["a", "b"]),
        ("ksql.service.id", " x_ ", "x_"),
        ("max.poll.records", 5, "5"),
    ],
)
def test_values_are_typed(name, value, expected):
    assert find(name).parse(value) == expected


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("auto.offset.reset", "none", "it must be earliest or latest"),
        ("ksql.lambdas.enabled", "yes", "it must be true or false"),
        ("ksql.max.push.queries", "1.5", "it must be a whole number"),
        ("ksql.max.push.queries", True, "it must be a whole number"),
        ("ksql.max.push.queries", str(2**31), "it must be between"),
        ("ksql.max.push.queries", "9" * 5000, "Invalid value 9{100}… for .*it must be between"),
        ("ksql.server.max.requests.per.second", "1e309", "it must be a number"),
        ("ksql.server.max.requests.per.second", float("nan"), "it must be a number"),
        ("ksql.server.max.requests.per.second", "-1", "it must be at least 0"),
        ("ksql.checkpoint.interval.ms", "4999", "it must be at least 5000"),
    ],
)
def test_wrong_values_say_why(name, value, reason):
    with pytest.raises(KsqlError, match=reason) as caught:
        find(name).parse(value)
    assert caught.value.condition == "PROPERTY_INVALID"


@pytest.mark.parametrize("value", ["exactly_once", "exactly_once_beta", "exactly_once_v3", "none"])
def test_guarantees_that_there_are_not(value, tmp_path):
    file = tmp_path / "server.properties"
    file.write_text(f"ksql.streams.processing.guarantee={value}\n")
    for setting in (
        lambda: Config().validate_override("processing.guarantee", value),
        lambda: Config().with_overrides({"ksql.streams.processing.guarantee": value}),
        lambda: Config.load(file),
        lambda: Config.load(environ={"KSQL_KSQL_STREAMS_PROCESSING_GUARANTEE": value}),
    ):
        with pytest.raises(KsqlError, match="must be at_least_once or exactly_once_v2") as caught:
            setting()
        assert caught.value.condition == "PROPERTY_INVALID"
    for value in ("at_least_once", "exactly_once_v2"):
        assert Config().validate_override("processing.guarantee", value.upper()) == value


def _names_bound(tree):
    """Name -> the texts in what it is assigned."""
    bound = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in (t for t in targets if isinstance(t, ast.Name)):
                bound.setdefault(target.id, set()).update(_texts(node.value))
    return bound


def _texts(tree):
    return {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _code():
    """The syntax trees of modules that name properties; of the configuration only the class that reads."""
    for package in ("ksql_spark", "server"):
        for file in sorted((Path(__file__).parents[1] / package).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            if not re.search("config|settings|propert", text, re.I):
                continue
            tree = ast.parse(text)
            if file.parent.name != "config":
                yield tree
            elif file.name == "values.py":
                yield next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Config")


def _asked_for():
    """The texts that the code subscripts with or passes on, themselves or by a name."""
    trees = list(_code())
    bound, asked = {}, set()
    for tree in trees:
        for name, texts in _names_bound(tree).items():
            bound.setdefault(name, set()).update(texts)
    below = [(tree, False) for tree in trees]
    while below:
        node, is_asked = below.pop()
        used = []
        if isinstance(node, ast.Subscript):
            used = [node.slice]
        elif isinstance(node, ast.Call):
            # by keyword only errors name properties, but settings= is what an aggregate reads
            used = [*node.args, *(k for k in node.keywords if k.arg == "settings")]
        elif is_asked and isinstance(node, ast.Constant) and isinstance(node.value, str):
            asked.add(node.value)
        for part in used:
            inner = part.value if isinstance(part, (ast.Subscript, ast.keyword)) else part
            asked |= bound.get(getattr(inner, "id", ""), set())
        below += [(child, is_asked or child in used) for child in ast.iter_child_nodes(node)]
    return asked


def test_what_is_in_force_is_read_and_nothing_else():
    asked = _asked_for()
    handed_on = {"ksql.streams.producer.compression.type"}
    for entry in PROPERTIES.values():
        is_read = bool({entry.name, entry.name.removeprefix("ksql.streams.")} & asked)
        assert entry.in_force == (is_read or entry.name in handed_on), entry.name
    for name in handed_on:
        assert Config({name: "zstd"}).client_settings("producer")["compression.type"] == "zstd"


@pytest.mark.parametrize("entry", [e for e in PROPERTIES.values() if not e.in_force], ids=lambda e: e.name)
def test_what_is_not_in_force_cannot_be_read(entry):
    config = Config()
    with pytest.raises(AssertionError, match="must have in_force=True"):
        config[entry.name]
    assert config.text(entry.name) == Config({entry.name: entry.default}).text(entry.name)


@pytest.mark.parametrize(
    ("name", "value", "is_warned_of"),
    [
        ("auto.offset.reset", "earliest", False),
        ("ksql.streams.num.standby.replicas", "8", True),
        ("num.standby.replicas", "0", False),  # the default
        ("ksql.fail.on.production.error", False, False),
        ("max.poll.records", "10", False),
        ("consumer.isolation.level", "read_committed", False),
        ("producer.isolation.level", "read_committed", True),
        ("rocksdb.config.setter", "x", True),
        ("topic.retention.ms", "1", True),
        ("ksql.sink.partitions", "4", True),
        ("ksql.sink.replicas", "1", True),
    ],
)
def test_warnings_of_what_changes_nothing(name, value, is_warned_of):
    expected = f"Property '{name}' has no effect: ksql-spark accepts it for compatibility with ksqlDB."
    assert warning(name, value) == (expected if is_warned_of else None)


def test_unknown_names_come_with_the_nearest():
    with pytest.raises(KsqlError, match=r"'auto\.ofset\.reset'\. Did you mean 'auto\.offset\.reset'\?"):
        find("auto.ofset.reset")


def test_defaults():
    config = Config()
    assert config["listeners"] == "http://127.0.0.1:8088"
    assert config["ksql.streams.auto.offset.reset"] == config["auto.offset.reset"] == "latest"
    assert config["bootstrap.servers"] is None
    assert config["max.poll.records"] is None
    assert config["ksql.spark.data.dir"] == str(default_data_dir())
    assert not config.is_set("auto.offset.reset")
    assert "nonsense" not in config
    assert config.get("nonsense", 1) == 1
    assert set(config) == set(PROPERTIES)


def test_later_sources_win(tmp_path: Path):
    file = tmp_path / "server.properties"
    file.write_text("ksql.service.id=file_\nlisteners=http://file:1\nauto.offset.reset=earliest\n")
    environ = {"KSQL_LISTENERS": "http://environment:2", "KSQL_BOOTSTRAP_SERVERS": "environment:9092"}
    config = Config.load(file, environ, {"ksql.streams.bootstrap.servers": "option:9092"})
    assert config["ksql.service.id"] == "file_"
    assert config["listeners"] == "http://environment:2"
    assert config["bootstrap.servers"] == "option:9092"
    assert config.is_set("ksql.streams.auto.offset.reset")


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path):
    file = tmp_path / "server.properties"
    file.write_text("\ufeffksql.service.id=file_\n", encoding="utf-8")
    assert Config.load(file)["ksql.service.id"] == "file_"


def test_errors_name_their_source(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("ksql.servce.id=x\n")
    with pytest.raises(KsqlError, match=r"server\.properties\. Did you mean 'ksql\.service\.id'\?"):
        Config.load(file)
    with pytest.raises(KsqlError, match="It is in the environment"):
        Config.load(environ={"KSQL_NONSENSE_NAME": "1"})
    with pytest.raises(KsqlError, match=r"Cannot read the properties file .*: No such file"):
        Config.load(tmp_path / "missing")


def test_environment_names():
    assert environment_properties(
        {
            "KSQL_KSQL_SCHEMA_REGISTRY_URL": "http://sr:8081",
            "KSQL_KSQL_FUNCTIONS_COLLECT__LIST_LIMIT": "3",
            "KSQL_A___B": "dash",
            "KSQL_SPARK_CACHE": "/cache",
            "KSQL_HEAP_OPTS": "-Xmx1g",
            "KSQL_SERVICE_HOST": "10.0.0.1",
            "KSQL_PORT_8088_TCP": "tcp://10.0.0.1:8088",
            "KSQL_HOST_NAME": "ksqldb-server",
            "KSQL_JMX_PORT": "1099",
            "KSQL_LOG_DIR": "/var/log",
            "HOME": "/root",
        }
    ) == {
        "ksql.schema.registry.url": "http://sr:8081",
        "ksql.functions.collect_list.limit": "3",
        "a-b": "dash",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("access.control.allow.headers", "Authorization"),
        ("access.control.allow.origin", "*"),
        ("connect.group.id", "ksql-connect-cluster"),
        ("ksql.endpoint.logging.log.queries", "true"),
        ("ksql.error.classifier.regex", "USER .*"),
        ("ksql.nested.error.set.null", "true"),
        ("ksql.query.pull.thread.pool.size", "100"),
        ("ksql.shutdown.timeout.ms", "1000"),
        ("ksql.udf.enable.security.manager", "false"),
        ("ksql.verticle.instances", "4"),
        ("ksql.websocket.connection.max.timeout.ms", "0"),
    ],
)
def test_configurations_of_ksqldb_are_accepted(tmp_path: Path, name: str, value: str):
    file = tmp_path / "ksql-server.properties"
    file.write_text(f"{name}={value}\n")
    assert Config.load(file).is_set(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b=c", {"a": "b=c"}),
        ("a b c", {"a": "b c"}),
        ("a\\ b\\:c = d", {"a b:c": "d"}),
        ("a=\\u0041\\tb\\\\", {"a": "A\tb\\"}),
        ("a=1,\\\n   2,\\\n   # 3", {"a": "1,2,# 3"}),
        ("  # no\n\n!no\n a=1 ", {"a": "1 "}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\rb=2\r\nc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\u2028b=2\x0b\x85\x1c3", {"a": "1\u2028b=2\x0b\x85\x1c3"}),
        ("a\\", {"a": ""}),
    ],
)
def test_properties_syntax(text, expected):
    assert parse_properties(text) == expected


class TestOverrides:
    def test_a_request_sees_its_own(self):
        config = Config({"auto.offset.reset": "latest", "ksql.service.id": "x_"})
        effective = config.with_overrides({"ksql.streams.auto.offset.reset": "earliest"})
        assert effective["auto.offset.reset"] == "earliest"
        assert effective["ksql.service.id"] == "x_"
        assert config["auto.offset.reset"] == "latest"

    @pytest.mark.parametrize(
        "name",
        [
            "bootstrap.servers", "ksql.streams.bootstrap.servers", "producer.bootstrap.servers",
            "ssl.keystore.location", "ksql.streams.ssl.truststore.location",
            "ksql.streams.consumer.ssl.key.password", "ksql.service.id", "ksql.extension.dir",
            "ksql.query.persistent.active.limit", "ksql.pull.queries.enable", "ksql.hidden.topics",
            "ksql.readonly.topics", "ksql.source.table.materialization.enabled",
            "ksql.headers.columns.enabled", "listeners", "spark.master", "ksql.connect.url",
            "ksql.schema.registry.url", "ksql.schema.registry.basic.auth.user.info",
            *(
                prefix + setting
                for prefix in ("", "ksql.streams.", "consumer.", "ksql.streams.producer.", "admin.")
                for setting in (
                    "sasl.jaas.config", "sasl.mechanism", "sasl.login.class", "security.protocol",
                    "sasl.client.callback.handler.class", "sasl.login.callback.handler.class",
                    "sasl.oauthbearer.token.endpoint.url", "ssl.engine.factory.class", "security.providers",
                    "interceptor.classes", "metric.reporters", "rocksdb.config.setter", "key.deserializer",
                    "value.deserializer", "key.serializer", "value.serializer", "partitioner.class",
                    "partition.assignment.strategy", "default.client.supplier", "default.timestamp.extractor",
                    "default.deserialization.exception.handler", "default.production.exception.handler",
                    "default.key.serde", "bootstrap.servers", "group.id", "client.id", "transactional.id",
                    "application.id", "application.server", "state.dir",
                )
            ),
            "ksql.authentication.plugin.class", "confluent.x", "ksql.functions.x", "ksql.internal.x",
        ],
    )  # fmt: skip
    def test_what_belongs_to_the_server_is_refused(self, name):
        with pytest.raises(KsqlError, match="Cannot override property") as caught:
            Config().validate_override(name, "true")
        assert caught.value.condition == "PROPERTY_FIXED"

    @pytest.mark.parametrize("prefix", ["", "producer.", "ksql.streams.producer."])
    @pytest.mark.parametrize("value", ["1900000000", 2**31, "9" * 30, "much", "[1]", True])
    def test_requests_may_not_take_all_memory(self, prefix, value):
        for setting in ("batch.size", "buffer.memory"):
            with pytest.raises(KsqlError, match="it must be a whole number, and in a request at most"):
                Config().validate_override(prefix + setting, value)
            assert Config().validate_override(prefix + setting, "65536") == "65536"
        assert Config({"batch.size": "1900000000"}).client_settings("producer")["batch.size"] == "1900000000"

    @pytest.mark.parametrize(
        ("name", "good", "bad"),
        [
            ("max.poll.records", "5", "many"),
            ("consumer.max.poll.interval.ms", 5, {"a": 1}),
            ("ksql.streams.producer.linger.ms", "0", "0.5"),
            ("producer.acks", 1, "some"),
            ("enable.idempotence", True, "1"),
            ("isolation.level", "read_uncommitted", "none"),
            ("producer.compression.type", "zstd", "zipp"),
            ("max.poll.records", "1", "0"),
            ("fetch.min.bytes", "0", str(2**31)),
            ("send.buffer.bytes", "-1", "-2"),
            ("topic.cleanup.policy", "compact,delete", None),
        ],
    )
    def test_what_clients_would_refuse_is_refused(self, name, good, bad):
        assert Config().validate_override(name, good) is not None
        if bad is not None:
            with pytest.raises(KsqlError, match=f"for property '.*{name}': it must be"):
                Config().validate_override(name, bad)

    @pytest.mark.parametrize("name", ["consumer.max.poll.records", "producer.linger.ms", "client.dns.lookup"])
    def test_the_server_does_not_start_with_what_clients_would_refuse(self, name):
        with pytest.raises(KsqlError, match=f"Invalid value many for property 'ksql.streams.{name}'"):
            Config.load(overrides={name: "many"})
        Config.load(overrides={"topic.compression.type": "producer", "ssl.keystore.type": "PEM"})

    @pytest.mark.parametrize("name", sorted(KAFKA_SETTINGS))
    def test_settings_that_name_something_are_refused_by_their_form(self, name):
        """Whoever adds one to the list of what clients may set must mean it."""
        named = (
            r"class|handler|serde|serializer|interceptor|reporters|setter|supplier|extractor|\.id$|servers?$"
        )
        if re.search(named + r"|^ssl|^sasl|^security|dir$|strategy", name):
            assert not find(name).editable

    @pytest.mark.parametrize(
        "name", ["auto.offset.reset", "consumer.max.poll.records", "producer.linger.ms", "topic.retention.ms"]
    )
    def test_what_tunes_a_query_may_be_set(self, name):
        assert Config().check_editable(name).name == canonical(name)

    def test_the_denylist(self):
        config = Config({"ksql.properties.overrides.denylist": "auto.offset.reset,ksql.lambdas.enabled"})
        for name in ("ksql.streams.auto.offset.reset", "ksql.lambdas.enabled"):
            with pytest.raises(KsqlError, match="Cannot override property"):
                config.validate_override(name, "earliest")
        assert config.validate_override("ksql.suppress.enabled", "false") is False

    def test_table_scans_may_only_be_turned_off(self):
        name = "ksql.query.pull.table.scan.enabled"
        assert Config().validate_override(name, False) is False
        assert Config().validate_override(name, True) is True
        with pytest.raises(KsqlError, match="disabled table scans"):
            Config({name: False}).validate_override(name, True)


def test_secrets_are_hidden():
    config = Config(
        {"ssl.keystore.password": "s3cret", "sasl.jaas.config": "s3cret", "ksql.hidden.topics": "a,b"}
    )
    assert config.text("ssl.keystore.password") == config.text("sasl.jaas.config") == "[hidden]"
    assert config.text("ksql.hidden.topics") == "a,b"
    assert config.text("ksql.lambdas.enabled") == "true"
    assert config.text("bootstrap.servers") is None


def test_names_with_a_prefix():
    config = Config({"spark.sql.shuffle.partitions": 4, "ksql.service.id": "x_"})
    assert config.with_prefix("spark.") == {"spark.sql.shuffle.partitions": "4"}


def test_settings_of_clients_that_read_and_write():
    config = Config(
        {
            "bootstrap.servers": "there:9092",
            "security.protocol": "SSL",
            "ksql.streams.ssl.truststore.location": "/trust.pem",
            "ksql.streams.request.timeout.ms": "5000",
            "ksql.streams.producer.request.timeout.ms": "7000",
            "producer.compression.type": "zstd",
            "ksql.streams.consumer.isolation.level": "read_uncommitted",
            "ksql.streams.consumer.group.id": "mine",
            "auto.offset.reset": "earliest",
            "ksql.service.id": "x_",
        }
    )
    both = {"bootstrap.servers": "there:9092", "security.protocol": "SSL"}
    both |= {"ssl.truststore.location": "/trust.pem", "ssl.truststore.type": "PEM"}
    both |= {"metric.reporters": "", "enable.metrics.push": "false"}
    assert config.client_settings("consumer") == both | {
        "request.timeout.ms": "5000", "isolation.level": "read_uncommitted",
    }  # fmt: skip
    assert Config().client_settings("consumer")["isolation.level"] == "read_committed"
    assert config.client_settings("producer") == both | {
        "request.timeout.ms": "7000", "compression.type": "zstd",
    }  # fmt: skip


def test_clients_report_their_metrics_where_that_is_asked_for():
    jmx = "org.apache.kafka.common.metrics.JmxReporter"
    config = Config({"ksql.streams.metric.reporters": jmx, "ksql.streams.consumer.enable.metrics.push": True})
    assert config.client_settings("producer")["metric.reporters"] == jmx
    assert config.client_settings("consumer")["enable.metrics.push"] == "true"


def test_what_is_passed_on_is_known():
    for names in PASSED_ON.values():
        assert names <= KAFKA_SETTINGS


def test_security_in_librdkafkas_words():
    config = Config(
        {
            "security.protocol": "SASL_SSL",
            "ksql.streams.sasl.mechanism": "PLAIN",
            "sasl.jaas.config": 'org.x.PlainLoginModule required username="me" password="a\\"b";',
            "ssl.truststore.location": "/ca.pem",
            "ssl.endpoint.identification.algorithm": "",
        }
    )
    assert config.kafka_client_settings() == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": 'a"b',
        "ssl.ca.location": "/ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
    }
    with pytest.raises(KsqlError, match="it must be a PEM file"):
        Config({"ssl.truststore.location": "/trust.jks"}).kafka_client_settings()
    with pytest.raises(KsqlError, match="must have a username and a password"):
        Config({"sasl.jaas.config": "nothing"}).kafka_client_settings()
