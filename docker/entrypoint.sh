#!/bin/sh
# web: migrate, then serve. worker: wait for the migrations, then grade. Anything else: a manage.py command.
set -eu

case "${1:-web}" in
web)
    python manage.py migrate --noinput
    exec uvicorn rubricweb.asgi:application --host 0.0.0.0 --port "${PORT:-8000}" \
        --workers "${WEB_WORKERS:-2}" --no-proxy-headers --timeout-worker-healthcheck 60 --timeout-graceful-shutdown 1
    ;;
worker)
    until python manage.py migrate --check >/dev/null 2>&1; do
        sleep 2
    done
    exec python manage.py worker
    ;;
*)
    exec python manage.py "$@"
    ;;
esac
