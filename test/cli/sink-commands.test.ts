import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeadLetterStore } from '../../src/store/index.ts';
import { renderLine } from '../support/memory-spool.ts';
import { openElasticsearchServer } from '../support/sinks/elasticsearch-server.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';
import { type CommandOptions, runCommand } from './run-command.ts';

const DAY_MS = 86_400_000;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'router-exporter-sinks-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function configure(sinks: readonly string[] = ['{ name: archive, type: stdout }']): Promise<string> {
  const file = join(folder, 'router-exporter.yaml');
  const routers = 'routers: [{ name: plant-7, url: "https://192.0.2.10", auth: none }]';
  await writeFile(
    file,
    `${routers}\nstorage: { path: state }\nsinks:\n${sinks.map((sink) => `  - ${sink}\n`).join('')}`,
  );
  return file;
}

describe('dead-letters', () => {
  /** Three dead letters of two sinks, the first ten days old. */
  function openDeadLetters() {
    let nowMs = Date.now() - 10 * DAY_MS;
    const deadLetters = new DeadLetterStore({ path: join(folder, 'state'), now: () => nowMs });
    deadLetters.add('archive', [
      { uid: 'u1', line: renderLine('u1'), reason: 'mapper_parsing_exception: bad', code: '400' },
    ]);
    nowMs = Date.now();
    deadLetters.add('archive', [{ uid: 'u2', line: renderLine('u2', 'plant-8'), reason: 'too old' }]);
    deadLetters.add('lake', [{ uid: 'u3', line: renderLine('u3'), reason: 'no' }]);
    return deadLetters;
  }

  async function ask(args: readonly string[], options?: CommandOptions) {
    return runCommand(['dead-letters', ...args, '--config.file', await configure()], options);
  }

  test('list shows them with the words of the sink, the newest first, while the agent has the file open', async () => {
    using deadLetters = openDeadLetters();
    expect(deadLetters.count()).toBe(3);
    const { code, stdout } = await ask(['list']);
    expect(code).toBe(0);
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(rows.map(([number, sink, , log]) => [number, sink, log])).toEqual([
      ['NUMBER', 'SINK', 'LOG'],
      ['3', 'lake', 'plant-7/network'],
      ['2', 'archive', 'plant-8/network'],
      ['1', 'archive', 'plant-7/network'],
    ]);
    expect(rows[3]?.slice(-2)).toEqual(['400', 'mapper_parsing_exception: bad']);
  });

  test('list --json --sink --limit gives those of one sink for programs, and says that there are more', async () => {
    using deadLetters = openDeadLetters();
    expect(deadLetters.count()).toBe(3);
    const { stdout, stderr } = await ask(['list', '--json', '--sink', 'archive', '--limit', '1']);
    expect(JSON.parse(stdout)).toMatchObject([
      { id: 2, sink: 'archive', uid: 'u2', reason: 'too old', isReplayed: false },
    ]);
    expect(stderr).toBe('1 of 2 shown; raise --limit for more\n');
  });

  test('show gives one whole, with its record', async () => {
    using deadLetters = openDeadLetters();
    expect(deadLetters.count()).toBe(3);
    const { code, stdout } = await ask(['show', '1']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, code: '400', record: { uid: 'u1', message: 'u1' } });
    expect(await ask(['show', '9'])).toMatchObject({
      code: 1,
      stderr: 'There is no dead letter 9; see dead-letters list\n',
    });
  });

  test('replay marks dead letters for the agent', async () => {
    using deadLetters = openDeadLetters();
    expect(await ask(['replay', '1', '3'])).toMatchObject({ code: 0, stdout: '2 dead letters will be tried again\n' });
    const bounds = { recordsMax: 10, bytesMax: 1e6 };
    expect(deadLetters.readReplayed('archive', bounds)).toMatchObject([{ uid: 'u1' }]);
    expect(deadLetters.readReplayed('lake', bounds)).toMatchObject([{ uid: 'u3' }]);
    const { stdout, stderr } = await ask(['replay', '--all', '--sink', 'lake']);
    expect([stdout, stderr]).toEqual([
      '1 dead letter will be tried again\n',
      'The configuration has no sink "lake"; the dead letters wait until it is added\n',
    ]);
  });

  test('replay and drop report a number without a dead letter', async () => {
    using deadLetters = openDeadLetters();
    expect(await ask(['replay', '1', '77'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('1 of these numbers does not exist'),
    });
    expect(await ask(['drop', '78', '--yes'])).toMatchObject({ code: 1, stdout: '0 dead letters dropped\n' });
    expect(deadLetters.count()).toBe(3);
  });

  test('drop asks, and removes those that are meant', async () => {
    using deadLetters = openDeadLetters();
    const refused = await ask(['drop', '2']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('add --yes');
    expect((await ask(['drop', '2'], { typed: 'n\n' })).code).toBe(1);
    expect(deadLetters.count()).toBe(3);
    expect((await ask(['drop', '--older-than', '7d', '--yes'])).stdout).toBe('1 dead letter dropped\n');
    expect(deadLetters.list({ limit: 9 }).map(({ uid }) => uid)).toEqual(['u3', 'u2']);
    expect((await ask(['drop', '--all', '--sink', 'archive'], { typed: 'y\n' })).stdout).toBe(
      '1 dead letter dropped\n',
    );
    expect(deadLetters.list({ limit: 9 }).map(({ uid }) => uid)).toEqual(['u3']);
  });

  test.for(['replay', 'drop'])('%s without a word about which is wrong usage', async (command) => {
    using deadLetters = openDeadLetters();
    const { code, stderr } = await ask([command]);
    expect([code, deadLetters.count()]).toEqual([2, 3]);
    expect(stderr).toContain('specify numbers');
  });

  test('says where it looked when there is no file yet', async () => {
    const { code, stderr } = await ask(['list']);
    expect(code).toBe(1);
    expect(stderr).toContain(join(folder, 'state', 'dead-letters.db'));
    expect(stderr).toContain('Check storage.path of the configuration, or name the folder with --storage.path');
  });
});

test('check --sinks tests each sink and reports which would not accept records', async () => {
  await using good = await openHttpServer();
  await using guarded = await openHttpServer({ authorization: 'Bearer right' });
  const file = await configure([
    `{ name: good, type: http, url: "${good.url}" }`,
    `{ name: guarded, type: http, url: "${guarded.url}", bearer_token: wr0ng-token }`,
  ]);
  const { code, stdout, stderr } = await runCommand(['check', '--sinks', '--config.file', file]);
  expect(code).toBe(1);
  expect(stdout).toContain('no faults (routers: 1, sinks: 2)');
  expect(stdout).toMatch(/sink good {2}http {2}ok/);
  expect(stdout).toMatch(/sink guarded {2}http {2}failed/);
  expect(stdout + stderr).not.toContain('wr0ng-token');
  expect(good.records()).toMatchObject([{ router: 'router-exporter', component: 'preflight' }]);
  const { code: fine } = await runCommand(['check', '--sinks', '--config.file', await configure()]);
  expect(fine).toBe(0);
});

/** The list of a source as an agent keeps it over its restarts. */
const renderStoredList = (routers: object[]) =>
  `${JSON.stringify({ origin: '', counts: [] })}\n${JSON.stringify(routers)}`;

test('check shows which routers of the stored list of a source are refused, and why', async () => {
  const file = await configure();
  await appendFile(
    file,
    'router_sources: [{ name: inv, type: http, url: "http://127.0.0.1:9", groups: [g], allowed_addresses: [10.0.0.0/8] }]\ngroups: { g: { auth: none } }\n',
  );
  const routers = [
    { name: 'a', url: 'https://10.0.0.1' },
    { name: 'b', url: 'https://192.0.2.1' },
  ];
  await mkdir(join(folder, 'state', 'inventory'), { recursive: true });
  await writeFile(join(folder, 'state', 'inventory', 'inv.json'), renderStoredList(routers));
  const { code, stdout } = await runCommand(['check', '--config.file', file]);
  expect(code).toBe(0);
  expect(stdout).toContain('no faults (routers: 2, sinks: 1)\n');
  expect(stdout).toContain(
    ': source inv (routers: 1, refused: 1)\nWarning: source inv: a router of the stored list, "b": the URL is not allowed:',
  );
});

test('check and the commands for routers find routers of a source in the folder that --storage.path names', async () => {
  const file = await configure();
  await appendFile(
    file,
    'router_sources: [{ name: inv, type: http, url: "http://127.0.0.1:9", groups: [g], allowed_addresses: [127.0.0.0/8] }]\ngroups: { g: { auth: none } }\n',
  );
  const state = join(folder, 'elsewhere');
  await mkdir(join(state, 'inventory'), { recursive: true });
  await writeFile(
    join(state, 'inventory', 'inv.json'),
    renderStoredList([{ name: 'remote', url: 'https://127.0.0.1:9' }]),
  );
  const without = await runCommand(['check', '--config.file', file]);
  expect(without.stdout).toContain('The routers of the source "inv" are unknown: no list of it is in');
  const storage = ['--config.file', file, '--storage.path', state];
  const { stdout } = await runCommand(['check', ...storage]);
  expect(stdout).toContain('source inv (routers: 1, refused: 0)');
  expect(stdout).not.toContain('unknown');
  expect((await runCommand(['check', '--show', 'remote', ...storage])).stdout).toContain('name: remote # source inv:');
  // It is known, but does not answer.
  expect(await runCommand(['status', 'remote', 'device_info', ...storage])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('remote: '),
  });
});

