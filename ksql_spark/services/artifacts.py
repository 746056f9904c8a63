"""JVM artifacts: the jars named in ``ivy.xml``, fetched once into the user cache, and our own classes.

The Ivy in PySpark's jars resolves them. A stamp file beside complete jars lists their names and sizes, so
checking them takes milliseconds, and an interrupted download is never considered complete.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ksql_spark.errors import KsqlError
from ksql_spark.services import cache
from ksql_spark.services.cache import Report, cache_dir, digest, locked
from ksql_spark.services.java import java_command
from ksql_spark.services.trust_store import trust_store

MANIFEST = Path(__file__).with_name("ivy.xml")
SETTINGS = Path(__file__).with_name("ivysettings.xml")
#: our own Java classes; distributions have them compiled as well (pack_classes)
JVM_SOURCES = Path(__file__).parents[1] / "jvm"
CONFS = ("spark", "broker", "build")
#: fetched on demand (services/registry.py)
REGISTRY = "registry"
#: fetched on demand (services/connect_worker.py)
CONNECT, CONNECT_AVRO = "connect", "connect-avro"
#: the scheme of a file system -> Spark's jars for it; fetched for a server whose state is there
FILE_SYSTEMS = {"s3a": "s3"}
#: only fetched by tests, and linters of the JVM classes (tests/jvm/tools.py, tests/lake/rest_catalog.py)
DEVELOPMENT = ("format", "junit", "iceberg-rest")
CENTRAL = "https://repo1.maven.org/maven2/"


def repository() -> str:
    """The URL of the Maven repository for artifacts: $KSQL_SPARK_MAVEN_URL, else Maven Central.

    $KSQL_SPARK_MAVEN_REPOSITORY is another name of the variable.
    """
    names = ("KSQL_SPARK_MAVEN_URL", "KSQL_SPARK_MAVEN_REPOSITORY")
    root = next((url for name in names if (url := os.environ.get(name))), CENTRAL)
    return root if root.endswith("/") else root + "/"


def pyspark_jars() -> Path:
    """The folder of PySpark's jars (found without importing PySpark).

    Raises:
        KsqlError: INTERNAL if PySpark is not installed.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise KsqlError("INTERNAL", reason="the Python package pyspark is not installed")
    return Path(next(iter(spec.submodule_search_locations))) / "jars"


def ensure(confs: Iterable[str] = CONFS, report: Report = lambda text: None) -> None:
    """Make sure that the jars of configurations of the manifest are in the cache.

    Args:
        confs: names of configurations in ``ivy.xml``.
        report: called with progress lines.

    Raises:
        KsqlError: ARTIFACTS_UNAVAILABLE, JAVA_MISSING, DISK_FULL.
    """
    configurations = list(confs)
    cache.remove_leftovers()
    if not _missing(configurations):
        return
    with locked(cache_dir() / "artifacts.lock", report, waiting_for="fetching the JVM artifacts"):
        if missing := _missing(configurations):
            _retrieve(missing, report)


def needed_at_start() -> Sequence[str]:
    """The configurations that a start needs; the compiler is only needed where no classes are packed."""
    return CONFS if packed_classes() is None else [conf for conf in CONFS if conf != "build"]


def are_there(confs: Iterable[str]) -> bool:
    """Whether ensure() has nothing to fetch."""
    return not _missing(list(confs))


def unpacked(conf: str) -> Path:
    """The folder with the contents of a configuration's archive; ensure() must have run before."""
    return _folder(conf)


def jars(conf: str) -> list[Path]:
    """The jars of one configuration, sorted by name; ensure() must have run before."""
    return sorted(_folder(conf).glob("*.jar"))


def _folder(conf: str) -> Path:
    """The folder for the jars of a configuration of this version of the manifest."""
    return cache_dir() / "jars" / digest(MANIFEST.read_bytes()) / conf


def _missing(confs: Iterable[str]) -> list[str]:
    return [conf for conf in confs if not _is_complete(_folder(conf))]


def _is_complete(folder: Path) -> bool:
    """Whether the folder has a stamp, and every file has the size in the stamp."""
    try:
        sizes = json.loads((folder / "stamp.json").read_text())
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def fetch(manifest: Path, conf: str, report: Report = lambda text: None) -> list[Path]:
    """The jars of a configuration of another manifest of Ivy, fetched into the cache if they are not there.

    Raises:
        KsqlError: ARTIFACTS_UNAVAILABLE, JAVA_MISSING, DISK_FULL.
    """
    folder = cache_dir() / "jars" / digest(manifest.read_bytes()) / conf
    with locked(cache_dir() / "artifacts.lock", report, waiting_for="fetching the JVM artifacts"):
        if not _is_complete(folder):
            with cache.scratch() as scratch:
                _run_ivy(manifest, [conf], scratch, report)
                _put_in_place(scratch / conf, folder)
    return sorted(folder.glob("*.jar"))


