import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { DeliveryError, type DeliveryEvent, DeliveryWorker } from '../../src/sinks/index.ts';
import { MemoryDeadLetters, MemorySpool } from '../support/memory-spool.ts';
import { createTestSink } from '../support/sinks/create-sink.ts';
import { Choices, countCases, describeCases, limitMs } from './random-cases.ts';

const SHARE = 0.005;
const RECORDS = 40;
const BATCH = 8;
/** Hostile answers of one life; then the receiver is friendly. */
const HOSTILE_ANSWERS = 30;
/** A step is one request; so many are far more than it takes to deliver everything to a friendly receiver. */
const STEPS_MAX = 400;
const never = new AbortController().signal;

const SINKS = [
  ['http', { compress: 'none' }],
  ['loki', { max_age: 0 }],
  ['otlp', { compress: 'none' }],
  ['elasticsearch', { compress: 'none' }],
] as const;

/** A receiver that takes records or does anything else, and records what it has acknowledged to the sink. */
class Receiver implements AsyncDisposable {
  readonly taken = new Set<string>();
  requests = 0;
  isFriendly = false;
  readonly #kind: string;
  readonly #choices: Choices;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor(kind: string, choices: Choices) {
    this.#kind = kind;
    this.#choices = choices;
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close().closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    const names = body.toString('latin1').match(/record-\d+-end/g) ?? [];
    const uids = [...new Set(names)];
    response.on('error', () => {});
    // A question about the receiver, without records.
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"version":{"number":"9.0.0"}}');
      return;
    }
    this.requests++;
    const take = () => uids.forEach((uid) => void this.taken.add(uid));
    if (this.isFriendly || this.#choices.once(4)) {
      take();
      this.#accept(response, uids);
      return;
    }
    this.#misbehave(response, uids, take);
  }

  #accept(response: ServerResponse, uids: readonly string[]): void {
    if (this.#kind === 'loki') response.writeHead(204).end();
    else {
      const items = uids.map(() => ({ create: { status: 201 } }));
      const body = this.#kind === 'elasticsearch' ? { errors: false, items } : {};
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }
  }

  #misbehave(response: ServerResponse, uids: readonly string[], take: () => void): void {
    const choices = this.#choices;
    const kind = choices.below(7);
    if (kind === 0) response.socket?.destroy();
    else if (kind === 1) response.socket?.end(choices.bytes(choices.below(60)));
    else if (kind === 2)
      response.writeHead(200, { 'content-length': 1000 }).write('{"half":', () => response.socket?.destroySoon());
    else if (kind === 3) {
      const status = 200 + choices.below(400);
      // An answer of success is the receiver's word, also if it names a number of others that it dropped; Elasticsearch judges records one by one.
      const text = this.#createText();
      const isTaken = status < 300 && this.#kind !== 'elasticsearch';
      if (isTaken) take();
      response
        .writeHead(status, { 'content-type': choices.of(['application/json', 'text/html', 'x']) })
        .end(hasBody(status) ? text : undefined);
    } else if (kind === 4)
      response.writeHead(choices.of([429, 503]), { 'retry-after': choices.of(['0', '-1', 'x', '1e9', '']) }).end();
    else if (kind === 5) response.writeHead(choices.of([400, 413, 422])).end(this.#createText());
    else if (this.#kind === 'elasticsearch') this.#judge(response, uids);
    else response.writeHead(choices.of([500, 502, 504])).end(this.#createText());
  }

  /** A status for each record; now and then for another number of them. */
  #judge(response: ServerResponse, uids: readonly string[]): void {
    const choices = this.#choices;
    const judged = choices.once(4) ? uids.slice(choices.below(uids.length + 1)) : uids;
    const isComplete = judged.length === uids.length;
    const statuses = judged.map(() => choices.of([200, 201, 201, 409, 400, 429, 500, 503]));
    const items = statuses.map((status) => ({
      create: status < 300 ? { status } : { status, error: { type: 'some_exception', reason: 'because' } },
    }));
    const errors = choices.once(10) ? false : statuses.some((status) => status >= 300);
    // 409: it has the record already. Without errors, and complete, it says that it has all of them.
    for (const [index, uid] of judged.entries()) {
      const status = statuses[index] ?? 0;
      if (isComplete && (status < 300 || status === 409 || !errors)) this.taken.add(uid);
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ errors, items }));
  }

  #createText(): string {
    const choices = this.#choices;
    return choices.of([
      '',
      'no',
      '{',
      '{}',
      '[]',
      'null',
      '{"errors":true}',
      '{"errors":false,"items":[]}',
      '{"errors":"no","items":{}}',
      '{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"x"}}',
      '{"partialSuccess":{"rejectedLogRecords":-1}}',
      '{"error":{"type":"x","reason":"y"},"status":400}',
      'entry too far behind',
      'x'.repeat(100_000),
      '\u0000',
    ]);
  }
}

function hasBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

test.for(SINKS)(
  `whatever a receiver answers, each record is taken or a dead letter that is counted: %s, ${describeCases(SHARE)}`,
  { timeout: limitMs(SHARE, 200) },
  async ([kind, keys]) => {
    const clock = createSystemClock();
    let requests = 0;
    // One life of a receiver has some tens of answers.
    for (let life = 0; requests < countCases(SHARE); life++) {
      const choices = new Choices(`sinks/${kind}`, life);
      await using receiver = new Receiver(kind, choices);
      const url = await receiver.open();
      const [spool, deadLetters] = [new MemorySpool(), new MemoryDeadLetters()];
      const events: DeliveryEvent[] = [];
      const batch = { recordsMax: BATCH, bytesMax: 1 << 20, waitMs: 0 };
      const sink = createTestSink(kind, { url, ...keys }, { batch, timeout: 5000, clock });
      const worker = new DeliveryWorker({
        sink,
        spool,
        deadLetters,
        clock,
        isWanted: () => true,
        report: (event) => void events.push(event),
      });
      const uids = Array.from({ length: RECORDS }, (_, index) => `record-${index}-end`);
      spool.add(uids);
      let steps = 0;
      for (; steps < STEPS_MAX && (spool.cursors.get('sink') ?? 0) < RECORDS; steps++) {
        receiver.isFriendly = receiver.requests >= HOSTILE_ANSWERS;
        await worker.step(never).catch((cause: unknown) => {
          if (!(cause instanceof DeliveryError)) throw cause;
        });
      }
      await sink.close();
      const about = `${kind}, life ${life}`;
      expect(spool.cursors.get('sink'), `${about} comes to its end`).toBe(RECORDS);
      const dead = new Set(deadLetters.deadLetters.map(({ uid }) => uid));
      expect(
        uids.filter((uid) => !receiver.taken.has(uid) && !dead.has(uid)),
        about,
      ).toEqual([]);
      const refused = events
        .flatMap((event) => (event.type === 'records-refused' ? event.records : []))
        .reduce((sum, count) => sum + count, 0);
      expect(refused, about).toBe(deadLetters.deadLetters.length);
      requests += receiver.requests;
    }
  },
);
