"""Faults put into the code on purpose, each a patch: some test must notice it.

A patch begins with what it breaks, and which tests notice. `make mutants` applies each to a copy of the code, and runs
those tests: they must fail. Where the code of a patch has changed, mend the patch.
"""
