"""The protocol as a model that can be run: read this before changing a rule, and change the rule here first.

The protocol is twelve rules (ARCHITECTURE.md) by which an execution survives anything that its messages, processes and
clients can do. No test of the product can try all of that. The model can: it keeps only what the rules look at, and
visits every state that a small workflow can reach while faults strike at every possible moment.

A state is the head item, the messages on their way, the processes between two of their actions, the faults that may
still strike, and the truth (what really ran), which only the properties see. A message on its way may be delivered at
any moment, early or late, so delays, holds and visibility need no clock. A process is one invocation or one client; it
can die between any two of its actions. A lease ends only after its process is dead, which is what its length is for;
but a scenario may allow some processes to be late: they work on by a clock of their own.

  the rules     delivery.py (1 to 3: the table, the claim), replay.py (6, 10: what the history asks for next),
                checkpoint.py (4, 5, 8: the commit, and verbs that came in), rollback.py (8, 9), verbs.py (7),
                recovery.py (11, 12: dead letters, the sweeper)
  what happens  world.py: arrivals.py, environment.py (time, clients, faults), processes.py (actions and deaths)
  the states    state.py, where `canonical` keeps one of all the states that the rules can't tell apart
  the check     properties.py (what must never happen), checker.py (a shortest counterexample, or none)
  the tests     scenario.py (a workflow, a budget of faults, the mutants), test_protocol.py, test_mutants.py

Safety is a property of each transition. Liveness is "there is a way": from every reachable state some continuation
without a further fault leads to rest (ended, paused, or waiting for a client). The faithful protocol passes all
scenarios; each mutant (one rule broken on purpose) must fail one, which shows that the rule is needed and that the model
would notice its loss. `pytest tests/model -rA` shows the states visited, and each mutant's shortest way to disaster.

Not in the model: parallel branches, children, loops, the next run of an execution (retry, restart), segments, sizes.
"""
