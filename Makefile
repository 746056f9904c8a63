# `make` alone lists the targets. Only Python 3.11 or newer is required. Everything else is installed once, into
# .venv and the user's cache: `make run` installs what the product needs, other targets also linters and test tools.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
# prints how long a command took, by the clock and by processors
TIMED := $(BIN)/python -m tests.timed
# compiled modules are kept: each of hundreds of Python processes would compile them again
unexport PYTHONDONTWRITEBYTECODE
# all packages have the versions and hashes of one file; those that are built here have no hash
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-require-hashes --constraint packaging/lock.txt
# what tests and the type checker need of the product
EXTRAS := server,functions,frames,jdbc,lake,lsp,mcp

# One stamp file per installation step; a target depends on those that it needs.
CREATED := .venv/.created
RUNTIME := .venv/.runtime
STATIC := .venv/.static
TOOLS := .venv/.tools
JVM := .venv/.jvm
S3 := .venv/.s3
CONTAINERS := .venv/.containers
NODE := console/node_modules/.package-lock.json

.PHONY: help setup run server demo test tests static test-fast test-java test-kafka check lint lint-java types contracts fmt clean
.PHONY: console console-pictures test-console check-console pom test-long test-stories test-cluster test-dbt test-jupyter test-tools test-containers docs-site cases faults fuzz metamorphic exactly-once docs latency nexmark nexmark-report plans release lock

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(RUNTIME) $(JVM) $(TOOLS) ## install what make run and make test need
	@:

run: $(RUNTIME) $(JVM) ## start Kafka (port 9092), Spark, the server (8088) and the SQL shell (ARGS="--listen HOST:PORT --kafka-listen HOST:PORT", --help)
	@$(BIN)/ksql-spark $(ARGS)

server: $(RUNTIME) $(JVM) ## start Kafka, Spark and the server, until Ctrl-C (ARGS as for make run)
	@$(BIN)/ksql-spark server $(ARGS)

demo: $(RUNTIME) $(JVM) ## the stories of the folder examples, live (STORY=taxi; without it, a list)
	@$(BIN)/ksql-spark demo $(STORY) $(ARGS)

test: setup ## lint, types, layers, all tests but the longest (make test-long); prints the core-minutes that they took
	@$(TIMED) $(MAKE) --no-print-directory static tests

check: $(TOOLS) ## lint, types, layers, fast tests; with Java and Node, also those of the JVM classes and of the console
	@$(TIMED) $(MAKE) --no-print-directory static test-fast check-console

static: $(STATIC) ## lint, types, layers and JUnit, two side by side
	@$(MAKE) --no-print-directory -j 2 lint lint-java types contracts test-java

# workers of pytest that share one broker and one JVM: more than cores, since tests also wait
tests:
	@echo "== tests"
	@$(BIN)/python -m pytest -q -n 3 -m "not long" --durations=20 $(ARGS)

test-fast: $(TOOLS) ## tests without Java
	@echo "== fast tests"
	@$(BIN)/python -m pytest -q -n 5 -m "not kafka and not spark and not long" $(ARGS)

test-java: $(STATIC) ## unit tests of the JVM classes, with JUnit
	@echo "== JUnit"
	@$(BIN)/python -m tests.jvm.tools test

test-kafka: setup ## tests on Kafka and Spark, by three workers (ARGS="tests/cases -x": only these)
	@echo "== tests on Kafka and Spark"
	@$(BIN)/python -m pytest -q -n 3 -m "(kafka or spark) and not long" --durations=20 $(ARGS)

test-long: setup ## longer tests on Kafka and Spark: faults, crashes, lost servers, Kafka Connect; PostgreSQL, where it is installed (apt-get install postgresql)
	@$(BIN)/python -m pytest -q -m long $(ARGS)
	@echo "== case files where the machine has another language, encoding and time zone"
	@LC_ALL=tr_TR.ISO-8859-9 TZ=Asia/Kathmandu JAVA_TOOL_OPTIONS='-Duser.language=tr -Duser.country=TR -Duser.timezone=Asia/Kathmandu \
	  -Dfile.encoding=ISO-8859-9' $(BIN)/python -m pytest -q -n 3 -m "not long" tests/cases

test-cluster: setup $(S3) ## all case files with the tasks of queries in executors; a standalone cluster; state in S3
	@$(BIN)/python -m pytest -q tests/integration/servers/test_cluster.py \
	  tests/integration/servers/test_standalone_cluster.py tests/integration/servers/test_state_on_s3.py \
	  tests/lake/test_object_stores.py $(ARGS)
	$(BIN)/python -m pytest -q tests/integration/lake/test_archives_on_s3.py -m long $(ARGS)
	@TEST_SPARK_MASTER='local-cluster[2,256,1536]' $(BIN)/python -m pytest -q tests/integration/queries/test_exactly_once.py \
	  -m "not long" $(ARGS)
	@TEST_SPARK_MASTER=standalone $(BIN)/python -m pytest -q tests/cases/test_cases.py -k "aggregates or joins" $(ARGS)
	@TEST_SPARK_MASTER='local-cluster[2,256,1536]' $(BIN)/python -m pytest -q tests/cases $(ARGS)

