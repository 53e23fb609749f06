import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A server that speaks as much of the protocol of NATS as its clients need, and answers requests as a test wants. */
export interface ScriptedNatsServer extends AsyncDisposable {
  readonly url: string;
  /** Subjects of what was published, in order. */
  readonly published: readonly string[];
}

/** `answer` returns what a request gets, as JSON; `undefined`: no answer, ever. */
export async function openScriptedNatsServer(
  answer: (subject: string, body: string) => object | undefined,
): Promise<ScriptedNatsServer> {
  const published: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    const info = { server_id: 'S', version: '2.15.2', proto: 1, headers: true, max_payload: 1_048_576 };
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    let left = '';
    let inbox = '';
    socket.on('data', (chunk) => {
      left += chunk.toString('latin1');
      for (;;) {
        const head = left.indexOf('\r\n');
        if (head < 0) return;
        const [line = '', ...words] = left.slice(0, head).split(' ');
        const isPublish = line === 'PUB' || line === 'HPUB';
        const bytes = isPublish ? Number(words.at(-1)) + 2 : 0;
        if (left.length < head + 2 + bytes) return;
        const body = left.slice(head + 2, head + bytes);
        left = left.slice(head + 2 + bytes);
        if (line === 'PING') socket.write('PONG\r\n');
        // All answers come to one subscription.
        if (line === 'SUB') inbox = words.at(-1) ?? '';
        if (!isPublish) continue;
        const [subject = '', reply] = words;
        published.push(subject);
        // Behind them come the sizes: of the headers, if there are any, and of all.
        const hasReply = words.length > (line === 'HPUB' ? 3 : 2);
        const text = hasReply ? answer(subject, body) : undefined;
        if (text === undefined) continue;
        const payload = JSON.stringify(text);
        socket.write(`MSG ${reply} ${inbox} ${Buffer.byteLength(payload)}\r\n${payload}\r\n`);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    published,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
