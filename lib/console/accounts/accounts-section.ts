import type { Section } from "../section.ts";
import { sendAccountsPage } from "./accounts-page.ts";

/** Accounts: who uses how much, who is banned, and everything an operator does about it. */
export const accountsSection: Section = {
  path: "accounts",
  title: "Accounts",
  add(app, context) {
    app.get("/accounts", (c) => sendAccountsPage(c, context));
  },
};
