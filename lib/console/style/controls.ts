/** Fields, buttons and dialogs. */
export const CONTROLS = `
button, .button { background: var(--surface); border: 1px solid var(--strong-line); border-radius: 6px; color: var(--ink); cursor: pointer; display: inline-block; font: inherit; font-size: 14px; line-height: 20px; padding: 6px 14px; text-decoration: none; }
button:hover, .button:hover { background: var(--sunken); }
button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
button.danger { border-color: var(--bad); color: var(--bad); }
button.plain { background: none; border-color: transparent; color: var(--accent); padding-inline: 8px; }
button:disabled { background: none; border-color: var(--line); color: var(--quiet); cursor: not-allowed; }
form[aria-busy=true] button { cursor: progress; }
.actions { align-items: center; display: flex; flex-wrap: wrap; gap: 8px; }
td > .actions { justify-content: flex-end; }
.form { display: grid; gap: 16px; }
.form.row { align-items: end; display: flex; flex-wrap: wrap; gap: 12px 16px; }
.field { display: grid; gap: 4px; min-width: 0; }
.field label { font-size: 14px; font-weight: 600; }
.field .hint { color: var(--quiet); font-size: 13px; }
.field .error { color: var(--bad); font-size: 13px; font-weight: 600; }
.field .error::before { content: "✕ "; }
input, select { background: var(--surface); border: 1px solid var(--strong-line); border-radius: 6px; color: inherit; font: inherit; line-height: 20px; min-width: 0; padding: 6px 10px; width: 100%; }
select { padding-block: 7px; }
input[type=checkbox] { accent-color: var(--accent); height: 18px; margin: 0; width: 18px; }
.check { align-items: center; display: flex; gap: 8px; }
input[aria-invalid=true], select[aria-invalid=true] { border-color: var(--bad); box-shadow: 0 0 0 1px var(--bad); }
[popover] { background: var(--surface); border: 1px solid var(--line); border-radius: 12px; box-shadow: 0 12px 40px rgb(0 0 0 / 0.25); color: inherit; margin: auto; max-width: calc(100vw - 32px); padding: 24px; width: 420px; }
[popover]::backdrop { background: rgb(0 0 0 / 0.35); }
[popover] > * + *, [popover] form > * + * { margin-top: 16px; }
@media (max-width: 760px) {
  td > .actions { justify-content: flex-start; }
  button, .button, input, select { min-height: 40px; }
  input[type=checkbox] { min-height: 0; }
}
`;
