import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { RouterReadError } from '../../src/model/index.ts';
import { type ModuleDefinition, StatusPoller } from '../../src/status/index.ts';
import { load } from '../config/configuration-folder.ts';
import { renderGolden } from './golden-text.ts';

/** Modules as an operator writes them, and what routers answer, written by hand. */
const FOLDER = new URL('../golden/modules/', import.meta.url);

function read(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8');
}

async function loadModules(): Promise<readonly ModuleDefinition[]> {
  const { config, lines } = await load(
    'module_files: [m.yaml]\ndefaults: { auth: none, modules: [every_key] }\nrouters: [{ name: r, url: "https://r" }]\n',
    { files: { 'm.yaml': read('every-key.yaml') } },
  );
  expect(lines).toEqual([]);
  return config?.routers[0]?.modules ?? [];
}

/** Polls a router that answers what the file says, and does not have anything else. */
async function poll(name: string) {
  const documents = JSON.parse(read(`${name}.json`)) as Readonly<Record<string, unknown>>;
  const asked: string[] = [];
  const poller = new StatusPoller({
    modules: await loadModules(),
    source: {
      async readDocument(path) {
        asked.push(path);
        if (path in documents) return { body: documents[path], digest: undefined };
        throw new RouterReadError('http', 'not found', { disposition: 'skip', status: 404, isAnswered: true });
      },
    },
    clock: createSteppedClock(0),
    intervalMs: 60_000,
    deadlineMs: 45_000,
    staleAfterMs: 180_000,
    zone: undefined,
  });
  const { resources } = await poller.pollOnce(new AbortController().signal);
  const families = resources.flatMap((resource) => resource.families);
  return { asked, faults: resources.flatMap(({ faults }) => faults), text: renderGolden(families) };
}

test.for(['firmware-5.5', 'firmware-9.10'])(
  'factor, offset, bit, hexadecimal, pattern, join and conditions make of %s exactly the golden text (`-u` writes it)',
  async (name) => {
    const { text, faults } = await poll(name);
    await expect(text).toMatchFileSnapshot(new URL(`${name}.prom`, FOLDER).pathname);
    expect(faults.filter(({ reason }) => reason !== 'unknown_state')).toEqual([]);
  },
);

test('a router is not asked for what it is no router for, and first for what others need', async () => {
  const [old, other] = [await poll('firmware-5.5'), await poll('firmware-9.10')];
  expect(old.asked.slice(0, 3)).toEqual(['device_info', 'board/places', 'board/owners']);
  expect(old.asked).toContain('board/legacy');
  expect(old.asked).not.toContain('board/counters');
  expect(other.asked).toContain('board/counters');
  expect(other.asked).not.toContain('board/legacy');
  expect(new Set(old.asked).size).toBe(old.asked.length);
});
