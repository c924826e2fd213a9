import { html } from "hono/html";
import { ORDER_FIELDS } from "../../orders/fields.ts";
import { fieldOf, type Outcome } from "../form.ts";
import type { Html } from "../section.ts";

/** The fields of the form that places an order: all five of a record, each optional. */
export function placeFields(outcome: Outcome | undefined): Html {
  const integer = (name: "id" | "petId" | "quantity", label: string, hint: string) =>
    fieldOf("place", { name, label, hint, inputMode: "numeric" }, outcome);
  const shipDate = `Optional, such as ${ORDER_FIELDS.shipDate.example}.`;
  return html`<div class="columns">
      ${integer("id", "ID", "Optional: a new one is chosen.")}
      ${integer("petId", "Pet ID", "Optional.")}
      ${integer("quantity", "Quantity", "Optional.")}
      ${fieldOf("place", { name: "shipDate", label: "Expected ship date", hint: shipDate }, outcome)}
      ${fieldOf("place", { name: "complete", label: "Complete", hint: "Optional.", options: COMPLETE }, outcome)}
    </div>
    <div><button class="main">Place order</button></div>`;
}

const COMPLETE = [
  ["", "not given"],
  ["false", "no"],
  ["true", "yes"],
] as const;
