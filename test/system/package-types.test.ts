import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { ENTRIES } from "../support/entries.ts";
import { homeOfPackages } from "../support/install-packages.ts";
import { copyInstalled, install, runProgram, runSuccessfully, typeErrors } from "./installed.ts";

const installed = inject("installed");

describe("types", () => {
  const free = ENTRIES.filter(({ peers }) => peers.length === 0).map(({ name }) => name);
  const imports = free.map((entry, index) => `import * as entry${index} from "${entry}";`);
  const consumer = `${imports.join("\n")}
import { type ApplyResult, createOrders } from "store-orders";
import { createMemoryStore } from "store-orders/memory";
export const entries = [${free.map((_, index) => `entry${index}`).join(", ")}];
const orders = createOrders({ store: createMemoryStore().orders });
export const result: ApplyResult = await orders.cancel(7n);
`;

  test("the types compile for a strict consumer", async () => {
    await writeFile(join(installed, "consumer.ts"), consumer);
    expect(await typeErrors(installed, ["consumer.ts"])).toBe("");
  });

  test.each([
    ["5.4.5", "nodenext", "nodenext"],
    ["5.6.3", "nodenext", "nodenext"],
    ["5.9.3", "nodenext", "nodenext"],
    ["5.9.3", "node16", "node16"],
    ["5.9.3", "esnext", "bundler"],
  ])(
    "the types compile under TypeScript %s with module %s and moduleResolution %s",
    async (version, module, resolution) => {
      const name = `typescript-${version}`;
      const home = join(dirname(installed), name);
      if (!existsSync(home)) {
        await copyInstalled(installed, name);
        await writeFile(join(home, "consumer.ts"), consumer);
        await install(home, `typescript@${version}`, "@types/node@24.19.2");
      }
      const flags = ["--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,esnext.disposable,dom"];
      const modules = ["--module", module, "--moduleResolution", resolution];
      const compiler = join(home, "node_modules/.bin/tsc");
      const { stdout } = await runProgram(home, compiler, [...flags, ...modules, "consumer.ts"]);
      expect(stdout).toBe("");
    },
  );

  test("reject an identifier that is not a bigint", async () => {
    await writeFile(join(installed, "wrong.ts"), `${consumer}await orders.cancel(7);\n`);
    const output = await typeErrors(installed, ["wrong.ts"]);
    expect(output.match(/error TS/g)).toEqual(["error TS"]);
    expect(output).toContain("'number' is not assignable to parameter of type 'bigint'");
  });
});

describe("package linters", () => {
  const tool = (name: string) => join(homeOfPackages("system"), "node_modules/.bin", name);

  test("publint finds no problem", async () => {
    expect(await runSuccessfully(installed, tool("publint"), [inject("tarball"), "--strict"])).toContain(
      "All good!",
    );
  });

  test("Are The Types Wrong finds no problem in any entry", async () => {
    const output = await runSuccessfully(installed, tool("attw"), [
      inject("tarball"),
      "--profile",
      "esm-only",
      "--no-color",
    ]);
    expect(output.match(/node16 \(from ESM\): 🟢 \(ESM\)/g)).toHaveLength(ENTRIES.length);
  });
});
