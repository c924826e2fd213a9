import { randomBytes } from "node:crypto";
import {
  type AttributeValue,
  BatchGetItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { NewerSchemaError, StoreUnavailableError } from "../../core/errors.ts";
import { nextTurn } from "../../core/time.ts";
import { backOff, callTimeout, send } from "./client.ts";
import { LAYOUT_VERSION } from "./schema.ts";

export type Attributes = Record<string, AttributeValue>;

export type Item = Attributes;

export function numberValue(value: number): AttributeValue {
  return { N: String(value) };
}

/** Absent ones are omitted. */
export function numberValues(values: Readonly<Record<string, number | undefined>>): Attributes {
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, { N: String(value) }]));
}

/** NaN if there is none. */
export function numberOf(value: AttributeValue | undefined): number {
  return Number(value?.N);
}

/** Empty if there is none. */
export function stringOf(value: AttributeValue | undefined): string {
  return value?.S ?? "";
}

/**
 * A write whose response was lost is retried and then fails its own condition. Its token in the stored item shows that it
 * was applied. It is kept
 *
 * - in `tokens` of an account, the last few, by the writes that count a request or rejections; see admission.ts.
 * - in `revision` of an account, by a change of an operator. What was decided from another revision is decided again.
 *
 * In an order, the token of its change does the same; see `newChange`.
 */
export function newWriteToken(): string {
  return randomBytes(5).toString("base64url").slice(0, 6);
}

/** Clauses of expressions. `#name` in a clause is the attribute `name`, unless `names` says otherwise. */
export interface ConditionalUpdate {
  readonly set: readonly string[];
  readonly remove?: readonly string[];
  readonly conditions: readonly string[];
  /** Placeholders for other names, such as `#hash` for a key of a map. */
  readonly names?: Readonly<Record<string, string>>;
  readonly values?: Attributes;
}

export function combine(...parts: readonly Partial<ConditionalUpdate>[]): ConditionalUpdate {
  return {
    set: parts.flatMap(({ set = [] }) => set),
    remove: parts.flatMap(({ remove = [] }) => remove),
    conditions: parts.flatMap(({ conditions = [] }) => conditions),
    names: Object.assign({}, ...parts.map(({ names }) => names)),
    values: Object.assign({}, ...parts.map(({ values }) => values)),
  };
}

/** A part of a table. Names are as in `ConditionalUpdate`. */
export interface ReadRange {
  /** Selects items of one partition key, sorted by sort key. Without it, items come in no particular order. */
  readonly condition?: string;
  /** Leaves out what does not fulfil it, after it has been read. */
  readonly filter?: string;
  readonly isDescending?: boolean;
  readonly projection?: string;
  readonly values?: Attributes;
  readonly limit?: number;
  readonly from?: Item | undefined;
  /** Reads an index instead of the table. It can lack the most recent writes. */
  readonly index?: string;
}

type Keep<Kept> = (items: readonly Item[]) => Kept;

export type TableClient = ReturnType<typeof createTableClient>;

/** The wait before items are requested again that DynamoDB left out of a response, because it throttles the table. */
const THROTTLING_WAIT_MS = 16;

const untracked = <T>(call: Promise<T>): Promise<T> => call;

