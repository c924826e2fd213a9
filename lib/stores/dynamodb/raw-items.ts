import type { QueryCommand } from "@aws-sdk/client-dynamodb";
import type { Item } from "./item.ts";

/**
 * Takes the items out of a query's answer before the vendor's library reads the rest. Its deserialiser, made for
 * any shape of any service, takes longer over a row than the engine does; texts and numbers look alike either way.
 * `keep` gets them the moment that they are parsed, so that what it does not keep is gone before the next answer
 * comes: rows that wait in the heap for their turn would make it grow with the length of the list.
 */
export function takeItems<Kept>(command: QueryCommand, keep: (items: readonly Item[]) => Kept): () => Kept {
  let kept = keep([]);
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as Response;
      if (response.statusCode !== 200) return result;
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) chunks.push(chunk);
      const { Items = [], ...rest } = JSON.parse(Buffer.concat(chunks).toString()) as Reply;
      kept = keep(Items);
      response.body = Buffer.from(JSON.stringify(rest));
      return result;
    },
    // Of this step the library's own part comes first, so this one gets the answer before it.
    { name: "takeItems", step: "deserialize", priority: "low" },
  );
  return () => kept;
}

interface Response {
  readonly statusCode: number;
  body: AsyncIterable<Uint8Array> | Uint8Array;
}

interface Reply {
  readonly Items?: readonly Item[];
}
