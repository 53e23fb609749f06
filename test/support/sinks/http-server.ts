import { type JsonLine, readJsonLines } from './json-lines-reader.ts';
import {
  type ArrivedRequest,
  type MisbehavingServer,
  type MisbehavingServerOptions,
  openMisbehavingServer,
  type Reply,
} from './misbehaving-server.ts';

export interface HttpServer extends MisbehavingServer {
  /** What was taken, in order; a request that was there already adds nothing. */
  records(): readonly Readonly<Record<string, unknown>>[];
  /** Requests that were there already. */
  readonly repeats: number;
}

const PATH = '/ingest';

/** A receiver of JSON lines that keeps every rule of docs/log-records.md about them; its url ends in a path. */
export async function openHttpServer(options: MisbehavingServerOptions = {}): Promise<HttpServer> {
  const taken: JsonLine[] = [];
  const bodies = new Map<string, string>();
  let repeats = 0;

  const work = (request: ArrivedRequest, violations: string[]): Reply => {
    const fault = findFault(request);
    if (fault !== undefined) {
      violations.push(fault);
      return { status: 400, body: fault };
    }
    const key = String(request.headers['idempotency-key']);
    const body = request.body.toString('latin1');
    const known = bodies.get(key);
    if (known !== undefined) {
      repeats++;
      if (known !== body) violations.push(`other bytes under the key ${key}`);
      return { status: 200, body: 'already here' };
    }
    let lines: readonly JsonLine[];
    try {
      lines = readJsonLines(request.body);
    } catch (cause) {
      violations.push(String(cause));
      return { status: 400, body: String(cause) };
    }
    if ([...bodies.values()].some((other) => other === body)) violations.push('the same bytes under another key');
    bodies.set(key, body);
    taken.push(...lines);
    return { status: 204 };
  };

  const server = await openMisbehavingServer(work, options);
  return {
    ...server,
    url: `${server.url}${PATH}`,
    records: () => taken.map(({ object }) => object),
    get repeats() {
      return repeats;
    },
  };
}

function findFault({ method, path, headers }: ArrivedRequest): string | undefined {
  if (method !== 'POST') return `${method} instead of POST`;
  if (path !== PATH && !path.startsWith(`${PATH}?`)) return `no such path: ${path}`;
  if (headers['content-type'] !== 'application/x-ndjson') return `content type ${headers['content-type']}`;
  if (!/^[0-9a-f]{64}$/.test(String(headers['idempotency-key']))) return 'no idempotency key of 64 hex digits';
  return undefined;
}
