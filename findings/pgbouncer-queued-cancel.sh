#!/usr/bin/env bash
# PgBouncer 1.18.0 (Debian bookworm) in transaction mode, before PGlite 0.5.14 (npm), with psycopg 3.2.9 (PyPI).
# A statement that waits for a connection of the pool cannot be cancelled: the client's cancel request gets no error, the log
# says "cancel request for idle client", and the INSERT is performed as soon as a connection is free, minutes later if need
# be. What gave up on it, and reported a failure, has written all the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

bouncer=$(command -v pgbouncer || ls /usr/sbin/pgbouncer) || { echo "needs: apt-get install pgbouncer" >&2; exit 2; }
npm install --no-audit --no-fund --loglevel=error --ignore-scripts @electric-sql/pglite@0.5.14 \
  @electric-sql/pglite-socket@0.2.17 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile 'psycopg[binary]==3.2.9'
cat >server.mjs <<'JS'
import { createServer } from "node:net";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
const portOf = (server) => server.address().port;
const free = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const port = portOf(probe);
      probe.close(() => resolve(port));
    });
  });
const [port, bouncer] = [await free(), await free()];
await new PGLiteSocketServer({ db: await PGlite.create(), host: "127.0.0.1", port }).start();
console.log(port, bouncer);
JS
node server.mjs >ports &
server=$!
trap 'kill $server; rm -rf "$folder"' EXIT
until [ -s ports ]; do sleep 0.1; done
read -r port listen <ports
cat >pgbouncer.ini <<INI
[databases]
postgres = host=127.0.0.1 port=$port dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $listen
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
INI
[ "$(id -u)" != 0 ] || { echo "user = nobody" >>pgbouncer.ini; chmod 755 "$folder"; }
"$bouncer" pgbouncer.ini 2>log &
pooler=$!
trap 'kill $pooler $server; rm -rf "$folder"' EXIT
cat >main.py <<'PY'
import sys, threading
import psycopg

def connect():
    return psycopg.connect(f"host=127.0.0.1 port={sys.argv[1]} user=postgres dbname=postgres sslmode=disable")

holder = connect()
holder.execute("CREATE TABLE orders (id int)")
holder.commit()
holder.execute("SELECT 1")  # The transaction holds the only connection of the pool.
waiting = connect()
waiting.autocommit = True
outcome = []

def insert():
    try:
        outcome.append(waiting.execute("INSERT INTO orders VALUES (1)").statusmessage)
    except psycopg.Error as error:
        outcome.append(error.sqlstate)

thread = threading.Thread(target=insert)
thread.start()
thread.join(1)
waiting.cancel()
thread.join(2)
print("cancelled:", "it waits" if thread.is_alive() else outcome)
holder.rollback()
thread.join()
print("a connection is free:", *outcome)
print("orders:", *waiting.execute("SELECT count(*) FROM orders").fetchone())
PY
until grep -q "process up" log; do kill -0 "$pooler"; sleep 0.1; done
{
  timeout 60 python/bin/python main.py "$listen"
  sed -nE 's/.*(cancel request for [a-z]+ client).*/\1/p' log
} | tee seen
expected='cancelled: it waits
a connection is free: INSERT 0 1
orders: 1
cancel request for idle client'
diff <(echo "$expected") seen
