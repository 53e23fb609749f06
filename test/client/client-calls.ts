import { RouterError } from '../../src/client/index.ts';
import { answerJson, type Handler, REQUEST_TIMEOUT_MS, type RouterBench } from './http-router.ts';

/** A signal that never aborts. */
export const never = new AbortController().signal;

/** Answers with an empty list of profiles. */
export const ok: Handler = (_request, response) => answerJson(response, { profiles: [] });
/** Answers with an error. */
export const refuse =
  (status: number, body: unknown = { error: [{ reason: 'because' }] }): Handler =>
  (_request, response) =>
    answerJson(response, body, status);
/** Ends the connection without an answer. */
export const cut: Handler = (request) => request.socket.destroy();
/** Never answers. */
export const hang: Handler = () => {};

/** What a promise rejects with. */
export async function thrownBy(promise: Promise<unknown>): Promise<RouterError> {
  const cause: unknown = await promise.then(
    () => new TypeError('Nothing was thrown'),
    (thrown: unknown) => thrown,
  );
  if (cause instanceof RouterError) return cause;
  throw cause;
}

/** Steps the clock, once the call has arrived, until a promise has come to its end. */
export async function advanceUntilSettled<T>(
  bench: RouterBench,
  promise: Promise<T>,
  called = bench.called,
): Promise<T> {
  await called;
  const state = { isSettled: false };
  const settle = () => {
    state.isSettled = true;
  };
  promise.then(settle, settle);
  for (let step = 0; step < 1000 && !state.isSettled; step++) {
    await new Promise((resolve) => setImmediate(resolve));
    await bench.clock.advance(REQUEST_TIMEOUT_MS);
  }
  if (!state.isSettled) throw new TypeError('It never came to an end');
  return promise;
}

/** The text of a body. */
export async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
