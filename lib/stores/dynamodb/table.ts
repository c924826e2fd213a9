import {
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { StoreUnavailableError } from "../../errors.ts";
import { ask } from "./client.ts";
import type { Item } from "./item.ts";
import { takeItems } from "./raw-items.ts";

/** One conditional update. A name in an expression stands for the attribute that is called so. */
export interface Change {
  readonly update: string;
  readonly condition: string;
  /** Names that stand for something else, such as `#hash` for a key of a map. */
  readonly names?: Readonly<Record<string, string>>;
  readonly values?: Item;
}

/** What became of a conditional write. */
export interface Written {
  readonly done: boolean;
  /** The item as the condition found it; none: there was none. */
  readonly before: Item | undefined;
  /** True where the request was sent more than once, so that what `before` shows may be its own doing. */
  readonly repeated: boolean;
}

/** A range of one partition, ascending by sort key; names as in a change. */
export interface Range {
  readonly condition: string;
  readonly projection: string;
  readonly values: Item;
  readonly limit: number;
  readonly from: Item | undefined;
}

/** What was kept of a page of items, and where the next page begins. */
export interface Page<Kept> {
  readonly kept: Kept;
  readonly next: Item | undefined;
}

/** The calls that the store makes to one table: reads are consistent, writes conditional. */
export interface Table {
  get(key: Item, signal: AbortSignal): Promise<Item | undefined>;
  /** Adds an item where there is none with its key. */
  add(item: Item, key: Item, signal: AbortSignal): Promise<Written>;
  update(key: Item, change: Change, signal: AbortSignal): Promise<Written>;
  query<Kept>(range: Range, keep: (items: readonly Item[]) => Kept, signal: AbortSignal): Promise<Page<Kept>>;
  scan(from: Item | undefined, signal: AbortSignal): Promise<Page<readonly Item[]>>;
}

/** Binds the calls to a client and a table. */
export function openTable(client: DynamoDBClient, name: string): Table {
  const TableName = name;
  // An engine that ignores ALL_OLD, as emulators do, is asked again; one that gave an item once means it by none.
  let givesOldItem = false;

  const get: Table["get"] = async (Key, abortSignal) => {
    const command = new GetItemCommand({ TableName, Key, ConsistentRead: true });
    return (await ask(() => client.send(command, { abortSignal }))).Item;
  };

  const refused = async (error: unknown, key: Item, signal: AbortSignal): Promise<Written> => {
    if (!isConditionFailure(error)) throw error;
    const repeated = (error.$metadata?.attempts ?? 1) > 1;
    if (error.Item !== undefined) givesOldItem = true;
    const before = givesOldItem ? error.Item : await get(key, signal);
    return { done: false, before, repeated };
  };

  return {
    get,

    async add(item, key, abortSignal) {
      const command = new PutItemCommand({
        TableName,
        Item: item,
        ConditionExpression: "attribute_not_exists(#id)",
        ExpressionAttributeNames: { "#id": "id" },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      });
      try {
        await ask(() => client.send(command, { abortSignal }));
        return { done: true, before: undefined, repeated: false };
      } catch (error) {
        return refused(error, key, abortSignal);
      }
    },

    async update(key, { update, condition, names, values }, abortSignal) {
      const command = new UpdateItemCommand({
        TableName,
        Key: key,
        UpdateExpression: update,
        ConditionExpression: condition,
        ExpressionAttributeNames: { ...namesIn(`${update} ${condition}`), ...names },
        ExpressionAttributeValues: values,
        ReturnValues: "ALL_OLD",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      });
      try {
        const { Attributes: before } = await ask(() => client.send(command, { abortSignal }));
        // Every condition asks for an item that is there, so an answer without it is not the engine's.
        if (before === undefined) throw new StoreUnavailableError("DynamoDB's answer is not whole.");
        return { done: true, before, repeated: false };
      } catch (error) {
        return refused(error, key, abortSignal);
      }
    },

    async query({ condition, projection, values, limit, from }, keep, abortSignal) {
      const command = new QueryCommand({
        TableName,
        ConsistentRead: true,
        KeyConditionExpression: condition,
        ProjectionExpression: projection,
        ExpressionAttributeNames: namesIn(`${condition} ${projection}`),
        ExpressionAttributeValues: values,
        Limit: limit,
        ExclusiveStartKey: from,
      });
      const kept = takeItems(command, keep);
      const { LastEvaluatedKey: next } = await ask(() => client.send(command, { abortSignal }));
      return { kept: kept(), next };
    },

    async scan(from, abortSignal) {
      const command = new ScanCommand({ TableName, ConsistentRead: true, ExclusiveStartKey: from });
      const { Items = [], LastEvaluatedKey: next } = await ask(() => client.send(command, { abortSignal }));
      return { kept: Items, next };
    },
  };
}

const namesSeen = new Map<string, Readonly<Record<string, string>>>();

/** Every attribute name is written with a `#`, as many of them are reserved words. */
function namesIn(expression: string): Readonly<Record<string, string>> {
  const known = namesSeen.get(expression);
  if (known !== undefined) return known;
  const aliases = expression.match(/#\w+/g) ?? [];
  const names = Object.fromEntries(aliases.map((alias) => [alias, alias.slice(1)]));
  namesSeen.set(expression, names);
  return names;
}

interface ConditionFailure {
  readonly Item?: Item;
  readonly $metadata?: { readonly attempts?: number };
}

// By name alone: another copy of the vendor's library has another class.
function isConditionFailure(error: unknown): error is ConditionFailure {
  return error instanceof Error && error.name === "ConditionalCheckFailedException";
}
