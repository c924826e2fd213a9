/** The frame of a page: its header, its sections, and what stands above them. */
export const FRAME = `
.skip { background: var(--surface); left: 16px; padding: 8px 16px; position: absolute; top: -80px; z-index: 1; }
.skip:focus { top: 8px; }
.top { align-items: center; background: var(--surface); border-bottom: 1px solid var(--line); display: flex; flex-wrap: wrap;
  gap: 0 32px; padding: 0 max(24px, calc((100vw - 1120px) / 2)); }
.top .brand { font-weight: 650; letter-spacing: -0.01em; padding: 12px 0; }
.top .store { font-size: 13px; margin-left: auto; overflow-wrap: anywhere; padding: 12px 0; }
.top ul { display: flex; gap: 4px; list-style: none; }
.top nav a { border-bottom: 2px solid transparent; border-top: 2px solid transparent; color: var(--quiet); display: block; padding: 12px; text-decoration: none; }
.top nav a:hover { color: var(--ink); }
.top nav a[aria-current] { border-bottom-color: var(--accent); color: var(--ink); font-weight: 600; }
main { display: flex; flex-direction: column; gap: 32px; margin: 0 auto; max-width: 1168px; padding: 32px 24px 96px; }
.plain-page main { gap: 16px; max-width: 640px; padding-top: 15vh; }
.head { align-items: start; display: flex; flex-wrap: wrap; gap: 16px 24px; justify-content: space-between; }
.head p { color: var(--quiet); margin-top: 4px; }
.crumb { display: block; font-size: 13px; margin-bottom: 8px; }
.panel { background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); padding: 20px 24px; }
.panel > * + * { margin-top: 16px; }
.panel.flush { overflow: hidden; padding: 0; }
.panel.flush > h2, .panel.flush > p, .panel.flush > .head { margin: 0; padding: 20px 24px 12px; }
.columns { align-items: start; display: grid; gap: 24px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr)); }
.facts { display: grid; gap: 4px 24px; grid-template-columns: max-content 1fr; }
.facts dt { color: var(--quiet); }
#problem { background: var(--bad-ground); border-bottom: 1px solid var(--bad); color: var(--ink); padding: 12px max(24px, calc((100vw - 1120px) / 2)); }
#result:empty { display: none; }
.notice { align-items: start; background: var(--good-ground); border-left: 4px solid var(--good); border-radius: var(--radius); display: flex; flex-wrap: wrap; gap: 8px 16px; justify-content: space-between; padding: 12px 16px; }
.notice.failure { background: var(--bad-ground); border-left-color: var(--bad); }
.notice > :first-child { flex: 1 1 260px; }
.secret { align-items: center; background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); display: flex; flex-wrap: wrap; gap: 8px 16px; justify-content: space-between; margin-top: 8px; padding: 8px 8px 8px 16px; }
@media (max-width: 640px) {
  .top { gap: 0 16px; padding: 0 16px; }
  .top nav { order: 3; width: 100%; }
  .top nav ul { margin: 0 -12px; }
  main { gap: 24px; padding: 24px 16px 64px; }
  .panel { padding: 16px; }
  .panel.flush > h2, .panel.flush > p, .panel.flush > .head { padding: 16px 16px 8px; }
}
`;
