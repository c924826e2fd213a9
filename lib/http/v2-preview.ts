import { parseInt64 } from "../orders/int64.ts";
import { LIFECYCLE } from "../orders/lifecycle.ts";
import { MAX_PAGE_ORDERS, type OrderQuery, orderQueryIssues } from "../orders/order-query.ts";
import { orderToJson } from "../orders/wire.ts";
import type { CustomOperation } from "./custom-operations.ts";
import { defineOperation, type Schema } from "./define-operation.ts";

const DEFAULT_PAGE_ORDERS = 100;

/** The query of a page: pages of one walk have the same `status` and `order`. */
type PageQuery = OrderQuery & { readonly order: "asc" | "desc" };

const pageQuery: Schema<PageQuery> = {
  "~standard": {
    validate(value) {
      const given = value as Readonly<Record<string, unknown>>;
      const { limit = `${DEFAULT_PAGE_ORDERS}`, cursor, status, order = "asc", ...others } = given;
      const unknown = "There is no such parameter. Use limit, cursor, status or order.";
      const issues = Object.keys(others).map((name) => ({ message: unknown, path: [name] }));
      const number = /^[1-9]\d*$/.test(`${limit}`) ? Number(limit) : limit;
      const query = { limit: number, status, order } as PageQuery;
      const report = (name: string, message: string) => issues.push({ message, path: [name] });
      for (const { path, message } of orderQueryIssues(query)) report(path, message);
      const after = cursor === undefined ? undefined : readCursor(cursor, query);
      if (cursor !== undefined && after === undefined)
        report("cursor", "Use 'next' of a page with the same 'status' and 'order', or leave it out.");
      return issues.length > 0 ? { issues } : { value: { ...query, after } };
    },
  },
};

/** Where a page begins. It names the query that it belongs to, and is the same however many orders are added. */
function cursorAt(after: bigint, { status, order }: Pick<OrderQuery, "status" | "order">): string {
  // A URL needs no other escape: the base64 of letters, digits, spaces and '-' has neither '+' nor '/'.
  return btoa(`${order} ${status ?? "all"} ${after}`).replaceAll("=", "");
}

function readCursor(cursor: unknown, query: Pick<OrderQuery, "status" | "order">): bigint | undefined {
  try {
    const text = atob(`${cursor}`);
    const after = parseInt64(text.slice(text.lastIndexOf(" ") + 1));
    return after !== undefined && cursorAt(after, query) === cursor ? after : undefined;
  } catch {
    return undefined;
  }
}

/** Operations to add to `OPERATIONS`. They can change with any version of this package. */
export const V2_PREVIEW_OPERATIONS: readonly CustomOperation[] = [
  defineOperation({
    id: "pageOrders",
    method: "GET",
    version: "v2",
    path: "/store/orders",
    tag: "orders",
    summary: "Read a page of orders",
    description:
      "Orders by `id`. An order that exists during the whole walk, and keeps its status, is on exactly one page, " +
      "however many are added meanwhile. A page can have fewer orders than `limit`, even none, although another one " +
      "follows: only a page without `next` is the last one. The `Link` header has the address of the next page, too: a " +
      "relative one, to be resolved against the address of this request.",
    query: pageQuery,
    jsonSchemas: {
      query: {
        properties: {
          limit: {
            type: "integer",
            minimum: 1,
            maximum: MAX_PAGE_ORDERS,
            default: DEFAULT_PAGE_ORDERS,
            description: "The most orders on the page.",
          },
          cursor: {
            type: "string",
            description: "`next` of the page before, which had the same `status` and `order`.",
          },
          status: { type: "string", enum: LIFECYCLE.statuses, description: "Only orders with this status." },
          order: {
            type: "string",
            enum: ["asc", "desc"],
            default: "asc",
            description: "The direction, by `id`.",
          },
        },
      },
    },
    success: {
      status: 200,
      description: "A page of orders.",
      schema: {
        type: "object",
        required: ["orders"],
        properties: {
          orders: { type: "array", items: { $ref: "#/components/schemas/Order" } },
          next: { type: "string", description: "The cursor of the next page. Missing on the last one." },
          damaged: {
            type: "array",
            items: { type: "integer", format: "int64" },
            description:
              "The orders of this page that the store cannot read, by `id`. Missing if there is none. Tell the operator.",
          },
        },
      },
    },
    errors: [],
    stability: "experimental",
    async handle({ query, orders }) {
      const page = await orders.page(query);
      const damaged =
        page.damaged === undefined ? "" : `,"damaged":[${page.damaged.map(({ id }) => id).join(",")}]`;
      const body = `{"orders":[${page.orders.map(({ record }) => orderToJson(record)).join(",")}]${damaged}`;
      if (page.next === undefined) return { status: 200, body: `${body}}` };
      const { limit, status, order } = query;
      const cursor = cursorAt(page.next, query);
      const search = new URLSearchParams({ limit: `${limit}`, order, ...(status && { status }), cursor });
      // Relative to the path of the request, so that it is right below any base path.
      const headers = { link: `<?${search}>; rel="next"` };
      return { status: 200, headers, body: `${body},"next":"${cursor}"}` };
    },
  }),
];
