"""The ASGI entry point; serve it with uvicorn, because the event stream needs ASGI."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")

application = get_asgi_application()
