import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { createConnector, createOneConnectionClient } from '../../src/net/index.ts';

const BODY = '{"a":1}';
const OK = 'HTTP/1.1 200 OK\r\n';
const INTERIM = 'HTTP/1.1 100 Continue\r\n\r\n';

/** Asks a server twice that answers with these bytes, whole or one by one; returns status and body, or the message of the error. */
async function askTwice(answer: string, isSplit: boolean): Promise<readonly string[]> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => {
      const bytes = Buffer.from(answer, 'latin1');
      if (!isSplit) socket.write(bytes);
      else for (const byte of bytes) socket.write(Buffer.of(byte));
      if (/^Connection: close/m.test(answer)) socket.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = createOneConnectionClient(`http://127.0.0.1:${port}`, {
    keepAliveMs: 10_000,
    connect: createConnector(createSystemClock()),
  });
  const ask = async () => {
    const { statusCode, body } = await client.request({ path: '/', method: 'GET' });
    return `${statusCode} ${await body.text()}`;
  };
  const toMessage = (cause: unknown) => (cause instanceof Error ? cause.message : '');
  try {
    return [await ask().catch(toMessage), await ask().catch(toMessage)];
  } finally {
    await client.destroy();
    server.close();
    for (const socket of open) socket.destroy();
  }
}

test.for([
  ['no more than it needs', `${OK}Content-Length: 7\r\n\r\n${BODY}`],
  ['blanks behind the length', `${OK}Content-Length: 7   \r\n\r\n${BODY}`],
  ['many blanks around the length', `${OK}content-length:      7      \r\nX: 1\r\n\r\n${BODY}`],
  ['an interim answer', `${INTERIM}${OK}Content-Length: 7\r\n\r\n${BODY}`],
  [
    'interim answers with headers',
    `HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n${INTERIM}${OK}Content-Length: 7 \r\n\r\n${BODY}`,
  ],
  ['as many interim answers as there may be', `${INTERIM.repeat(16)}${OK}Content-Length: 7\r\n\r\n${BODY}`],
  ['a header in two lines', `${OK}X: a\r\n b\r\nContent-Length: 7\r\n\r\n${BODY}`],
  ['lines without carriage returns', `HTTP/1.1 200 OK\nContent-Length: 7\n\n${BODY}`],
  ['blanks behind the size of a chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n7  \r\n${BODY}\r\n0\r\n\r\n`],
  [
    'a quoted ";" in the extension of a chunk',
    `${OK}Transfer-Encoding: chunked\r\n\r\n7;a="b;c"\r\n${BODY}\r\n0\r\n\r\n`,
  ],
  ['the end of the connection', `${OK}Connection: close\r\n\r\n${BODY}`],
] as const)('an answer with %s is read, as is the one after it', async ([, answer]) => {
  expect(await askTwice(answer, false)).toEqual([`200 ${BODY}`, `200 ${BODY}`]);
  expect(await askTwice(answer, true)).toEqual([`200 ${BODY}`, `200 ${BODY}`]);
});

test.for([
  ['two lengths', `${OK}Content-Length: 7\r\nContent-Length: 7\r\n\r\n${BODY}`, 'Duplicate Content-Length'],
  ['a blank within its length', `${OK}Content-Length: 1 7\r\n\r\n${BODY}`, 'Invalid character in Content-Length'],
  [
    'a length and chunks',
    `${OK}Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n`,
    "Transfer-Encoding can't be present with Content-Length",
  ],
  [
    'fewer bytes than its length',
    `${OK}Content-Length: 30\r\nConnection: close\r\n\r\n${BODY}`,
    'The answer ended behind 7 of the 30 bytes that its Content-Length announces',
  ],
  [
    'a blank behind the name of its length',
    `HTTP/1.1 304 Not Modified\r\nContent-Length : 41\r\n\r\n${OK}Content-Length: 4\r\n\r\nEVIL`,
    'A blank behind the name of the header Content-Length',
  ],
  [
    'a coding besides chunks',
    `${OK}Transfer-Encoding: gzip, Chunked\r\n\r\n7\r\n${BODY}\r\n0\r\n\r\n`,
    'Transfer-Encoding "gzip, Chunked", of which only "chunked" is known here',
  ],
  [
    'a coding besides chunks in a header of its own',
    `${OK}transfer-encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n${BODY}\r\n0\r\n\r\n`,
    'Transfer-Encoding "deflate", of which only "chunked" is known here',
  ],
  ['interim answers without end', INTERIM.repeat(100), 'More than 16 interim answers (status 100)'],
] as const)('an answer with %s is refused, and the header is named', async ([, answer, named]) => {
  for (const isSplit of [false, true]) {
    for (const message of await askTwice(answer, isSplit)) expect(message).toContain(named);
  }
});
