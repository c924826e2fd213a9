import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Account } from "../../accounts/account.ts";
import type { InspectedOrder, Inspection, Report } from "../check.ts";
import { type AccountItems, belongTogether, readItems, toAccount } from "./accounts.ts";
import { activeKeys, keyEntries, namedKeysOf } from "./admission-item.ts";
import { callTimeout, createDynamodbClient } from "./client.ts";
import { idOf } from "./list.ts";
import { historyOf } from "./orders.ts";
import {
  bucketOf,
  type DynamodbTableNaming,
  LAYOUT_VERSION,
  ORDERS_SETTINGS_KEY,
  SETTINGS_KEY,
  tableNames,
} from "./schema.ts";
import { createTableClient, type Item, numberOf, pagesOf, stringOf } from "./table.ts";

/** Reads both tables to check them, page by page. Each page is billed as any read. */
export function inspectDynamodb(naming: DynamodbTableNaming, client?: DynamoDBClient): Inspection {
  const dynamodb = client ?? createDynamodbClient();
  const names = tableNames(naming);
  const orders = createTableClient(dynamodb, names.orders);
  const accounts = createTableClient(dynamodb, names.accounts);
  let report: Report = () => {};

  return {
    async inspect(add) {
      report = add;
      const settings = await accounts.get(SETTINGS_KEY, callTimeout());
      const problem = `Its item ${SETTINGS_KEY.id.S} does not say that the layout is version ${LAYOUT_VERSION}.`;
      // The first key that is issued adds the item.
      if (settings !== undefined && numberOf(settings["layout"]) !== LAYOUT_VERSION)
        report("table accounts", problem, "Set its 'layout'.");
      return true;
    },

    async *orders() {
      for await (const items of pagesOf(orders, {}))
        yield items
          .filter(({ bucket }) => bucket?.N !== ORDERS_SETTINGS_KEY.bucket.N)
          .map((item) => inspectItem(item, report));
    },

    async *accounts() {
      for await (const items of pagesOf(accounts, {}))
        for (const { id } of items) {
          const [accountId, isDetails] = stringOf(id).split("/", 2);
          if (!accountId) continue;
          const found = await readItems(accounts, accountId);
          if (isDetails === undefined && found !== undefined) yield* checked(accountId, found);
          // Details are written before their account: an account in creation has none to report.
          else if (isDetails !== undefined && found === undefined)
            report(
              `account ${accountId}`,
              "It has details of keys, but does not exist. It may have been created just now.",
              `Check again; then delete the item '${stringOf(id)}'.`,
            );
        }
    },

    async close() {
      if (client === undefined) dynamodb.destroy();
    },
  };

  function* checked(id: string, items: AccountItems): Generator<Account> {
    const subject = `account ${id}`;
    if (!belongTogether(items)) {
      const problem = "Its details item lacks the version that its admission item names.";
      const repair = `Restore both, or delete the item '${id}' and create the account again.`;
      return report(subject, problem, repair);
    }
    const account = toAccount(items);
    const named = namedKeysOf(items.item).map(({ rejections: _counted, ...key }) => key);
    if (JSON.stringify(keyEntries(activeKeys(account.keys))) !== JSON.stringify(keyEntries(named))) {
      const problem =
        "Its two items disagree about its active keys. Requests are decided by the admission item.";
      report(subject, problem, "Any change of its keys repairs it, such as 'keys issue'.");
    }
    yield account;
  }
}

function inspectItem(item: Item, report: Report): InspectedOrder {
  const { bucket, status, wire } = item;
  const id = idOf(item);
  const expected = bucketOf(id);
  const problem = `It is in bucket ${bucket?.N}, where no call finds it; its bucket is ${expected}.`;
  const repair = "Write the item with its own bucket, unless there is one, and delete this one.";
  if (bucket?.N !== `${expected}`) report(`order ${id}`, problem, repair);
  return { id, status: stringOf(status), wire: stringOf(wire), readHistory: () => historyOf(item) };
}
