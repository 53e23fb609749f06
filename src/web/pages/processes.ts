import type { FleetShards } from '../content.ts';
import type { PeerFault } from '../fan-out.ts';
import { type Html, html, toShown } from './html.ts';
import { renderMany } from './quantities.ts';

/** Names the processes of the fleet whose rows are missing, each with what the page lacks: by default, its routers. */
export function renderMissing(faults: readonly PeerFault[], what?: string): Html {
  return html`${faults.map((fault) => {
    const { name, shard, url, routers, error, leftOut } = fault;
    const who = name === undefined ? `Process ${shard}` : `Replica ${toShown(name)}`;
    const at = url === '' ? '' : ` (${toShown(url)})`;
    if (leftOut !== undefined) {
      return html`<p class="notice"><strong>${who}${at} sends ${renderMany(leftOut, 'row')} that ${leftOut === 1 ? 'is' : 'are'} left out</strong> of its ${what ?? 'routers'}. ${toShown(error)}</p>
`;
    }
    const lack =
      what === undefined ? `its ${renderMany(routers, 'router')} cannot be shown` : `its ${what} are missing here`;
    return html`<p class="notice"><strong>${who}${at} does not answer:</strong> ${lack}. ${toShown(error)}</p>
`;
  })}`;
}

/** Says that a page shows this process alone, because the addresses of the others are not configured. */
export function renderAlone(shards: FleetShards | undefined, what: string): Html | string {
  if (!shards || shards.peers.length > 0 || shards.total < 2) return '';
  return html`<p class="notice">${what} of this process (${shards.index} of ${shards.total}) alone: list all processes in <code>web.peers</code> to see those of the others.</p>`;
}

/** Names the processes that do not answer, as in `process 1, replica b`; empty if all do. */
export function nameMissing(faults: readonly PeerFault[]): string {
  return faults
    .filter(({ leftOut }) => leftOut === undefined)
    .map(({ shard, name }) => (name === undefined ? `process ${shard}` : `replica ${toShown(name)}`))
    .join(', ');
}