def _retrieve(confs: Sequence[str], report: Report) -> None:
    """Fetch configurations with Ivy, then move each to its folder with a stamp."""
    with cache.scratch() as scratch:
        _run_ivy(MANIFEST, confs, scratch, report)
        for conf in confs:
            _put_in_place(scratch / conf, _folder(conf))
    report("JVM artifacts: complete")


def _run_ivy(manifest: Path, confs: Sequence[str], into: Path, report: Report) -> None:
    """Fetch configurations of ``manifest`` into one folder each, below ``into``."""
    ivy_cache = cache_dir() / "ivy"
    properties = {"ksql.repository": repository(), "ksql.ivy.cache": str(ivy_cache)}
    command = [
        *java_command(),
        "-Xmx256m",
        "-XX:TieredStopAtLevel=1",
        *(f"-D{name}={value}" for name, value in {**properties, **_network_properties()}.items()),
        *("-cp", str(pyspark_jars() / "ivy-2.5.3.jar")),
        "org.apache.ivy.Main",
        *("-settings", str(SETTINGS), "-ivy", str(manifest), "-confs", *confs),
        *("-retrieve", f"{into}/[conf]/[artifact]-[revision](-[classifier]).[ext]"),
    ]
    progress = _IvyProgress(ivy_cache, report)
    report("JVM artifacts: resolving dependencies")
    returncode = _run(command, progress.read)
    if returncode or progress.failed:
        raise progress.error()


#: a plug-in's archive, if it has one; otherwise the artifact with its dependencies that Connect lacks
_PLUGIN = """
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="ksql-spark" module="plugin"/>
  <configurations><conf name="archive"/><conf name="jars"/></configurations>
  <dependencies>
    <dependency org="{org}" name="{name}" rev="{revision}" conf="archive->default" transitive="false">
      <artifact name="{name}" type="tar.gz" ext="tar.gz" m:classifier="plugin"/>
    </dependency>
    <dependency org="{org}" name="{name}" rev="{revision}" conf="jars->default">
      <exclude org="org.apache.kafka"/><exclude org="org.slf4j"/>
    </dependency>
  </dependencies>
</ivy-module>
"""
_COORDINATES = re.compile(r"([\w.-]+):([\w.-]+):([\w.-]+)")


def install(coordinates: str, into: Path, report: Report = lambda text: None) -> Path:
    """Fetch a Kafka Connect plug-in into its own folder, replacing other versions of it.

    Args:
        coordinates: ``group:artifact:version``.
        into: the folder of plug-ins; created if missing.
        report: called with progress lines.

    Returns:
        the plug-in's folder.

    Raises:
        KsqlError: BAD_REQUEST for other coordinates; ARTIFACTS_UNAVAILABLE, JAVA_MISSING, DISK_FULL;
            DATA_DIR_UNUSABLE.
    """
    parts = _COORDINATES.fullmatch(coordinates)
    if parts is None:
        reason = f"'{coordinates}' is not GROUP:ARTIFACT:VERSION, such as org.example:some-connector:1.0."
        raise KsqlError("BAD_REQUEST", reason=reason)
    org, name, revision = parts.groups()
    with (
        locked(cache_dir() / "artifacts.lock", report, waiting_for="fetching the JVM artifacts"),
        cache.scratch() as scratch,
    ):
        manifest = scratch / "ivy.xml"
        manifest.write_text(_PLUGIN.format(org=org, name=name, revision=revision).strip())
        try:
            _run_ivy(manifest, ["archive"], scratch, report)
        except KsqlError as error:
            if error.condition != "ARTIFACTS_UNAVAILABLE":
                raise
            _run_ivy(manifest, ["jars"], scratch, report)
        fetched = scratch / "fetched"
        for conf in ("archive", "jars"):
            if any((scratch / conf).glob("*")):
                _put_in_place(scratch / conf, fetched)
                break
        (fetched / "stamp.json").unlink()
        folders = [path for path in fetched.iterdir() if path.is_dir()]
        unpacked = folders[0] if len(folders) == 1 and not any(fetched.glob("*.jar")) else fetched
        try:
            into.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(into / name, ignore_errors=True)
            shutil.move(unpacked, into / name)
        except OSError as error:
            reason = error.strerror or str(error)
            raise KsqlError("DATA_DIR_UNUSABLE", path=str(into), reason=reason) from None
    return into / name


