import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

/** A receiver of webhooks: it verifies who sends, and handles each change once. */
export function createReceiver(secret: string, handle: (type: string, orderId: string) => void) {
  const webhook = new Webhook(secret);
  // In a service: a unique column in its database, written in the transaction that handles the change.
  const handled = new Set<string>();
  return createServer(async (request, response) => {
    const body = await text(request);
    try {
      // Throws if the signature is wrong, or older than five minutes.
      webhook.verify(body, request.headers as Record<string, string>, { jsonParse: false });
    } catch {
      return response.writeHead(401).end();
    }
    const id = String(request.headers["webhook-id"]);
    if (!handled.has(id)) {
      const { type } = JSON.parse(body) as { readonly type: string };
      // The identifier of the change begins with that of the order, with all its digits.
      handle(type, id.split(":")[0] ?? "");
      handled.add(id);
    }
    return response.writeHead(204).end();
  });
}
