import {
  BatchGetItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { StoreUnavailableError } from "../../errors.ts";
import { namesIn } from "./attribute-names.ts";
import { jitter, send } from "./client.ts";
import type { Attributes, Item } from "./item.ts";
import { takeItems } from "./raw-items.ts";

/** A conditional update. `#name` in an expression is the attribute `name`, unless `names` says otherwise. */
export interface ConditionalUpdate {
  readonly update: string;
  readonly condition: string;
  /** Placeholders for other names, such as `#hash` for a key of a map. */
  readonly names?: Readonly<Record<string, string>>;
  readonly values?: Attributes;
}

/**
 * The result of a conditional write: whether its condition held, and the item before; `undefined` if there was none.
 */
export type WriteResult =
  | { readonly done: true; readonly before: Item | undefined }
  | {
      readonly done: false;
      readonly before: Item | undefined;
      /** True if the request was sent more than once, so that `before` may already contain this write. */
      readonly repeated: boolean;
    };

/** A range of one partition key, ascending by sort key. Names are as in `ConditionalUpdate`. */
export interface QueryRange {
  readonly condition: string;
  readonly projection: string;
  readonly values: Attributes;
  readonly limit: number;
  readonly from: Item | undefined;
}

/** A part of the table, in no particular order. All attributes are read if there is no projection. */
export interface ScanRange {
  readonly projection?: string;
  readonly limit?: number;
  readonly from?: Item | undefined;
}

/** A page of items, converted by `keep`. `next` is the start of the next page. See `takeItems`. */
export interface Page<Kept> {
  readonly kept: Kept;
  readonly next: Item | undefined;
}

/** The requests to one table. Reads are strongly consistent, writes are conditional. */
export interface Table {
  get(key: Item, signal: AbortSignal): Promise<Item | undefined>;
  /** Gets several items in one request, in no particular order. Missing ones are omitted. */
  getAll(keys: readonly Item[], signal: AbortSignal): Promise<readonly Item[]>;
  /** Adds an item unless the key exists. */
  add(item: Item, key: Item, signal: AbortSignal): Promise<WriteResult>;
  update(key: Item, update: ConditionalUpdate, signal: AbortSignal): Promise<WriteResult>;
  query<Kept>(
    range: QueryRange,
    keep: (items: readonly Item[]) => Kept,
    signal: AbortSignal,
  ): Promise<Page<Kept>>;
  scan<Kept>(
    range: ScanRange,
    keep: (items: readonly Item[]) => Kept,
    signal: AbortSignal,
  ): Promise<Page<Kept>>;
}

/** The wait before items are requested again that DynamoDB left out of a response, because it throttles the table. */
const THROTTLING_WAIT_MS = 16;

/** Binds the requests to a client and a table. */
export function openTable(client: DynamoDBClient, name: string): Table {
  const TableName = name;
  // Emulators ignore ALL_OLD, so the item must be read. Once an old item was returned, a missing one means
  // that there was none.
  let returnsOldItem = false;

  const get: Table["get"] = async (Key, abortSignal) => {
    const command = new GetItemCommand({ TableName, Key, ConsistentRead: true });
    return (await send(() => client.send(command, { abortSignal }), name)).Item;
  };

  const conditionFailed = async (error: unknown, key: Item, signal: AbortSignal): Promise<WriteResult> => {
    if (!isConditionFailure(error)) throw error;
    const repeated = (error.$metadata?.attempts ?? 1) > 1;
    if (error.Item !== undefined) returnsOldItem = true;
    const before = returnsOldItem ? error.Item : await get(key, signal);
    return { done: false, before, repeated };
  };

  return {
    get,

    async getAll(keys, abortSignal) {
      const items: Item[] = [];
      for (let Keys = [...keys], round = 0; Keys.length > 0; round++) {
        if (round > 0) await jitter(round, THROTTLING_WAIT_MS);
        const command = new BatchGetItemCommand({ RequestItems: { [name]: { Keys, ConsistentRead: true } } });
        const { Responses, UnprocessedKeys } = await send(() => client.send(command, { abortSignal }), name);
        items.push(...(Responses?.[name] ?? []));
        Keys = UnprocessedKeys?.[name]?.Keys ?? [];
      }
      return items;
    },

    async add(item, key, abortSignal) {
      const command = new PutItemCommand({
        TableName,
        Item: item,
        ConditionExpression: "attribute_not_exists(#id)",
        ExpressionAttributeNames: { "#id": "id" },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      });
      try {
        await send(() => client.send(command, { abortSignal }), name);
        return { done: true, before: undefined };
      } catch (error) {
        return conditionFailed(error, key, abortSignal);
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
        const { Attributes: before } = await send(() => client.send(command, { abortSignal }), name);
        // Every condition requires an existing item, so a response without it does not come from DynamoDB.
        if (before === undefined) throw new StoreUnavailableError("Incomplete response from DynamoDB.");
        return { done: true, before };
      } catch (error) {
        return conditionFailed(error, key, abortSignal);
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
      const { LastEvaluatedKey: next } = await send(() => client.send(command, { abortSignal }), name);
      return { kept: kept(), next };
    },

    async scan({ projection, limit, from }, keep, abortSignal) {
      const command = new ScanCommand({
        TableName,
        ConsistentRead: true,
        ...(projection === undefined
          ? {}
          : { ProjectionExpression: projection, ExpressionAttributeNames: namesIn(projection) }),
        Limit: limit,
        ExclusiveStartKey: from,
      });
      const kept = takeItems(command, keep);
      const { LastEvaluatedKey: next } = await send(() => client.send(command, { abortSignal }), name);
      return { kept: kept(), next };
    },
  };
}

interface ConditionFailure {
  readonly Item?: Item;
  readonly $metadata?: { readonly attempts?: number };
}

// By name, because another copy of the AWS client has another class.
function isConditionFailure(error: unknown): error is ConditionFailure {
  return error instanceof Error && error.name === "ConditionalCheckFailedException";
}