def _put_in_place(fetched: Path, folder: Path) -> None:
    """Unpack archives, stamp the files and move them to ``folder`` in one step."""
    for archive in fetched.glob("*.tar.gz"):
        with tarfile.open(archive) as packed:
            packed.extractall(fetched, filter="data")
        archive.unlink()
    files = (path for path in sorted(fetched.rglob("*")) if path.is_file())
    sizes = {path.relative_to(fetched).as_posix(): path.stat().st_size for path in files}
    (fetched / "stamp.json").write_text(json.dumps(sizes, indent=1))
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        shutil.rmtree(folder)
    fetched.rename(folder)


#: running downloads and compilations
_running: set[subprocess.Popen[str]] = set()


def interrupt() -> None:
    """Interrupt ensure() and compile_java() in other threads; they raise a KsqlError."""
    for process in list(_running):
        process.kill()


def _run(command: Sequence[str], read: Report) -> int:
    """Run a command and pass each line that it prints to ``read``; return its exit code."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    _running.add(process)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            read(line.rstrip())
        return process.wait()
    finally:
        _running.discard(process)
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()


class _IvyProgress:
    """Parses Ivy's output: counts for progress lines, and errors."""

    def __init__(self, ivy_cache: Path, report: Report) -> None:
        self._ivy_cache = ivy_cache
        self._report = report
        self._modules: dict[tuple[str, str, str], None] = {}
        self._total: int | None = None
        self._loading = 0
        self.failed: list[str] = []
        self._reasons: list[str] = []

    def read(self, line: str) -> None:
        """Parse one line of Ivy's output."""
        text = line.strip()
        if match := re.match(r"found (\S+)#(\S+);(\S+) in ", text):
            self._modules[(match[1], match[2], match[3])] = None
            self._report(f"JVM artifacts: {len(self._modules)} found, last {match[2]} {match[3]}")
        elif match := re.match(r"downloading (\S+) \.\.\.", text):
            if self._total is None:
                self._total = sum(not self._is_cached(*module) for module in self._modules)
            self._loading += 1
            name = match[1].rsplit("/", 1)[-1]
            self._report(
                f"JVM artifacts: loading {self._loading} of {max(self._total, self._loading)}, {name}"
            )
        elif match := _NOT_FETCHED.match(text):
            label = f"{match[1]} {match[2]}"
            if label not in self.failed:
                self.failed.append(label)
        elif _NETWORK_TROUBLE.search(text):
            self._reasons.append(text)

    def error(self) -> KsqlError:
        """The error for the user if Ivy did not fetch everything."""
        text = " ".join(self._reasons)
        if "No space left" in text:
            return KsqlError("DISK_FULL", path=str(cache_dir()))
        missing = ", ".join(self.failed[:3]) + (
            f" and {len(self.failed) - 3} more" if len(self.failed) > 3 else ""
        )
        return KsqlError(
            "ARTIFACTS_UNAVAILABLE",
            missing=missing or "the JVM artifacts",
            repository=repository(),
            reason=_plain_reason(text),
        )

    def _is_cached(self, organisation: str, name: str, revision: str) -> bool:
        return any((self._ivy_cache / organisation / name).glob(f"*/{name}-{revision}*.[jt]ar*"))


#: ":: org#name;revision: not found" and "[FAILED     ] org#name;revision!file"
_NOT_FETCHED = re.compile(
    r"(?:::|\[FAILED\s*\]|\[NOT FOUND\s*\]) [^\s#]+#([^;\s]+);([^!:\s]+)(?:: not found|!)"
)

_NETWORK_TROUBLE = re.compile(
    r"Host \S+ not found|UnknownHost|Server access error|timed out|SSLHandshake|PKIX|HTTP response code"
    r"|No space left|Permission denied|checksum",
    re.IGNORECASE,
)


def _plain_reason(text: str) -> str:
    """The cause, in plain words, from lines that Ivy printed."""
    for pattern, reason in (
        (
            r"PKIX|SSLHandshake|CertificateException",
            "its certificate is not trusted (set SSL_CERT_FILE to add authorities)",
        ),
        (r"UnknownHost|Host \S+ not found", "its name cannot be resolved; is the network down?"),
        (r"checksum", "the download has the wrong checksum"),
        (r"\b407\b", "the proxy requires a password, which Java cannot send; use a mirror instead"),
        (r"\b40[13]\b", "it refused access"),
        (r"timed out", "it does not respond in time"),
        (r"refused|ConnectException|No route", "the connection failed"),
        (r"Permission denied", "the cache is not writable"),
    ):
        if re.search(pattern, text, re.IGNORECASE):
            return reason
    return "it does not have them or cannot be reached"


