"""The real protocol and runtime, explored: every order of their calls to the store and the queue, and faults at each.

`tests/model` is the protocol once more, as a model; it can't see where the code does otherwise. Here the code itself runs,
`durable/protocol` and `durable/runtime` over the local store. Each invocation and each client is a greenlet that stops
before every call of a port, and a schedule says who goes on and what happens to the call: it is applied, its process dies,
its answer is lost, it is refused. What waits in a call can't be copied, so a schedule is run again from where it began; the
store is copied only where no invocation is under way.

  actors.py    a greenlet that stops at each call; the ports that it is given
  world.py     one deployment: the store, the queues, the clock, and what can happen next
  states.py    what tells two states apart, so that each is gone on from once
  surprises.py errors that the runtime did not expect
  truth.py     what really happened, and what must never: looked at with every write and every body
  episodes.py  all schedules from one state of rest, or a random one
  search.py    all states of rest that are reached within a bound, and whether each comes to an end
  cases.py     the workflows, and what may befall them
  walks.py     long random schedules: three invocations at once, clocks that differ, freezes of a day

What is not here: a thread of a body is not interleaved with anything, for it touches no port; its beginning is a call like
another, so that others may go on, and its process may die, while it runs.
"""
