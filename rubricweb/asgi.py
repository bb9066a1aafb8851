"""The ASGI entry point; serve it with uvicorn, because the event stream needs ASGI."""

import gc
import os
import resource

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")

# Each open tab takes a socket and a connection to Redis; processes often start with 1,024 files or less.
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if hard != resource.RLIM_INFINITY and soft < hard:
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

django.setup(set_prefix=False)

import scipy.special  # noqa: E402, F401 - else the first board of many topics waits for it

from rubricweb.core import tracing  # noqa: E402 - needs the settings
from rubricweb.core.request_slots import SlotHandler, pool_connections  # noqa: E402

tracing.start()
pool_connections()
application = SlotHandler()

# What is loaded by now stays: a collection that looked through it would hold up all requests for 0.1 s.
gc.collect()
gc.freeze()
