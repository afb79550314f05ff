#!/bin/sh
# A PostgreSQL as the public image makes one: a database and a user from the environment, passwords over the network.
set -eu
PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"
data=/var/lib/postgresql/data
if [ ! -s "$data/PG_VERSION" ]; then
    printf '%s' "$POSTGRES_PASSWORD" > /tmp/password
    initdb -D "$data" -E UTF8 --locale=C.UTF-8 -U "$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 >/dev/null
    rm /tmp/password
    echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
    pg_ctl -D "$data" -w -o "-c listen_addresses=" start >/dev/null
    createdb -U "$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl -D "$data" -w stop >/dev/null
fi
exec postgres -D "$data" -c "listen_addresses=*"
