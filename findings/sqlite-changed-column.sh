#!/usr/bin/env bash
# A column of a table in SQLite gets another type: sqlite-utils 4.2.1, alembic 1.20.1 (batch mode), peewee 4.5.3 and Django
# 5.2.19 (PyPI), and a migration of knex 3.3.0 (npm, on libsql 0.5.29), each with foreign keys on.
# SQLite cannot do that, so they build the table anew. Each loses its trigger without a word: an outbox that it fills stays
# empty from then on. alembic, peewee and knex delete all rows of the table that refers to it with ON DELETE CASCADE. Except
# with sqlite-utils, the identifier of a deleted row is given again. Except with peewee and knex, COLLATE NOCASE is gone, so
# that "a" does not find "A" any more. alembic drops the CHECK, and so does Django, with the index that its model does not have.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts --legacy-peer-deps knex@3.3.0 \
  better-sqlite3@npm:libsql@0.5.29 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile sqlite-utils==4.2.1 alembic==1.20.1 SQLAlchemy==2.1.9 \
  peewee==4.5.3 Django==5.2.19
cat >main.mjs <<'JS'
import knex from "knex";

const afterCreate = (connection, done) => { connection.exec("PRAGMA foreign_keys = ON"); done(null, connection); };
const connection = { filename: "orders.db" };
const database = knex({ client: "better-sqlite3", connection, useNullAsDefault: true, pool: { afterCreate } });
const migration = { up: (knex) => knex.schema.alterTable("orders", (table) => table.text("total").alter()), down: () => {} };
const source = { getMigrations: async () => ["1"], getMigrationName: (name) => name, getMigration: async () => migration };
await database.migrate.latest({ migrationSource: source });
await database.destroy();
JS
cat >main.py <<'PY'
import os, sqlite3, subprocess
import alembic.migration, alembic.operations, django, peewee, playhouse.migrate, sqlalchemy, sqlite_utils
from django.conf import settings

TABLES = """
CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, code TEXT COLLATE NOCASE,
  status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid')), total INTEGER);
CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id) ON DELETE CASCADE);
CREATE TABLE outbox (order_id INTEGER);
CREATE TRIGGER changed AFTER INSERT ON orders BEGIN INSERT INTO outbox VALUES (new.id); END;
CREATE INDEX unpaid ON orders (status) WHERE status = 'open';
INSERT INTO orders (id, code) VALUES (1, 'A'), (2, 'B'), (9, 'C');
INSERT INTO lines (order_id) VALUES (1), (2);
DELETE FROM orders WHERE id = 9;
DELETE FROM outbox;
"""

def with_sqlite_utils():
    database = sqlite_utils.Database("orders.db")
    database.execute("PRAGMA foreign_keys = ON")
    database["orders"].transform(types={"total": str})
    database.conn.close()

def with_alembic():
    engine = sqlalchemy.create_engine("sqlite:///orders.db")
    sqlalchemy.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys = ON"))
    with engine.begin() as connection:
        operations = alembic.operations.Operations(alembic.migration.MigrationContext.configure(connection))
        with operations.batch_alter_table("orders") as batch:
            batch.alter_column("total", type_=sqlalchemy.Text())
    engine.dispose()

def with_peewee():
    database = peewee.SqliteDatabase("orders.db", pragmas={"foreign_keys": 1})
    migrator = playhouse.migrate.SqliteMigrator(database)
    playhouse.migrate.migrate(migrator.alter_column_type("orders", "total", peewee.TextField(null=True)))
    database.close()

def with_django():
    from django.db import connection, models
    class Order(models.Model):
        code = models.TextField(null=True)
        status = models.TextField(default="open")
        total = models.IntegerField(null=True)
        class Meta:
            app_label, db_table = "shop", "orders"
    total = models.TextField(null=True)
    total.set_attributes_from_name("total")
    with connection.schema_editor() as editor:
        editor.alter_field(Order, Order._meta.get_field("total"), total)
    connection.close()

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "orders.db"}})
django.setup()
for name, change in [("nobody", lambda: None), ("sqlite-utils", with_sqlite_utils), ("alembic", with_alembic),
        ("peewee", with_peewee), ("Django", with_django), ("knex", lambda: subprocess.run(["node", "main.mjs"], check=True))]:
    if os.path.exists("orders.db"):
        os.remove("orders.db")
    database = sqlite3.connect("orders.db")
    database.executescript(TABLES)
    database.close()
    change()
    database = sqlite3.connect("orders.db", isolation_level=None)
    count = lambda query: database.execute(f"SELECT count(*) FROM {query}").fetchone()[0]
    database.execute("INSERT INTO orders (code, status) VALUES ('D', 'open')")
    new = database.execute("SELECT id FROM orders WHERE code = 'D'").fetchone()[0]
    try:
        database.execute("INSERT INTO orders (code, status) VALUES ('E', 'wrong')")
        check = "no"
    except sqlite3.IntegrityError:
        check = "yes"
    found, index = count("orders WHERE code = 'a'"), count("sqlite_schema WHERE name = 'unpaid'")
    print(f"{name}: outbox {count('outbox')}, lines {count('lines')}, new identifier {new}, check {check},",
          f"found by 'a' {found}, index {index}")
    database.close()
PY
python/bin/python -W ignore main.py | tee seen
expected="nobody: outbox 1, lines 2, new identifier 10, check yes, found by 'a' 1, index 1
sqlite-utils: outbox 0, lines 2, new identifier 10, check yes, found by 'a' 0, index 1
alembic: outbox 0, lines 0, new identifier 3, check no, found by 'a' 0, index 1
peewee: outbox 0, lines 0, new identifier 3, check yes, found by 'a' 1, index 1
Django: outbox 0, lines 2, new identifier 3, check no, found by 'a' 0, index 0
knex: outbox 0, lines 0, new identifier 3, check yes, found by 'a' 1, index 1"
diff <(echo "$expected") seen