test('check looks at the folder that --storage.path names, and then not at that of the file', async () => {
  const file = await configure();
  const taken = join(folder, 'taken');
  await writeFile(taken, '');
  await writeFile(file, (await readFile(file, 'utf8')).replace('path: state', `path: ${taken}`));
  const of = (path: string, ...more: string[]) =>
    runCommand(['check', '--config.file', file, '--storage.path', path, ...more]);
  expect(await of(join(folder, 'free'))).toMatchObject({ code: 0 });
  expect(await of(taken)).toEqual({
    code: 2,
    stdout: `${file}:1:1: --storage.path: ${taken} is a file; a folder is needed\n`,
    stderr: '',
  });
  const { code, stdout } = await of(join(taken, 'deep'), '--json');
  expect([code, JSON.parse(stdout)]).toMatchObject([2, { faults: [{ line: 1 }] }]);
});

test('check --show prints the settings of one router and their origins, and refuses an unknown name', async () => {
  const file = await configure();
  const { code, stdout } = await runCommand(['check', '--show', 'plant-7', '--config.file', file]);
  expect([code, stdout]).toEqual([0, expect.stringContaining(`name: plant-7 # ${file}:`)]);
  const unknown = await runCommand(['check', '--show', 'plant-7x', '--config.file', file]);
  expect([unknown.code, unknown.stdout]).toEqual([2, '']);
  expect(unknown.stderr).toContain('has no router "plant-7x"; did you mean plant-7?');
});

