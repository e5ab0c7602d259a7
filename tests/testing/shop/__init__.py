"""A small deployment for the tests of the harness: what its functions do is up to the test."""