def _network_properties() -> dict[str, str]:
    """Java system properties for the environment's proxies and certificates, which Java itself ignores."""
    properties = trust_store()
    proxies = urllib.request.getproxies_environment()
    for scheme in ("http", "https"):
        address = urlsplit(proxies.get(scheme, ""))
        if address.hostname:
            properties[f"{scheme}.proxyHost"] = address.hostname
            properties[f"{scheme}.proxyPort"] = str(
                address.port or (443 if address.scheme == "https" else 80)
            )
    if direct := proxies.get("no"):
        hosts = (host.strip() for host in direct.split(","))
        properties["http.nonProxyHosts"] = "|".join(f"*{h}" if h.startswith(".") else h for h in hosts if h)
    return properties


def own_classes(report: Report = lambda text: None) -> Path:
    """The jar of our own classes: the packed one, or compiled on this machine; errors as compile_java()."""
    return packed_classes() or compile_java(JVM_SOURCES, report=report)


def packed_classes(sources: Path = JVM_SOURCES) -> Path | None:
    """The jar beside ``sources`` that pack_classes() wrote; None if there is none for these sources.

    Raises:
        KsqlError: INTERNAL if PySpark is not installed.
    """
    jar = sources / f"classes-{_packed_key(sources)}.jar"
    return jar if jar.is_file() else None


def pack_classes(sources: Path = JVM_SOURCES, report: Report = lambda text: None) -> Path:
    """Put a jar of the classes beside their sources, for a distribution; errors as compile_java().

    Its name tells what it was compiled from: sources, PySpark's jars and the manifest of the others.
    """
    for old in sources.glob("classes-*.jar"):
        old.unlink()
    jar = sources / f"classes-{_packed_key(sources)}.jar"
    part = shutil.copyfile(compile_java(sources, report=report), jar.with_suffix(".part"))
    return part.replace(jar)


def _packed_key(sources: Path) -> str:
    spark = sorted(path.name for path in pyspark_jars().glob("*.jar"))
    return digest(MANIFEST.read_bytes(), *spark, *_contents(sources))


def _contents(sources: Path) -> list[bytes | str]:
    """Names and contents of all ``.java`` files below ``sources``."""
    files = sorted(sources.rglob("*.java"))
    return [part for file in files for part in (file.relative_to(sources).as_posix(), file.read_bytes())]


def compile_java(
    sources: Path, classpath: Iterable[Path] | None = None, report: Report = lambda text: None
) -> Path:
    """A jar of all ``.java`` files below ``sources``, recompiled only if they change.

    Args:
        sources: the root folder of the packages.
        classpath: jars to compile against; by default PySpark's and those of the configuration ``spark``.
        report: called with progress lines.

    Returns:
        the jar, in the cache.

    Raises:
        KsqlError: JAVA_COMPILE_FAILED with the compiler's output; those of ensure().
    """
    ensure(("spark", "build"), report)
    against = (
        list(classpath) if classpath is not None else [*sorted(pyspark_jars().glob("*.jar")), *jars("spark")]
    )
    files = sorted(sources.rglob("*.java"))
    names = [f"{path.parent.name}/{path.name}" for path in against]
    jar = cache_dir() / "classes" / digest(*names, *_contents(sources)) / "ksql-spark-jvm.jar"
    if jar.is_file():
        return jar
    with locked(cache_dir() / "classes.lock", report, waiting_for="compiling the JVM classes"):
        if not jar.is_file():
            report(f"compiling {len(files)} JVM classes")
            _compile(sources, files, against, jar)
    return jar


def _compile(sources: Path, files: Sequence[Path], against: Sequence[Path], jar: Path) -> None:
    """Run the compiler and write its classes to ``jar`` atomically."""
    with cache.scratch() as scratch:
        classes = scratch / "classes"
        # an argument file, because the class path may be too long for a command line
        lines = ["-17", "-proc:none", "-nowarn", "-encoding", "UTF-8", "-d", str(classes), "-cp"]
        lines += [os.pathsep.join(map(str, against)), *map(str, files)]
        arguments = scratch / "arguments"
        arguments.write_text("\n".join(f'"{line}"' for line in lines))
        (compiler,) = jars("build")
        output: list[str] = []
        command = [*java_command(), "-XX:TieredStopAtLevel=1", "-jar", str(compiler), f"@{arguments}"]
        if _run(command, output.append):
            raise KsqlError("JAVA_COMPILE_FAILED", sources=str(sources), reason="\n".join(output))
        packed = scratch / jar.name
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(classes.rglob("*.class")):
                archive.write(path, path.relative_to(classes).as_posix())
        cache.move(packed, jar)
