import type { Device } from './device/device.ts';
import type { Answer } from './faults/fault-injector.ts';
import { API_ROOT } from './rest/answer.ts';
import type { CapturedBodies } from './simulator-options.ts';

const LOGS = '/download/log';
const MISSING = Buffer.from('{"error":[{"resource":"not found"}]}');

/**
 * Answers of routers from memory, so that thousands of routers cost little beyond the wire: every GET is answered with these bodies or
 * the device's logs, without a check of its token. The device answers all other requests.
 */
export class CapturedAnswers {
  readonly #bodies: ReadonlyMap<string, readonly Buffer[]>;
  readonly #device: Device;
  readonly #otherwise: Answer;

  constructor(captured: CapturedBodies, device: Device, otherwise: Answer) {
    const entries = Object.entries(captured);
    this.#bodies = new Map(entries.map(([path, bodies]) => [path, bodies.map((body) => Buffer.from(body))]));
    this.#device = device;
    this.#otherwise = otherwise;
  }

  /** Returns the answers of one router. Each router cycles through the bodies of a resource on its own. */
  open(): Answer {
    const turns = new Map<string, number>();
    const { logs, counters } = this.#device;
    return async (incoming, outgoing) => {
      const { method, url = '' } = incoming;
      if (method !== 'GET') return this.#otherwise(incoming, outgoing);
      const [path = '', query = ''] = url.slice(API_ROOT.length).split('?');
      let [type, route] = ['application/json', path];
      let body: Buffer | undefined;
      if (path === LOGS) {
        const name = new URLSearchParams(query).get('log_file');
        // A file whose compression has failed cannot be read.
        const file = name === null ? undefined : await logs.read(name).catch(() => undefined);
        if (file) type = file.kind === 'plain' ? 'text/plain' : 'application/octet-stream';
        route = name === null ? `${LOGS}?list_files` : `${LOGS}?log_file`;
        body = name === null ? Buffer.from(JSON.stringify({ log_files: logs.list() })) : file?.bytes;
      } else {
        const bodies = this.#bodies.get(path) ?? [];
        const turn = turns.get(path) ?? 0;
        if (bodies.length > 1) turns.set(path, turn + 1);
        body = bodies[turn % bodies.length];
      }
      const status = body ? 200 : 404;
      const { length } = body ?? MISSING;
      counters.addAnswer(`GET ${route}`, status, length);
      outgoing.writeHead(status, { 'Content-Type': type, 'Content-Length': length }).end(body ?? MISSING);
    };
  }
}
