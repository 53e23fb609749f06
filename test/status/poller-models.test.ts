import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ModuleDefinition } from '../../src/status/index.ts';
import { loadShippedModules, ModelMemory, SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';
import { type Bench, body, createModule, NOT_FOUND, openBench, type Script } from './poller-bench.ts';

const SIGNAL = new AbortController().signal;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const GOLDEN_FOLDER = join(import.meta.dirname, '../golden');
const MODELS = readdirSync(GOLDEN_FOLDER).filter((file) => /^(mrx|mro|miro|ecr).*\.json$/.test(file));

const WHO = createModule('who', ['device_info'], { identity: true, min_interval: '15m' });
const CARDS = createModule('cards', ['lte2', 'lte3', 'io2', 'io3']);

/** Of a compact device: whatever cards it has, it lists one board. */
function identify(serial: string, firmware = '9.5'): object {
  const main = { board_type: 'RMINI', firmware_version: firmware, serial_number: serial };
  return { status: { unique: { device_type: 'MRO-L200', v: 1 }, list: [main] } };
}

function openRouter(models: ModelMemory, serial: string, cards: readonly string[], firmware?: string): Bench {
  const script: Script = { device_info: identify(serial, firmware) };
  for (const card of cards) script[card] = body();
  return openBench([WHO, CARDS], script, { models });
}

/** Polls once an hour; returns what was asked, by hour. */
async function pollHourly(bench: Bench, hours: number): Promise<readonly (readonly string[])[]> {
  const turns: (readonly string[])[] = [];
  for (let hour = 1; hour <= hours; hour++) turns.push(await bench.turn(hour * HOUR));
  return turns;
}

test('a router is not asked at once for what another one of its model lacks, but for each such resource once within the first day', async () => {
  const models = new ModelMemory();
  await openRouter(models, 'SN-1', ['lte2']).turn(0);
  const second = openRouter(models, 'SN-2', ['lte2']);
  expect(await second.turn(0)).toEqual(['device_info', 'lte2']);
  const asked = (await pollHourly(second, 23)).flat().filter((path) => path !== 'device_info' && path !== 'lte2');
  expect(asked.toSorted()).toEqual(['io2', 'io3', 'lte3']);
  expect(await second.turn(24 * HOUR)).toEqual(['device_info', 'lte2']);
});

test('a resource that a router has, although its model was found to lack it, is found within a day, and then on every router', async () => {
  const models = new ModelMemory();
  const first = openRouter(models, 'SN-1', ['lte2']);
  await first.turn(0);
  const [second, third] = [openRouter(models, 'SN-2', ['lte2', 'io3']), openRouter(models, 'SN-3', ['lte2', 'io3'])];
  await second.turn(0);
  await third.turn(0);
  await pollHourly(second, 23);
  expect(await second.turn(24 * HOUR)).toContain('io3');
  expect(await third.turn(MINUTE)).toEqual(['lte2', 'io3']);
  // What it lacks itself is no guess.
  expect(await first.turn(MINUTE)).toEqual(['lte2']);
});

test('a router that lacks what others of its model have is another one: nothing is guessed of it', async () => {
  const models = new ModelMemory();
  await openRouter(models, 'SN-1', ['lte2']).turn(0);
  const shifted = openRouter(models, 'SN-2', ['lte3']);
  expect(await shifted.turn(0)).toEqual(['device_info', 'lte2', 'lte3', 'io2', 'io3']);
});

test('routers of another firmware, or without a product, are asked for everything', async () => {
  const models = new ModelMemory();
  await openRouter(models, 'SN-1', ['lte2']).turn(0);
  expect(await openRouter(models, 'SN-2', ['lte2'], '6.1').turn(0)).toHaveLength(5);
  const nameless = { status: { unique: { v: 1 }, list: [{ firmware_version: '9.5' }] } };
  for (let count = 0; count < 2; count++) {
    expect(await openBench([WHO, CARDS], { device_info: nameless, lte2: body() }, { models }).turn(0)).toHaveLength(5);
  }
});

test('after a change of firmware a router is asked again, but for what others of the new firmware lack only within a day', async () => {
  const models = new ModelMemory();
  const first = openRouter(models, 'SN-1', ['lte2']);
  await first.turn(0);
  await openRouter(models, 'SN-2', ['lte2', 'io3'], '9.6').turn(0);
  first.script['device_info'] = identify('SN-1', '9.6');
  first.script['io3'] = body();
  expect(await first.turn(15 * MINUTE)).toEqual(['device_info', 'lte2', 'io3']);
  const later = (await pollHourly(first, 25)).flat();
  expect(later).toEqual(expect.arrayContaining(['lte3', 'io2']));
});

test('a device that replaces another of its model is asked for everything at once, also after a restart', async () => {
  const models = new ModelMemory();
  const first = openRouter(models, 'SN-1', ['lte2']);
  await first.turn(0);
  await first.turn(MINUTE);
  const previous = first.poller.takeState();
  first.script['device_info'] = identify('SN-2');
  first.script['io3'] = body();
  first.poller.renewIdentity();
  expect(await first.turn(2 * MINUTE)).toEqual(['device_info', 'lte2', 'lte3', 'io2', 'io3']);
  expect(await first.turn(3 * MINUTE)).toEqual(['lte2', 'io3']);

  const others = new ModelMemory();
  await openRouter(others, 'SN-3', ['lte2']).turn(0);
  const again = openBench([WHO, CARDS], first.script, { models: others, previous });
  expect(await again.turn(0)).toEqual(['device_info', 'lte2', 'lte3', 'io2', 'io3']);
});

test('a guess is kept over a restart no longer than its day', async () => {
  const models = new ModelMemory();
  await openRouter(models, 'SN-1', ['lte2']).turn(0);
  const second = openRouter(models, 'SN-2', ['lte2']);
  await second.turn(0);
  const previous = second.poller.takeState();
  const again = openBench([WHO, CARDS], { ...second.script, io2: body() }, { previous });
  expect(await again.turn(0)).toEqual(['device_info', 'lte2']);
  expect((await pollHourly(again, 23)).flat()).toEqual(expect.arrayContaining(['lte3', 'io2', 'io3']));
});

async function loadModules(): Promise<readonly ModuleDefinition[]> {
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  if (!shipped.ok) throw new RangeError('The shipped modules have faults');
  return shipped.modules.filter(({ isDefault }) => isDefault).map(({ definition }) => definition);
}

const shippedModules = loadModules();

/** A router that answers as a golden file says, and the families that it was found to have. */
async function openGolden(documents: Script, models: ModelMemory, serial: string) {
  const info = structuredClone(documents['device_info']) as { status: { list: { serial_number: string }[] } };
  const [main] = info.status.list;
  if (main) main.serial_number = serial;
  const bench = openBench(await shippedModules, { ...documents, device_info: info }, { models });
  const families = new Set<string>();
  return {
    families,
    async poll(atMs: number): Promise<number> {
      await bench.clock.advance(atMs - bench.clock.monotonic());
      bench.asked.length = 0;
      const { resources } = await bench.poller.pollOnce(SIGNAL);
      for (const { name } of resources.flatMap((resource) => resource.families)) families.add(name);
      return bench.asked.length;
    },
  };
}

function readGolden(file: string): Script {
  return JSON.parse(readFileSync(join(GOLDEN_FOLDER, file), 'utf8')) as Script;
}

test.for(MODELS)('%s: the second router of the model costs few requests, and no family is missing', async (file) => {
  const models = new ModelMemory();
  const documents = readGolden(file);
  const first = await openGolden(documents, models, '1');
  const second = await openGolden(documents, models, '2');
  const all = await first.poll(0);
  expect(await second.poll(0)).toBeLessThan(all / 2);
  expect(second.families).toEqual(first.families);
});

test('a router with an empty slot, which its boards do not show, has every family with its second poll', async () => {
  const models = new ModelMemory();
  const documents = readGolden('mrx3-9.5.json');
  const first = await openGolden(documents, models, '1');
  await first.poll(0);
  // The card of slot 3 is in slot 4.
  const shifted = { ...documents, ethernet3: NOT_FOUND, ethernet4: documents['ethernet3'] };
  const second = await openGolden(shifted, models, '2');
  await second.poll(0);
  await second.poll(MINUTE);
  expect(second.families).toEqual(first.families);
});

test('ModelMemory keeps that some router has a resource, whatever others lack', () => {
  const models = new ModelMemory();
  models.learn('m', 'lte2', true);
  expect(models.find('m', 'lte2')).toBe('none');
  models.learn('m', 'lte2', false);
  models.learn('m', 'lte2', true);
  expect([models.find('m', 'lte2'), models.find('n', 'lte2'), models.find('m', 'lte3')]).toEqual([
    'some',
    undefined,
    undefined,
  ]);
});
