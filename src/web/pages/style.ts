/** The style sheet of all pages. Colours have a contrast of at least 4.5 on their backgrounds, in both schemes. */
export const STYLE = `
:root { color-scheme: light dark; --bg: #fff; --panel: #f4f6f8; --fg: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --link: #0b5cad; --good: #14682c; --bad: #b3151c; --warn: #7a4a00; font: 100%/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --bg: #0f1318; --panel: #191f27; --fg: #e6edf3; --soft: #9da7b3;
  --line: #39414c; --link: #78b4ff; --good: #5fd07e; --bad: #ff8f8a; --warn: #e6b450; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg); }
a { color: var(--link); }
a:focus-visible, button:focus-visible, input:focus-visible, summary:focus-visible, [tabindex]:focus-visible {
  outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 0.5rem; z-index: 1; background: var(--bg); padding: 0.5rem; }
header, main, footer { max-width: 90rem; margin: 0 auto; padding: 0.75rem 1.25rem; }
header { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: center; border-bottom: 1px solid var(--line); }
header strong { font-size: 1.1rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; list-style: none; margin: 0; padding: 0; }
nav a[aria-current] { color: var(--fg); font-weight: 600; text-decoration-thickness: 3px; }
.refresh { margin-left: auto; color: var(--soft); font-size: 0.875rem; }
footer { color: var(--soft); font-size: 0.875rem; border-top: 1px solid var(--line); }
h1 { font-size: 1.5rem; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 1.75rem 0 0.5rem; }
.cards { display: flex; flex-wrap: wrap; gap: 0.6rem; list-style: none; margin: 0.75rem 0; padding: 0; }
.cards a { display: block; min-width: 7.5rem; padding: 0.5rem 0.9rem; border: 1px solid var(--line); border-radius: 0.4rem;
  background: var(--panel); color: var(--fg); text-decoration: none; }
.cards a:hover { border-color: var(--link); }
.cards a[aria-current] { border-color: var(--link); box-shadow: inset 0 -3px var(--link); }
.cards b { display: block; font-size: 1.5rem; line-height: 1.2; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); } .soft { color: var(--soft); }
.state { font-weight: 600; white-space: nowrap; }
form { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; margin: 0.75rem 0; }
input, button { font: inherit; color: inherit; background: var(--bg); border: 1px solid var(--soft); border-radius: 0.3rem;
  padding: 0.3rem 0.6rem; }
input[type=search] { width: min(26rem, 100%); }
button { cursor: pointer; background: var(--panel); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9375rem; }
caption { text-align: left; color: var(--soft); padding: 0.25rem 0; }
th, td { text-align: left; padding: 0.3rem 0.9rem 0.3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { white-space: nowrap; } tbody th { font-weight: 600; }
td.wide { min-width: 16rem; overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1.25rem; margin: 0.5rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.way { display: flex; flex-wrap: wrap; gap: 0.4rem; list-style: none; padding: 0; margin: 0.5rem 0; }
.way li { position: relative; border: 1px solid var(--line); border-radius: 0.3rem; padding: 0.2rem 0.7rem; background: var(--panel); }
.way li + li::before { content: "→"; content: "→" / ""; color: var(--soft); position: absolute; left: -1.35rem; }
time, tbody th { white-space: nowrap; }
.way { gap: 0.4rem 1.6rem; }
.way .bad { border-color: var(--bad); border-width: 2px; font-weight: 600; }
.notice { border-left: 4px solid var(--bad); background: var(--panel); padding: 0.5rem 1rem; margin: 0.75rem 0;
  overflow-wrap: anywhere; }
.plots { display: flex; flex-wrap: wrap; gap: 1.5rem; } figure { margin: 0; }
figcaption { font-size: 0.875rem; color: var(--soft); max-width: 22rem; }
svg.plot { background: var(--panel); border: 1px solid var(--line); border-radius: 0.3rem; display: block; max-width: 100%; }
svg.plot polyline { fill: none; stroke: var(--link); stroke-width: 1.5; }
svg.plot circle { fill: var(--link); } svg.plot .cross { stroke: var(--bad); stroke-width: 1.5; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 0.3rem; padding: 0.75rem; overflow-x: auto;
  font-size: 0.875rem; }
code { font-size: 0.9375em; } .message { font-family: ui-monospace, monospace; font-size: 0.875rem; }
@media (forced-colors: active) { svg.plot polyline { stroke: CanvasText; } }
`;
