/** Prints the policies of the roles that preview and deploy a stack: `npm run --silent policies -- <stack> <account>`. */
import { existsSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { parseSettings } from "../config/parse.ts";
import { deployerPolicies } from "./policy-documents.ts";

const [stack = "", account = ""] = process.argv.slice(2);
const file = `Pulumi.${stack}.yaml`;
if (!/^\d{12}$/.test(account) || !existsSync(file)) {
  process.stderr.write(
    `Usage: npm run --silent policies -- <stack> <account>, such as production 123456789012.\n`,
  );
  process.exit(2);
}
const { config = {} } = parse(readFileSync(file, "utf8"));
// A secret is an object in the file. Its value does not matter here.
const values = Object.entries<unknown>(config).map(([key, value]) => {
  const isSecret = key === "store-orders:alarmEmail" && typeof value !== "string";
  return [key, isSecret ? "secret@example.com" : typeof value === "string" ? value : JSON.stringify(value)];
});
const parsed = parseSettings({ values: Object.fromEntries(values), secretKeys: [] });
if (!parsed.ok) {
  for (const { path, message } of parsed.issues) process.stderr.write(`${file}  ${path}: ${message}\n`);
  process.exit(2);
}
const { name } = parse(readFileSync("Pulumi.yaml", "utf8"));
const target = { region: config["aws:region"], account, prefix: `${name}-${stack}` };
const { alarmEmail, ...settings } = parsed.settings;
const complete = { ...settings, ...(alarmEmail === undefined ? {} : { alarmEmail }) };
process.stdout.write(`${JSON.stringify(deployerPolicies(complete, target), null, 2)}\n`);
