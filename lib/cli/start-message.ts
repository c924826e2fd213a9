import type { GlobalFlags } from "./context.ts";
import { DEMO_ACCOUNT } from "./demo.ts";
import { toCommandLine } from "./invocation.ts";

/** Where a server can be reached. */
export interface StartInfo {
  readonly url: string;
  readonly docs: string;
  readonly database: string;
  /** Where the metrics are, if they are served. */
  readonly metrics?: string | undefined;
  /** The key of the demo account if it was just issued. */
  readonly key: string | null;
}

/** The addresses of a server, and how to call it. */
export function formatStartMessage({ url, docs, database, metrics, key }: StartInfo): string {
  const lines = [`Store Orders   ${url}`, `docs           ${docs}`, `database       ${database}`];
  if (metrics !== undefined) lines.push(`metrics        ${metrics}`);
  if (key !== null) {
    lines.push(`key            ${key}            shown once`);
    lines.push(`try            curl --compressed -H 'Authorization: Bearer ${key}' ${url}/store/orders`);
  }
  return `${lines.join("\n")}\n`;
}

/** For a terminal: variables to paste into another one, and commands to try next there. */
export function formatNextSteps({ url, key }: StartInfo, flags: GlobalFlags): string {
  if (key === null) return "";
  return `
Paste this into another terminal:

export API=${url} KEY=${key}

Then try:

curl -i --compressed -H "Authorization: Bearer $KEY" "$API/store/orders"
curl -i -H "Authorization: Bearer $KEY" -X DELETE "$API/store/orders/1001"
${toCommandLine(["accounts", "show", DEMO_ACCOUNT], flags)}
`;
}

/** Why no demo data was added, and how to get another key. */
export function explainNotSeeded(hasAccount: boolean, flags: GlobalFlags): string {
  const create = toCommandLine(["accounts", "create", DEMO_ACCOUNT, "--plan", "free"], flags);
  const issue = toCommandLine(["keys", "issue", "--account", DEMO_ACCOUNT], flags);
  return (
    "The database has data already, so no demo data was added. A key is shown only when it is issued. " +
    `To issue one, run:\n  ${hasAccount ? issue : `${create} && ${issue}`}`
  );
}
