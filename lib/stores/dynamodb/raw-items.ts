import type { QueryCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { nextTurn } from "../../event-loop-turns.ts";
import type { Item } from "./item.ts";

/**
 * Takes the items out of the response to a query or a scan before the AWS client deserialises it. The client's generic
 * deserialiser takes longer per row than DynamoDB does, and strings and numbers have the same form on the wire. `keep`
 * is called as soon as the items are parsed, so that what it does not keep can be collected before the next response
 * arrives.
 */
export function takeItems<Kept>(
  command: QueryCommand | ScanCommand,
  keep: (items: readonly Item[]) => Kept,
): () => Kept {
  let kept = keep([]);
  // Both have the same stack, apart from their inputs.
  const { middlewareStack } = command as QueryCommand;
  middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as HttpResponse;
      if (response.statusCode !== 200) return result;
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) chunks.push(chunk);
      await nextTurn();
      const { Items = [], ...rest } = JSON.parse(Buffer.concat(chunks).toString()) as ItemsResponse;
      kept = keep(Items);
      response.body = Buffer.from(JSON.stringify(rest));
      return result;
    },
    // The client's own middleware of this step wraps this one, so this one gets the response first.
    { name: "takeItems", step: "deserialize", priority: "low" },
  );
  return () => kept;
}

interface HttpResponse {
  readonly statusCode: number;
  body: AsyncIterable<Uint8Array> | Uint8Array;
}

interface ItemsResponse {
  readonly Items?: readonly Item[];
}
