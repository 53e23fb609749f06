import { describe, expect, test } from 'vitest';
import { RouterReadError } from '../../src/model/index.ts';
import { askResources } from '../../src/status/index.ts';

const NEVER = new AbortController().signal;

/** A source that answers each resource with a value, or throws the configured error. */
function createSource(answers: Readonly<Record<string, unknown>>) {
  const asked: string[] = [];
  const source = {
    async readStatus(resource: string) {
      asked.push(resource);
      const answer = answers[resource];
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  return { source, asked };
}

const fail = (code: string, status?: number, isAnswered = status !== undefined) =>
  new RouterReadError(code, `${code} ${status ?? ''}`, { disposition: 'skip', status, isAnswered });
const ask = (
  answers: Readonly<Record<string, unknown>>,
  signal = NEVER,
  onAsk = (_resource: string, _index: number) => {},
) => {
  const { source, asked } = createSource(answers);
  return { asked, result: askResources(source, Object.keys(answers), signal, onAsk) };
};

describe('askResources()', () => {
  test('says of each resource what became of it, and goes on after one that fails', async () => {
    const heard: [string, number][] = [];
    const broken = fail('http', 500);
    const { result } = ask(
      { a: { x: 1 }, b: fail('http', 404), c: fail('auth', 403), d: broken, e: null },
      NEVER,
      (resource, index) => heard.push([resource, index]),
    );
    const { asked, documents, gone } = await result;
    expect(asked).toEqual([
      { resource: 'a', answer: 'yes' },
      { resource: 'b', answer: 'absent' },
      { resource: 'c', answer: 'no_rights' },
      { resource: 'd', answer: 'error', error: broken },
      { resource: 'e', answer: 'yes' },
    ]);
    expect([...documents]).toEqual([
      ['a', { x: 1 }],
      ['e', null],
    ]);
    expect(gone).toBeUndefined();
    expect(heard).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 2],
      ['d', 3],
      ['e', 4],
    ]);
  });

  test('ends when the router does not answer at all, and says where', async () => {
    const lost = fail('connect');
    const { asked, result } = ask({ a: { x: 1 }, b: lost, c: { x: 2 } });
    expect(await result).toMatchObject({ asked: [{ resource: 'a' }], gone: { resource: 'b', error: lost } });
    expect(asked).toEqual(['a', 'b']);
  });

  test('does not take a refused login for a missing right', async () => {
    const { result } = ask({ a: fail('auth', 403, false), b: {} });
    expect(await result).toMatchObject({ asked: [], gone: { resource: 'a' } });
  });

  test('goes on after one resource that is silent, and ends after two in a row', async () => {
    const { asked, result } = ask({
      a: fail('timeout'),
      b: {},
      c: fail('timeout'),
      d: fail('http', 404),
      e: fail('timeout'),
      f: fail('timeout'),
      g: {},
    });
    const { asked: answers, gone } = await result;
    expect(answers.map(({ answer }) => answer)).toEqual(['error', 'yes', 'error', 'absent', 'error']);
    expect(gone).toMatchObject({ resource: 'f' });
    expect(asked).toHaveLength(6);
  });

  test('keeps no more than there is room for, and goes on', async () => {
    const big = 'x'.repeat(20 * 1024 * 1024);
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    const { asked, documents } = await ask({ a: { big }, b: { big }, c: deep, d: { x: 1 } }).result;
    expect(asked.map(({ answer }) => answer)).toEqual(['yes', 'error', 'error', 'yes']);
    expect(String(asked[1]?.error)).toContain('The documents of this router are too long to keep b');
    expect([...documents.keys()]).toEqual(['a', 'd']);
  });

  test('rejects with the reason of the signal', async () => {
    const controller = new AbortController();
    const { asked, result } = ask({ a: fail('connect'), b: {} }, controller.signal, () =>
      controller.abort(new RangeError('enough')),
    );
    await expect(result).rejects.toThrow('enough');
    expect(asked).toEqual(['a']);
  });
});
