import type { ServerResponse } from 'node:http';
import type { RouterClock } from '../device/router-clock.ts';
import { Rejection } from '../rest/rejection.ts';
import type { ActiveFault, FaultName } from './router-faults.ts';

/** A complete answer to a client. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const LOGIN_PAGE = `<!DOCTYPE html>
<html><head><title>Login</title></head><body><form action="/login"><input name="user"></form></body></html>
`;
const CHUNK_BYTES = 64 * 1024;

/** Faults that answer without involving the router. */
const CANNED: Partial<Record<FaultName, (fault: ActiveFault, clock: RouterClock) => RawAnswer>> = {
  http_429: (fault, clock) =>
    refusal(Rejection.of(429, 'description', 'too many requests'), renderRetryAfter(fault, clock)),
  http_500: () => refusal(Rejection.of(500, 'config', 'could not be stored')),
  http_503: (fault, clock) =>
    refusal(Rejection.of(503, 'description', 'locked by another request'), renderRetryAfter(fault, clock)),
  unauthorized: () => refusal(Rejection.of(401, 'authentication', 'missing, expired or invalid token')),
  forbidden: () => refusal(Rejection.of(403, 'authorization', 'insufficient rights')),
  garbage_json: () => ({
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from('{"status": {"list": [{"board_type": "M3C'),
  }),
  html_200: () => ({ status: 200, headers: { 'Content-Type': 'text/html' }, body: Buffer.from(LOGIN_PAGE) }),
};

/** Returns the answer given by a fault instead of the router's; `undefined` if no fault answers. */
export function findCannedAnswer(
  faults: ReadonlyMap<FaultName, ActiveFault>,
  clock: RouterClock,
): RawAnswer | undefined {
  for (const fault of faults.values()) {
    const answer = CANNED[fault.name]?.(fault, clock);
    if (answer) return answer;
  }
  return undefined;
}

/** Sends an answer as it is. */
export function sendAnswer(outgoing: ServerResponse, { status, headers, body }: RawAnswer): void {
  outgoing.writeHead(status, { ...headers, 'Content-Length': String(body.length) });
  outgoing.end(body);
}

/** Sends a JSON text of `bytes` bytes without stating its length, as fast as the client reads. */
export function sendHugeBody(outgoing: ServerResponse, bytes: number): void {
  outgoing.writeHead(200, { 'Content-Type': 'application/json' });
  const chunk = Buffer.alloc(CHUNK_BYTES, 'a');
  let left = bytes;
  const pump = () => {
    while (left > 0 && !outgoing.destroyed) {
      const part = chunk.subarray(0, Math.min(left, chunk.length));
      left -= part.length;
      if (!outgoing.write(part)) {
        outgoing.once('drain', pump);
        return;
      }
    }
    outgoing.end('"}}');
  };
  outgoing.write('{"status":{"list":"');
  pump();
}

function refusal(fault: Rejection, headers: Readonly<Record<string, string>> = {}): RawAnswer {
  return {
    status: fault.status,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: Buffer.from(JSON.stringify(fault.toBody())),
  };
}

function renderRetryAfter({ retryAfterSeconds, isRetryAfterDate }: ActiveFault, clock: RouterClock) {
  return { 'Retry-After': isRetryAfterDate ? clock.httpDate(retryAfterSeconds * 1000) : String(retryAfterSeconds) };
}
