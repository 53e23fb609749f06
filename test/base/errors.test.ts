import { expect, test } from 'vitest';
import { CodedError, type CodedErrorOptions, renderErrorChain } from '../../src/base/index.ts';

class KitchenError extends CodedError<'burnt' | 'spilt'> {
  override readonly name = 'KitchenError';
}

const retry = (options: Partial<CodedErrorOptions> = {}): CodedErrorOptions => ({ disposition: 'retry', ...options });

test('CodedError carries its code, disposition, hint and cause', () => {
  const cause = new RangeError('too hot');
  const error = new KitchenError('burnt', 'The soup burnt', retry({ hint: 'Stir it', cause }));
  expect(error).toMatchObject({ code: 'burnt', disposition: 'retry', hint: 'Stir it', name: 'KitchenError' });
  expect(error.cause).toBe(cause);
});

test('CodedError has no property cause when it was given none', () => {
  expect(Object.hasOwn(new KitchenError('spilt', 'Milk', retry()), 'cause')).toBe(false);
});

test('renderErrorChain() prints the message of each cause once, then the outermost hint', () => {
  const inner = new KitchenError('spilt', 'The pot fell', retry({ hint: 'Hold it', cause: new Error('gravity') }));
  const outer = new KitchenError('burnt', 'No soup today', retry({ cause: inner }));
  expect(renderErrorChain(outer)).toBe('No soup today: The pot fell: gravity. Hold it');
  const hinted = new KitchenError('burnt', 'No soup', retry({ hint: 'Order pizza', cause: inner }));
  expect(renderErrorChain(hinted)).toBe('No soup: The pot fell: gravity. Order pizza');
});

test.each([
  ['gravity', 'The pot fell: gravity. Hold it'],
  ['gravity.', 'The pot fell: gravity. Hold it'],
  ['who are you?', 'The pot fell: who are you? Hold it'],
  ['go away!', 'The pot fell: go away! Hold it'],
  ['at 3.5 bar', 'The pot fell: at 3.5 bar. Hold it'],
  ['who? me', 'The pot fell: who? me. Hold it'],
])('renderErrorChain() ends the messages with one mark before the hint: %s', (cause, text) => {
  const options = retry({ hint: 'Hold it', cause: new Error(cause) });
  expect(renderErrorChain(new KitchenError('spilt', 'The pot fell', options))).toBe(text);
  expect(renderErrorChain(new Error(cause))).toBe(cause);
});

test.each([
  ['a text', 'a text'],
  [undefined, ''],
  [null, ''],
  [42, '42'],
  [Object.assign(new Error(''), { code: 'ECONNRESET' }), 'ECONNRESET'],
  [new TypeError(), 'TypeError'],
  [new AggregateError([new Error('v6 refused'), new Error('v4 refused')], ''), 'v6 refused, v4 refused'],
  [new AggregateError([new Error('inner')], 'all failed'), 'all failed'],
])('renderErrorChain() takes whatever can be thrown: %s', (thrown, text) => {
  expect(renderErrorChain(thrown)).toBe(text);
});

test('renderErrorChain() ends when causes form a circle', () => {
  const first = new Error('first');
  const second = new Error('second', { cause: first });
  first.cause = second;
  expect(renderErrorChain(first).split(': ').length).toBeLessThan(20);
});