test('check alone asks no sink', async () => {
  await using server = await openHttpServer();
  const file = await configure([`{ name: good, type: http, url: "${server.url}" }`]);
  expect((await runCommand(['check', '--config.file', file])).code).toBe(0);
  expect(server.requests).toEqual([]);
});

test('schema --index-template prints the index template of a sink', async () => {
  await using server = await openElasticsearchServer();
  const file = await configure([
    `{ name: search, type: elasticsearch, url: "${server.url}", index: logs-plant-default }`,
    '{ name: console, type: stdout }',
  ]);
  const { code, stdout } = await runCommand(['schema', '--index-template', 'search', '--config.file', file]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ index_patterns: ['logs-plant-default'], data_stream: {} });
  const wrong = await runCommand(['schema', '--index-template', 'console', '--config.file', file]);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('there is "search"');
});

test('check names log rules and redaction that run on every line, with their cost, and no others', async () => {
  const file = await configure();
  await appendFile(
    file,
    `
log_rules:
  - default
  - { name: router_numbers_total, help: Numbers., type: counter, pattern: '\\d{4}' }
  - { name: router_words_total, help: Words., type: counter, pattern: 'word \\d{4}' }
redact: ['[0-9a-f]{2}(:[0-9a-f]{2}){5}', 'password=\\S+']
`,
  );
  const { code, stdout } = await runCommand(['check', '--config.file', file]);
  const [first, ...costly] = stdout.trimEnd().split('\n');
  expect([code, first]).toEqual([0, expect.stringContaining('no faults')]);
  const cost = String.raw`so it runs on every line \(about \d+\.\d µs for a line of 100 characters on this machine\)`;
  expect(costly).toEqual([
    expect.stringMatching(
      new RegExp(String.raw`redact: "\[0-9a-f\].*" has no literal text that every match contains, ${cost}$`),
    ),
    expect.stringMatching(
      new RegExp(`log rule router_numbers_total: .* has no literal text that every match contains, ${cost}$`),
    ),
  ]);
});
