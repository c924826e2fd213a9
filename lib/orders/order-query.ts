import { InvalidInputError, type Issue } from "../core/errors.ts";
import { logHookError } from "../core/hooks.ts";
import { LIFECYCLE, type OrderStatus, type StoredOrder } from "./lifecycle.ts";

/** The largest `limit` of an `OrderQuery`. */
export const MAX_PAGE_ORDERS = 1_000;

/** A query for one page of orders. */
export interface OrderQuery {
  /** The page begins beyond this identifier, in the direction of `order`. @default at the first order */
  readonly after?: bigint | undefined;
  /** Only orders with this status. @default every order */
  readonly status?: OrderStatus | undefined;
  /** The direction by identifier. @default asc */
  readonly order?: "asc" | "desc" | undefined;
  /** The largest number of orders on the page: 1 to `MAX_PAGE_ORDERS`. */
  readonly limit: number;
}

/** An order whose record or history cannot be read. */
export interface DamagedOrder {
  readonly id: bigint;
  /** A sentence that names the order. */
  readonly problem: string;
}

/** One page of a query. */
export interface OrderQueryPage {
  /** Orders with their status. There can be fewer than `limit`, even none, although a page follows. */
  readonly orders: readonly StoredOrder[];
  /** Orders of this part of the store that cannot be read. Together with `orders` at most `limit`. Missing without one. */
  readonly damaged?: readonly DamagedOrder[] | undefined;
  /** The `after` of the next page, beyond that of this one. Missing on the last page. */
  readonly next?: bigint;
  /** The cost of the page, if the database bills reads (DynamoDB: read units). */
  readonly readUnits?: number;
}

/** Yields every order that a query finds, page by page. A page without orders is skipped. */
export async function* eachOrder(
  store: { page(query: OrderQuery): Promise<OrderQueryPage> },
  { limit = MAX_PAGE_ORDERS, ...query }: Partial<OrderQuery> = {},
  /** Called with each order that cannot be read, which is left out. @default writes a line to the console */
  onDamaged: (order: DamagedOrder) => void = ({ problem }) => logHookError(new Error(problem), "eachOrder"),
): AsyncGenerator<readonly StoredOrder[]> {
  let after = query.after;
  do {
    const { orders, damaged = [], next } = await store.page({ ...query, after, limit });
    damaged.forEach(onDamaged);
    if (orders.length > 0) yield orders;
    after = next;
  } while (after !== undefined);
}

/** Throws `InvalidInputError` if a query is invalid. Each store calls it first: callers can be untyped. */
export function validateOrderQuery(query: OrderQuery): void {
  const issues = orderQueryIssues(query);
  if (issues.length > 0) throw new InvalidInputError(issues);
}

/** Every issue of a query, whose values can be anything. */
export function orderQueryIssues(query: { readonly [name in keyof OrderQuery]: unknown }): Issue[] {
  const { after, status, order, limit } = query;
  const issues: Issue[] = [];
  if (after !== undefined && typeof after !== "bigint")
    issues.push({ path: "after", message: "Use the identifier of an order, as a bigint." });
  if (status !== undefined && !LIFECYCLE.isStatus(status))
    issues.push({ path: "status", message: `Use one of: ${LIFECYCLE.statuses.join(", ")}.` });
  if (order !== undefined && order !== "asc" && order !== "desc")
    issues.push({ path: "order", message: "Use one of: asc, desc." });
  if (!Number.isInteger(limit) || Number(limit) < 1 || Number(limit) > MAX_PAGE_ORDERS)
    issues.push({ path: "limit", message: `Use a whole number from 1 to ${MAX_PAGE_ORDERS}.` });
  return issues;
}
