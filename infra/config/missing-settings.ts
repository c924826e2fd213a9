import * as pulumi from "@pulumi/pulumi";
import { isMocked } from "../mocks.ts";
import { typeToken } from "../names.ts";
import { stateBefore } from "../state.ts";
import { NAMESPACE } from "./schema.ts";

const DOMAIN_NAME = `${typeToken("CustomDomain")}$aws:apigateway/domainName:DomainName::`;

/**
 * Stops an update that would delete the hosts of the stack because its file is missing where the program runs. Pulumi
 * does not say so: without a file, every setting has its default.
 *
 * @throws {pulumi.RunError} if the stack has hosts, and its configuration no setting
 */
export async function requireSettings(): Promise<void> {
  const isSet = (key: string) => key.startsWith(`${NAMESPACE}:`);
  // A preview shows that the hosts would be deleted.
  if (isMocked() || pulumi.runtime.isDryRun() || Object.keys(pulumi.runtime.allConfig()).some(isSet)) return;
  const found = Object.entries(await stateBefore()).filter(([urn]) => urn.includes(DOMAIN_NAME));
  if (found.length === 0) return;
  const stack = pulumi.getStack();
  const hosts = found.map(([, { outputs }]) => `${outputs?.["domainName"]}`).join(" and ");
  throw new pulumi.RunError(
    [
      `The stack '${stack}' has no setting, but serves ${hosts}: the update would delete them. Nothing has been deleted.`,
      `  If Pulumi.${stack}.yaml is missing in this folder, restore it, for example from the repository.`,
      `  To remove the hosts, set one of the settings, such as '${NAMESPACE}:plan', and update again.`,
    ].join("\n"),
  );
}
