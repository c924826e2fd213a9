import { expect, test } from "vitest";
import { readConnectionString } from "../../../lib/stores/postgres/connection-string.ts";
import { createPostgresStore, isInvalidInput, migratePostgres } from "../../../lib/stores/postgres/index.ts";

test.each([
  ["postgres://a:b@h/d", "postgres://a:b@h/d", undefined],
  ["postgresql://a:b@h/d?schema=pets", "postgresql://a:b@h/d", "pets"],
  ["postgres://h/d?schema=my%20pets&sslmode=require", "postgres://h/d?sslmode=require", "my pets"],
  ["postgres://a@/d?host=/run/pg&schema=x", "postgres://a@/d?host=%2Frun%2Fpg", "x"],
  ["postgres://a:b@/d?host=/run/pg", "postgres://a:b@/d?host=/run/pg", undefined],
  ["postgres:///d", "postgres:///d", undefined],
  ["postgres://h/d?options=a?b&schema=x", "postgres://h/d?options=a%3Fb", "x"],
  ["postgres://h/d?sslrootcert=system", "postgres://h/d?sslmode=verify-full", undefined],
  ["postgres://h/d?schema=x&sslmode=require&sslrootcert=system", "postgres://h/d?sslmode=verify-full", "x"],
  ["postgres://h/d?sslrootcert=/etc/ca.pem", "postgres://h/d?sslrootcert=/etc/ca.pem", undefined],
  ["socket:/run/pg?db=d", "socket:/run/pg?db=d", undefined],
  ["/run/pg d", "/run/pg d", undefined],
])("%s: the parameter schema is ours", (text, connectionString, schema) => {
  expect(readConnectionString(text)).toEqual({ connectionString, ...(schema && { schema }) });
});

function thrownBy(task: () => unknown): unknown {
  try {
    return task();
  } catch (error) {
    return error;
  }
}

test.each([
  ["empty", { connectionString: "" }, "connectionString: Use a URL such as postgres://"],
  ["no text", { connectionString: 5432 }, "connectionString: Use a URL"],
  [
    "with an impossible port",
    { connectionString: "postgres://a:s3cret@h:99999999/d" },
    "connectionString: Use a URL",
  ],
  ["of another kind", { connectionString: "a:s3cret@h/d" }, "connectionString: Use a URL"],
  ["with another scheme", { connectionString: "mypostgres://a:s3cret@h/d" }, "connectionString: Use a URL"],
  ["a pool without connect()", { pool: {} }, "pool: Give a Pool of pg"],
  ["a pool that is null", { pool: null }, "pool: Give a Pool of pg"],
  ["neither", {}, "pool: Give either a pool or a connectionString."],
  ["both", { connectionString: "postgres://h/d", pool: { connect() {} } }, "pool: Give either a pool"],
  [
    "the schema twice",
    { connectionString: "postgres://h/d?schema=a", schema: "b" },
    "schema: The connectionString names another schema. Give one of them.",
  ],
  ["a size for a pool", { pool: { connect() {} }, poolSize: 5 }, "poolSize: A pool has a size of its own."],
  ["no schema", { connectionString: "postgres://h/d?schema=pg_x" }, "schema: Use the name of a schema"],
])("%s: the options of the store are an error without secrets", (_, options, message) => {
  const error = thrownBy(() => createPostgresStore(options as never));
  expect(isInvalidInput(error) && error.message).toContain(message);
  expect(`${error}`).not.toContain("s3cret");
});

test.each([0, -1, 1.5, Number.NaN, "3", null])("a pool of %s connections is an error", (poolSize) => {
  const options = { connectionString: "postgres://h/d", poolSize };
  expect(thrownBy(() => createPostgresStore(options as never))).toMatchObject({
    message: "poolSize: Use a whole number of connections, at least 1.",
  });
});

test("the same schema twice is no error", async () => {
  const options = { connectionString: "postgres://127.0.0.1:1/d?schema=a", schema: "a" };
  await createPostgresStore(options).close();
  await expect(migratePostgres({ ...options, schema: "b" })).rejects.toSatisfy(isInvalidInput);
});
