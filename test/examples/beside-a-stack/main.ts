/**
 * A service of your own beside a deployed stack, on its tables: it places and ships the orders that the API of the stack
 * lists and cancels. It needs a stack, AWS_REGION and credentials: `npm start -- place 1 2`, then `npm start -- ship 1`.
 */
import { createDynamodbStore } from "store-orders/dynamodb";
import { createOrders } from "store-orders/orders";

// The outputs ordersTable and accountsTable of the stack, without -orders and -accounts.
const { TABLES = "store-orders-production" } = process.env;
const store = createDynamodbStore({ prefix: TABLES });
const orders = createOrders({
  store: store.orders,
  onTransition({ order, event, to }) {
    process.stdout.write(`${order.record.id}: ${event}, now ${to}\n`);
  },
});

const [, , command, ...ids] = process.argv;
for (const id of ids.map(BigInt)) {
  const result = command === "ship" ? await orders.ship(id) : await orders.place({ id, quantity: 1 });
  if (!result.ok) process.stdout.write(`${id}: ${result.code}\n`);
}
await store.close();
