"""From missing cells to grades: planned, cut into chunks, graded by workers, and saved.

`missing` says what to grade, as `gaps`, and `stages` in which order; `parts` keeps it and opens chunks of it,
which `chunks` reads and saves; `kind` is what a worker calls, and lets go what waited for a job that ended;
`breaker` pauses a job that can only fail. `price`, `progress` and `monitor` are what people see. Queue,
leases and the reaper are in `rubricweb.jobs`.
"""
