import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { createFileSettings, createStdoutSettings } from '../support/sink-settings.ts';
import { findNoDiskReason, openSmallDisk } from '../support/small-disk.ts';

const MINUTE_MS = 60_000;
const MIB = 1024 ** 2;
const HERE = import.meta.filename;

type Change = (config: Config) => Config;

const RULE = {
  name: 'router_secret_words_total',
  help: 'Secret words.',
  type: 'counter',
  components: ['*'],
  pattern: 'hunter2',
  labels: [],
  fixed_labels: {},
} as const;

function countSeries(metrics: string, pattern: RegExp): number {
  return metrics.split('\n').filter((line) => pattern.test(line)).length;
}

async function listNames(fleet: Fleet, what: 'routers' | 'sinks'): Promise<string> {
  const answer = JSON.parse(await fleet.metrics(`/api/v1/${what}`)) as Record<typeof what, { name: string }[]>;
  return answer[what].map(({ name }) => name).join();
}

/** Everything that a reload can change: a change of it, and where a user would notice. */
const CHANGES: readonly (readonly [what: string, change: Change, look: (fleet: Fleet) => unknown])[] = [
  [
    'headers of answers',
    (config) => ({
      ...config,
      web: { ...config.web, security: { headers: { 'X-Frame-Options': 'deny' }, users: new Map() } },
    }),
    async (fleet) => (await fetch(`${fleet.agent.urls[0]}/metrics`)).headers.get('x-frame-options'),
  ],
  [
    'users of the web server',
    (config) => ({
      ...config,
      web: { ...config.web, security: { headers: {}, users: new Map([['alice', hashSync('secret', 4)]]) } },
    }),
    async (fleet) => (await fetch(`${fleet.agent.urls[0]}/metrics`)).status,
  ],
  [
    'redaction',
    (config) => ({ ...config, redact: [{ pattern: 'hunter2', replacement: '***' }] }),
    async (fleet) => {
      fleet.router().appendLog('network', 'the word is hunter2');
      await fleet.advance(MINUTE_MS);
      return fleet.records.at(-1)?.message;
    },
  ],
  [
    'log rules',
    (config) => ({ ...config, log_rules: [...config.log_rules, RULE] }),
    async (fleet) => {
      fleet.router().appendLog('network', 'the word is hunter2');
      await fleet.advance(MINUTE_MS);
      return countSeries(await fleet.metrics(), /^router_secret_words_total\{/);
    },
  ],
  [
    'a router that is new',
    (config) => ({
      ...config,
      routers: config.routers.flatMap((one) => [one, { ...one, name: `${one.name}-again` }]),
    }),
    (fleet) => listNames(fleet, 'routers'),
  ],
  [
    'a router that is gone',
    (config) => ({ ...config, routers: config.routers.slice(1) }),
    async (fleet) => [await listNames(fleet, 'routers'), fleet.router().counters.logouts],
  ],
  [
    'labels of a router',
    (config) => ({ ...config, routers: config.routers.map((one) => ({ ...one, labels: { site: 'munich' } })) }),
    async (fleet) => [
      countSeries(await fleet.metrics(), /site="munich"/) > 0,
      fleet.router().counters.logins,
      fleet.router().counters.logouts,
    ],
  ],
  [
    'modules of a router',
    (config) => ({ ...config, routers: config.routers.map((one) => ({ ...one, modules: [] })) }),
    async (fleet) => {
      await fleet.advance(MINUTE_MS);
      return countSeries(await fleet.metrics(), /^router_uptime_seconds\{/);
    },
  ],
  [
    'backups',
    (config) => ({
      ...config,
      backup: { schedule: '* * * * *', path: join(config.storage.path, 'backups'), keep: 3, format: 'binary' },
    }),
    async (fleet) => {
      await fleet.advance(2 * MINUTE_MS);
      return (fleet.router().counters.requests['GET /download/profiles'] ?? 0) > 0;
    },
  ],
  [
    'a sink that is new',
    (config) => ({ ...config, sinks: [...config.sinks, createStdoutSettings('second')] }),
    (fleet) => listNames(fleet, 'sinks'),
  ],
  [
    'a sink that is gone',
    (config) => ({ ...config, sinks: [createStdoutSettings('second')] }),
    (fleet) => listNames(fleet, 'sinks'),
  ],
  [
    'settings of a sink',
    (config) => ({
      ...config,
      sinks: [{ ...createStdoutSettings('console'), format: 'ecs' }, ...config.sinks.slice(1)],
    }),
    async (fleet) => {
      fleet.router().appendLog('network', 'a line');
      await fleet.advance(MINUTE_MS);
      return Object.keys(fleet.records.at(-1) ?? {}).includes('@timestamp');
    },
  ],
  [
    'what /config shows',
    (config) => ({ ...config, redact: [{ pattern: 'hunter2', replacement: '***' }] }),
    async (fleet) => (await fleet.metrics('/config')).includes('hunter2'),
  ],
];

/** A sink that stands below a file, where no folder can be made. */
const withoutFolder: Change = (config) => ({
  ...config,
  sinks: [...config.sinks, createFileSettings('archive', join(HERE, 'folder', 'records.jsonl'))],
});

/** A router that is polled and whose logs are read, with one sink. */
async function startRunning(change: Change = (config) => config): Promise<Fleet> {
  const fleet = await startFleet({ config: change });
  await fleet.advance(2 * MINUTE_MS);
  return fleet;
}

test.for(CHANGES)('a reload that fails changes nothing about %s', async ([, change, look]) => {
  await using fleet = await startRunning();
  const before = await look(fleet);

  const failed = await fleet.reload((config) => withoutFolder(change(config)));
  expect(failed).toMatchObject({ ok: false, faults: [expect.stringContaining('records.jsonl')] });
  expect(await look(fleet)).toEqual(before);
  expect(await listNames(fleet, 'sinks')).toBe('console');

  // Without the fault the same change is made, and can be seen.
  expect(await fleet.reload(change)).toEqual({ ok: true });
  expect(await look(fleet)).not.toEqual(before);
});

/** All changes that do not interfere when they are observed together. */
const changeAll: Change = (config) =>
  CHANGES.filter(([what]) => !/users|gone/.test(what)).reduce((changed, [, change]) => change(changed), config);

/** What a user sees of everything that {@link changeAll} changes. */
async function lookAtAll(fleet: Fleet) {
  const seen: unknown[] = [];
  for (const [what, , look] of CHANGES) seen.push([what, await look(fleet)]);
  return seen;
}

const CAUSES: readonly (readonly [cause: string, fault: Change, says: string])[] = [
  ['a sink whose folder cannot be made', withoutFolder, 'A part of the path is a file'],
  [
    'a folder of backups that cannot be made',
    (config) => ({
      ...config,
      backup: { schedule: '* * * * *', path: join(HERE, 'backups'), keep: 3, format: 'binary' },
    }),
    'could not be created',
  ],
  [
    'TLS, which needs a restart',
    (config) => ({
      ...config,
      web: {
        ...config.web,
        security: { headers: {}, users: new Map(), tls: { certPem: 'none', keyPem: '', clientAuth: 'none' } as never },
      },
    }),
    '',
  ],
];

test.for(CAUSES)(
  'a reload that fails because of %s changes nothing, says so, and shows in a metric',
  async ([, fault, says]) => {
    await using fleet = await startRunning();
    const before = await lookAtAll(fleet);
    const failed = await fleet.reload((config) => fault(changeAll(config)));
    expect(failed).toMatchObject({ ok: false, faults: [expect.stringContaining(says)] });
    expect(await lookAtAll(fleet)).toEqual(before);
    expect(await fleet.metrics('/metrics/agent')).toContain('router_exporter_config_last_reload_successful 0\n');
    expect(fleet.ownLog).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'The configuration was not loaded again' }),
    );
  },
);

