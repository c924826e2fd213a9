import { describe, expect, test } from "vitest";
import { errorMessage, isStoreUnavailable } from "../../../lib/core/errors.ts";
import {
  DatabaseError,
  isLocalCommit,
  isRefused,
  isRepeatable,
  isWrongSession,
  openTransaction,
  standby,
  toStoreError,
} from "../../../lib/stores/postgres/errors.ts";

/** An error as `pg` reports it. */
const fromServer = (code: string, severity = "ERROR") =>
  Object.assign(new Error(`error ${code}`), { code, severity });

describe("what a caller gets for an error", () => {
  test.each(["53300", "57014", "57P01", "25006", "55P03", "XX001", "42723"])(
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
    [
      "of several addresses: those of all",
      new AggregateError(several),
      "connect ECONNREFUSED ::1:5432, other",
    ],
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
    expect([isRepeatable(error), isWrongSession(error)]).toEqual([false, false]);
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

test.each([
  ["a deadlock", fromServer("40P01"), true, false],
  ["transactions that cannot be ordered", fromServer("40001"), true, false],
  ["a lost connection", new Error("Connection terminated unexpectedly"), true, true],
  ["a connection that the server ends", fromServer("57P01", "FATAL"), true, true],
  ["a connection that the server ends, in any language", fromServer("57P01", "致命的エラー"), true, true],
  ["a session that a pooler has changed", fromServer("26000"), true, true],
  ["a session that has the statement already", fromServer("42P05"), true, true],
  ["a database that can only be read", fromServer("25006"), false, true],
  ["a standby", standby().cause, false, true],
  ["a wait for a lock that was too long", fromServer("55P03"), false, false],
  ["a wait for a lock that was too long, in German", fromServer("55P03", "FEHLER"), false, false],
  ["a role that lacks a permission", fromServer("42501"), false, true],
  ["a statement that a time limit ended", fromServer("57014"), false, true],
  ["a session in a transaction", fromServer("25001"), false, true],
  ["a wrong value", fromServer("22003"), false, false],
  ["a constraint", fromServer("23505"), false, false],
  ["missing tables", fromServer("42P01"), false, false],
])(
  "after %s (%s), the transaction is repeated: %s, and the session replaced: %s",
  (_what, cause, repeats, replacesSession) => {
    const error = new DatabaseError(cause);
    expect([isRepeatable(error), isWrongSession(error)]).toEqual([repeats, replacesSession]);
  },
);

test.each([
  [fromServer("53300", "FATAL"), true],
  [
    Object.assign(fromServer("08P01", "FATAL"), { message: "no more connections allowed (max_client_conn)" }),
    true,
  ],
  [Object.assign(fromServer("08P01", "FATAL"), { message: "client connections exceeded (x)" }), true],
  [Object.assign(fromServer("08P01", "FATAL"), { message: "broken message" }), false],
  [fromServer("57P03", "FATAL"), false],
  [new Error("connect ECONNREFUSED 127.0.0.1:5432"), false],
])("a further connection that is refused is waited for: %s", (cause, expected) => {
  expect(isRefused(new DatabaseError(cause))).toBe(expected);
  expect(isRefused(cause)).toBe(false);
});

test("an open transaction is blamed on a pooler if no other code can use the pool", () => {
  expect(errorMessage(openTransaction(true))).toMatch(/of another program was open on it\. .*Pgpool-II/);
  expect(errorMessage(openTransaction(false))).toMatch(/was open on it\. End each transaction/);
});

test.each([
  ["a wait for a standby that was cancelled, in any language", "01000", "SyncRepWaitForLSN", true],
  ["the same without the function", "01000", undefined, true],
  ["a RAISE WARNING of a trigger", "01000", "exec_stmt_raise", false],
  ["a notice", "00000", "DefineRelation", false],
])("%s tells whether a commit is on the primary only", (_what, code, routine, expected) => {
  expect(isLocalCommit({ code, routine })).toBe(expected);
});
