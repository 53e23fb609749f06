/** A server of bench/scrape-http.ts: renders as the agent does or with prom-client, or sends what it has rendered before. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { openTextStream } from '../src/web/text-stream.ts';
import { fillExposition, fillRegistry } from './scrape-series.ts';

const [routers, kind] = [Number(process.argv[2]), process.argv[3]];
const exposition = fillExposition(kind === 'prom-client' ? 0 : routers);
const registry = fillRegistry(kind === 'prom-client' ? routers : 0);
const ready = { plain: [] as Uint8Array[], gzip: [] as Uint8Array[] };
const server = createServer((request, response) => {
  const isGzip = request.headers['accept-encoding'] === 'gzip';
  if (isGzip) response.setHeader('content-encoding', 'gzip');
  void send(isGzip).then((body) => pipeline(body, response, () => {}));
});

function send(isGzip: boolean): Promise<Readable> {
  if (kind === 'prom-client') return sendTheirs(isGzip);
  return kind === 'ready' ? Promise.resolve(Readable.from(isGzip ? ready.gzip : ready.plain)) : sendOurs(isGzip);
}

async function sendOurs(isGzip: boolean): Promise<Readable> {
  const stream = await openTextStream({
    chunks: exposition.render('text', 0),
    isGzip,
    signal: new AbortController().signal,
    onFailed() {},
    onClosed() {},
  });
  return Readable.from(stream);
}

async function sendTheirs(isGzip: boolean): Promise<Readable> {
  const body = Readable.from([await registry.metrics()]);
  return isGzip ? body.pipe(createGzip({ level: 1 })) : body;
}

if (kind === 'ready') {
  // What remains is the transfer.
  ready.plain = await Array.fromAsync<Uint8Array>(await sendOurs(false));
  ready.gzip = await Array.fromAsync<Uint8Array>(await sendOurs(true));
}

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
