import { afterAll, expect, test } from "vitest";
import { createCommandLine, waitForExit } from "../../support/command-line.ts";

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

/** Runs a command whose reader has gone before it writes. */
function runUnread(...args: readonly string[]) {
  const child = cli.spawn(args);
  child.stdout.destroy();
  return waitForExit(child);
}

test("a new key that nobody can have seen is an error, which names the key to revoke", async () => {
  await cli.run(["accounts", "create", "acme", "--plan", "free"]);
  const ids = async () =>
    (await cli.json<{ keyId: string }[]>("keys", "list", "--account", "acme")).map(({ keyId }) => keyId);
  const issued = await runUnread("keys", "issue", "--account", "acme");
  const [first = ""] = await ids();
  const rotated = await runUnread("keys", "rotate", first, "--json");
  const successor = (await ids()).find((id) => id !== first) ?? "";
  const messageOf = (id: string) =>
    `${id}: The new key could not be written, so nobody has seen it. Revoke it with 'keys revoke ${id}', and issue another one.`;
  expect(issued).toMatchObject({ status: 1, stderr: `error: ${messageOf(first)}\n` });
  expect(rotated.status).toBe(1);
  expect(JSON.parse(rotated.stderr)).toEqual({ code: "key_not_shown", message: messageOf(successor) });
  expect((await cli.run(["keys", "revoke", successor])).status).toBe(0);
});