/** An item with a later layout makes each call reject with `StoreUnavailableError`; see `LAYOUT_VERSION`. */
export function createTableClient(client: DynamoDBClient, name: string, track = untracked) {
  const TableName = name;
  const request = <T>(start: () => Promise<T>): Promise<T> => track(send(start, name));
  // Emulators ignore ALL_OLD, so the item must be read. Once one was returned, a missing one did not exist.
  let returnsOldItem = false;

  const get = async (Key: Item, abortSignal: AbortSignal) => {
    const command = new GetItemCommand({ TableName, Key, ConsistentRead: true });
    requireObject(command);
    const { Item } = await request(() => client.send(command, { abortSignal }));
    rejectLaterLayout(Item);
    return Item;
  };

  const write = async (
    command: PutItemCommand | UpdateItemCommand | DeleteItemCommand,
    key: Item,
    abortSignal: AbortSignal,
  ) => {
    try {
      const sent = () => client.send(command as UpdateItemCommand, { abortSignal });
      const { Attributes: before } = await request(sent);
      return { done: true, before };
    } catch (error) {
      // By name, because another copy of the AWS client has another class.
      if (!(error instanceof Error && error.name === "ConditionalCheckFailedException")) throw error;
      const { Item } = error as { readonly Item?: Item };
      if (Item !== undefined) returnsOldItem = true;
      const before = returnsOldItem ? Item : await get(key, abortSignal);
      rejectLaterLayout(before);
      return { done: false, before };
    }
  };

  /** Another process can change the layout at any time, so each item is checked. */
  const rejectLaterLayout = (item: Item | undefined): void => {
    if (item === undefined || !hasLaterLayout(item)) return;
    const message = `A newer version of store-orders has changed the table '${name}'. Upgrade store-orders.`;
    const layout = `layout ${item["layout"]?.N}; this version supports up to ${LAYOUT_VERSION}`;
    const cause = new NewerSchemaError(`The table has ${layout}.`);
    throw new StoreUnavailableError(message, { cause, retryable: false });
  };

  return {
    get,

    /** In no particular order. Missing ones are omitted. */
    async getAll(keys: readonly Item[], abortSignal: AbortSignal): Promise<readonly Item[]> {
      const items: Item[] = [];
      // An index that is read page by page can return an item twice, and DynamoDB rejects a key that occurs twice.
      const different = new Map(keys.map((key) => [JSON.stringify(key), key])).values();
      for (let Keys = [...different], round = 0; Keys.length > 0; round++) {
        if (round > 0) await backOff(round, THROTTLING_WAIT_MS);
        const command = new BatchGetItemCommand({ RequestItems: { [name]: { Keys, ConsistentRead: true } } });
        requireObject(command);
        const { Responses, UnprocessedKeys } = await request(() => client.send(command, { abortSignal }));
        if (Responses === undefined && UnprocessedKeys === undefined) throw incomplete();
        const found = Responses?.[name] ?? [];
        found.forEach(rejectLaterLayout);
        items.push(...found);
        Keys = UnprocessedKeys?.[name]?.Keys ?? [];
      }
      return items;
    },

    async add(item: Item, key: Item, abortSignal: AbortSignal) {
      const command = new PutItemCommand({
        TableName,
        Item: item,
        ConditionExpression: "attribute_not_exists(#id)",
        ExpressionAttributeNames: { "#id": "id" },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      });
      requireObject(command);
      return write(command, key, abortSignal);
    },

    async update(key: Item, change: ConditionalUpdate, abortSignal: AbortSignal) {
      const { set, remove = [], conditions, names, values } = change;
      const clauses = Object.entries({ SET: set, REMOVE: remove }).filter(([, parts]) => parts.length > 0);
      const update = clauses.map(([clause, parts]) => `${clause} ${parts.join(", ")}`).join(" ");
      const condition = ["attribute_not_exists(#layout)", ...conditions].join(" AND ");
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
      const result = await write(command, key, abortSignal);
      // Every condition requires an existing item, so a response without it does not come from DynamoDB.
      if (result.done && result.before === undefined) throw incomplete();
      return result;
    },

    async delete(Key: Item, abortSignal: AbortSignal) {
      const command = new DeleteItemCommand({
        ...{ TableName, Key, ConditionExpression: "attribute_not_exists(#layout)" },
        ...{ ExpressionAttributeNames: namesIn("#layout"), ReturnValuesOnConditionCheckFailure: "ALL_OLD" },
      });
      requireObject(command);
      await write(command, Key, abortSignal);
    },

    /** `keep` converts the items as soon as they are parsed, so that what it does not keep can be collected. */
    async read<Kept>(range: ReadRange, keep: Keep<Kept>, abortSignal: AbortSignal) {
      const { condition, filter, isDescending, projection, values, limit, from, index } = range;
      const projected = projection && `${projection}, #layout`;
      const isNamed = condition !== undefined || projected !== undefined;
      const input = {
        TableName,
        IndexName: index,
        ConsistentRead: index === undefined,
        KeyConditionExpression: condition,
        FilterExpression: filter,
        ScanIndexForward: isDescending === true ? false : undefined,
        ProjectionExpression: projected,
        ExpressionAttributeNames: isNamed ? namesIn(`${condition} ${filter} ${projected}`) : undefined,
        ExpressionAttributeValues: values,
        Limit: limit,
        ExclusiveStartKey: from,
        ReturnConsumedCapacity: "TOTAL" as const,
      };
      // Both commands have the same middleware and output.
      const command = (
        condition === undefined ? new ScanCommand(input) : new QueryCommand(input)
      ) as QueryCommand;
      let later: Item | undefined;
      const kept = takeItems(command, (items) => {
        later = items.find(hasLaterLayout);
        return keep(items);
      });
      const page = await request(() => client.send(command, { abortSignal }));
      const readUnits = page.ConsumedCapacity?.CapacityUnits ?? 0;
      rejectLaterLayout(later);
      return { kept: kept(), next: page.LastEvaluatedKey, readUnits };
    },
  };
}

