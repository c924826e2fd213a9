import { CERTIFICATE_TIMEOUT_MS } from "../../lib/domains/lifecycle.ts";
import { CERTIFICATE_CHECKS } from "../../lib/domains/verification/advice.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";

/** How long a run waits for a certificate, in the provider's notation. */
export const CERTIFICATE_TIMEOUT = `${CERTIFICATE_TIMEOUT_MS / MINUTE_MS}m`;

/** What to look at where no certificate has come. The third of the checks is a number in the configuration. */
export function certificateChecks(host: string, reverify: number, errors: readonly string[]): string {
  const [verifies, caa, again] = CERTIFICATE_CHECKS;
  return [
    `No certificate has come for ${host} within 30 minutes of asking.`,
    `  1. ${verifies} (store-orders domains check)`,
    `  2. ${caa} (Amazon has to be among them, or there are none)`,
    `  3. ${again} (store-orders:reverify: { ${host}: ${reverify + 1} }, then run again)`,
    ...errors.map((error) => `  What the provider said: ${error}`),
  ].join("\n");
}
