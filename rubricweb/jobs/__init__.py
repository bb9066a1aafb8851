"""Background work: one model for every kind, below the rooms that have such work.

`models` has what every kind stores; a room describes its kind in a subclass of what `kinds` and `chunked`
have. `dispatch` puts work into RQ's queues, `leases` says who may do it, `endings` writes every state that
follows and gives out again what was lost, `steering` pauses and reorders whole jobs, `capabilities` says
which worker can run what, `progress` is what people see. `worker` is the process and what RQ calls in it,
`worker_state` what it is at.
"""
