PY = .venv/bin/python
FOLDER ?= sample
DATA ?= $(error set DATA to the folder with the judged collections)

.PHONY: help demo test quick lint format lock bench quality fuzz kill pdfs docs clean

help:            ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile

demo:            ## index FOLDER (the bundled sample) and search it
	./demo $(FOLDER)

test:            ## everything CI runs
	./test

quick:           ## the tests without the slow ones
	sh scripts/environment.sh dev
	$(PY) -m pytest -n auto --dist loadfile -m "not slow"

lint:            ## format, lint and types
	sh scripts/environment.sh dev
	.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy

format:          ## write the format and the lint fixes that are safe
	sh scripts/environment.sh dev
	.venv/bin/ruff check --fix . ; .venv/bin/ruff format .

lock:            ## write the lock files anew (needs uv)
	sh scripts/lock.sh

bench:           ## speed on a folder of files: make bench FOLDER=...
	$(PY) benchmarks/speed.py $(FOLDER)

quality:         ## nDCG@10 on judged collections, beside others: make quality DATA=... [ARGS=--quick]
	$(PY) -c 'import bm25s, Stemmer' 2>/dev/null || $(PY) -m pip install --quiet -e '.[bench]'
	$(PY) benchmarks/quality.py $(DATA) $(ARGS)

fuzz:            ## 100,000 random queries
	$(PY) benchmarks/fuzz_queries.py

kill:            ## kill -9 during kb add, then check: make kill FOLDER=...
	$(PY) benchmarks/kill.py $(FOLDER)

pdfs:            ## outcome of every PDF in a folder: make pdfs FOLDER=...
	$(PY) benchmarks/pdfs.py $(FOLDER)

docs:            ## write docs/cli.md from the program
	$(PY) scripts/make_cli_docs.py

clean:           ## remove what was built
	rm -rf .venv .cache build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
