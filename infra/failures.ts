import * as pulumi from "@pulumi/pulumi";
import { CERTIFICATE_TIMEOUT_MS } from "../lib/domains/status/status.ts";
import { type StackHost, stepsWithoutCertificate } from "../lib/domains/status/steps.ts";
import { MINUTE_MS } from "../lib/plans/windows.ts";
import { isMocked } from "./mocks.ts";

/** An error hook that logs an explanation of a failed operation. Without one, only the provider's errors are shown. */
function explainOnError(
  name: string,
  resource: pulumi.Resource,
  explain: (errors: readonly string[], inputs: Readonly<Record<string, unknown>>) => string | undefined,
): pulumi.ErrorHook[] {
  // Mocks have no engine that could call a hook, and fail on registering one.
  if (isMocked()) return [];
  return [
    new pulumi.ErrorHook(name, async ({ errors, newInputs }) => {
      const message = explain(errors, newInputs ?? {});
      // The engine stops the program after this hook, so the log call must complete first.
      if (message !== undefined) await pulumi.log.error(message, resource);
      return false;
    }),
  ];
}

/** Explains the failure to create a resource because its name is taken. `advice` is the way out. */
export function explainExisting(
  name: string,
  { subject, advice }: { readonly subject: string; readonly advice: string },
  resource: pulumi.Resource,
): pulumi.ErrorHook[] {
  const message = `${subject} exists, but not in the state of this stack: it belongs to something else, or an interrupted update or a lost state has left it behind. ${advice} See infra/recovery.md#an-interrupted-run.`;
  const isTaken = (errors: readonly string[]) => errors.some((error) => /already exists/i.test(error));
  return explainOnError(`${name}-exists`, resource, (errors) => (isTaken(errors) ? message : undefined));
}

/**
 * A hook that stops a run, and already its preview, before it deletes a protected table or replaces it by an empty one.
 * Pulumi's own protection would do so, too, but only advises to remove it. The state keeps the name of the hook, and
 * Pulumi refuses what needs a hook that the program does not register: so the name is the same for all tables, and says
 * what to read.
 */
export function keepTables(): pulumi.ResourceHook[] {
  if (pulumi.runtime.getMonitor() === undefined || isMocked()) return [];
  const hook = new pulumi.ResourceHook(KEEP_TABLES, refuseDeletion, { onDryRun: true });
  // Not in the typings. A resource waits for the registration of its hooks.
  const { __registered: registered } = hook as unknown as { readonly __registered: Promise<void> };
  const once = registered.catch((error: unknown) => {
    // By another table, component, process or copy of this package: all of them register the same.
    if (!/already registered/.test(String(error))) throw error;
  });
  return [Object.assign(hook, { __registered: once })];
}

/** Part of the state of every stack, so it must not change. */
const KEEP_TABLES = "store-orders: protected tables, see infra/recovery.md#rename-import-restore";

function refuseDeletion({ oldInputs }: pulumi.ResourceHookArgs): never {
  const { name } = (oldInputs ?? {}) as { readonly name?: string };
  throw new Error(
    [
      `The protected table ${name} would be deleted with its data, or replaced by an empty one.`,
      "  After a rename of the stack or project, set 'renamedFrom'; after one of the component, pass its old name in 'aliases'.",
      "  Set 'tables' to the names that the tables have. A table that is to take their place has to be imported first.",
      "  Only if the data is to be deleted: set 'protect' to false, run an update, and then this one.",
      "  See infra/recovery.md#rename-import-restore.",
    ].join("\n"),
  );
}

/** The time that an update waits for a certificate, as a Pulumi duration. See lib/domains/README.md#domain-verification. */
export const CERTIFICATE_TIMEOUT = `${CERTIFICATE_TIMEOUT_MS / MINUTE_MS}m`;

/** Explains the checks if no certificate was issued in time. */
export function explainCertificateTimeout(
  name: string,
  stackHost: StackHost,
  resource: pulumi.Resource,
): pulumi.ErrorHook[] {
  const { host } = stackHost;
  return explainOnError(`${name}-certificate-timeout`, resource, (errors) =>
    [
      errors.some((error) => error.includes("FAILED"))
        ? `ACM rejected the request for the certificate of ${host} (FAILED): waiting does not help. The console of ACM shows the reason.`
        : `No certificate was issued for ${host} within 30 minutes.`,
      ...stepsWithoutCertificate(stackHost).map((step, index) => `  ${index + 1}. ${step}`),
      "  See infra/domains/README.md#certificate-not-issued.",
      ...errors.map(fromProvider),
    ].join("\n"),
  );
}

/** The purpose of a DNS record that the stack creates. */
export type RecordPurpose = "routing" | "validation";

/**
 * Explains the next steps if a DNS record cannot be created. The usual reason is that it exists, but not in the stack's
 * state. `label` is the DNS provider.
 */
export function explainRecordFailure(
  name: string,
  { label, wayOut }: { readonly label: string; readonly wayOut: string },
  resource: pulumi.Resource,
): pulumi.ErrorHook[] {
  return explainOnError(`${name}-failure`, resource, (errors, { type, name, content, records, aliases }) => {
    const [target = content] = (records ?? aliases ?? []) as readonly unknown[];
    const value = (target as { readonly name?: string }).name ?? target;
    return [
      `Cannot create the DNS record ${type} ${name} → ${value}.`,
      `  If the record exists at ${label}, an interrupted update or another owner created it.`,
      "  If another component of this program had the host, see infra/domains/README.md#move-a-host-to-another-component.",
      `  Otherwise: ${wayOut}`,
      "  See infra/recovery.md#an-interrupted-run.",
      ...errors.map(fromProvider),
    ].join("\n");
  });
}

function fromProvider(error: string): string {
  return `  Error from the provider: ${error}`;
}
