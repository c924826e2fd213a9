import { describe, expect, test } from "vitest";
import { errorMessage, isStoreUnavailable } from "../../../lib/core/errors.ts";
import {
  DatabaseError,
  isRefused,
  isRepeatable,
  isWrongSession,
  standby,
  toStoreError,
} from "../../../lib/stores/postgres/errors.ts";

/** An error as `pg` reports it. */
const fromServer = (code: string, severity = "ERROR") =>
  Object.assign(new Error(`error ${code}`), { code, severity });

describe("what a caller gets for an error", () => {
  test.each(["53300", "57014", "57P01", "25006", "42P01", "55P03", "XX001", "42723"])(
    "%s: the database cannot be used",
    (code) => {
      const error = toStoreError(new DatabaseError(fromServer(code)));
      expect(isStoreUnavailable(error) && error.retryable).toBe(true);
      expect(errorMessage(error)).toBe(`The database cannot be used. (error ${code})`);
    },
  );

  test.each([
    [fromServer("28P01", "FATAL"), /^Correct the user, the password .*\(error 28P01\)$/],
    [fromServer("28000", "FATAL"), /^Correct the user, the password .*\(error 28000\)$/],
    [new Error("SASL: client password must be a string"), /^Correct the user, the password /],
    [fromServer("3D000", "FATAL"), /^Correct the name of the database .*\(error 3D000\)$/],
    [fromServer("25P02"), /End it with ROLLBACK.*\(error 25P02\)$/],
  ])("%s: what to correct, since a repetition does not help", (cause, expected) => {
    const error = toStoreError(new DatabaseError(cause));
    expect(isStoreUnavailable(error) && !error.retryable).toBe(true);
    expect(errorMessage(error)).toMatch(expected);
  });

  test("a missing permission: what to grant", () => {
    const message = errorMessage(toStoreError(new DatabaseError(fromServer("42501"))));
    expect(message).toMatch(/^The role lacks a permission\. GRANT it USAGE .*\(error 42501\)$/);
  });

  test.each(["22003", "22021", "23514"])("%s: the value that caused it, as it is", (code) => {
    const cause = fromServer(code);
    expect(toStoreError(new DatabaseError(cause))).toBe(cause);
  });

  const several = [new Error("connect ECONNREFUSED ::1:5432"), new Error("other")];
  test.each([
    ["of several addresses: that of the first", new AggregateError(several), "connect ECONNREFUSED ::1:5432"],
    ["of several addresses with one of its own", new AggregateError(several, "no address"), "no address"],
    ["that is no Error", "refused", "unknown"],
    [
      "of a rule of the program",
      Object.assign(fromServer("P0001"), { message: "password must be a word" }),
      "password must be a word",
    ],
  ])("the message of an error %s", (_which, cause, expected) => {
    const error = toStoreError(new DatabaseError(cause));
    expect(isStoreUnavailable(error) && error.retryable).toBe(true);
    const [, message] = /^The database cannot be used\. \((.*)\)$/.exec(errorMessage(error)) ?? [];
    expect(message).toMatch(expected);
  });

  test("an error of our own code is not one of the database", () => {
    const error = new TypeError("x");
    expect(toStoreError(error)).toBe(error);
    expect(isRepeatable(error)).toBe(false);
  });
});

describe("a transaction is repeated", () => {
  test.each([
    ["after a deadlock", fromServer("40P01"), true],
    ["if two transactions cannot be ordered", fromServer("40001"), true],
    ["if the connection is lost", new Error("Connection terminated unexpectedly"), true],
    ["if the server ends the connection", fromServer("57P01", "FATAL"), true],
    ["if a pooler has changed the session", fromServer("26000"), true],
    ["if a pooler gives a session that has the statement", fromServer("42P05"), true],
    ["not if the database can only be read", fromServer("25006"), false],
    ["not after the wait for a lock", fromServer("55P03"), false],
    ["not after the wait for a lock, in German", fromServer("55P03", "FEHLER"), false],
    ["if the server ends the connection, in any language", fromServer("57P01", "致命的エラー"), true],
  ])("%s", (_when, cause, expected) => {
    expect(isRepeatable(new DatabaseError(cause))).toBe(expected);
  });
});

test("rows that a policy can hide: what to do, and the table that the server names, in any language", () => {
  const cause = Object.assign(fromServer("42501"), {
    routine: "check_enable_rls",
    message: "Tabelle »orders«",
  });
  const error = toStoreError(new DatabaseError(cause));
  expect(isStoreUnavailable(error) && error.retryable).toBe(true);
  expect(errorMessage(error)).toMatch(/^Row level security can hide rows.*BYPASSRLS\. \(Tabelle »orders«\)$/);
});

describe("a session is replaced", () => {
  test.each([
    ["that can only read", fromServer("25006"), true],
    ["of a standby", standby().cause, true],
    ["whose role lacks a permission", fromServer("42501"), true],
    ["whose time limit ended a statement", fromServer("57014"), true],
    ["that lacks a prepared statement", fromServer("26000"), true],
    ["that is in a transaction", fromServer("25001"), true],
    ["that is lost", new Error("Connection terminated unexpectedly"), true],
    ["but not for a value", fromServer("22003"), false],
    ["but not for a constraint", fromServer("23505"), false],
    ["but not after a deadlock", fromServer("40P01"), false],
    ["but not after the wait for a lock", fromServer("55P03"), false],
    ["but not without tables", fromServer("42P01"), false],
  ])("%s", (_which, cause, expected) => {
    expect(isWrongSession(new DatabaseError(cause))).toBe(expected);
  });

  test("but not for an error of our own code", () => {
    expect(isWrongSession(new TypeError("x"))).toBe(false);
  });
});

test.each([
  [fromServer("53300", "FATAL"), true],
  [
    Object.assign(fromServer("08P01", "FATAL"), { message: "no more connections allowed (max_client_conn)" }),
    true,
  ],
  [Object.assign(fromServer("08P01", "FATAL"), { message: "broken message" }), false],
  [fromServer("57P03", "FATAL"), false],
  [new Error("connect ECONNREFUSED 127.0.0.1:5432"), false],
])("a further connection that is refused is waited for: %s", (cause, expected) => {
  expect(isRefused(new DatabaseError(cause))).toBe(expected);
  expect(isRefused(cause)).toBe(false);
});
