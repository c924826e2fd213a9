import { expect, test } from "vitest";
import { admissionCases } from "../../lib/stores/contract/admission-cases.ts";
import { type ContractCase, type ContractOptions, storeContract } from "../../lib/stores/contract/index.ts";
import { orderCases } from "../../lib/stores/contract/order-cases.ts";
import { outageCases } from "../../lib/stores/contract/outage-cases.ts";
import { outboxCases } from "../../lib/stores/contract/outbox-cases.ts";
import { pageCases } from "../../lib/stores/contract/page-cases.ts";
import type { Store } from "../../lib/stores/store.ts";
import { skipsBecause } from "../support/skip-reason.ts";

/** A part of the contract that is a file of its own, to run beside the others or more often. */
export type ContractPart = keyof typeof PARTS | "other";

/** An empty store for a case, and what it needs besides. */
export interface ContractFixture extends ContractOptions {
  readonly store: Store;
  /** Deletes what was created for the case. The store is closed before. */
  remove?(): Promise<unknown>;
}

const PARTS = {
  /** What decides about requests. */
  admission: [...admissionCases, ...outageCases],
  /** What lists and pages contain. */
  lists: [...pageCases, ...orderCases.filter(({ name }) => /\blist(s|ed)?\b/.test(name))],
  /** On DynamoDB they mostly wait, for the time in which other processes rely on what they have read. */
  outbox: outboxCases,
};

function partOf(name: string): ContractPart {
  const parts = Object.keys(PARTS) as (keyof typeof PARTS)[];
  return parts.find((part) => PARTS[part].some((each) => each.name === name)) ?? "other";
}

/** Defines a test for each case of a part, or of all. One that needs an option in `skipped` is skipped for its reason. */
export function testContract(
  engine: string,
  open: (needs: ContractCase["needs"]) => ContractFixture | Promise<ContractFixture>,
  skipped: Partial<Record<NonNullable<ContractCase["needs"]>, string>> = {},
  part?: ContractPart,
): void {
  for (const [option, reason] of Object.entries(skipped))
    skipsBecause(`contract on ${engine}: cases that need '${option}'`, reason);
  for (const { name, needs, check } of storeContract) {
    if (part !== undefined && part !== partOf(name)) continue;
    test.skipIf(needs !== undefined && needs in skipped)(name, { timeout: 300_000 }, async () => {
      const { store, remove, ...options } = await open(needs);
      try {
        const reason = await check(store, options);
        if (store.outbox !== undefined)
          expect(reason, "the reason for which the case is skipped").toBeUndefined();
      } finally {
        await store.close();
        await remove?.();
      }
    });
  }
}
