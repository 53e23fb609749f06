import { expect, test } from 'vitest';
import { serve } from './doctor-bench.ts';
import { runCommand } from './run-command.ts';

const ROUTERS = [
  { name: 'plant-10', state: 'up', url: 'https://192.0.2.10', bytesToday: 1024, fault: null },
  { name: 'plant-9', state: 'up', url: 'https://192.0.2.9', bytesToday: 1024, fault: null },
  { name: 'plant-3', state: 'paused', url: 'https://192.0.2.3', bytesToday: 0, fault: null },
  { name: 'plant-8', state: 'up', url: 'https://192.0.2.8', bytesToday: 0, fault: { error: 'no\u001b[31m answer' } },
  { name: 'plant-7', state: 'down', url: 'https://192.0.2.7', bytesToday: 512, failure: { error: 'refused' } },
];

test('fleet lists the worst first, then by the numbers in the names, and ends with sums', async () => {
  const url = await serve((_request, response) => void response.end(JSON.stringify({ routers: ROUTERS })));
  const { code, stdout } = await runCommand(['fleet', '--url', url]);
  const lines = stdout.split('\n');
  expect(code).toBe(0);
  expect(lines.slice(1, 6).map((line) => line.split(' ')[0])).toEqual([
    'plant-7',
    'plant-8',
    'plant-9',
    'plant-10',
    'plant-3',
  ]);
  expect(lines[2]).toMatch(/ no\?\[31m answer$/);
  expect(lines.slice(6)).toEqual(['5 routers, 1 down, 1 degraded, 2 up, 1 paused; 2.5 KiB today', '']);
});

test('fleet is cut to the width of a terminal, and whole elsewhere', async () => {
  const url = await serve((_request, response) => void response.end(JSON.stringify({ routers: ROUTERS })));
  const shown = await runCommand(['fleet', '--url', url], { isShown: true, columns: 30 });
  const piped = await runCommand(['fleet', '--url', url], { columns: 30 });
  expect(shown.stdout.split('\n').map((line) => line.length)).toEqual([30, 30, 30, 30, 30, 30, 30, 0]);
  expect(shown.stdout).toMatch(/^plant-7 .*…$/m);
  expect(piped.stdout).toMatch(/^plant-7 .*refused$/m);
});
