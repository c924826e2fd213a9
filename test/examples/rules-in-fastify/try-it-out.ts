import type { FastifyInstance } from "fastify";
import type { Accounts } from "store-orders";

/** Calls the service as a customer on the Free plan does, and prints what comes back. */
export async function tryItOut(app: FastifyInstance, accounts: Accounts): Promise<void> {
  await accounts.create("acme", { plan: "free" });
  const issued = await accounts.issueKey("acme");
  if (!issued.ok) throw new Error(issued.code);

  async function call(url: string, key: string, payload = {}) {
    const headers = { authorization: `Bearer ${key}` };
    const { statusCode, body, headers: told } = await app.inject({ method: "POST", url, headers, payload });
    const left = told["x-ratelimit-remaining"];
    return `${statusCode} ${body} left: ${left ?? "-"} wait: ${told["retry-after"] ?? "-"}`;
  }

  const lines = [
    await call("/pets/9007199254740993/buy", issued.key, { quantity: 2 }),
    await call("/orders/7/give-back", issued.key),
    await call("/orders/7/give-back", issued.key),
    await call("/orders/8/give-back", issued.key),
    await call("/orders/7/give-back", "somebody else's"),
  ];
  for (let calls = 4; calls < 60; calls++) await call("/orders/8/give-back", issued.key);
  lines.push(await call("/pets/1/buy", issued.key, { quantity: 1 }));
  process.stdout.write(`${lines.join("\n")}\n`);
}
