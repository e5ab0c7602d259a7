"""Workflows with which a deployment is tested: they are copied into the built functions' handler/workflows/."""
