#!/bin/sh
# Runs once, when the database is empty: the owner of the tables, and the role of the portal's
# processes, which cannot change what is in the audit trail.
set -eu
secrets=${SECRETS:-/run/secrets}

psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" \
  --set owner_password="$(cat "$secrets/owner_password")" \
  --set app_password="$(cat "$secrets/app_password")" <<'SQL'
CREATE ROLE gpuportal_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE gpuportal_app LOGIN PASSWORD :'app_password';
CREATE DATABASE gpuportal OWNER gpuportal_owner;
REVOKE ALL ON DATABASE gpuportal FROM PUBLIC;
GRANT CONNECT ON DATABASE gpuportal TO gpuportal_app;
SQL
