import { DeviceFacts, InterfaceRates } from '../agent/index.ts';
import { renderLength, renderMany } from '../base/index.ts';
import type { Listing } from '../logs/index.ts';
import type { MetricFamily } from '../model/index.ts';
import { gradeSignal, renderBitRate, SIGNAL_UNITS } from '../web/index.ts';
import { renderTable } from './support/io.ts';

const HOUR_S = 3600;

/** Collects what the page of a router shows first. */
export class Overview {
  readonly #facts = new DeviceFacts();
  readonly #rates = new InterfaceRates();
  readonly #families = new Map<string, readonly MetricFamily[]>();

  /** Adds the values of a resource; rates need the counters of interfaces twice. `readAtMs` is monotonic. */
  add(name: string, families: readonly MetricFamily[], readAtMs: number): void {
    const read = { state: 'read', isUnchanged: false, isUnread: false, staleAfterMs: Infinity, durationMs: 0 } as const;
    const empty = { modules: [], faults: [], isOptional: false, error: undefined };
    const resources = [{ ...read, ...empty, name, families, readAtMs }];
    this.#facts.record({ isUp: true, resources, withdrawn: [] }, readAtMs);
    this.#rates.record(resources);
    this.#families.set(name, families);
  }

  /** Renders a table. Rows of which nothing is known are left out. */
  render(router: { readonly name: string; readonly url: string }, listing: Listing | undefined): string {
    const families = [...this.#families.values()].flat();
    const find = (family: string) => families.filter(({ name }) => name === family).flatMap(({ samples }) => samples);
    const { model, operator, technology, signal, wan, uptimeSeconds } = this.#facts.summary;
    const firmware = find('router_board_info')[0]?.labels['firmware_version'];
    const members = find('router_wan_chain_member_online');
    const online = members.filter(({ value }) => value === 1);
    const rate = this.#rates.findTraffic(this.#facts.wanInterfaces);
    const volts = find('router_supply_volts').map(({ value }) => `${Number(value.toFixed(1))} V`);
    const degrees = families.filter(({ name }) => name.endsWith('_temperature_celsius')).flatMap((one) => one.samples);
    const warmest = degrees.length > 0 ? `${Math.max(...degrees.map(({ value }) => value))} °C at most` : '';
    const logs = [...(listing?.logs.values() ?? [])];
    const files = logs.reduce((sum, { current, rotated }) => sum + rotated.length + (current === undefined ? 0 : 1), 0);
    const { kind = 'csq', value = 0 } = signal ?? {};
    const { interface: name = '', receiveBytesPerSecond: received, transmitBytesPerSecond: sent } = rate ?? {};
    const isNew = uptimeSeconds !== null && uptimeSeconds < HOUR_S;
    const rows = [
      ['Device', model, firmware && `firmware ${firmware}`],
      [
        'Signal',
        signal && `${kind.toUpperCase()} ${value}${SIGNAL_UNITS[kind]} (${gradeSignal(kind, value)})`,
        [operator, technology].filter(Boolean).join(' · '),
      ],
      ['WAN', wan, members.length > 0 && `${online.length} of ${members.length} members online`],
      ['Traffic', rate && `${renderBitRate(received)} in, ${renderBitRate(sent)} out`, name],
      ['Supply', volts.slice(0, 2).join(', '), warmest],
      ['Uptime', uptimeSeconds !== null && renderLength(uptimeSeconds), isNew && 'restarted within the last hour'],
      ['Logs', logs.length > 0 && renderMany(logs.length, 'log'), logs.length > 0 && renderMany(files, 'file')],
    ].map((row) => row.map((text) => text || ''));
    return renderTable(
      [router.name, router.url, ''],
      rows.filter(([, ...values]) => values.some((text) => text !== '')),
    );
  }
}
