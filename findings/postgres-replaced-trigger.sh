#!/usr/bin/env bash
# PostgreSQL 15.18 (Debian bookworm): CREATE OR REPLACE TRIGGER.
# It keeps the trigger's name and its place in the order, but not whether it fires: a trigger that was ENABLE ALWAYS,
# ENABLE REPLICA or disabled fires like a new one afterwards. A migration that only changes the function therefore ends
# what a replica relied on, or starts what an operator had stopped.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

bin=$(ls -d /usr/lib/postgresql/15/bin 2>/dev/null) || { echo "needs: apt-get install postgresql-15" >&2; exit 2; }
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid postgres --regid postgres --clear-groups "$@"; else "$@"; fi; }
chmod 777 "$folder"
"$bin/postgres" --version
as "$bin/initdb" -D "$folder/data" --auth trust --username me >/dev/null
as "$bin/pg_ctl" -D "$folder/data" -o "-k $folder -c listen_addresses=''" -l "$folder/log" -w start >/dev/null
trap 'as "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null; rm -rf "$folder"' EXIT
"$bin/psql" -h "$folder" -U me -d postgres -qAt <<'SQL' | tee seen
CREATE TABLE t (v int);
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE TRIGGER always BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();
CREATE TRIGGER replica BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();
CREATE TRIGGER stopped BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();
ALTER TABLE t ENABLE ALWAYS TRIGGER always, ENABLE REPLICA TRIGGER replica, DISABLE TRIGGER stopped;
SELECT tgname, tgenabled FROM pg_trigger ORDER BY tgname;
CREATE OR REPLACE TRIGGER always BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();
CREATE OR REPLACE TRIGGER replica BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();
CREATE OR REPLACE TRIGGER stopped BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();
SELECT tgname, tgenabled FROM pg_trigger ORDER BY tgname;
SQL
expected='always|A
replica|R
stopped|D
always|O
replica|O
stopped|O'
diff <(echo "$expected") seen
