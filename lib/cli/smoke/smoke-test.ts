import { redactKeys } from "../../accounts/api-key.ts";
import { BASE_PATH } from "../../http/operations.ts";
import { type Answer, type SmokeRequest, type SmokeResult, send } from "./answer.ts";
import {
  expectChallenge,
  expectCounted,
  expectError,
  expectHeaders,
  expectList,
  expectStatus,
  type Problems,
} from "./expectations.ts";

/** What to test. */
export interface SmokeTarget {
  /** Ends with `/v1`. */
  readonly baseUrl: string;
  readonly key: string;
  /** A pending order, which is cancelled. @default none: cancelling is not tested */
  readonly order?: bigint;
  readonly timeoutMs: number;
}

/** The result of one check. */
export interface SmokeCheck {
  readonly check:
    | "list"
    | "headers"
    | "limits"
    | "no key"
    | "wrong key"
    | "readiness"
    | "cancel"
    | "cancel again";
  readonly ok: boolean;
  /** What is wrong; empty if nothing is. */
  readonly problems: Problems;
}

/** The results of all checks, or why the service cannot be reached. */
export type SmokeReport =
  | { readonly ok: true; readonly checks: readonly SmokeCheck[] }
  | { readonly ok: false; readonly code: "service_unreachable"; readonly message: string };

/** No key has this form, so it belongs to no account and can ban none. */
const WRONG_KEY = "store-orders-smoke-test";

/** Tests a deployed service from the outside. Stops if the first request gets no response. */
export async function runSmokeTest({ baseUrl, key, order, timeoutMs }: SmokeTarget): Promise<SmokeReport> {
  const get = (url: string, bearer?: string) =>
    send({ method: "GET", url, timeoutMs, ...(bearer === undefined ? {} : { key: bearer }) });
  const orders = `${baseUrl}/store/orders`;

  const first = await get(orders, key);
  if (!first.ok) return { ok: false, code: "service_unreachable", message: first.message };
  const second = await get(orders, key);
  const checks = [
    check("list", first, expectList),
    check("headers", first, expectHeaders),
    check("limits", second, (answer) => expectCounted(first.answer, answer)),
    check("no key", await get(orders), (answer) => [
      ...expectError(answer, "missing_api_key"),
      ...expectChallenge(answer),
    ]),
    check("wrong key", await get(orders, WRONG_KEY), (answer) => expectError(answer, "invalid_api_key")),
    check("readiness", await get(`${baseUrl.slice(0, -BASE_PATH.length)}/readyz`), (answer) =>
      expectStatus(answer, 200),
    ),
  ];
  if (order === undefined) return { ok: true, checks };
  const cancel: SmokeRequest = { method: "DELETE", url: `${orders}/${order}`, key, timeoutMs };
  return {
    ok: true,
    checks: [
      ...checks,
      check("cancel", await send(cancel), (answer) => expectStatus(answer, 204)),
      check("cancel again", await send(cancel), (answer) => expectError(answer, "order_already_cancelled")),
    ],
  };
}

function check(
  name: SmokeCheck["check"],
  result: SmokeResult,
  expect: (answer: Answer) => Problems,
): SmokeCheck {
  const found = result.ok ? expect(result.answer) : [`There was no response: ${result.message}.`];
  // A response can repeat the key that was sent.
  const problems = found.map(redactKeys);
  return { check: name, ok: problems.length === 0, problems };
}
