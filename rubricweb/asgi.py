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
from asgiref.sync import sync_to_async  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.handlers.asgi import ASGIHandler  # noqa: E402
from django.db import connections  # noqa: E402
from django.http import HttpRequest  # noqa: E402
from django.http.response import HttpResponseBase  # noqa: E402

from rubricweb.core import telemetry  # noqa: E402

telemetry.start()

# Opening a connection to PostgreSQL costs more than most requests do, and the thread of a request keeps none.
if settings.DATABASE_POOL:
    database = connections.settings["default"]
    database["OPTIONS"] = {**database.get("OPTIONS", {}), "pool": settings.DATABASE_POOL}
    database["CONN_HEALTH_CHECKS"] = True


class Handler(ASGIHandler):
    """Runs a request in one thread, from the first middleware to the view.

    Django would go back to the event loop for each view, which costs a quarter of the time of a save.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response)(request)


application = Handler()

# What is loaded by now stays: a collection that looked through it would hold up all requests for 0.1 s.
gc.collect()
gc.freeze()