console: $(NODE) ## build the console from console/, which needs Node 20 or newer; what is built is committed
	@cd console && npm run --silent build

check-console: # types and unit tests of the console, where its packages are installed
	@[ ! -d console/node_modules ] || { echo "== console" && cd console && npm run --silent check && npm test --silent >/dev/null; }

console-pictures: $(NODE) setup ## pictures of all pages of the console, of the taxi story in Chromium, into build/pictures; two of them also into docs/how-to
	@mkdir -p build/pictures
	@CONSOLE_PICTURES=$(CURDIR)/build/pictures $(BIN)/python -m pytest -q tests/integration/clients/test_console.py -k taxi
	@cp build/pictures/console.png build/pictures/console-query.png docs/how-to/

test-console: $(NODE) setup ## the console: types, unit tests, whether what is shipped is what the sources make, and in Chromium
	@cd console && npm run --silent check && npm test --silent && npm run --silent verify
	@$(BIN)/python -m pytest -q tests/server/routes/test_console.py tests/integration/clients/test_console.py $(ARGS)

cases: setup ## only the case files (CASE=path:line for one case; ksql-spark test --complete FILE fills in the tables)
	@$(BIN)/python -m pytest -q tests/cases $(ARGS)

test-stories: setup ## all stories of the folder examples, their results and their demos; Kafka Connect
	@STORIES=all $(BIN)/python -m pytest -q tests/integration/documentation/test_stories.py \
	  tests/integration/documentation/test_migration_guide.py tests/integration/connect tests/tools/test_demo_live.py $(ARGS)

faults: setup ## kill, freeze and damage what a server with many queries works on (ARGS="--seed 7 --runs 40 --fault jvm_killed", --help)
	@$(BIN)/python -m tests.faults $(ARGS)

metamorphic: setup ## all cases, replayed, or stopped, killed or split into batches at some point (SEED=n, RELATION=name, CASE=path:line)
	@METAMORPHIC=all $(BIN)/python -m pytest -q tests/cases/test_metamorphic.py $(ARGS)

fuzz: setup ## 200,000 damaged records of each format, read by the JVM and by Python (ARGS="--seed n FORMAT")
	@$(BIN)/python -m tests.formats.fuzz $(ARGS)

test-dbt: setup ## dbt, installed in build/dbt, on a real server
	@[ -x build/dbt/bin/dbt ] || { $(BIN)/python -m venv build/dbt && build/dbt/bin/pip install --quiet --editable . --editable packaging/dbt-ksql-spark 'dbt-core<1.12'; }
	@$(BIN)/python -m pytest -q tests/integration/clients/test_dbt.py $(ARGS)

test-containers: setup $(CONTAINERS) ## the image, the compose files and the pods of docker/, built and run by podman as root (TEST_CONTAINERS=folder for its images)
	@[ -x build/podman-compose/bin/podman-compose ] || { $(BIN)/python -m venv build/podman-compose && build/podman-compose/bin/pip install --quiet 'podman-compose>=1.6,<2'; }
	@TEST_CONTAINERS=$${TEST_CONTAINERS:-$(CURDIR)/build/containers} $(BIN)/python -m pytest -q -s tests/docker $(ARGS)

test-jupyter: setup $(NODE) ## %ksql in JupyterLab, installed in build/jupyter, and in Chromium, on a real server
	@[ -x build/jupyter/bin/jupyter-lab ] || { $(BIN)/python -m venv build/jupyter && build/jupyter/bin/pip install --quiet jupyterlab; }
	@$(BIN)/python -m pytest -q tests/integration/clients/test_jupyterlab.py $(ARGS)

# what a release of Superset needs and does not ask for is named; Cube and Evidence are the newest whose packages are complete
# on npm: newer ones load machine code from GitHub, and DuckDB's extensions from its own site
test-tools: setup $(NODE) ## Superset, Cube, Evidence and a page of one's own, installed in build/, on a real server and in Chromium
	@[ -x build/superset/bin/superset ] || { $(BIN)/python -m venv build/superset && build/superset/bin/pip install --quiet 'apache-superset==6.1.*' psycopg2-binary cachetools rich 'flask-caching<2.4'; }
	@[ -d build/cube/node_modules ] || { mkdir -p build/cube && cd build/cube && npm install --silent --no-audit --no-fund --ignore-scripts $(foreach one,server postgres-driver,@cubejs-backend/$(one)@0.31.69); }
	@[ -d build/evidence/node_modules ] || { mkdir -p build/evidence && cd build/evidence && echo '{"type": "module"}' >package.json && npm install --silent --no-audit --no-fund $(foreach one,evidence@39.1.13 postgres@1.0.6 core-components@4.8.10 sdk@1.4.5,@evidence-dev/$(one)) typescript@5.4.2; }
	@$(BIN)/python -m pytest -q tests/integration/dashboards $(ARGS)

lint: $(STATIC) ## style, with ruff
	@echo "== ruff"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "Some files are not formatted: make fmt" >&2; exit 1; }

lint-java: $(STATIC) ## format and warnings of the JVM classes, with google-java-format and ecj
	@echo "== Java"
	@$(BIN)/python -m tests.jvm.tools lint

