#!/bin/bash
# Keeps to the conventions of the stock postgres image (variables, PGDATA, uid 999, arguments) for tests without a registry.
set -e
case "$1" in -*) set -- postgres "$@" ;; esac
[ "$1" = postgres ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chmod 0700 "$PGDATA"
  find "$PGDATA" ! -user postgres -exec chown postgres {} +
  exec gosu postgres "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  export POSTGRES_USER="${POSTGRES_USER:-postgres}"
  export POSTGRES_DB="${POSTGRES_DB:-$POSTGRES_USER}"
  for name in POSTGRES_PASSWORD POSTGRES_USER POSTGRES_DB; do
    file="${name}_FILE"
    if [ -n "${!file:-}" ]; then printf -v "$name" %s "$(cat "${!file}")"; fi
  done
  if [ -z "$POSTGRES_PASSWORD" ] && [ "$POSTGRES_HOST_AUTH_METHOD" != trust ]; then
    echo "Error: the database is not initialised and POSTGRES_PASSWORD is not set" >&2
    exit 1
  fi
  # shellcheck disable=SC2086
  initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\n' "${POSTGRES_PASSWORD:-unset}") $POSTGRES_INITDB_ARGS
  printf '\nhost all all all %s\n' "${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}" >>"$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -p 5432" -w start
  if [ "$POSTGRES_DB" != postgres ]; then
    psql -X -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres -v name="$POSTGRES_DB" <<<'CREATE DATABASE :"name";'
  fi
  for file in /docker-entrypoint-initdb.d/*; do
    case "$file" in
      *.sh) . "$file" ;;
      *.sql) psql -X -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" -f "$file" ;;
    esac
  done
  pg_ctl -D "$PGDATA" -m fast -w stop
  echo "PostgreSQL init process complete; ready for start up."
fi
exec "$@"
