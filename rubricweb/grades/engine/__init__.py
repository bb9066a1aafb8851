"""From missing cells to grades: planned, cut into chunks, graded by workers, and saved.

`missing` finds the cells to grade, as `gaps`, and `stages` orders them; `parts` stores them and opens chunks,
which `chunks` reads and saves; `kind` is what a worker calls, and releases jobs that waited for one that
ended; `progress` pauses a job that can only fail. It, `price` and `monitor` compute what pages show.
Queue, leases and the reaper are in `rubricweb.jobs`.
"""