/** `limit` can make a page wait before it is read. */
export async function* pagesOf(
  table: TableClient,
  range: ReadRange,
  limit = <T>(read: () => Promise<T>): Promise<T> => read(),
): AsyncGenerator<readonly Item[]> {
  for (let from = range.from, hasMore = true; hasMore; hasMore = from !== undefined) {
    const page = await limit(() => table.read({ ...range, from }, (items) => items, callTimeout()));
    yield page.kept;
    from = page.next;
  }
}

export interface ItemChange<Result> {
  /** Sent first, without reading the item. Its condition holds only if `decide` would decide what it writes. */
  readonly first?: ConditionalUpdate | undefined;
  /** Returns the result, and what builds the update that it needs, conditional on the item. Pure. */
  decide(item: Item | undefined): {
    readonly result: Result;
    readonly update?: (() => ConditionalUpdate) | undefined;
  };
  /** The result of the last write if the item shows that it was applied. `decided` is missing for the first write. */
  resultIfApplied?(item: Item, decided: Result | undefined): Result | undefined;
}

const MAX_WRITES = 8;

/** Writes that follow each other at once: two are usual without a race, if the first one finds another state. */
const WRITES_WITHOUT_WAIT = 3;

/** Optimistic concurrency: a write that fails returns the item, from which the change is decided again. */
export async function changeItem<Result>(
  table: TableClient,
  key: Item,
  { first, decide, resultIfApplied }: ItemChange<Result>,
  signal: AbortSignal,
): Promise<Result> {
  let update = first;
  let item = update === undefined ? await table.get(key, signal) : undefined;
  let decided: Result | undefined;
  for (let writes = 0; writes < MAX_WRITES; writes++) {
    if (update === undefined) {
      const decision = decide(item);
      decided = decision.result;
      update = decision.update?.();
      if (update === undefined) return decided;
    }
    if (writes >= WRITES_WITHOUT_WAIT) await backOff(writes);
    const { done, before } = await table.update(key, update, signal);
    // The condition held for `before`, so this is what was decided and written.
    if (done) return decide(before).result;
    const applied = before && resultIfApplied?.(before, decided);
    if (applied !== undefined) return applied;
    item = before;
    update = undefined;
  }
  throw new StoreUnavailableError("Other processes kept changing the same item.");
}

/** For `ExpressionAttributeNames`. Every name is written with a `#`, because many are reserved words. */
function namesIn(expression: string): Readonly<Record<string, string>> {
  const aliases = expression.matchAll(/#\w+/g);
  return Object.fromEntries(Array.from(aliases, ([alias]) => [alias, alias.slice(1)]));
}

const incomplete = () => new StoreUnavailableError("Incomplete response from DynamoDB.");

/** The AWS client reads an empty response of a proxy as one without an item. DynamoDB then sends `{}`. */
function requireObject(command: Parameters<typeof rewriteBody>[0]): void {
  rewriteBody(command, (body) => {
    if (body[0] !== OPENING_BRACE) throw incomplete();
    return body;
  });
}

const OPENING_BRACE = 0x7b;

/** The client's generic deserialiser takes longer per row than DynamoDB does. */
function takeItems<Kept>(command: QueryCommand, keep: Keep<Kept>): () => Kept {
  let kept = keep([]);
  rewriteBody(command, async (body) => {
    await nextTurn();
    const { Items, ...rest } = JSON.parse(body.toString()) as { readonly Items?: readonly Item[] };
    if (Items === undefined) throw incomplete();
    kept = keep(Items);
    return Buffer.from(JSON.stringify(rest));
  });
  return () => kept;
}

/** Calls `convert` with the body of a successful response before the AWS client deserialises it. */
function rewriteBody(
  { middlewareStack }: { readonly middlewareStack: object },
  convert: (body: Buffer) => Buffer | Promise<Buffer>,
): void {
  // The type of a command's input is that of no other, and nothing here depends on it.
  (middlewareStack as QueryCommand["middlewareStack"]).add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as HttpResponse;
      if (response.statusCode !== 200) return result;
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) chunks.push(chunk);
      response.body = await convert(Buffer.concat(chunks));
      return result;
    },
    // The client's own middleware of this step wraps this one, so this one gets the response first.
    { name: "rewriteBody", step: "deserialize", priority: "low" },
  );
}

interface HttpResponse {
  readonly statusCode: number;
  body: AsyncIterable<Uint8Array> | Uint8Array;
}

function hasLaterLayout({ layout }: Item): boolean {
  return layout !== undefined && numberOf(layout) > LAYOUT_VERSION;
}
