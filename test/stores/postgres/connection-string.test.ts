import { expect, test } from "vitest";
import { readConnectionString } from "../../../lib/stores/postgres/connection-string.ts";
import { createPostgresStore, isInvalidInput, migratePostgres } from "../../../lib/stores/postgres/index.ts";

test.each([
  ["postgres://a:b@h/d", "postgres://a:b@h/d", undefined],
  ["postgresql://a:b@h/d?schema=pets", "postgresql://a:b@h/d", "pets"],
  ["postgres://h/d?schema=my%20pets&sslmode=require", "postgres://h/d?sslmode=require", "my pets"],
  ["postgres://a@/d?host=/run/pg&schema=x", "postgres://a@/d?host=%2Frun%2Fpg", "x"],
  ["postgres:///d", "postgres:///d", undefined],
  ["socket:/run/pg?db=d", "socket:/run/pg?db=d", undefined],
  ["/run/pg d", "/run/pg d", undefined],
])("%s: the parameter schema is ours", (text, connectionString, schema) => {
  expect(readConnectionString(text)).toEqual({ connectionString, ...(schema && { schema }) });
});

/** What a function throws. */
function thrownBy(task: () => unknown): unknown {
  try {
    return task();
  } catch (error) {
    return error;
  }
}

test.each([
  ["empty", { connectionString: "" }, "Use a URL such as postgres://"],
  ["with an impossible port", { connectionString: "postgres://a:s3cret@h:99999999/d" }, "Use a URL"],
  ["of another kind", { connectionString: "a:s3cret@h/d" }, "Use a URL"],
  ["a pool without connect()", { pool: {} }, "Give a Pool of pg"],
  ["a pool that is null", { pool: null }, "Give a Pool of pg"],
  ["neither", {}, "Give either a pool or a connectionString."],
  ["the schema twice", { connectionString: "postgres://h/d?schema=a", schema: "b" }, "names another schema"],
  ["no schema", { connectionString: "postgres://h/d?schema=pg_x" }, "Use the name of a schema"],
])("%s: the options of the store are an error without secrets", (_, options, message) => {
  const error = thrownBy(() => createPostgresStore(options as never));
  expect(isInvalidInput(error) && error.message).toContain(message);
  expect(`${error}`).not.toContain("s3cret");
});

test("the same schema twice is no error", async () => {
  const options = { connectionString: "postgres://127.0.0.1:1/d?schema=a", schema: "a" };
  await createPostgresStore(options).close();
  await expect(migratePostgres({ ...options, schema: "b" })).rejects.toSatisfy(isInvalidInput);
});
