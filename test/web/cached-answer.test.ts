import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { answerText } from '../../src/web/server/answers.ts';
import type { WebEnv } from '../../src/web/server/context.ts';

const PIECE = `${'€'.repeat(64 * 1024)}\n`;

test('an answer in pieces is the same as in one, and yields to the event loop in between', async () => {
  const pieces = Array.from({ length: 200 }, () => PIECE);
  const app = new Hono<WebEnv>()
    .get('/pieces', (context) => answerText(context, 'text/plain', pieces))
    .get('/whole', (context) => answerText(context, 'text/plain', pieces.join('')));
  let iterations = 0;
  const answered = new AbortController();
  const count = async () => {
    while (!answered.signal.aborted) {
      await setImmediate();
      iterations++;
    }
  };
  const counted = count();
  const answer = await app.request('/pieces');
  answered.abort();
  await counted;
  expect(iterations).toBeGreaterThan(3);
  const whole = await app.request('/whole');
  expect(answer.headers.get('etag')).toBe(whole.headers.get('etag'));
  const digests = await Promise.all(
    [answer, whole].map(async (one) =>
      createHash('sha256')
        .update(Buffer.from(await one.arrayBuffer()))
        .digest('hex'),
    ),
  );
  expect(digests[0]).toBe(digests[1]);
});
