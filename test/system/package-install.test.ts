/** Every line of the documents that installs a package beside ours, in a folder without any other. */
import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { DOCUMENTS, table } from "../documents/markdown.ts";
import { copyInstalled, install, ROOT, readJson, runSuccessfully } from "./installed.ts";

const { devDependencies: versions = {} } = await readJson(join(ROOT, "package.json"));

/** What a program does first with an entry point that the installed packages are for, by these packages. */
const USES: Readonly<Record<string, string>> = {
  pg: 'await (await import("store-orders/postgres")).createPostgresStore({ connectionString: "postgres://127.0.0.1:9/x" }).close();',
  "@aws-sdk/client-dynamodb":
    'await (await import("store-orders/dynamodb")).createDynamodbStore({ prefix: "shop" }).close();',
  "swagger-ui-dist":
    'const page = (await import("store-orders/node")).docsPage(); if (!page("/docs", { method: "GET", url: "http://a/docs", headers: new Headers() })) throw 1;',
  "prom-client": '(await import("store-orders/metrics")).createMetrics();',
  standardwebhooks: 'await import("store-orders/webhooks");',
  "@pulumi/pulumi @pulumi/aws @pulumi/cloudflare esbuild @aws-sdk/client-dynamodb":
    'await (await import("store-orders/infra")).functionCode();',
  "@aws-sdk/client-eventbridge": 'await (await import("store-orders/infra")).functionCode({ events: true });',
};

const rows = table("lib/http/README.md", "entry point", "contains", "install as well").rows.map(
  ([entry = "", , text = ""]) => ({ entry, lines: linesOf(text) }),
);

function linesOf(text: string): readonly string[] {
  return [...text.matchAll(/npm install ((?:@?[a-z][\w/.-]*(?: |\b))+)/g)].map(([, line = ""]) =>
    line.trim(),
  );
}

function pinned(name: string): string {
  return `${name}@${versions[name]}`;
}

/** A folder with the package. It is alone in another, whose packages it finds too. */
const newProject = (name: string) => copyInstalled(inject("installed"), join(name, "project"));

describe("the packages that the README says to install", () => {
  test("no document has a line that is not among them", () => {
    const known = rows.flatMap(({ lines }) => lines);
    expect(known.toSorted()).toEqual(Object.keys(USES).toSorted());
    const all = DOCUMENTS.flatMap(({ text }) => linesOf(text.replaceAll("`", "")));
    expect(all.filter((line) => !known.some((each) => line.startsWith(each)))).toEqual([]);
  });

  test.each(rows.filter(({ lines }) => lines.length > 0))("$entry", async ({ entry, lines }) => {
    const folder = newProject(entry.replace("/", " "));
    for (const line of lines) {
      await installLine(folder, line);
      await runSuccessfully(folder, process.execPath, ["--input-type=module", "-e", USES[line] ?? "throw 1"]);
    }
  });
});

/** Installs the packages of a line. If the SDKs of Pulumi are among them, npm only has to find that all go together. */
async function installLine(folder: string, line: string): Promise<void> {
  const packages = line.split(" ").map(pinned);
  const others = packages.filter((name) => !name.startsWith("@pulumi/"));
  if (others.length < packages.length) {
    await install(folder, "--dry-run", ...packages);
    await linkSdks(folder);
  }
  await install(folder, ...others);
}

/**
 * Links the SDKs of Pulumi, which have hundreds of megabytes, to those of the repository. The link is above the folder
 * of the project, where npm does not see it.
 */
async function linkSdks(folder: string): Promise<void> {
  const above = join(dirname(folder), "node_modules");
  await mkdir(above);
  await symlink(join(ROOT, "node_modules/@pulumi"), join(above, "@pulumi"));
}
