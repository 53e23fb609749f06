import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { SimulatedRouter } from '../../src/simulator/index.ts';
import { startProgram } from '../support/child.ts';
import { startFleet } from '../support/fleet.ts';
import { findFreePort } from '../support/free-port.ts';
import { withPrograms } from '../support/tools.ts';

const RULES = fileURLToPath(new URL('../../deploy/prometheus', import.meta.url));
const MINUTE_MS = 60_000;
const ROUTERS = 12;
/** The router that goes down, and its place in the fleet. */
const VICTIM = { name: 'sim-5', index: 4 };
/** So many evaluations of every group, after something changed, show all that it does. */
const EVALUATIONS = 3;

interface RuleFile {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert?: string; readonly for?: string; readonly keep_firing_for?: string }[];
  }[];
}

interface ActiveAlert {
  readonly state: 'pending' | 'firing';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Group {
  readonly name: string;
  readonly lastEvaluation: string;
  readonly rules: readonly { readonly name: string; readonly health: string; readonly lastError?: string }[];
}

/** Links without faults: simulated ones have bad days of their own, which fire alerts. */
function mendLinks(router: SimulatedRouter): void {
  const signal = { state: 'Online', RSSI: '-70', RSRP: '-85', RSRQ: '-9', SINR: '15' };
  for (const modem of ['lte2', 'lte_serial2']) router.setStatus(modem, { unique: signal });
  const members = ['lte2', 'ipsec1'].map((name) => ({ if_name: name, state: 'online' }));
  router.setStatus('sysstat/wan', { unique: { name: 'wan1' }, list: members });
}

/**
 * The shipped rules in a hurry: every group is evaluated each second, every alert that waits waits one second, and none is kept. Nothing
 * else is changed, expressions least of all. So what is true for two evaluations fires, however long the alert would wait:
 * an alert that stays silent here does so by its condition alone.
 */
async function hurryRules(folder: string): Promise<void> {
  for (const name of (await readdir(RULES)).filter((one) => one.endsWith('.yaml'))) {
    const { groups } = parse(await readFile(join(RULES, name), 'utf8')) as RuleFile;
    const hurried = groups.map((group) => ({
      ...group,
      interval: '1s',
      rules: group.rules.map((rule) => ({
        ...rule,
        ...(rule.for !== undefined && { for: '1s' }),
        ...(rule.keep_firing_for !== undefined && { keep_firing_for: '0s' }),
      })),
    }));
    await writeFile(join(folder, name), stringify({ groups: hurried }, { aliasDuplicateObjects: false }));
  }
}

/** A real Prometheus with the shipped rules that scrapes `target` every three seconds, which is time enough on a busy machine. */
async function startPrometheus(target: string) {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-alerts-'));
  await hurryRules(folder);
  const config = {
    rule_files: [`${folder}/*.yaml`],
    scrape_configs: [
      { job_name: 'routers', scrape_interval: '3s', scrape_timeout: '3s', static_configs: [{ targets: [target] }] },
    ],
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const address = `127.0.0.1:${await findFreePort()}`;
  const server = startProgram('prometheus', [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=${address}`,
  ]);
  await server.waitFor('stderr', /Server is ready/);
  const ask = async <T>(path: string) => {
    const { data } = (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as { data: T };
    return data;
  };
  const groups = async () => (await ask<{ groups: Group[] }>('rules')).groups;
  return {
    groups,
    /** But the one about this machine, on which other tests run. */
    async alerts() {
      const { alerts } = await ask<{ alerts: ActiveAlert[] }>('alerts');
      return alerts.filter(({ labels }) => labels['symptom'] !== 'event_loop');
    },
    /** Value of a query that gives one series or none. */
    async value(query: string) {
      const { result } = await ask<{ result: { value: [number, string] }[] }>(
        `query?query=${encodeURIComponent(query)}`,
      );
      return result[0] === undefined ? undefined : Number(result[0].value[1]);
    },
    /** Resolves when every group was evaluated that often from now on. */
    async evaluate(times: number) {
      const seen = new Map<string, Set<string>>();
      const look = async () => {
        for (const { name, lastEvaluation } of await groups()) {
          const stamps = seen.get(name) ?? new Set();
          seen.set(name, stamps.add(lastEvaluation));
        }
        return Math.min(...[...seen.values()].map(({ size }) => size));
      };
      // The first one seen is of before.
      await expect.poll(look, { timeout: 30_000, interval: 200 }).toBeGreaterThan(times);
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

withPrograms(['prometheus'], test)(
  `a Prometheus with the shipped rules fires RouterDown when one router of ${ROUTERS} goes down, RouterAuthFailing when it then refuses the login, and nothing else`,
  { timeout: 120_000 },
  async () => {
    await using fleet = await startFleet({ routers: ROUTERS, router: { labels: { site: 'munich' } } });
    for (const router of fleet.simulator.routers) mendLinks(router);
    await fleet.advance(MINUTE_MS);
    await using server = await startPrometheus(fleet.agent.urls[0]?.replace('http://', '') ?? '');
    await expect.poll(() => server.value('count(router_up == 1)'), { timeout: 30_000 }).toBe(ROUTERS);
    await expect.poll(() => server.value('sum(job:router_up:count)'), { timeout: 30_000 }).toBe(ROUTERS);
    await server.evaluate(EVALUATIONS);
    expect(await server.alerts()).toEqual([]);

    await fleet.router(VICTIM.index).fault('down');
    await fleet.advance(3 * MINUTE_MS);
    await expect.poll(() => server.value('count(router_up == 0)'), { timeout: 30_000 }).toBe(1);
    await server.evaluate(EVALUATIONS);

    const failures = await server.value('max(router_consecutive_failures)');
    await expect
      .poll(() => server.alerts(), { timeout: 30_000 })
      .toMatchObject([
        {
          state: 'firing',
          labels: { alertname: 'RouterDown', severity: 'warning', router: VICTIM.name, job: 'routers' },
          annotations: {
            summary: 'Router is down.',
            description: `${failures} polls of router ${VICTIM.name} in a row have failed. Its metrics and logs are missing.`,
          },
        },
      ]);
    const rules = (await server.groups()).flatMap((group) => group.rules);
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
    expect(rules.length).toBeGreaterThan(80);

    await fleet.router(VICTIM.index).clearFault('down');
    await fleet.router(VICTIM.index).fault('unauthorized');
    await fleet.advance(3 * MINUTE_MS);
    await expect.poll(() => server.value('count(router_failure_reason{reason="auth"} == 1)')).toBe(1);
    await server.evaluate(EVALUATIONS);
    await expect
      .poll(() => server.alerts(), { timeout: 30_000 })
      .toMatchObject([
        { state: 'firing', labels: { alertname: 'RouterAuthFailing', severity: 'critical', router: VICTIM.name } },
      ]);

    await fleet.router(VICTIM.index).clearFault('unauthorized');
    await fleet.advance(10 * MINUTE_MS);
    await expect.poll(() => server.value('count(router_up == 1)')).toBe(ROUTERS);
    await server.evaluate(EVALUATIONS);
    expect(await server.alerts()).toEqual([]);
  },
);
