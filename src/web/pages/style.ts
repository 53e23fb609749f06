/** The style sheet of all pages. Colours have a contrast of at least 4.5 on their backgrounds, in both schemes. */
export const STYLE = `
:root { color-scheme: light dark; --bg: #fff; --panel: #f4f6f8; --fg: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --link: #0b5cad; --good: #14682c; --bad: #b3151c; --warn: #7a4a00; --up: #9fd8b0; --down: #d1242f; --stale: #7d1218; font: 100%/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --bg: #0f1318; --panel: #191f27; --fg: #e6edf3; --soft: #9da7b3;
  --line: #39414c; --link: #78b4ff; --good: #5fd07e; --bad: #ff8f8a; --warn: #e6b450;
  --up: #24693a; --down: #f0524f; --stale: #ffb3b0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg); }
a { color: var(--link); }
a:focus-visible, button:focus-visible, input:focus-visible, select:focus-visible, summary:focus-visible, [tabindex]:focus-visible {
  outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 0.5rem; z-index: 1; background: var(--bg); padding: 0.5rem; }
header, main, footer { max-width: 100rem; margin: 0 auto; padding: 0.4rem 1.25rem; }
header { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: center; border-bottom: 1px solid var(--line); }
header strong { font-size: 1.1rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; list-style: none; margin: 0; padding: 0; }
nav a[aria-current] { color: var(--fg); font-weight: 600; text-decoration-thickness: 3px; }
.refresh { margin-left: auto; color: var(--soft); font-size: 0.875rem; }
footer { margin-top: 1rem; color: var(--soft); font-size: 0.875rem; border-top: 1px solid var(--line); }
main li, main p { overflow-wrap: anywhere; } h1 { font-size: 1.5rem; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 1.75rem 0 0.5rem; }
.unseen { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.cards { display: flex; flex-wrap: wrap; gap: 0.4rem; list-style: none; margin: 0.3rem 0; padding: 0; align-items: center; }
.cards a { display: block; padding: 0.15rem 0.7rem; border: 1px solid var(--line); border-radius: 0.4rem;
  background: var(--panel); color: var(--fg); text-decoration: none; }
.cards a:hover { border-color: var(--link); }
.cards a[aria-current] { border-color: var(--link); box-shadow: inset 0 -3px var(--link); }
.cards b { font-size: 1.3rem; margin-right: 0.35rem; }
.cards .bad, .cards .warn { border: 2px solid; font-weight: 600; } .cards .bad { color: var(--bad); } .cards .warn { color: var(--warn); }
.cards .zero { font-size: 0.8125rem; padding: 0.1rem 0.5rem; color: var(--soft); background: none; }
.cards .zero b { font-size: inherit; }
.strip { margin: 0.4rem 0; } .strip svg { display: block; width: 100%; height: 1.75rem; background: var(--panel); }
.strip figcaption { max-width: none; font-size: 0.8125rem; }
.strip path.up, .spark .up { fill: var(--up); } .strip path.down, .spark .down { fill: var(--down); }
.strip path.stale { fill: var(--stale); } .spark .mixed { fill: var(--warn); }
.key span::before { content: ""; display: inline-block; width: 0.7em; height: 0.7em; margin-right: 0.25em; background: var(--up); }
.key .down::before { background: var(--down); } .key .stale::before { background: var(--stale); }
.groups { font-size: 0.875rem; overflow-x: auto; } .groups dl { display: flex; flex-wrap: wrap; gap: 0.1rem 1.5rem; margin: 0; }
.groups div { display: flex; flex-wrap: wrap; gap: 0.1rem 0.75rem; min-width: 0; } .notice p { margin: 0.25rem 0; }
form.filters { margin: 0.4rem 0; } .filters .panel { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; padding: 0.5rem 0; }
.filters label { min-width: 0; max-width: 100%; overflow-wrap: anywhere; } .filters select { max-width: min(16rem, 100%); }
.filters details[open] { flex-basis: 100%; }
.chips { display: flex; flex-wrap: wrap; gap: 0.25rem 0.5rem; list-style: none; margin: 0; padding: 0; min-width: 0; font-size: 0.875rem; }
.chips li { max-width: 100%; overflow-wrap: anywhere; }
.chips a { display: inline-block; border: 1px solid var(--line); border-radius: 1rem; padding: 0 0.6rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); } .soft { color: var(--soft); }
.state { font-weight: 600; white-space: nowrap; }
form { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; margin: 0.75rem 0; }
input, button, select { font: inherit; color: inherit; background: var(--bg); border: 1px solid var(--soft); border-radius: 0.3rem;
  padding: 0.3rem 0.6rem; }
input[type=search] { width: min(26rem, 100%); }
button { cursor: pointer; background: var(--panel); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9375rem; }
caption { text-align: left; color: var(--soft); padding: 0.25rem 0; }
th, td { text-align: left; padding: 0.3rem 0.9rem 0.3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { white-space: nowrap; } tbody th { font-weight: 600; }
td.wide { min-width: 16rem; overflow-wrap: anywhere; } .stack td.text { overflow-wrap: anywhere; min-width: 8rem; } .stack td.wide { min-width: 0; } .stack tbody th { overflow-wrap: anywhere; white-space: normal; min-width: 8rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.fleet { table-layout: fixed; font-size: 0.875rem; line-height: 1.35; }
.fleet th, .fleet td { padding: 0.1rem 0.6rem 0.12rem 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.fleet td.c-state, .fleet td.c-since, .fleet .state { white-space: normal; } .fleet caption { padding: 0; } .fleet thead th { white-space: normal; overflow: visible; vertical-align: bottom; } .fleet tbody th { overflow: visible; position: relative; }
.fleet .name { display: inline-block; max-width: calc(100% - 1.75rem); overflow: hidden; text-overflow: ellipsis; vertical-align: top; }
.fleet .more { display: inline; font-weight: 400; }
.more > summary { display: inline-block; list-style: none; cursor: pointer; min-width: 1.5rem; height: 1.2rem; line-height: 1.2rem; vertical-align: top; text-align: center;
  color: var(--soft); border-radius: 0.3rem; }
.more > summary::-webkit-details-marker { display: none; } .more > summary:hover, .more[open] > summary { background: var(--panel); }
.more .panel { position: absolute; z-index: 2; left: 0; width: min(36rem, 80vw); margin: 0; padding: 0.5rem 0.75rem; background: var(--bg);
  border: 1px solid var(--soft); border-radius: 0.4rem; box-shadow: 0 4px 16px #0004; white-space: normal; }
.c-name { width: 13%; } .c-state { width: 9%; } .c-reason { width: 14.5%; } .c-since { width: 10.5%; } .c-signal { width: 8%; }
.c-operator { width: 9%; } .c-wan { width: 4.5%; } .c-uptime { width: 5.5%; } .c-firmware { width: 6.5%; } .c-lag { width: 5%; }
.c-bytes { width: 8%; } .c-spark { width: 6.5%; }
.fleet .number { text-align: left; }
.spark { display: block; width: 100%; height: 0.9rem; margin: 0.2rem 0; background: var(--panel); }
.signal rect { fill: currentColor; } .signal .off { opacity: 0.25; }
.overview { display: flex; flex-wrap: wrap; gap: 0 2.5rem; } .overview section { min-width: 0; max-width: 100%; } .overview h2 { margin: 0.75rem 0 0.25rem; overflow-wrap: anywhere; }
.overview dl { margin: 0.25rem 0; grid-template-columns: max-content minmax(0, 1fr); max-width: 34rem; }
h3 { font-size: 1rem; margin: 1rem 0 0.25rem; } h4 { font-size: 0.9375rem; margin: 0.4rem 0 0; overflow-wrap: anywhere; } .values p { margin: 0 0 0.25rem; }
.facts { grid-template-columns: repeat(auto-fill, minmax(min(15rem, 48%), 1fr) minmax(5rem, max-content)); font-size: 0.9375rem; } .facts dt, .facts dd { min-width: 0; overflow-wrap: anywhere; }
.help { font-size: 0.875rem; } .up-down { max-width: 84rem; } .up-down svg { height: 1.2rem; background: var(--panel); } .plot .down { fill: var(--down); }
@media (max-width: 1180px) { .stack thead th { white-space: normal; } .stack th, .stack td { padding-right: 0.5rem; } .stack td.text { min-width: 6rem; }
  .c-wan, .c-uptime, .c-firmware, .c-bytes { display: none; } .c-name { width: 21%; } .c-reason { width: 21%; }
  .c-state, .c-since, .c-signal { width: 11%; } .c-operator { width: 12%; } .c-lag { width: 6%; } .c-spark { width: 7%; } }
@media (max-width: 760px) {
  main > dl, .facts { grid-template-columns: minmax(0, 10rem) minmax(0, 1fr); } dd time { white-space: normal; }
  header, main, footer { padding: 0.3rem 0.75rem; } header { gap: 0.1rem 0.9rem; } header strong { order: -2; } .refresh { order: -1; } .refresh button { padding: 0 0.5rem; } nav ul { gap: 0 0.8rem; }
  .cards { gap: 0.25rem; } .cards a { padding: 0 0.4rem; font-size: 0.875rem; } .cards b { font-size: 1rem; margin-right: 0.2rem; }
  .cards .zero { display: none; } .filters details:not([open]) { margin-left: auto; } .filters input { flex: 1 1 6rem; min-width: 0; } .filters { gap: 0.4rem; } .filters #lines-q { flex-basis: 100%; } .filters { align-items: end; } .filters > label { flex: 1 1 8rem; } .filters > label > input, .filters > label > select { width: 100%; }
  .groups dl, .groups div { flex-wrap: nowrap; } .groups div { flex: none; } .groups dt, .groups dd { white-space: nowrap; }
  .notice { margin: 0.4rem 0; padding: 0.2rem 0.6rem; } .strip figcaption { display: none; } .strip svg { height: 1.2rem; }
  table.fleet, .fleet caption, .fleet tbody { display: block; } .fleet thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .fleet tr { display: grid; grid-template-columns: auto auto minmax(0, 1fr) auto; column-gap: 0.6rem; border-bottom: 1px solid var(--line); padding: 0.2rem 0; }
  .fleet tr > * { border: 0; padding: 0; width: auto; min-width: 0; }
  .fleet .c-name { grid-area: 1 / 1 / 2 / 4; } .fleet .c-since { grid-area: 1 / 4; color: var(--soft); }
  .fleet .c-state { grid-area: 2 / 1; } .fleet .c-reason { grid-area: 2 / 2 / 3 / 5; }
  .fleet .c-signal { grid-area: 3 / 1 / 4 / 3; } .fleet .c-operator { grid-area: 3 / 3; } .fleet .c-spark { grid-area: 3 / 4; width: 5rem; }
  .fleet .c-reason:empty { display: none; } .fleet tr:has(.c-reason:empty) { .c-signal { grid-area: 2 / 2; } .c-operator { grid-area: 2 / 3; } .c-spark { grid-area: 2 / 4; } }
  .fleet .c-lag { display: none; } .fleet .soft[colspan] { grid-column: 1 / 5; white-space: normal; }
  .more .panel { width: calc(100vw - 1.5rem); grid-template-columns: max-content minmax(0, 1fr); left: auto; right: auto; inset-inline: 0 auto; transform: none; }
  .stack, .stack caption, .stack tbody { display: block; } .stack thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .stack tr { display: flex; flex-wrap: wrap; gap: 0 1rem; border-bottom: 1px solid var(--line); padding: 0.4rem 0; } .stack tr > * { display: block; max-width: 100%; min-width: 0; border: 0; padding: 0; text-align: left; white-space: normal; overflow-wrap: anywhere; } .stack tr > :is(th, .wide) { flex-basis: 100%; }
  .stack .note:empty { display: none; }
  .stack td[data-title]::before { content: attr(data-title) ": "; content: attr(data-title) ": " / ""; color: var(--soft); }
  .fleet tbody th { position: static; } .fleet tbody tr { position: relative; }
}
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
figcaption { font-size: 0.875rem; color: var(--soft); max-width: 22rem; } .plots.wide figcaption { max-width: 27rem; }
svg.plot { background: var(--panel); border: 1px solid var(--line); border-radius: 0.3rem; display: block; max-width: 100%; }
svg.plot polyline { fill: none; stroke: var(--link); stroke-width: 1.5; }
svg.plot circle { fill: var(--link); } svg.plot .cross { stroke: var(--bad); stroke-width: 1.5; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 0.3rem; padding: 0.75rem; overflow-x: auto;
  font-size: 0.875rem; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; } code { font-size: 0.9375em; overflow-wrap: anywhere; } .message { font-family: ui-monospace, monospace; font-size: 0.875rem; }
.tabs ul { display: flex; gap: 0.25rem 1.25rem; list-style: none; margin: 0.4rem 0; padding: 0; }
.lines { list-style: none; margin: 0.4rem 0; padding: 0; font-size: 0.875rem; border-top: 1px solid var(--line); }
.lines li { padding: 0.15rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.lines time { color: var(--soft); font-variant-numeric: tabular-nums; } .lines .log, .lines .of { margin-left: 0.5rem; font-weight: 600; }
.lines .severity { margin: 0 0.35rem; font-weight: 600; } .lines summary { cursor: pointer; } .lines details { display: inline-block; max-width: 100%; vertical-align: top; }
.lines .gap { border: 2px dashed var(--warn); border-width: 2px 0; padding: 0.4rem 0; margin: 0.3rem 0; background: var(--panel); }
.filters label input { width: min(12rem, 100%); }
@media (min-width: 1000px) {
  .lines { display: grid; grid-template-columns: max-content fit-content(16rem) fit-content(10rem) max-content minmax(0, 1fr); column-gap: 0.75rem; }
  .lines.own { grid-template-columns: max-content fit-content(10rem) max-content minmax(0, 1fr); }
  .lines li { grid-column: 1 / -1; } .lines li:not(.gap) { display: grid; grid-template-columns: subgrid; } .lines li > * { min-width: 0; } .lines .log, .lines .of, .lines .severity { margin: 0; } .lines .gap > * { margin-right: 0.75rem; }
}
@media (forced-colors: active) { svg.plot polyline { stroke: CanvasText; } }
`;
