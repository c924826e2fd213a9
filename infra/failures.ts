import * as pulumi from "@pulumi/pulumi";
import { CERTIFICATE_TIMEOUT_MS } from "../lib/domains/status/status.ts";
import { type AwaitingHost, describeWait, stepsWithoutCertificate } from "../lib/domains/status/steps.ts";
import { MINUTE_MS } from "../lib/plans/windows.ts";
import { isMocked } from "./mocks.ts";

type Explain = (
  errors: readonly string[],
  inputs: Readonly<Record<string, unknown>>,
) => string | undefined | Promise<string | undefined>;

/** An error hook that logs an explanation of a failed operation. Without one, only the provider's errors are shown. */
function explainOnError(name: string, resource: pulumi.Resource, explain: Explain): pulumi.ErrorHook[] {
  // Mocks have no engine that could call a hook, and fail on registering one.
  if (isMocked()) return [];
  return [
    new pulumi.ErrorHook(name, async ({ errors, newInputs }) => {
      const message = await explain(errors, newInputs ?? {});
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

/** The time that an update waits for a certificate, as a Pulumi duration. See lib/domains/README.md#domain-verification. */
export const CERTIFICATE_TIMEOUT = `${CERTIFICATE_TIMEOUT_MS / MINUTE_MS}m`;

/** The errors of a provider that has waited for a certificate: a timeout, or a state from which none is issued. */
const WAITED = /timeout|timed.out|deadline exceeded|unexpected state/i;

/** Says what an update waits for, and explains the checks if no certificate was issued in time. */
export function explainCertificateWait(
  name: string,
  awaiting: pulumi.Output<AwaitingHost>,
  resource: pulumi.Resource,
): pulumi.ResourceHookBinding {
  if (isMocked()) return {};
  const known = () => new Promise<AwaitingHost>((resolve) => awaiting.apply(resolve));
  const say = async () => pulumi.log.info(describeWait(await known()), resource);
  const onError = explainOnError(`${name}-certificate-timeout`, resource, async (errors) => {
    // Any other error, such as that of a denied call, says nothing about the certificate.
    if (!errors.some((error) => WAITED.test(error))) return undefined;
    const awaited = await known();
    const { host } = awaited;
    return [
      errors.some((error) => error.includes("FAILED"))
        ? `ACM rejected the request for the certificate of ${host} (FAILED): waiting does not help. The console of ACM shows the reason.`
        : `No certificate was issued for ${host} within 30 minutes.`,
      ...stepsWithoutCertificate(awaited).map((step, index) => `  ${index + 1}. ${step}`),
      "  See infra/domains/README.md#certificate-not-issued.",
      ...errors.map((error) => `  Error from the provider: ${error}`),
    ].join("\n");
  });
  return { onError, beforeCreate: [new pulumi.ResourceHook(`${name}-certificate-wait`, say)] };
}

/** The usual reason is that the record exists, but not in the stack's state. `label` is the DNS provider. */
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
      ...errors.map((error) => `  Error from the provider: ${error}`),
    ].join("\n");
  });
}
