import { expect, test } from 'vitest';
import { openRouter } from '../client/http-router.ts';
import { startFleet } from '../support/fleet.ts';

const SECOND_MS = 1000;
/** Sinks look by themselves so often, counted from the start of the agent. */
const LOOK_MS = 30 * SECOND_MS;

test('a record that was kept back for lines that might continue it is delivered when it is stored, not at the next look', async () => {
  const lines = ['2026-11-21 12:59:00 [app] an entry', '  of two lines', '2026-11-21 12:59:30 [app] kept back'];
  await using router = await openRouter((request, response) => {
    const isList = request.url?.includes('list_files') === true;
    if (isList) {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ log_files: ['network/current'] }));
    } else if (request.url?.includes('/download/log')) response.end(`${lines.join('\n')}\n`);
    else response.writeHead(404).end();
  });
  const logs = { enabled: true, interval: 20 * SECOND_MS, start: 'all' as const, components: ['*'] };
  await using fleet = await startFleet({ router: { url: router.url, logs } });
  const messages = () => fleet.records.map(({ message }) => message);
  const deliveredAfter = async (message: string) => {
    let passedMs = 0;
    for (; !messages().includes(message) && passedMs < 10 * LOOK_MS; passedMs += SECOND_MS) {
      await fleet.advance(SECOND_MS);
    }
    return passedMs;
  };

  const readMs = await deliveredAfter('an entry\n  of two lines');
  const storedMs = await deliveredAfter('kept back');

  // Stored by the run after the one that read it, because no continuation had come.
  expect(storedMs).toBeGreaterThan(0);
  expect(storedMs).toBeLessThanOrEqual(logs.interval + SECOND_MS);
  expect((readMs + storedMs) % LOOK_MS).not.toBe(0);
});
