import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { createSeededRandom } from '../../src/base/index.ts';
import { RouterError } from '../../src/client/index.ts';
import { createCertificateAuthority } from '../../src/simulator/tls.ts';
import { advanceUntilSettled, cut, never, ok, readAll, refuse, thrownBy } from './client-calls.ts';
import { type Handler, inSequence, openRouter, REQUEST_TIMEOUT_MS } from './http-router.ts';

describe('downloads', () => {
  const NAME = 'network/log-2026-11-21-08:35:58.bz2';

  test('RouterClient.readLog() asks for the file by its name, encoded, and hands over its bytes', async () => {
    await using bench = await openRouter((_request, response) => {
      response.write('first ');
      response.end('second');
    });
    expect(await bench.client.readLog(NAME, never, readAll)).toBe('first second');
    expect(bench.lines().at(-1)).toBe('GET /download/log?log_file=network%2Flog-2026-11-21-08%3A35%3A58.bz2');
  });

  test('RouterClient.readLog() hands over each piece of a file when it may, and not before', async () => {
    const waits: (() => void)[] = [];
    const beforePiece = () => new Promise<void>((resolve) => void waits.push(resolve));
    await using bench = await openRouter((_request, response) => response.end('whole'), { beforePiece });
    const pieces: string[] = [];
    const reading = bench.client.readLog(NAME, never, async (body) => {
      for await (const piece of body) pieces.push(Buffer.from(piece).toString());
      pieces.push('end');
    });
    await vi.waitFor(() => expect(waits).toHaveLength(1));
    expect(pieces).toEqual([]);
    waits.shift()?.();
    await vi.waitFor(() => expect(waits).toHaveLength(1));
    expect(pieces).toEqual(['whole']);
    waits.shift()?.();
    await reading;
    expect(pieces).toEqual(['whole', 'end']);
  });

  test.each([
    ['"caf\xE9"', '"caf\xE9"'],
    ['"a\u0001b"', undefined],
    ['"a\u0000b"', undefined],
  ])('RouterClient.readLog() tells an entity tag that can be sent back, and no other: %j', async (sent, told) => {
    await using bench = await openRouter((request) => {
      request.socket.write(Buffer.from(`HTTP/1.1 200 OK\r\nETag: ${sent}\r\nContent-Length: 2\r\n\r\nok`, 'latin1'));
    });
    let known: string | undefined;
    for (let look = 0; look < 2; look++) {
      await bench.client.readLog(
        NAME,
        never,
        async (body, _start, { etag }) => {
          known = etag;
          return readAll(body);
        },
        { unlessEtag: known },
      );
    }
    expect(known).toBe(told);
  });

  test.each([
    [404, { code: 'http', disposition: 'skip', isAnswered: true }],
    [403, { code: 'auth', disposition: 'operator', isAnswered: true }],
    [500, { code: 'http', disposition: 'retry', isAnswered: true }],
  ])('RouterClient.readLog() hands over nothing and throws when it is answered with %d', async (status, expected) => {
    await using bench = await openRouter(refuse(status));
    const consume = vi.fn(readAll);
    expect(await thrownBy(bench.client.readLog(NAME, never, consume))).toMatchObject({ ...expected, status });
    expect(consume).not.toHaveBeenCalled();
  });

  test('RouterClient.readLog() logs in and asks again when it is answered with 401', async () => {
    await using bench = await openRouter(inSequence(refuse(401), (_request, response) => response.end('log')));
    const consume = vi.fn(readAll);
    expect(await bench.client.readLog(NAME, never, consume)).toBe('log');
    expect(consume).toHaveBeenCalledTimes(1);
  });

  test('RouterClient.readLog() does not repeat a download that broke off, and what came before stays', async () => {
    await using bench = await openRouter((request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('first part', () => request.socket.destroy());
    });
    let text = '';
    const consume = vi.fn(async (body: AsyncIterable<Uint8Array>) => {
      for await (const chunk of body) text += Buffer.from(chunk).toString('utf8');
    });
    const error = await thrownBy(bench.client.readLog(NAME, never, consume));
    expect(error).toMatchObject({ code: 'connect', disposition: 'retry', isAnswered: false });
    expect(text).toBe('first part');
    expect(consume).toHaveBeenCalledTimes(1);
    expect(bench.lines().filter((line) => line.startsWith('GET'))).toHaveLength(1);
  });

  test.each(['http', 'https'])(
    'RouterClient.downloadProfile() over %s takes a reset for no end of a body that ends with its connection',
    async (scheme) => {
      const authority = await createCertificateAuthority('test authority', createSeededRandom(7));
      const until: Handler = (request) => {
        request.socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of it');
      };
      await using bench = await openRouter(until, {
        ...(scheme === 'https' && { certificate: authority.issue(['127.0.0.1']) }),
        tls: { caPem: authority.caPem },
      });
      const connected = once(bench.server, 'connection') as Promise<[Socket]>;
      const received: string[] = [];
      const download = bench.client.downloadProfile('Profile', {}, async (body) => {
        for await (const piece of body) {
          received.push(Buffer.from(piece).toString());
          const [socket] = await connected;
          socket.resetAndDestroy();
        }
      });
      const error = await thrownBy(download);
      expect(received).toEqual(['half of it']);
      expect(error).toMatchObject({ code: 'connect', message: 'GET /download/profiles lost its connection' });
    },
  );

  test('RouterClient.readLog() repeats a download once whose connection was stale before any byte came', async () => {
    await using bench = await openRouter(inSequence(ok, cut, (_request, response) => response.end('log')));
    await bench.client.readProfiles(never);
    expect(await bench.client.readLog(NAME, never, readAll)).toBe('log');
  });

  test('RouterClient.readLog() throws timeout when the next bytes do not come', async () => {
    await using bench = await openRouter((_request, response) => response.write('first part'));
    let text = '';
    const received = Promise.withResolvers<void>();
    const reading = bench.client.readLog(NAME, never, async (body) => {
      for await (const chunk of body) {
        text += Buffer.from(chunk).toString('utf8');
        received.resolve();
      }
    });
    const error = await advanceUntilSettled(bench, thrownBy(reading), received.promise);
    expect(error).toMatchObject({ code: 'timeout', isAnswered: false });
    expect(text).toBe('first part');
  });

  test('RouterClient.readLog() counts each piece when it comes, and ends behind the one that was too many', async () => {
    const next: (() => void)[] = [];
    const budget = new RouterError('budget', 'used up', { disposition: 'retry' });
    let pieces = 0;
    await using bench = await openRouter(
      (_, response) => {
        next.push(() => response.write('y'.repeat(1000)));
        response.write('x'.repeat(1000));
      },
      { onBody: () => (++pieces < 2 ? undefined : budget) },
    );
    const seen: number[] = [];
    const reading = bench.client.readLog('network/current', never, async (body) => {
      for await (const piece of body) {
        seen.push(piece.length, pieces);
        next[0]?.();
      }
    });
    await expect(reading).rejects.toBe(budget);
    expect(seen).toEqual([1000, 1, 1000, 2]);
  });

  test('RouterClient.readLog() ends `current` behind 64 MiB, which are handed on, and no other file', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'a');
    await using bench = await openRouter((_, response) => {
      for (let count = 0; count < 65; count++) response.write(chunk);
      response.end();
    });
    const measure = async (name: string) => {
      let bytes = 0;
      const error: unknown = await bench.client
        .readLog(name, never, async (body) => {
          for await (const piece of body) bytes += piece.length;
        })
        .catch((cause: unknown) => cause);
      return { bytes, error };
    };
    expect(await measure('network/current')).toMatchObject({
      bytes: 64 * 1024 * 1024,
      error: { code: 'http', disposition: 'skip', isAnswered: true },
    });
    expect(await measure('network/log-2026-11-20-11:59:00')).toEqual({ bytes: 65 * 1024 * 1024, error: undefined });
  });

  /** As much as must come in one time-out. */
  const ENOUGH = ' '.repeat(REQUEST_TIMEOUT_MS / 10);

  test('RouterClient.readLog() bounds the wait for each piece, not the whole download', async () => {
    const responses = Promise.withResolvers<Parameters<Handler>[1]>();
    await using bench = await openRouter((_request, response) => {
      response.write('0');
      responses.resolve(response);
    });
    let text = '';
    await bench.client.readLog(NAME, never, async (body) => {
      const response = await responses.promise;
      const pieces = body[Symbol.asyncIterator]();
      for (let piece = 1; piece <= 5; piece++) {
        const { value } = await pieces.next();
        text += Buffer.from(value as Uint8Array).toString('utf8');
        const next = pieces.next();
        await bench.clock.advance(REQUEST_TIMEOUT_MS - 1);
        response.write(String(piece) + ENOUGH);
        text += Buffer.from((await next).value as Uint8Array).toString('utf8');
        response.write('.');
      }
      response.end();
      for (let end = await pieces.next(); !end.done; end = await pieces.next())
        text += Buffer.from(end.value).toString();
    });
    expect(text.replaceAll(ENOUGH, '')).toBe('01.2.3.4.5.');
    expect(bench.clock.monotonic()).toBeGreaterThan(4 * REQUEST_TIMEOUT_MS);
  });

  test('RouterClient.readLog() does not count the time of its consumer against the router', async () => {
    const proceed = Promise.withResolvers<void>();
    await using bench = await openRouter(async (_request, response) => {
      response.write('first ');
      await proceed.promise;
      response.end('second');
    });
    let text = '';
    await bench.client.readLog(NAME, never, async (body) => {
      for await (const chunk of body) {
        text += Buffer.from(chunk).toString('utf8');
        await bench.clock.advance(10 * REQUEST_TIMEOUT_MS);
        proceed.resolve();
      }
    });
    expect(text).toBe('first second');
  });

  test('RouterClient.readLog() passes on what its consumer throws, and the router is free for the next call', async () => {
    await using bench = await openRouter(inSequence((_request, response) => response.write('x'), ok));
    const cause = new RangeError('no log');
    const reading = bench.client.readLog(NAME, never, async (body) => {
      for await (const chunk of body) {
        expect(chunk).toHaveLength(1);
        throw cause;
      }
    });
    await expect(reading).rejects.toBe(cause);
    expect(await bench.client.readProfiles(never)).toEqual({ profiles: [] });
  });

  test('RouterClient.readLog() keeps the connection when its consumer leaves a short rest unread', async () => {
    await using bench = await openRouter(inSequence((_request, response) => response.end('log'), ok));
    expect(await bench.client.readLog(NAME, never, () => Promise.resolve(7))).toBe(7);
    await bench.client.readProfiles(never);
    expect(new Set(bench.arrived.map(({ connection }) => connection))).toEqual(new Set([1]));
  });

  test('RouterClient.readLog() waits no longer than its timeout for an unwanted rest', async () => {
    await using bench = await openRouter(inSequence((_request, response) => response.write('x'), ok));
    const consumed = Promise.withResolvers<void>();
    const reading = bench.client.readLog(NAME, never, async () => {
      consumed.resolve();
      return 7;
    });
    expect(await advanceUntilSettled(bench, reading, consumed.promise)).toBe(7);
    expect(await bench.client.readProfiles(never)).toEqual({ profiles: [] });
  });

  test('RouterClient.readLog() does not hang on a consumer that stops reading without saying so', async () => {
    await using bench = await openRouter(inSequence((_request, response) => response.write('x'), ok));
    const received = Promise.withResolvers<void>();
    const reading = bench.client.readLog(NAME, never, async (body) => {
      await body[Symbol.asyncIterator]().next();
      received.resolve();
    });
    await advanceUntilSettled(bench, reading, received.promise);
    expect(await bench.client.readProfiles(never)).toEqual({ profiles: [] });
  });

  test('RouterClient.readLog() passes on the reason of an abort in the middle of the body', async () => {
    await using bench = await openRouter((_request, response) => response.write('x'));
    const abort = new AbortController();
    const reason = new RangeError('stop');
    const reading = bench.client.readLog(NAME, abort.signal, async (body) => {
      for await (const chunk of body) {
        expect(chunk).toHaveLength(1);
        abort.abort(reason);
      }
    });
    await expect(reading).rejects.toBe(reason);
  });
});