const noDisk = findNoDiskReason();

test('a reload on a disk that is nearly full changes nothing, and succeeds once there is room', async (context) => {
  context.skip(noDisk !== undefined, noDisk);
  await using disk = await openSmallDisk(64 * MIB);
  await using fleet = await startRunning((config) => ({ ...config, storage: { ...config.storage, path: disk.path } }));
  const before = await lookAtAll(fleet);
  // Less than an eighth of the disk stays free, which the agent keeps as its reserve.
  await writeFile(join(disk.path, 'something else'), Buffer.alloc(58 * MIB));

  const failed = await fleet.reload(changeAll);
  expect(failed).toMatchObject({ ok: false, faults: [expect.stringContaining('nearly full')] });
  const web = await fetch(`${fleet.agent.urls[0]}/metrics`);
  expect(web.headers.get('x-frame-options')).toBeNull();
  expect(await web.text()).toContain('router_exporter_config_last_reload_successful 0\n');
  expect(await fleet.metrics('/config')).not.toContain('hunter2');

  await writeFile(join(disk.path, 'something else'), '');
  await fleet.advance(MINUTE_MS);
  expect(await lookAtAll(fleet)).toEqual(before);
  expect(await fleet.reload(changeAll)).toEqual({ ok: true });
  expect(await listNames(fleet, 'sinks')).toBe('console,second');
});

test('an agent starts with a sink that cannot be written, which is down, and a reload that leaves it as it is succeeds', async () => {
  await using fleet = await startRunning(withoutFolder);
  fleet.router().appendLog('network', 'a line');
  await fleet.advance(MINUTE_MS);
  expect(fleet.records.map(({ message }) => message)).toContain('a line');
  const metrics = await fleet.metrics('/metrics/agent');
  expect(metrics).toContain('router_exporter_sink_up{sink="archive"} 0\n');
  expect(metrics).toContain('router_exporter_sink_up{sink="console"} 1\n');
  expect(await fleet.reload((config) => ({ ...config, redact: [{ pattern: 'x', replacement: 'y' }] }))).toEqual({
    ok: true,
  });
});
