"""Work in the background: one model of it for every kind, below the rooms that have such work.

`models` has what every kind stores; a room describes its kind in a subclass of what `kinds` and `chunked`
have. `dispatch` puts work into RQ's queues, `run` is what RQ calls, `leases` says who may do it, `endings`
writes every state that follows, `steering` pauses and reorders whole jobs, `reaper` gives out again what was
lost, `capabilities` says which worker can run what, `progress` is what people see. `worker` is the process,
`worker_state` what it is at.
"""
