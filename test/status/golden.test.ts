import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { RouterReadError } from '../../src/model/index.ts';
import { type DocumentSource, StatusPoller } from '../../src/status/index.ts';
import { withPrograms } from '../support/tools.ts';
import {
  GOLDEN_AT_MS,
  GOLDEN_NAMES,
  GOLDEN_ZONE,
  type GoldenDocuments,
  readGoldenDocuments,
} from './golden-documents.ts';
import { renderGolden } from './golden-text.ts';
import { loadShippedModules } from './shipped-modules.ts';

function fileOf(name: string, kind: 'json' | 'prom'): URL {
  return new URL(`../golden/${name}.${kind}`, import.meta.url);
}

/** Documents in shapes of other firmwares, written by hand: what a simulated router does not answer. */
const OTHER_SHAPES = ['wan-in-a-list', 'wan-in-sublists', 'wan-in-rows'];

/** A router that answers what the file says, and does not have anything else. */
function createSource(documents: GoldenDocuments): DocumentSource {
  return {
    async readDocument(path) {
      if (path in documents) return { body: documents[path], digest: undefined };
      throw new RouterReadError('http', 'not found', { disposition: 'skip', status: 404, isAnswered: true });
    },
  };
}

/** One poll of all shipped modules over the documents of a file. */
async function pollGolden(name: string) {
  const documents = JSON.parse(readFileSync(fileOf(name, 'json'), 'utf8')) as GoldenDocuments;
  const poller = new StatusPoller({
    modules: loadShippedModules(),
    source: createSource(documents),
    clock: createSteppedClock(GOLDEN_AT_MS),
    intervalMs: 60_000,
    deadlineMs: 45_000,
    staleAfterMs: 180_000,
    zone: GOLDEN_ZONE,
  });
  return poller.pollOnce(new AbortController().signal);
}

test('the golden documents are what the simulated routers answer (`npx vitest run test/status/golden.test.ts -u`, twice, writes them and the texts)', async () => {
  const documents = await readGoldenDocuments();
  expect([...documents.keys()].toSorted()).toEqual(GOLDEN_NAMES.toSorted());
  for (const [name, bodies] of documents) {
    await expect(`${JSON.stringify(bodies, null, 2)}\n`).toMatchFileSnapshot(fileOf(name, 'json').pathname);
  }
});

test.for([...GOLDEN_NAMES, ...OTHER_SHAPES])(
  'the documents of %s become exactly the golden text, without a fault',
  async (name) => {
    const { resources } = await pollGolden(name);
    expect(resources.filter(({ isUnread }) => isUnread)).toEqual([]);
    expect(
      resources.flatMap(({ faults, state, error }) => [...faults, ...(state === 'failed' ? [error] : [])]),
    ).toEqual([]);
    const text = renderGolden(resources.flatMap(({ families }) => families));
    await expect(text).toMatchFileSnapshot(fileOf(name, 'prom').pathname);
  },
);

withPrograms(['promtool'], test.for([...GOLDEN_NAMES, ...OTHER_SHAPES]))(
  'promtool has nothing to say about the golden text of %s',
  (name) => {
    const input = readFileSync(fileOf(name, 'prom'), 'utf8');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  },
);
