"""What is in the cache, what Ivy's output says, and the environment's network settings."""

from __future__ import annotations

import tarfile
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from ksql_spark.services.cache import cache_dir, locked


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KSQL_SPARK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def put(conf: str, folder: Path, **files: str) -> None:
    fetched = folder / f"fetched-{conf}"
    fetched.mkdir()
    for name, text in files.items():
        (fetched / f"{name}.jar").write_text(text)
    artifacts._put_in_place(fetched, artifacts._folder(conf))


def test_cache_dir_follows_the_environment(monkeypatch, tmp_path):
    assert cache_dir() == tmp_path / "cache"
    monkeypatch.delenv("KSQL_SPARK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "ksql-spark"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_dir() == Path.home() / ".cache" / "ksql-spark"


def test_complete_jars_are_not_fetched_again(monkeypatch, tmp_path):
    put("spark", tmp_path, b="2", a="1")
    monkeypatch.setattr(artifacts, "_retrieve", lambda confs, report: pytest.fail(f"fetches {confs}"))
    artifacts.ensure(["spark"])
    assert [path.name for path in artifacts.jars("spark")] == ["a.jar", "b.jar"]


@pytest.mark.parametrize("damage", ["cut", "gone", "no stamp"])
def test_damaged_jars_are_fetched_again(monkeypatch, tmp_path, damage):
    put("spark", tmp_path, a="1", b="22")
    put("build", tmp_path, c="3")
    folder = artifacts._folder("spark")
    if damage == "cut":
        (folder / "b.jar").write_text("2")
    elif damage == "gone":
        (folder / "b.jar").unlink()
    else:
        (folder / "stamp.json").unlink()
    fetched = []
    monkeypatch.setattr(artifacts, "_retrieve", lambda confs, report: fetched.append(confs))
    artifacts.ensure(["spark", "build"])
    assert fetched == [["spark"]]


def test_another_run_is_waited_for(tmp_path):
    said: list[str] = []
    waiting = threading.Event()

    def report(text: str) -> None:
        said.append(text)
        waiting.set()

    def second() -> None:
        with locked(tmp_path / "lock", report, waiting_for="at work"):
            said.append("second")

    with locked(tmp_path / "lock", said.append, waiting_for="at work"):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(10)
        said.append("first")
    thread.join()
    assert said == ["waiting: another ksql-spark is at work", "first", "second"]


def test_progress_counts_only_what_is_not_in_ivys_cache(tmp_path):
    have = tmp_path / "org.here" / "have" / "jars"
    have.mkdir(parents=True)
    (have / "have-1.jar").touch()
    said: list[str] = []
    progress = artifacts._IvyProgress(tmp_path, said.append)
    for line in (
        "\tfound org.here#have;1 in maven",
        "\tfound org.there#need;2.0 in maven",
        "downloading https://somewhere/org/there/need/2.0/need-2.0.jar ...",
        "\t[SUCCESSFUL ] org.there#need;2.0!need.jar (119ms)",
    ):
        progress.read(line)
    assert said == [
        "JVM artifacts: 1 found, last have 1",
        "JVM artifacts: 2 found, last need 2.0",
        "JVM artifacts: loading 1 of 1, need-2.0.jar",
    ]
    assert not progress.failed


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Host nowhere.invalid not found. url=https://nowhere.invalid/a.pom", "its name cannot be resolved"),
        (
            "Server access error at url http://h/a.pom (java.net.ConnectException: Connection refused)",
            "the connection failed",
        ),
        (
            "Server access error at url http://h/a.pom (PKIX path building failed)",
            "certificate is not trusted",
        ),
        ("Server returned HTTP response code: 407 for URL: http://h/a.pom", "proxy requires a password"),
        ("Server returned HTTP response code: 403 for URL: http://h/a.pom", "refused access"),
        ("problem while downloading: invalid sha1: checksum", "wrong checksum"),
        ("Server access error at url http://h/a.pom (Connect timed out)", "respond in time"),
        ("nothing said", "it does not have them"),
    ],
)
def test_failures_are_told_in_one_line(monkeypatch, line, reason, tmp_path):
    monkeypatch.setenv("KSQL_SPARK_MAVEN_URL", "https://mirror.example/maven")
    progress = artifacts._IvyProgress(tmp_path, lambda text: None)
    progress.read(line)
    progress.read("\t\t:: org.eclipse.jdt#ecj;3.40.0: not found")
    progress.read("\t[FAILED     ] org.there#need;2.0!need.jar: (0ms)")
    message = progress.error().message
    assert message.startswith("Could not fetch ecj 3.40.0, need 2.0 from https://mirror.example/maven/: ")
    assert reason in message
    assert "KSQL_SPARK_MAVEN_URL" in message
    assert "\n" not in message


def test_the_repository_follows_the_environment(monkeypatch):
    monkeypatch.delenv("KSQL_SPARK_MAVEN_URL", raising=False)
    monkeypatch.delenv("KSQL_SPARK_MAVEN_REPOSITORY", raising=False)
    assert artifacts.repository() == artifacts.CENTRAL
    monkeypatch.setenv("KSQL_SPARK_MAVEN_REPOSITORY", "https://older.example")
    assert artifacts.repository() == "https://older.example/"
    monkeypatch.setenv("KSQL_SPARK_MAVEN_URL", "https://mirror.example/")
    assert artifacts.repository() == "https://mirror.example/"


def test_a_full_disk_is_called_so(tmp_path):
    progress = artifacts._IvyProgress(tmp_path, lambda text: None)
    progress.read("java.io.IOException: No space left on device")
    assert progress.error().condition == "DISK_FULL"


