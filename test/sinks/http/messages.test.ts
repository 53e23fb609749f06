import { describe, expect, test } from 'vitest';
import { sanitizeErrorText } from '../../../src/net/index.ts';
import { type HttpAnswer, toAnswerError } from '../../../src/sinks/http/messages.ts';

const answerOf = (status: number, body = '', extra: Partial<HttpAnswer> = {}): HttpAnswer => ({
  status,
  body,
  bytes: Buffer.from(body),
  sentBytes: 0,
  quote: sanitizeErrorText,
  header: () => undefined,
  ...extra,
});

describe('toAnswerError()', () => {
  test.for([
    ['refused', 'dead-letter', [400, 409, 412, 416, 418, 422, 423, 424, 428, 451, 499]],
    ['too_large', 'dead-letter', [413]],
    ['unauthorized', 'operator', [401, 402, 403]],
    ['misconfigured', 'operator', [300, 301, 302, 303, 304, 307, 308]],
    ['misconfigured', 'operator', [404, 405, 406, 407, 410, 411, 415, 421, 426, 431]],
    ['throttled', 'retry', [425, 429]],
    ['failed', 'retry', [408, 500, 501, 502, 503, 504, 505, 507, 511, 599, 600]],
    ['protocol_error', 'retry', [200, 206, 260]],
  ] as const)('calls it %s, to be treated as %s: %s', ([code, disposition, statuses]) => {
    for (const status of statuses) {
      const error = toAnswerError(answerOf(status), 'Sink web');
      expect({ status, code: error.code, disposition: error.disposition, answer: error.answer }).toEqual({
        status,
        code,
        disposition,
        answer: String(status),
      });
      expect(error.hint === undefined).toBe(disposition !== 'operator');
    }
  });

  test('calls it throttled when a sink that is unavailable says for how long', () => {
    const error = toAnswerError(answerOf(503, '', { retryAfterMs: 7000 }), 'Sink web');
    expect([error.code, error.retryAfterMs]).toEqual(['throttled', 7000]);
  });

  test.for([
    '<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>',
    '<html>\r\n<head><title>400 No required SSL certificate was sent</title></head>',
    'Client sent an HTTP request to an HTTPS server.\n',
  ])('knows a connection that is wrong from records that are: %j', (body) => {
    expect(toAnswerError(answerOf(400, body), 'Sink web')).toMatchObject({
      code: 'misconfigured',
      disposition: 'operator',
    });
    // A sink may quote a record, and that must not stop the sink.
    expect(toAnswerError(answerOf(400, `cannot read: ${body}`), 'Sink web').code).toBe('refused');
    expect(toAnswerError(answerOf(422, body), 'Sink web').code).toBe('refused');
  });

  test('repeats what the sink said on one line, bounded and without anything unprintable', () => {
    const body = `<html>\r\n\tToo\u0000 \u202ebad\u2028 ${'x'.repeat(1000)}`;
    const { message } = toAnswerError(answerOf(400, body), 'Sink web');
    expect(message).toBe(
      `Sink web answered with status 400: <html> Too bad ${'x'.repeat(500 - '<html> Too bad '.length)}`,
    );
    expect(toAnswerError(answerOf(400, ' \n'), 'Sink web').message).toBe('Sink web answered with status 400');
    const pairs = toAnswerError(answerOf(400, `x${'😀'.repeat(400)}`), 'Sink web').message;
    expect(pairs.isWellFormed()).toBe(true);
  });

  test('names the target of a redirect, without what follows the path', () => {
    const header = (name: string) => (name === 'location' ? 'https://other.example/in?token=1#x' : undefined);
    expect(toAnswerError(answerOf(308, '', { header }), 'Sink web').hint).toBe(
      'Check the url of this sink: it redirects to https://other.example/in, and the agent does not follow redirects',
    );
  });
});
