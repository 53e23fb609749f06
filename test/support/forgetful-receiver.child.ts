import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';

/**
 * A receiver of JSON lines that keeps what it acknowledges in memory for a while before it writes it to its file, as some
 * databases do; at a kill -9 it loses that. Arguments: port, file, how long it keeps records in memory (ms), how long an
 * answer takes (ms). It prints how many different records it holds.
 */
const [port = '', file = '', memoryMs = '', answerMs = ''] = process.argv.slice(2);
const flushed: string[] = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
const uids = new Set(flushed);
let memory: { readonly uid: string; readonly atMs: number }[] = [];

function flush(untilMs: number): void {
  const old = memory.filter(({ atMs }) => atMs <= untilMs);
  memory = memory.filter(({ atMs }) => atMs > untilMs);
  if (old.length > 0) appendFileSync(file, old.map(({ uid }) => `${uid}\n`).join(''));
}

setInterval(() => flush(performance.now() - Number(memoryMs)), 100);
process.on('SIGTERM', () => {
  flush(Number.POSITIVE_INFINITY);
  process.exit(0);
});
createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const atMs = performance.now();
    for (const line of Buffer.concat(chunks).toString().split('\n').filter(Boolean)) {
      const { uid } = JSON.parse(line) as { readonly uid: string };
      uids.add(uid);
      memory.push({ uid, atMs });
    }
    setTimeout(
      () => response.writeHead(204).end(() => process.stdout.write(`holds ${uids.size};\n`)),
      Number(answerMs),
    );
  });
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('listens\n'));
