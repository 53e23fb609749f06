import { expect, test } from 'vitest';
import { load } from './configuration-folder.ts';

const list = (count: number, render: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => `- ${render(index)}\n`).join('');
const withoutAccount = (index: number) => `{ name: r${index}, url: "https://10.0.0.1" }`;

test('loadConfig() keeps a thousand faults of the files of routers, and all of those of the main file', async () => {
  const { lines } = await load(
    'router_files: [r.yaml]\nsinks: [{ name: a, type: file, path: x, batch: { record: 1 } }]\n',
    {
      files: { 'r.yaml': list(1500, withoutAccount) },
    },
  );
  const ofRouters = lines.filter((line) => line.startsWith('r.yaml:'));
  expect(ofRouters).toHaveLength(1001);
  expect(ofRouters[0]).toContain('r.yaml:1:3: [0].username: Missing key');
  expect(ofRouters.at(-1)).toMatch(/There are 2000 more faults in this file$/);
  expect(lines.filter((line) => line.includes('batch.record'))).toHaveLength(1);
});

test('loadConfig() keeps a thousand faults of several files of routers together, and names each file', async () => {
  const wrong = (index: number) => `{ name: r${index}, url: "https://10.0.0.1", inteval: 1m }`;
  const { lines } = await load('defaults: { auth: none }\nrouter_files: [a.yaml, b.yaml, c.yaml]\n', {
    files: { 'a.yaml': list(1100, wrong), 'b.yaml': list(20, wrong), 'c.yaml': list(20, withoutAccount) },
  });
  expect(lines.filter((line) => line.includes('Unknown key'))).toHaveLength(1000);
  const others = lines.filter((line) => !line.includes('Unknown key'));
  const place = (line: string) => line.slice(line.lastIndexOf('/') + 1).split(' ')[0];
  expect(others.filter((line) => line.includes('was not checked from here on')).map(place)).toEqual([
    'a.yaml:1001:3:',
    'b.yaml:1:1:',
  ]);
});

test('loadConfig() names a fault of each kind in one file of routers', async () => {
  const { lines } = await load('router_files: [r.yaml]\n', {
    files: {
      'r.yaml': list(2, (index) =>
        index === 0
          ? '{ name: a, url: "https://10.0.0.1", inteval: 1m, username: u, password: p, poll: { interval: never } }'
          : '{ name: b, url: "https://10.0.0.2" }',
      ),
    },
  });
  const messages = lines.join('\n');
  for (const part of ['[0].inteval: Unknown key', '[0].poll.interval: Expected', '[1].username: Missing key']) {
    expect(messages).toContain(part);
  }
});
