"""The same work for each engine, a program each: it runs in the environment of its engine, and imports nothing of this project.

Arguments: executions, and steps of each. Printed: the seconds that they took.
"""
