/** Prints the policies for the pipeline of a stack: `npm run --silent policies -- <stack> <account>`. */
import { existsSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { parseSettings } from "../config/settings.ts";
import { ownerOf } from "../names.ts";
import { boundaryArn, deployerPolicies } from "./policy-documents.ts";

const [stack = "", account = ""] = process.argv.slice(2);
const file = `Pulumi.${stack}.yaml`;
if (!/^\d{12}$/.test(account))
  stop("Usage: npm run --silent policies -- <stack> <account>, such as production 123456789012.");
if (!existsSync(file)) stop(`There is no ${file} here. Name a stack that has one, or write it first.`);
const config = parse(readFileSync(file, "utf8"))?.config ?? {};
// A secret is an object in the file. Its value does not matter here.
const values = Object.entries<unknown>(config).map(([key, value]) => {
  const isSecret = key === "store-orders:alarmEmail" && typeof value !== "string";
  return [key, isSecret ? "secret@example.com" : typeof value === "string" ? value : JSON.stringify(value)];
});
const parsed = parseSettings({ values: Object.fromEntries(values), secretKeys: [] });
if (!parsed.ok) stop(parsed.issues.map(({ path, message }) => `${file}  ${path}: ${message}`).join("\n"));
const { name } = parse(readFileSync("Pulumi.yaml", "utf8"));
const region: unknown = config["aws:region"];
if (typeof region !== "string")
  stop(`${file}  aws:region: Write the region of the stack, such as eu-central-1.`);
const { settings } = parsed;
const owner = ownerOf(settings, { project: name, stack });
const target = { region, account, prefix: `${owner.project}-${owner.stack}` };
const boundary = boundaryArn(settings, target);
const missing = `Create the policy 'boundary' as ${boundary}, and add this line to ${file}. The policy 'functions' creates no role without it.\n  store-orders:permissionsBoundary: ${boundary}\n`;
const foreign = `${file}  store-orders:permissionsBoundary: ${boundary} is not in the account ${account}. Use the ARN of the policy in that account.`;
if (settings.permissionsBoundary === undefined) process.stderr.write(missing);
else if (!boundary.includes(`:${account}:`)) stop(foreign);
const policies = deployerPolicies(settings, target);
for (const [policy, document] of Object.entries(policies)) {
  const { length } = JSON.stringify(document);
  const tooLong = `The policy '${policy}' has ${length} characters, and AWS accepts at most 6144. Move some of its statements into a further policy for the same role.\n`;
  if (length > 6_144) process.stderr.write(tooLong);
}
process.stdout.write(`${JSON.stringify(policies, null, 2)}\n`);

function stop(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
