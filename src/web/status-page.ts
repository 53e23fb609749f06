import { html } from 'hono/html';

/** One router on the status page. */
export interface RouterRow {
  readonly name: string;
  readonly url: string;
  readonly state: 'up' | 'down' | 'not polled yet';
  /** Wall time of the last successful poll, milliseconds since the Unix epoch. */
  readonly lastSuccessMs: number | undefined;
  /** Why it is down, in words; empty when it is not. */
  readonly error: string;
}

/** The fleet as one table. Everything in it is escaped. */
export function renderStatusPage(rows: readonly RouterRow[]) {
  const upCount = rows.filter(({ state }) => state === 'up').length;
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>router-exporter</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
  body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
</style>
<h1>router-exporter</h1>
<p>${upCount} of ${rows.length} routers up. <a href="metrics">Metrics</a></p>
<table>
  <thead><tr><th>Router</th><th>State</th><th>Last success</th><th>Address</th><th>Error</th></tr></thead>
  <tbody>
    ${rows.map(
      (row) => html`<tr><td>${row.name}</td><td>${row.state}</td><td>${
        row.lastSuccessMs === undefined ? 'never' : new Date(row.lastSuccessMs).toISOString()
      }</td><td>${row.url}</td><td>${row.error}</td></tr>
    `,
    )}
  </tbody>
</table>
</html>
`;
}
