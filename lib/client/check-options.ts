import { InvalidInputError, type Issue } from "../errors.ts";
import type { ClientOptions } from "./client.ts";

const NUMBERS = ["maxAttempts", "attemptTimeoutMs", "idleTimeoutMs", "totalTimeoutMs", "maxWaitMs"] as const;

/** Throws `InvalidInputError` if an option is invalid. The message never contains the URL or the key. */
export function checkOptions(options: ClientOptions): void {
  const issues: Issue[] = [];
  if (!isBaseUrl(options.baseUrl)) {
    issues.push({
      path: "baseUrl",
      message: "Write a URL such as https://orders.example.com/v1, without user, query and fragment.",
    });
  }
  // A caller without types can pass a variable that is not set, which would be sent as 'undefined'.
  if (typeof options.apiKey !== "string" || !/^[\x21-\x7e]+$/.test(options.apiKey)) {
    issues.push({
      path: "apiKey",
      message: "Write the key exactly as it was issued, without spaces or line breaks.",
    });
  }
  for (const path of NUMBERS) {
    // The negation also rejects NaN, which would turn a limit off.
    const { [path]: value = 0 } = options;
    if (!(typeof value === "number" && value >= 0))
      issues.push({ path, message: "Write a number of at least 0." });
  }
  if (issues.length > 0) throw new InvalidInputError(issues);
}

function isBaseUrl(text: string): boolean {
  if (typeof text !== "string" || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === "" && password === "" && !/[?#]/.test(text);
}
