"""What is deployed, on this machine: the built artefact under Lambda's own runtime, and a whole stack on MiniStack."""
