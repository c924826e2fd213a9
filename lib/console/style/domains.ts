/** The domains: their records, the steps to live, and what is wrong. */
export const DOMAINS = `
.host { overflow-wrap: anywhere; white-space: normal; }
h1 { overflow-wrap: anywhere; }
pre { background: var(--sunken); border-radius: 6px; font-family: var(--mono); font-size: 13px; line-height: 1.6; margin: 0; overflow-x: auto; padding: 12px 16px; }
ul.problems { display: grid; gap: 12px; list-style: none; }
.problems li { border-left: 4px solid var(--bad); display: grid; gap: 2px; overflow-wrap: anywhere; padding-left: 12px; }
.record > div { align-items: center; border-top: 1px solid var(--line); display: grid; gap: 4px 16px; grid-template-columns: 56px minmax(0, 1fr) auto; padding: 10px 0; }
.record > div:first-child { border-top: 0; }
.record dt { color: var(--quiet); }
.record code { display: block; font-size: 14px; }
.panel > .head:first-child { align-items: start; }
.steps { display: grid; gap: 0; list-style: none; }
.steps li { display: grid; gap: 12px; grid-template-columns: 24px minmax(0, 1fr); min-height: 44px; padding-bottom: 12px; position: relative; }
.steps li:not(:last-child)::before { background: var(--line); bottom: -2px; content: ""; left: 11px; position: absolute; top: 24px; width: 2px; }
.steps .mark { align-items: center; background: var(--sunken); border: 1px solid var(--strong-line); border-radius: 50%; display: flex; font-size: 13px; font-weight: 700; height: 24px; justify-content: center; width: 24px; }
.steps .done .mark { background: var(--good-ground); border-color: var(--good); color: var(--good); }
.steps .current .mark { background: var(--warn-ground); border-color: var(--warn); color: var(--warn); }
.steps .failed .mark { background: var(--bad-ground); border-color: var(--bad); color: var(--bad); }
.steps .next strong { color: var(--quiet); font-weight: 500; }
.steps .detail { display: block; overflow-wrap: anywhere; }
.reason { background: var(--bad-ground); border-left: 4px solid var(--bad); border-radius: var(--radius); display: grid; gap: 8px; padding: 12px 16px; }
.reason .facts dt { color: inherit; }
.reason dd, .facts dd { min-width: 0; overflow-wrap: anywhere; }
.steps li:last-child { min-height: 0; padding-bottom: 0; }
[popover] p { color: var(--ink); }
.narrow { max-width: 560px; }
.todo { display: grid; gap: 4px; }
.todo ol, .plain-list { display: grid; gap: 4px; padding-left: 20px; }
.lines { align-items: start; display: grid; gap: 8px; grid-template-columns: minmax(0, 1fr); justify-items: start; }
.lines pre { justify-self: stretch; }
@media (max-width: 760px) { .actions .button { padding-block: 9px; } }
`;
