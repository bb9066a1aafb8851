#!/bin/sh
# web, worker or worker --short: wait for the migrations, then serve or grade. Anything else: a manage.py command, such as migrate.
set -eu

wait_for_migrations() {
    until python manage.py migrate --check >/dev/null 2>&1; do
        sleep 2
    done
}

case "${1:-web}" in
web)
    wait_for_migrations
    # One process a container: more of them are more containers, each with probes and figures of its own.
    exec uvicorn rubricweb.asgi:application --host 0.0.0.0 --port 8000 --no-proxy-headers --timeout-graceful-shutdown 20 --limit-concurrency 2000
    ;;
worker)
    wait_for_migrations
    exec python manage.py "$@"
    ;;
*)
    exec python manage.py "$@"
    ;;
esac
