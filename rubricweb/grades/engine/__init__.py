"""From missing cells to grades: cut into chunks, leased, dispatched, ended, found again when a worker dies.

`missing` says what to grade, as `gaps`, and `stages` in which order; `parts` keeps it and opens chunks of it,
which `chunks` reads and saves; `dispatch` puts chunks into the queue; `leases` says who may grade one;
`endings` writes last states and `followers` lets go what waited for
them; `reaper` gives out again what was lost; `loaded` keeps graders; `progress` and `monitor` are what people
see. RQ enters at `rubricweb.grades.jobs`.
"""
