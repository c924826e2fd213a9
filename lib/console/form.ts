import { html } from "hono/html";
import { redactKeys } from "../accounts/api-key.ts";
import { explainIssues, isInvalidInput } from "../core/errors.ts";
import type { Html, Notice, View } from "./page.ts";

export interface FormResult {
  readonly form: string;
  readonly notice: Notice;
  readonly errors: Readonly<Record<string, string>>;
  /** The submitted values, shown again unless the change was made. */
  readonly values: Readonly<Record<string, string>>;
}

export async function submit(form: string, view: View, change: () => Promise<Notice>): Promise<FormResult> {
  const { fields } = view;
  try {
    const notice = await change();
    return { form, notice, errors: {}, values: notice.kind === "failure" ? fields : {} };
  } catch (error) {
    return invalidForm(form, fields, error);
  }
}

/** An issue of a field is shown there, any other one above the page. Throws any other error again. */
export function invalidForm(form: string, values: FormResult["values"], error: unknown): FormResult {
  if (!isInvalidInput(error)) throw error;
  const errors = Object.fromEntries(error.issues.map(({ path, message }) => [path, message]));
  const others = error.issues.filter(({ path }) => values[path] === undefined);
  const message = others.length > 0 ? explainIssues(others) : "Correct what is marked in the form.";
  return { form, notice: { kind: "failure", message }, errors, values };
}

/** A form that makes a change. It carries the token of the session, and the list that its page shows or leads back to. */
export function changeForm(view: View, action: string, body: Html): Html {
  const [name, query] = view.list === undefined ? ["from", view.from] : ["list", view.list];
  return html`<form method="post" action="${action}">
    <input type="hidden" name="token" value="${view.formToken}">
    <input type="hidden" name="${name}" value="${query}">
    ${body}
  </form>`;
}

interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly value?: string;
  readonly type?: string;
  /** The options of a selection, with their labels. One that needs more is marked for the style sheet. */
  readonly options?: readonly (readonly [value: string, label: string, needsMore?: boolean])[];
  readonly inputMode?: "numeric";
}

/** A field with its label, its hint and, if the submitted value is invalid, its error. A pasted key is not repeated. */
export function fieldOf(form: string, field: Field, result?: FormResult): Html {
  const { name, label, hint, type = "text", options, inputMode } = field;
  const own = result?.form === form ? result : undefined;
  const id = `${form}-${name}`;
  const error = own?.errors[name] === undefined ? undefined : redactKeys(own.errors[name]);
  const value = redactKeys(own?.values[name] ?? field.value ?? "");
  const described = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`];
  const invalid = error === undefined ? "" : html` aria-invalid="true"`;
  const attributes = html`id="${id}" name="${name}" aria-describedby="${described.join(" ").trim()}"${invalid}`;
  const control =
    options === undefined
      ? html`<input ${attributes} type="${type}" value="${value}" autocomplete="off"${inputMode === undefined ? "" : html` inputmode="${inputMode}"`}>`
      : html`<select ${attributes}>${options.map(
          ([option, text, needsMore]) =>
            html`<option value="${option}"${option === value ? html` selected` : ""}${needsMore === true ? html` data-more` : ""}>${text}</option>`,
        )}</select>`;
  return html`<div class="field">
    <label for="${id}">${label}</label>
    ${control}
    ${hint === undefined ? "" : html`<p class="hint" id="${id}-hint">${hint}</p>`}
    ${error === undefined ? "" : html`<p class="error" id="${id}-error">${error}</p>`}
  </div>`;
}

interface FormDialog {
  readonly id: string;
  readonly title: string;
  readonly opener: string | Html;
  /** True if that is what a page is opened for most. @default false */
  readonly isMain?: boolean;
  readonly fields: Html;
  readonly confirm: string;
  readonly isDanger?: boolean;
}

/** The dialog gets the focus when it opens, so that its title is read, and Tab leads to its first field. */
export function formDialog(view: View, action: string, dialog: FormDialog): Html {
  const { id, title, opener, isMain = false, fields, confirm, isDanger = false } = dialog;
  const form = html`${fields}<div class="actions"><button class="${isDanger ? "danger" : "main"}">${confirm}</button>
    <button type="button" data-close>Close</button></div>`;
  return html`<button type="button" aria-haspopup="dialog" data-opens="${id}"${isMain ? html` class="main"` : ""}>${opener}</button>
    <dialog closedby="any" tabindex="-1" id="${id}" aria-labelledby="${id}-title">
      <h2 id="${id}-title">${title}</h2>
      ${changeForm(view, action, form)}
    </dialog>`;
}
