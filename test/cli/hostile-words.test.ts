import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

/** A title for the window, an erased screen in both forms, a deleted character, a line that overwrites another. */
const WORDS = 'x\u001b]0;owned\u0007\u001b[2J\u009b2J\u007f\u0090\rok';
/** What the commands themselves send to a terminal: colours, and an erased line of progress. */
const OWN = /\p{Cc}\[\d+m|\r\p{Cc}\[2K/gu;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function openServer(answer: Answer) {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const sendJson = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));

/** Answers of a router in which every name and text are such words. */
const ROUTERS: readonly (readonly [string, Answer])[] = [
  [
    'values',
    ({ url = '' }, response) => {
      const row = { [WORDS]: WORDS, name: WORDS, firmware: WORDS, group: WORDS, date: WORDS, board_type: WORDS };
      if (url.includes('/download/')) response.end(`2026-11-21 12:00:00 [${WORDS}] ${WORDS}\n${WORDS}\n`);
      else if (url.includes('log')) sendJson(response, 200, { status: { list: ['wan/current', `${WORDS}/current`] } });
      else sendJson(response, 200, { status: { list: [row, WORDS], unique: row }, [WORDS]: row });
    },
  ],
  ['errors', (_, response) => sendJson(response, 400, { error: [{ [WORDS]: WORDS }, WORDS] })],
  ['text', (_, response) => response.writeHead(500).end(WORDS)],
  ['a header', (_, response) => response.writeHead(302, { Location: `/${encodeURI(WORDS)}` }).end(WORDS)],
  ['no HTTP', (_, response) => response.socket?.end(`HTTP/1.1 ${WORDS}\r\n${WORDS}: ${WORDS}\r\n\r\n`)],
];

const COMMANDS = [
  ['status', 'plant-7', 'device_info', 'lte2'],
  ['status', 'plant-7', '--metrics'],
  ['logs', 'list', 'plant-7'],
  ['logs', 'fetch', 'plant-7', 'wan/current'],
  ['logs', 'fetch', 'plant-7', `${WORDS}/current`],
  ['doctor', 'plant-7'],
  ['discover', 'plant-7'],
  ['bundle', 'plant-7', '--logs'],
  ['profiles', 'list', 'plant-7'],
  ['api', 'GET', '/status/device_info', 'plant-7'],
] as const;

describe.for(ROUTERS)('a router that answers with control characters in %s', ([, answer]) => {
  test.for(COMMANDS)('%s %s has no power over the terminal', async (args) => {
    await using server = await openServer(answer);
    await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-'));
    const file = join(folder.path, 'router-exporter.yaml');
    const router = {
      name: 'plant-7',
      url: server.url,
      auth: 'none',
      poll: { interval: '5s', timeout: '1s', deadline: '5s' },
    };
    await writeFile(file, JSON.stringify({ routers: [router] }));
    const { stdout, stderr } = await runCommand([...args, '--config.file', file], { isShown: true, isTerminal: true });
    expect(`${stdout}${stderr}`).not.toBe('');
    expect(`${stdout}${stderr}`.replaceAll(OWN, '')).not.toMatch(/[^\P{Cc}\n\t]/u);
  });
});

test.for<readonly [string, Answer]>([
  [
    'routers',
    (_, response) =>
      sendJson(response, 200, {
        routers: [{ name: WORDS, state: WORDS, url: WORDS, device: { operator: WORDS }, failure: { error: WORDS } }],
      }),
  ],
  ['a refusal', (_, response) => response.writeHead(403).end(WORDS)],
  ['a failure', (_, response) => response.writeHead(500).end(`${WORDS}\n${WORDS}`)],
  ['a plan', (_, response) => response.end(`${WORDS}\n${WORDS}`)],
])('an agent that answers with %s has no power over the terminal', async ([, answer]) => {
  await using server = await openServer(answer);
  const commands = [['fleet'], ['fleet', '--json'], ['check', '--diff'], ['check', '--diff', '--json']];
  for (const command of commands) {
    const { stdout, stderr } = await runCommand([...command, '--url', server.url], { isShown: true, isTerminal: true });
    expect(`${stdout}${stderr}`).not.toBe('');
    expect(`${stdout}${stderr}`.replaceAll(OWN, '')).not.toMatch(/[^\P{Cc}\n\t]/u);
  }
});

test('a table for import has no power over the terminal', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-'));
  const file = join(folder.path, 'routers.csv');
  for (const text of [
    `name,${WORDS.replace('\r', '')},url\n`,
    `name,url,"${WORDS}","${WORDS}"\n`,
    `name,url,label:site\n"${WORDS}","${WORDS}","${WORDS}"\n`,
    `name,url,groups\nplant-7,https://192.0.2.1,"${WORDS}"\n`,
    `name,url\nplant-7,https://192.0.2.1\n"plant-7",https://192.0.2.1\n`,
  ]) {
    await writeFile(file, text);
    const { code, stdout, stderr } = await runCommand(['import', '--csv', file], { isShown: true, isTerminal: true });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).not.toMatch(/[^\P{Cc}\n\t]/u);
  }
});
