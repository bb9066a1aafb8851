"""Background work: one model for every kind, below the rooms that have such work.

`models` stores what all kinds share; each room describes its kind by a subclass of `kinds.Kind` or
`kinds.ChunkKind`. `queue` puts work into RQ's queues, `leases` gives a worker the right to do it, records how
attempts end and requeues lost work, `steering` begins, pauses, reorders and limits whole jobs, `limits` has
what they are expected to take, and `progress` computes what pages show. `worker` is the process and the entry
point that RQ calls, `worker_state` its present state, and finds the workers for a kind of work.
"""
