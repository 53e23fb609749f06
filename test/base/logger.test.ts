import { expect, test } from 'vitest';
import { createLogger, type LoggerOptions, Secret } from '../../src/base/index.ts';

function collect(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const output = { write: (text: string) => lines.push(text), isTTY: false };
  return { lines, logger: createLogger({ level: 'debug', format: 'json', output, ...options }) };
}

test('Logger writes one JSON object per call, with time, level, message and fields', () => {
  const { lines, logger } = collect();
  logger.warn('A router is down', { router: 'plant-7', failures: 3 });
  expect(lines).toHaveLength(1);
  expect(lines[0]?.endsWith('\n')).toBe(true);
  const { time, ...rest } = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  expect(rest).toEqual({ level: 'warn', message: 'A router is down', router: 'plant-7', failures: 3 });
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test('Logger drops what is below its level', () => {
  const { lines, logger } = collect({ level: 'warn' });
  logger.debug('a');
  logger.info('b');
  logger.warn('c');
  logger.error('d');
  expect(lines.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual(['c', 'd']);
});

test('Logger does not interpret percent signs in a message', () => {
  const { lines, logger } = collect();
  logger.info('100%d of %s', { a: 1 });
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ message: '100%d of %s', a: 1 });
});

test('Logger writes text lines with fields as key=value, quoted where they would be ambiguous', () => {
  const { lines, logger } = collect({ format: 'text' });
  logger.error('It failed', { router: 'plant-7', error: 'no "route" to host', pair: 'a=b', count: 2, list: [1, 2] });
  expect(lines[0]?.replace(/^\S+/, 'TIME')).toBe(
    'TIME ERROR It failed router=plant-7 error="no \\"route\\" to host" pair="a=b" count=2 list=[1,2]\n',
  );
});

test('Logger removes control characters in fields from terminal output', () => {
  const { lines, logger } = collect({ format: 'text' });
  logger.info('Answered', { words: '\u001b]0;owned\u0007', line: 'a\nb' });
  expect(lines).toHaveLength(1);
  expect(lines[0]?.slice(0, -1)).not.toMatch(/\p{Cc}/u);
});

test('Logger colours the level on a terminal only', () => {
  const lines: string[] = [];
  const output = { write: (text: string) => lines.push(text), isTTY: true };
  createLogger({ level: 'info', format: 'text', output }).info('x');
  expect(lines[0]).toContain('\u001b[');
  const { lines: plain, logger } = collect({ format: 'text' });
  logger.info('x');
  expect(plain[0]).not.toContain('\u001b');
});

test.each(['json', 'text'] as const)('Logger replaces secrets anywhere in a %s line', (format) => {
  const { lines, logger } = collect({ format, secrets: () => ['hunter2hunter2'] });
  logger.info('with hunter2hunter2 inside', { url: 'https://u:hunter2hunter2@host', deep: { a: ['hunter2hunter2'] } });
  expect(lines[0]).not.toContain('hunter2');
  expect(lines[0]?.match(/\[secret\]/g)).toHaveLength(3);
});

test.each(['json', 'text'] as const)('Logger replaces secrets that are escaped in %s lines', (format) => {
  const secret = 'pa"qx\\wo\trd';
  const { lines, logger } = collect({ format, secrets: () => [secret] });
  logger.info(`message ${secret}`, {
    field: secret,
    spaced: `a ${secret} b`,
    quoted: `user ${JSON.stringify({ password: secret })}`,
    deep: { list: [secret] },
  });
  expect(lines[0]).not.toContain('qx');
  expect(lines[0]?.match(/\[secret\]/g)).toHaveLength(5);
});

test('Logger replaces a whole secret that begins like a shorter one', () => {
  const { lines, logger } = collect({ secrets: () => ['simulated', 'simulated-twice'] });
  logger.info('simulated-twice');
  expect(lines[0]).not.toContain('twice');
});

test('Logger does not blank out ordinary words for the sake of a very short secret', () => {
  const { lines, logger } = collect({ secrets: () => ['', 'a'] });
  logger.info('banana');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ message: 'banana' });
});

test('Logger writes a Secret as [secret] without knowing its value', () => {
  const { lines, logger } = collect();
  logger.info('settings', { password: new Secret('correct horse') });
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ password: '[secret]' });
});

test('Logger replaces the secrets of a configuration that was loaded again', () => {
  let secrets: readonly string[] = ['first-secret'];
  const { lines, logger } = collect({ secrets: () => secrets });
  logger.info('first-secret second-secret');
  secrets = ['second-secret'];
  logger.info('first-secret second-secret');
  expect(lines.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual([
    '[secret] second-secret',
    'first-secret [secret]',
  ]);
});