def test_proxies_are_handed_to_java(monkeypatch, cache):
    for name in ("http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "localhost, .example.org")
    assert artifacts._network_properties() == {
        "https.proxyHost": "proxy.example",
        "https.proxyPort": "3128",
        "http.nonProxyHosts": "localhost|*.example.org",
    }


def test_manifest_names_every_configuration():
    manifest = ElementTree.parse(artifacts.MANIFEST)
    names = {*artifacts.CONFS, *artifacts.DEVELOPMENT}
    names |= {artifacts.REGISTRY, artifacts.CONNECT, artifacts.CONNECT_AVRO, *artifacts.FILE_SYSTEMS.values()}
    assert {conf.get("name") for conf in manifest.iter("conf")} == names
    used = {str(dependency.get("conf")).split("->")[0] for dependency in manifest.iter("dependency")}
    assert used == names


def test_no_jar_of_spark_comes_twice(monkeypatch):
    """Spark's class path takes only what PySpark does not bring itself."""
    manifest = ElementTree.parse(artifacts.MANIFEST)
    brought = {path.name.rsplit("-", 1)[0] for path in artifacts.pyspark_jars().glob("*.jar")}
    for dependency in manifest.iter("dependency"):
        if str(dependency.get("conf")).startswith("spark"):
            assert dependency.get("transitive") == "false"
            assert dependency.get("name") not in brought


@pytest.mark.kafka
def test_packed_classes_need_no_compiler(monkeypatch):
    assert "build" in artifacts.needed_at_start()
    monkeypatch.setattr(artifacts, "packed_classes", lambda: Path("classes.jar"))
    assert artifacts.needed_at_start() == ["spark", "broker"]
    assert artifacts.own_classes() == Path("classes.jar")


class TestCompiler:
    """These run the real compiler on the user's own cache of artifacts."""

    @pytest.fixture(autouse=True)
    def own_cache(self, monkeypatch, cache):
        monkeypatch.delenv("KSQL_SPARK_CACHE")

    def test_classes_are_compiled_once(self, tmp_path):
        (tmp_path / "example").mkdir()
        unique = tmp_path.name.replace("-", "_")
        (tmp_path / "example" / "One.java").write_text(f"package example; class One {{ int {unique}_; }}")
        said: list[str] = []
        jar = artifacts.compile_java(tmp_path, report=said.append)
        try:
            assert jar.is_file()
            assert artifacts.compile_java(tmp_path, report=said.append) == jar
            # another run of these tests may compile at the same time
            own = [line for line in said if not line.startswith("waiting: ")]
            assert own.count("compiling 1 JVM classes") == len(own) <= 1
        finally:
            jar.unlink()
            jar.parent.rmdir()

    def test_packed_classes_are_used_while_they_fit(self, tmp_path):
        source = tmp_path / "Packed.java"
        source.write_text(f"class Packed {{ int {tmp_path.name.replace('-', '_')}_; }}")
        assert artifacts.packed_classes(tmp_path) is None
        compiled = artifacts.compile_java(tmp_path)
        try:
            jar = artifacts.pack_classes(tmp_path)
        finally:
            compiled.unlink()
            compiled.parent.rmdir()
        assert artifacts.packed_classes(tmp_path) == jar and jar.read_bytes()[:2] == b"PK"
        source.write_text("class Packed { }")
        assert artifacts.packed_classes(tmp_path) is None

    def test_errors_of_the_compiler_are_shown(self, tmp_path):
        (tmp_path / "Bad.java").write_text("class Bad { int x = y; }")
        with pytest.raises(KsqlError, match="y cannot be resolved"):
            artifacts.compile_java(tmp_path)


def test_a_command_under_way_can_be_interrupted():
    def read(line: str) -> None:
        assert line == "ready"
        artifacts.interrupt()

    assert artifacts._run(["sh", "-c", "echo ready; exec sleep 600"], read) < 0


def test_a_plugin_is_unpacked_or_comes_with_what_it_needs(monkeypatch, tmp_path):
    asked = []

    def archive(manifest: Path, confs: list[str], into: Path, report: object) -> None:
        asked.append((confs, "org.x" in manifest.read_text()))
        packed = into / "archive"
        packed.mkdir()
        (tmp_path / "made-by-it").mkdir(exist_ok=True)
        (tmp_path / "made-by-it" / "a.jar").write_text("1")
        with tarfile.open(packed / "it-1.tar.gz", "w:gz") as tar:
            tar.add(tmp_path / "made-by-it", "made-by-it")

    def only_jars(manifest: Path, confs: list[str], into: Path, report: object) -> None:
        asked.append((confs, "org.x" in manifest.read_text()))
        if confs == ["archive"]:
            raise KsqlError("ARTIFACTS_UNAVAILABLE", missing="it", repository="there", reason="it is not")
        (into / "jars").mkdir()
        (into / "jars" / "b.jar").write_text("2")

    plugins = tmp_path / "plugins"
    monkeypatch.setattr(artifacts, "_run_ivy", archive)
    assert artifacts.install("org.x:it:1", plugins) == plugins / "it"
    assert [path.name for path in (plugins / "it").iterdir()] == ["a.jar"]
    monkeypatch.setattr(artifacts, "_run_ivy", only_jars)
    artifacts.install("org.x:it:2", plugins)
    assert [path.name for path in (plugins / "it").iterdir()] == ["b.jar"]
    assert asked == [(["archive"], True), (["archive"], True), (["jars"], True)]
    for coordinates in ("it", "a:b", "a:b:c:d", 'a:b:1"/>'):
        with pytest.raises(KsqlError, match="is not GROUP:ARTIFACT:VERSION"):
            artifacts.install(coordinates, plugins)
