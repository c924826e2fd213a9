import { fork } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { StoreAddress } from "../../support/store-address.ts";
import { testProcesses } from "../test-processes.ts";
import { temporaryDirectory } from "./fixture.ts";

const { newPath } = temporaryDirectory();

describe("processes that share a file", () => {
  testProcesses("SQLite", () => ({ kind: "sqlite", path: newPath() }), { races: 1_000 });

  test("eight processes can create the same database at once", async () => {
    const address: StoreAddress = { kind: "sqlite", path: newPath() };
    const program = new URL("../worker-process.ts", import.meta.url);
    const opened = Array.from({ length: 8 }, async () => {
      const child = fork(program, [JSON.stringify(address)]);
      const [message] = await Promise.race([once(child, "message"), once(child, "exit")]);
      child.kill();
      return message;
    });
    expect(await Promise.all(opened)).toEqual(new Array(8).fill("ready"));
  });
});
