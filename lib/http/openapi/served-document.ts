import type { PlanTable } from "../../plans/plan-limits.ts";
import { cachedDocument } from "../cached-document.ts";
import { BASE_PATH, type Operation } from "../operations.ts";
import type { RequestHead } from "../plain-response.ts";
import type { Reply } from "../reply.ts";
import { openApiDocument, type Server, THIS_SERVER } from "./document.ts";

/** A document is kept for each of this many addresses; for any further one, its first server is a relative URL. */
const MAX_ADDRESSES = 20;

/**
 * Creates a function that serves the OpenAPI document. Its first server is the one that was asked: with its address if
 * the runtime knows it (`publicUrl`), otherwise as a URL relative to the document.
 */
export function createServedDocument(
  described: { readonly operations: readonly Operation[]; readonly plans: PlanTable | undefined },
  configured: readonly Server[],
): (request: RequestHead, publicUrl: string | undefined) => Promise<Reply> {
  const create = (own: Server) => {
    const others = configured.filter(({ url }) => url !== own.url);
    const known = configured.find(({ url }) => url === own.url);
    const document = openApiDocument({ ...described, servers: [known ?? own, ...others] });
    return cachedDocument(JSON.stringify(document));
  };
  const relative = create(THIS_SERVER);
  const byAddress = new Map<string, ReturnType<typeof cachedDocument>>();

  return (request, publicUrl) => {
    if (publicUrl === undefined) return relative(request);
    let document = byAddress.get(publicUrl);
    if (document === undefined) {
      if (byAddress.size >= MAX_ADDRESSES) return relative(request);
      document = create({ ...THIS_SERVER, url: `${publicUrl}${BASE_PATH}` });
      byAddress.set(publicUrl, document);
    }
    return document(request);
  };
}