pom: setup ## write ksql_spark/jvm/pom.xml, with which an IDE opens the JVM classes and their tests
	@$(BIN)/python -m tests.jvm.tools pom

types: $(STATIC) ## types, with mypy
	@echo "== mypy"
	@$(BIN)/mypy

contracts: $(STATIC) ## who may import whom, with import-linter
	@echo "== layers"
	@$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

exactly-once: setup ## kill a server again and again, and compare what its exactly-once queries wrote with the truth (ARGS=--help)
	@$(BIN)/python -m tests.integration.queries.exactly_once $(ARGS)

latency: setup ## end-to-end latency, compared with hand-written PySpark (ARGS=--help for options)
	@$(BIN)/python bench/latency.py $(ARGS)

nexmark: setup ## Nexmark beside Flink, or checked against DuckDB (ARGS="--query q5 --sides ours,flink --records 1000000", "--check", --help)
	@$(BIN)/python -m bench.nexmark.run $(ARGS)

nexmark-report: setup ## the latest results of make nexmark, as a table and a plot in build/
	@$(BIN)/python -m bench.nexmark.report $(ARGS)

fmt: $(STATIC) ## format the code, and fix what ruff can fix
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .
	@$(BIN)/python -m tests.jvm.tools format

plans: $(TOOLS) ## rewrite the snapshots of plans in tests/plans
	@UPDATE_PLANS=1 $(BIN)/python -m pytest -q tests/plans

docs: $(STATIC) ## rewrite docs/reference from the code
	@$(BIN)/python docs/generate.py

release: setup ## build all that a release has into dist, check it, and run the wheel in an empty environment (ARGS=--dry-run before its date is set)
	@$(INSTALL) --quiet --group release
	@$(BIN)/python packaging/release.py $(ARGS)

docs-site: $(CREATED) ## the documentation as a site, in build/docs-site
	@$(BIN)/python -c "import material" 2>/dev/null || { $(INSTALL) --editable . --group docs; }
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml
	@echo "build/docs-site/index.html"

# of every Python and platform; what dbt, JupyterLab and podman-compose need is not in it, since they have environments of their own
lock: $(CREATED) ## write packaging/lock.txt again: what is new in pyproject.toml (ARGS=--upgrade: the newest versions)
	@[ -x build/uv/bin/uv ] || { $(BIN)/python -m venv build/uv && build/uv/bin/pip install --quiet --disable-pip-version-check uv; }
	@build/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --all-extras \
	  $(foreach group,static test s3 containers docs release,--group $(group)) \
	  --output-file packaging/lock.txt pyproject.toml $(ARGS)

clean: ## remove the virtual environment and the tools' files (not the user's cache)
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist console/node_modules *.egg-info

$(CREATED):
	@python=; found=; \
	for candidate in "$(PYTHON)" python3.13 python3.12 python3.11; do \
	  version=$$("$$candidate" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || continue; \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	    python=$$candidate; break; \
	  fi; \
	  found="$$found $$candidate is $$version."; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "ksql-spark needs Python 3.11 or newer.$$found Install one, or set its path: make PYTHON=/path/to/python3 …" >&2; \
	  exit 1; \
	fi; \
	echo "== virtual environment .venv (Python $$version)"; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "This Python cannot create virtual environments. On Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; \
	fi; \
	"$$python" -m venv .venv
	@# older ones accept hashes only where everything has one
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=26.2'
	@touch $@

$(RUNTIME): $(CREATED) pyproject.toml packaging/lock.txt
	@echo "== Python packages"
	@$(INSTALL) --editable '.[server]'
	@touch $@

$(STATIC): $(RUNTIME)
	@echo "== linters"
	@$(INSTALL) --editable '.[$(EXTRAS)]' --group static
	@touch $@

$(TOOLS): $(RUNTIME)
	@echo "== linters and test tools"
	@$(INSTALL) --editable '.[$(EXTRAS)]' --group static --group test
	@touch $(STATIC) $@

$(S3): $(TOOLS)
	@echo "== an S3 server for tests"
	@$(INSTALL) --group s3
	@touch $@

$(CONTAINERS): $(TOOLS)
	@echo "== Kubernetes' schemas"
	@$(INSTALL) --group containers
	@touch $@

$(NODE): console/package.json console/package-lock.json
	@command -v npm >/dev/null || { echo "The console is built with Node 20 or newer, which is not installed." >&2; exit 1; }
	@cd console && npm ci --silent --no-audit --no-fund
	@touch $@

$(JVM): $(RUNTIME) ksql_spark/services/ivy.xml ksql_spark/services/ivysettings.xml
	@$(BIN)/python -m ksql_spark.services java 2>/dev/null || { \
	  echo "== Java (no version 17 or newer found: installing a JRE from PyPI)"; \
	  $(INSTALL) --editable '.[java]'; \
	}
	@echo "== JVM artifacts"
	@$(BIN)/python -m ksql_spark.services
	@$(BIN)/python -m ksql_spark.prepare && touch $@ || [ $$? -eq 1 ]  # 1: try again the next time
