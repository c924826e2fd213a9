import type { FastifyInstance } from "fastify";
import type { Accounts } from "store-orders";

/** Calls the service as a customer on the Free plan, and prints the responses. */
export async function runDemo(app: FastifyInstance, accounts: Accounts): Promise<void> {
  await accounts.create("acme", { plan: "free" });
  const issued = await accounts.issueKey("acme");
  if (!issued.ok) throw new Error(issued.code);

  async function call(url: string, key: string, payload: object | string = {}) {
    const { statusCode, body, headers } = await app.inject({
      method: "POST",
      url,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      payload,
    });
    const remaining = headers["x-ratelimit-remaining"] ?? "-";
    return `${statusCode} ${body} remaining: ${remaining}, retry after: ${headers["retry-after"] ?? "-"}`;
  }

  const lines = [
    await call("/pets/9007199254740993/orders", issued.key, { id: 7, quantity: 2 }),
    await call("/pets/9007199254740993/orders", issued.key, { id: 7, quantity: 2 }),
    await call("/pets/9007199254740993/orders", issued.key, { id: 7, quantity: 3 }),
    await call("/pets/1/orders", issued.key, { quantity: -1 }),
    await call("/pets/1/orders", issued.key, "{"),
    await call("/orders/7/cancel", issued.key),
    await call("/orders/7/cancel", issued.key),
    await call("/orders/8/cancel", issued.key),
    await call("/orders/7/cancel", "not-a-key"),
  ];
  for (let calls = 8; calls < 60; calls++) await call("/orders/8/cancel", issued.key);
  lines.push(await call("/pets/1/orders", issued.key, { quantity: 1 }));
  process.stdout.write(`${lines.join("\n")}\n`);
}
