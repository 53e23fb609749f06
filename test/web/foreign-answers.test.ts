import { expect, test } from 'vitest';
import { openBench } from './bench.ts';
import { createContent, OTHER, openPeer, readMain, renderRows } from './peer-bench.ts';

const BYTES_MAX = 64 * 1024 * 1024;

test.for([
  {
    page: '/logs',
    path: '/api/v1/records',
    answer: `{"records":[\n${' '.repeat(BYTES_MAX)}`,
    fault: 'longer than 67108864 bytes',
  },
  { page: '/logs', path: '/api/v1/records', answer: '{"records":[\n{},', fault: 'Its list is truncated' },
  { page: '/logs', path: '/api/v1/records', answer: '{"records":[]}', fault: 'it may run another version' },
  {
    page: '/',
    path: '/api/v1/routers',
    answer: renderRows('routers', ['a'.repeat(2 ** 20)]),
    fault: 'sends 1 row that is left out',
  },
  {
    page: '/',
    path: '/api/v1/routers',
    answer: `{"routers":[\n${'7,\n'.repeat(200_001)}7\n]}`,
    fault: 'more than 200000 rows',
  },
  {
    page: '/',
    path: '/api/v1/routers',
    answer: `{"routers":[\n${'\n'.repeat(BYTES_MAX - 32)}`,
    fault: 'more than 200000 rows',
  },
  { page: '/', path: '/api/v1/routers', answer: '\n'.repeat(BYTES_MAX - 32), fault: 'it may run another version' },
  {
    page: '/sinks',
    path: '/api/v1/process',
    answer: `{"minutes":"${'a'.repeat(2 ** 20)}"}`,
    fault: 'sends 1 row that is left out',
  },
])(
  '$page says of an answer of $path that is too long or of another form: $fault',
  async ({ page, path, answer, fault }) => {
    await using peer = await openPeer((request, response) => {
      response.end(request.url?.startsWith(path) ? answer : '{}');
    });
    await using bench = await openBench(createContent(peer.url));
    expect(await readMain(bench, page)).toContain(fault);
  },
);

test('what a later version adds to an answer is passed over', async () => {
  const rows = renderRows('letters', [], { hasMore: false, counts: {}, later: [1], fault: null });
  await using peer = await openPeer((_request, response) => void response.end(rows));
  await using bench = await openBench(createContent(peer.url, { others: new Map([[OTHER.name, OTHER]]) }));
  expect(await readMain(bench, '/dead-letters')).not.toMatch(/does not answer|left out/);
});

test('rows that are long texts or lists are left out at little cost', async () => {
  const row = 'a'.repeat(1_000_000);
  const rows = renderRows('routers', [...Array.from({ length: 20 }, () => row), row.split('')]);
  await using peer = await openPeer((request, response) => {
    response.end(request.url?.startsWith('/api/v1/routers') ? rows : '{}');
  });
  await using bench = await openBench(createContent(peer.url));
  const before = process.cpuUsage();
  expect(await readMain(bench, '/')).toContain('sends 21 rows that are left out');
  // Each text as an object of its characters would take a quarter of a second.
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(3);
});
