import { Readable, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import { preflightSinks } from '../../src/cli/doctor/doctor.ts';
import type { Sink } from '../../src/sinks/index.ts';
import { load, withRouter } from '../config/configuration-folder.ts';
import { advanceUntil } from '../support/advance-until.ts';

const SINKS = 'sinks: [{ name: one, type: stdout }, { name: two, type: stdout }]\n';
type PreflightFinding = Awaited<ReturnType<Sink['preflight']>>[number];

const OK: PreflightFinding = { step: 'connect', verdict: 'ok', message: 'It answers' };

/** Tries two sinks of which `two` does what `preflight` says. */
async function tryTwo(
  preflight: Sink['preflight'],
  clock: SteppedClock,
  close: Sink['close'] = async () => {},
  text = withRouter() + SINKS,
) {
  const { config } = await load(text);
  if (!config) throw new RangeError('The configuration is not sound');
  const stop = new AbortController();
  const output = Object.assign(new Writable({ write: (_chunk, _encoding, done) => done() }), { isTTY: false });
  const io = { stdin: Readable.from([]), stdout: output, stderr: output, signal: stop.signal, onHangup: () => {} };
  const create = ({ name }: { readonly name: string }): Sink => ({
    name,
    batch: { recordsMax: 1, bytesMax: 1, waitMs: 0 },
    deliver: async () => ({}),
    preflight: name === 'two' ? preflight : async () => [OK],
    close,
  });
  return { stop, result: preflightSinks(config, io, { clock, create }) };
}

test('preflightSinks() shows the findings of each sink in order, with what to do below', async () => {
  const findings: PreflightFinding[] = [
    OK,
    { step: 'authorise', verdict: 'failed', message: 'It does not know us', hint: 'Check username' },
  ];
  const { result } = await tryTwo(async () => findings, createSteppedClock(0));
  expect(await result).toEqual({
    text: `sink one  stdout  ok
  STEP     RESULT  FOUND
  connect  ok      It answers

sink two  stdout  failed
  STEP       RESULT  FOUND
  connect    ok      It answers
  authorise  failed  It does not know us
                     → Check username
`,
    json: [
      { sink: 'one', type: 'stdout', result: 'ok', steps: [{ step: 'connect', result: 'ok', message: 'It answers' }] },
      {
        sink: 'two',
        type: 'stdout',
        result: 'failed',
        steps: [
          { step: 'connect', result: 'ok', message: 'It answers' },
          { step: 'authorise', result: 'failed', message: 'It does not know us', hint: 'Check username' },
        ],
      },
    ],
    hasFailed: true,
  });
});

test('preflightSinks() has not failed with warnings', async () => {
  const { result } = await tryTwo(async () => [{ ...OK, verdict: 'warning' }], createSteppedClock(0));
  expect(await result).toMatchObject({ hasFailed: false, json: [{ result: 'ok' }, { result: 'warning' }] });
});

test('preflightSinks() passes the number of routers, and of the values of their labels, to the sinks', async () => {
  const seen: unknown[] = [];
  const router = (name: string, labels: string) =>
    `  - { name: ${name}, url: "https://192.0.2.1", username: a, password: hidden, labels: { ${labels} } }\n`;
  const routers = router('a', 'site: munich') + router('b', 'site: munich, kind: x') + router('c', 'site: paris');
  const preflight: Sink['preflight'] = async (fleet) => {
    seen.push(fleet);
    return [];
  };
  const { result } = await tryTwo(preflight, createSteppedClock(0), undefined, `routers:\n${routers}${SINKS}`);
  await result;
  expect(seen).toEqual([{ routers: 3, labelValues: { site: 2, kind: 1 } }]);
});

test('preflightSinks() shows no secret of a sink, also in messages of others', async () => {
  const sinks = 'sinks: [{ name: two, type: http, url: "http://127.0.0.1:1", bearer_token: very-hidden-token }]\n';
  const repeat = async (): Promise<PreflightFinding[]> => [
    { step: 'connect', verdict: 'failed', message: 'What is very-hidden-token?', hint: 'No very-hidden-token' },
  ];
  const { result } = await tryTwo(repeat, createSteppedClock(0), undefined, withRouter() + sinks);
  const { text, json } = await result;
  expect(text).toContain('What is [secret]?');
  expect(text + JSON.stringify(json)).not.toContain('very-hidden-token');
});

test.each([
  [
    'heeds the signal',
    (signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  ],
  ['forgets the signal', () => new Promise<never>(() => {})],
])('preflightSinks() waits half a minute for a sink that %s, and says so', async (_what, wait) => {
  const clock = createSteppedClock(0);
  const { result } = await tryTwo(
    (_fleet, signal) => wait(signal),
    clock,
    () => new Promise<never>(() => {}),
  );
  const { json, hasFailed } = await advanceUntil(result, clock, 1000);
  expect(hasFailed).toBe(true);
  expect(json[1]).toMatchObject({
    result: 'failed',
    steps: [
      {
        step: 'preflight',
        result: 'failed',
        message: 'The limit of 30000 ms was reached',
        hint: expect.any(String) as string,
      },
    ],
  });
  expect(clock.monotonic()).toBeLessThan(40_000);
});

test('preflightSinks() says that a sink cannot even be made, or breaks its word', async () => {
  const { result } = await tryTwo(() => Promise.reject(new TypeError('x is not a function')), createSteppedClock(0));
  expect(await result).toMatchObject({ json: [{ result: 'ok' }, { steps: [{ message: 'x is not a function' }] }] });
});

test('preflightSinks() rejects when the command is to end', async () => {
  const { result, stop } = await tryTwo(() => new Promise<never>(() => {}), createSteppedClock(0));
  const rejected = expect(result).rejects.toThrow('aborted');
  stop.abort();
  await rejected;
});

test('preflightSinks() shows no control characters of a sink', async () => {
  const { result } = await tryTwo(
    async () => [
      { step: 'connect', verdict: 'failed', message: 'no\u001b[2J\nsink one  stdout  ok', hint: 'a\u0007b' },
    ],
    createSteppedClock(0),
  );
  const { text } = await result;
  expect(text).toContain('no [2J sink one stdout ok');
  expect(text).not.toMatch(/[^\P{Cc}\n]/u);
});
