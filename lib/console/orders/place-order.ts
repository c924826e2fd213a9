import { html } from "hono/html";
import { parseInt64 } from "../../orders/int64.ts";
import type { NewOrder, Orders } from "../../orders/orders.ts";
import type { Notice } from "../page.ts";
import { pathOf, type View } from "../section.ts";

/** Places the order of a form. Rejects with every issue if a field is invalid. */
export async function placeOrder(orders: Orders, view: View): Promise<Notice> {
  const result = await orders.place(readOrder(view.fields));
  const { id } = result.record;
  if (!result.ok) {
    return {
      kind: "failure",
      message: `Order ${id} already exists with different content; it was not changed.`,
    };
  }
  const link = html`<a href="${pathOf(view, "orders", `${id}`)}">Order ${id}</a>`;
  const message = result.created
    ? html`${link} has been placed.`
    : html`${link} already exists with the same content.`;
  return { kind: "success", message };
}

/** Reads the fields of an order. Empty ones are missing. What cannot be read stays text, which the validation rejects. */
export function readOrder(fields: Readonly<Record<string, string>>): NewOrder {
  const readers: Readonly<Record<string, (text: string) => unknown>> = {
    id: (text) => parseInt64(text) ?? text,
    petId: (text) => parseInt64(text) ?? text,
    quantity: (text) => (parseInt64(text) === undefined ? text : Number(text)),
    shipDate: (text) => text,
    complete: (text) => (text === "true" || text === "false" ? text === "true" : text),
  };
  const entries = Object.entries(readers).flatMap(([name, read]) => {
    const text = (fields[name] ?? "").trim();
    return text === "" ? [] : [[name, read(text)]];
  });
  return Object.fromEntries(entries) as NewOrder;
}
