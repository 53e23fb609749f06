import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createSystemClock } from '../../src/base/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { PROGRAM, type Program, startProgram } from '../support/child.ts';
import { readJsonLines } from '../support/sinks/json-lines-reader.ts';

const FOLDER = fileURLToPath(new URL('../../deploy/sidecar/', import.meta.url));
const SCRIPT = join(FOLDER, 'run-with-reader.sh');
const readText = (name: string) => readFileSync(join(FOLDER, name), 'utf8');

let folder: string;
let simulator: Simulator;
let started: Program | undefined;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'router-exporter-sidecar-'));
  simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  writeFileSync(join(folder, 'device-ca.pem'), simulator.caPem);
  // What the file says, with a router that is here, and asked more often.
  const config = readText('router-exporter.yaml')
    .replace('https://192.0.2.10', simulator.routers[0]?.url ?? '')
    .replace('defaults:\n', 'web: { listen: ["127.0.0.1:0"] }\ndefaults:\n  logs: { interval: 1s }\n');
  writeFileSync(join(folder, 'router-exporter.yaml'), config);
});
afterEach(async () => {
  endChildren();
  await simulator[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** After a test that failed: a script that is killed does not take its two programs with it. */
function endChildren(): void {
  const { pid = 0, exitCode, signalCode } = started?.process ?? {};
  started = undefined;
  if (pid === 0 || typeof exitCode === 'number' || typeof signalCode === 'string') return;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  for (const child of children.filter(Boolean)) process.kill(Number(child), 'SIGKILL');
}

/** Starts the script with a reader and the agent behind it. */
function startPair(reader: string, agent = [process.execPath, PROGRAM]) {
  const env = {
    ROUTER_PASSWORD: 'simulated',
    TMPDIR: folder,
    PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
  };
  const config = join(folder, 'router-exporter.yaml');
  started = startProgram(
    'sh',
    [SCRIPT, reader, ...agent, 'run', '--config.file', config, '--log.format', 'text'],
    env,
    folder,
  );
  return started;
}
const readRecords = () => readJsonLines(readFileSync(join(folder, 'records.jsonl')));
/** What the script leaves behind in its folder for temporary files. */
const leftovers = () => readdirSync(folder).filter((name) => name.startsWith('tmp.'));

describe('run-with-reader.sh', () => {
  test('hands every record to the reader, which finds the end of its input after SIGTERM', async () => {
    await using pair = startPair('tee records.jsonl');
    for (let index = 0; index < 3000; index++) simulator.routers[0]?.appendLog('network', `line ${index}`);
    await pair.waitFor('stdout', /"message":"line 0"/);

    pair.process.kill('SIGTERM');
    const { code, stdout, stderr } = await pair.ended;

    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/INFO {2}Stopped\n$/) });
    expect(simulator.routers[0]?.counters).toMatchObject({ logins: 1, logouts: 1 });
    const records = readRecords();
    expect(stdout).toBe(`${records.map(({ text }) => text).join('\n')}\n`);
    expect(new Set(records.map(({ object }) => object['uid'])).size).toBe(records.length);
    for (const { object } of records) {
      expect(object).toMatchObject({ router: 'plant-7', labels: { site: 'munich' }, uid: expect.any(String) });
      expect(Object.keys(object).filter((key) => !FIELDS.includes(key))).toEqual([]);
    }
    expect(leftovers()).toEqual([]);
  });

  test('loads the configuration again at SIGHUP', async () => {
    await using pair = startPair('cat');
    simulator.routers[0]?.appendLog('network', 'a line');
    await pair.waitFor('stdout', /a line/);
    pair.process.kill('SIGHUP');
    await pair.waitFor('stderr', /Loaded the configuration again/);
    pair.process.kill('SIGTERM');
    expect(await pair.ended).toMatchObject({ code: 0 });
  });

  test('ends with exit code 1 when the reader ends first', async () => {
    await using pair = startPair('head -n 1');
    for (let index = 0; index < 3; index++) simulator.routers[0]?.appendLog('network', `line ${index}`);
    await pair.waitFor('stdout', /"plant-7"/);
    simulator.routers[0]?.appendLog('network', 'a line for nobody');
    expect(await pair.ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('could not write to standard output'),
    });
    expect(leftovers()).toEqual([]);
  });

  test.for([
    ['the agent', ['sh', '-c', 'exit 2'], 'cat', 2],
    ['the reader, when the agent has none', ['true'], 'sh -c "cat; exit 3"', 3],
    ['a reader that is not there', ['true'], 'no-such-reader', 127],
  ] as const)('ends with the exit code of %s', async ([, agent, reader, code]) => {
    await using pair = startPair(reader, [...agent]);
    expect(await pair.ended).toMatchObject({ code });
  });

  test('is plain sh', () => {
    expect(spawnSync('sh', ['-n', SCRIPT], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    expect(readText('run-with-reader.sh')).toMatch(/^#!\/bin\/sh\n/);
  });
});

/** Every field that a record may have: the first table of docs/log-records.md. */
const FIELDS = [
  ...(readFileSync(new URL('../../docs/log-records.md', import.meta.url), 'utf8')
    .split('## Flags')[0]
    ?.matchAll(/^\| `(\w+)` \|/gm) ?? []),
].map(([, name]) => name ?? '');

interface VectorConfig {
  readonly sources: Readonly<Record<string, object>>;
  readonly transforms: Readonly<
    Record<string, { readonly inputs: string[]; readonly fields?: { match: string[] }; readonly source?: string }>
  >;
  readonly sinks: Readonly<Record<string, { readonly inputs: string[]; readonly key_field: string }>>;
}

// Neither program is in Debian. What can be asked of the files is that they fit together, and the record.
describe('the configuration of the reader', () => {
  test('vector.yaml joins its parts, and names fields that records have', () => {
    const { sources, transforms, sinks } = parse(readText('vector.yaml')) as VectorConfig;
    const parts = [...Object.keys(sources), ...Object.keys(transforms)];
    const inputs = [...Object.values(transforms), ...Object.values(sinks)].flatMap((part) => part.inputs);
    expect(inputs.toSorted()).toEqual(parts.toSorted());
    expect(FIELDS).toEqual(
      expect.arrayContaining([...(transforms['once']?.fields?.match ?? []), sinks['kafka']?.key_field]),
    );
    const used = [...(transforms['shaped']?.source ?? '').matchAll(/[\s(]\.(\w+)/g)].map(([, name]) => name);
    expect(used.filter((name) => !FIELDS.includes(name ?? ''))).toEqual(['source_type', 'host']);
  });

  test('fluent-bit.yaml joins its parts, and names fields that records have', () => {
    const config = parse(readText('fluent-bit.yaml')) as {
      parsers: { name: string; time_key: string; time_format: string }[];
      pipeline: { inputs: { parser: string; tag: string }[]; outputs: { match: string; message_key_field: string }[] };
    };
    const [[parser], [input], [output]] = [config.parsers, config.pipeline.inputs, config.pipeline.outputs];
    expect([input?.parser, output?.match]).toEqual([parser?.name, input?.tag]);
    expect(FIELDS).toEqual(expect.arrayContaining([parser?.time_key, output?.message_key_field]));
    expect(parser?.time_format).toBe('%Y-%m-%dT%H:%M:%S.%LZ');
  });
});
