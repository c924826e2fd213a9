import { text } from "node:stream/consumers";
import type { QueryCommand } from "@aws-sdk/client-dynamodb";
import type { Item } from "./dynamodb-table.ts";

/**
 * Takes the items out of a query's answer before the vendor's library reads the rest. Its deserialiser, made for
 * any shape of any service, takes longer over a row than the engine does; texts and numbers look alike either way.
 * Tells the items of the last answer.
 */
export function takeItems(command: QueryCommand): () => readonly Item[] {
  let items: readonly Item[] = [];
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as Response;
      if (response.statusCode !== 200) return result;
      const { Items = [], ...rest } = JSON.parse(
        await text(response.body as AsyncIterable<Uint8Array>),
      ) as Answer;
      items = Items;
      response.body = Buffer.from(JSON.stringify(rest));
      return result;
    },
    // Of this step the library's own part comes first, so this one gets the answer before it.
    { name: "takeItems", step: "deserialize", priority: "low" },
  );
  return () => items;
}

interface Response {
  readonly statusCode: number;
  body: AsyncIterable<Uint8Array> | Uint8Array;
}

interface Answer {
  readonly Items?: readonly Item[];
}
