# The commands for contributors. `make` alone lists them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links
PULSAR := topicschema/validation/sources/pulsar
PINS := grep -oE '^[A-Za-z0-9._-]+==[^ ;]+'

.DEFAULT_GOAL := help
.PHONY: help setup fmt lint test test-all smoke e2e images histories mutation bench generate well-known lock lock-check verify quickstart quickstart-down demo ahead demo-down clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 16

setup: $(VENV)/.ready ## create the environment from the locked dependencies

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; another one is named by: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: requirements/dev.txt pyproject.toml | $(BIN)/pip
	@echo "setting up $(VENV) from the locked dependencies: one to three minutes the first time, more beside a build"
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

fmt: setup ## format, and fix what ruff can fix
	$(BIN)/ruff check --fix --quiet operator tests || true
	$(BIN)/ruff format operator tests

lint: setup ## check style, types and the direction of imports
	$(BIN)/ruff check operator tests
	$(BIN)/ruff format --check operator tests
	$(BIN)/mypy
	$(BIN)/lint-imports

test: setup ## run all tiers that this machine can run, at sample size; choose: make test TIERS="unit cluster"
	$(BIN)/python -m suite $(TIERS)

test-all: setup ## run all tiers at full size, e2e included; takes hours; choose: make test-all TIERS=broker
	TOPICSCHEMA_TEST_SIZE=full $(BIN)/python -m suite $(TIERS)

smoke: setup ## run the operator and its Jobs in a kind cluster: install, two gates, Spark executors; needs Docker or root
	$(BIN)/python -m suite e2e $(if $(SKIP),--may-skip)

e2e: setup ## run the same at full size, 2,000,000 messages; fails without Docker, unless asked: make e2e SKIP=1
	TOPICSCHEMA_TEST_SIZE=full $(BIN)/python -m suite e2e $(if $(SKIP),--may-skip)

images: setup ## build the operator's image, the validation image and that with Spark into the cache
	$(BIN)/python -m testbed.images

histories: setup ## run random histories beside a real broker: make histories [COUNT=2000] [SEED=ab12 FIRST=500 to continue]
	TOPICSCHEMA_TEST_BROKER_HISTORIES=$(or $(COUNT),2000) TOPICSCHEMA_TEST_FIRST=$(or $(FIRST),0) \
	  $(if $(SEED),TOPICSCHEMA_SEED=$(SEED)) nice $(BIN)/python -m pytest -s $(wildcard tests/broker/test_histories*.py)

mutation: setup ## run mutants of core by mutmut; choose: make mutation ONLY='topicschema.core.formats.avro.*'
	mkdir -p build/mutation/mutants/src build/mutation/mutants/tests && ln -sfn $(CURDIR)/operator build/mutation/src
	ln -sfn $(CURDIR)/tests $(CURDIR)/docs $(CURDIR)/pyproject.toml build/mutation
	cd build/mutation && export PYTHONPATH=$$PWD/mutants/src:$$PWD/mutants/tests && \
	  nice $(CURDIR)/$(BIN)/mutmut run $(if $(ONLY),'$(ONLY)') && \
	  { $(CURDIR)/$(BIN)/mutmut results | grep -v 'not checked' || echo 'No mutant survived.'; }

bench: setup ## run the benchmarks against their anchors, into benchmarks.json
	$(BIN)/python -m benchmarks

generate: setup ## generate CRDs, documents and Pulsar's commands from their sources
	$(BIN)/python -m topicschema.api.crds crds
	$(BIN)/python -m topicschema.cli.fields_page crds docs/api.md
	$(BIN)/python -m topicschema.cli.rules_page docs/rules.md
	$(BIN)/python -m topicschema.cli.reasons_page docs/operations.md
	$(BIN)/python -m topicschema.cli.columns_page docs/audit.md
	$(BIN)/python -m topicschema.registry.openapi docs/registry-openapi.json
	sed -n '/^## Condition reasons/,/^###/{/^|/p}' docs/operations.md > operator/topicschema/cli/rules/reasons.md
	$(BIN)/python -m grpc_tools.protoc -Ioperator --python_out=operator --pyi_out=operator $(PULSAR)/pulsar_api.proto
	rm -rf charts/topicschema/files && mkdir -p charts/topicschema/files/crds
	cp crds/*.yaml charts/topicschema/files/crds/ && cp manifests/base/{rbac,validation,guards}.yaml charts/topicschema/files/
	cp manifests/components/registry/rbac.yaml charts/topicschema/files/registry-rbac.yaml

well-known: setup ## download the descriptors of google/protobuf that Pulsar's Java client puts into envelopes
	work=$$(mktemp -d); trap 'rm -rf $$work' EXIT; (cd $$work && \
	  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack -Dartifact=com.google.protobuf:protobuf-java:3.25.5 \
	  -Dmdep.unpack.includes='google/protobuf/*.proto' -DoutputDirectory=$$work) && \
	  $(BIN)/python -m grpc_tools.protoc -I$$work --descriptor_set_out=operator/topicschema/protoc/java_client.binpb \
	  google/protobuf/api.proto google/protobuf/descriptor.proto

lock: setup ## lock the dependencies of pyproject.toml; upgrade versions only with LOCK="--upgrade"
	$(COMPILE) --generate-hashes $(LOCK) pyproject.toml --extra postgresql -o requirements/runtime.txt
	$(COMPILE) --generate-hashes $(LOCK) pyproject.toml --extra validation -o requirements/validation.txt
	$(COMPILE) --generate-hashes $(LOCK) pyproject.toml --extra spark -o requirements/spark.txt
	$(COMPILE) --generate-hashes $(LOCK) pyproject.toml --extra postgresql --extra spark --group dev -o requirements/dev.txt

lock-check: setup ## check that the locked versions match pyproject.toml
	@work=$$(mktemp -d); trap 'rm -rf $$work' EXIT; cp requirements/*.txt $$work; \
	  $(COMPILE) pyproject.toml --extra postgresql -o $$work/runtime.txt && \
	  $(COMPILE) pyproject.toml --extra validation -o $$work/validation.txt && \
	  $(COMPILE) pyproject.toml --extra spark -o $$work/spark.txt && \
	  $(COMPILE) pyproject.toml --extra postgresql --extra spark --group dev -o $$work/dev.txt && \
	  for lock in runtime validation spark dev; do \
	    diff <($(PINS) requirements/$$lock.txt) <($(PINS) $$work/$$lock.txt) \
	      || { echo "requirements/$$lock.txt is not what pyproject.toml asks for: make lock"; exit 1; }; \
	  done

verify: lint generate lock-check ## check that generated files are current; fails on a dirty tree
	@git diff --exit-code --stat || { echo "make verify: the files above differ from what is committed"; exit 1; }
	@test -z "$$(git status --porcelain)" || { git status --short; echo "make verify: the tree is not clean"; exit 1; }

quickstart: | $(BIN)/pip ## create a kind cluster with the operator alone, without Pulsar; needs Docker or root
	@PYTHONPATH=tests $(BIN)/python -m demo.quickstart

quickstart-down: | $(BIN)/pip ## delete the quick start's cluster
	@PYTHONPATH=tests $(BIN)/python -m demo.quickstart down

demo: | $(BIN)/pip ## run the demo on a real API server, command by command
	@$(MAKE) --no-print-directory -j2 setup ahead
	$(BIN)/python -m demo

ahead: | $(BIN)/pip
	@PYTHONPATH=tests $(BIN)/python -m demo.ahead

demo-down: setup ## stop the demo's cluster
	$(BIN)/python -m demo down

clean: ## remove generated files of the checkout
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
