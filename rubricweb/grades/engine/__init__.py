"""From missing cells to grades: cut into chunks, leased, dispatched, ended, found again when a worker dies.

`missing` says what to grade and `chunks` cuts it; `dispatch` puts chunks into the queue; `leases` says who
may grade one; `endings` writes last states; `reaper` gives out again what was lost; `loaded` keeps
graders; `progress` and `monitor` are what people see. RQ enters at `rubricweb.grades.jobs`.
"""
