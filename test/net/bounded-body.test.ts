import { expect, test } from 'vitest';
import { readBounded } from '../../src/net/index.ts';

const never = new AbortController().signal;

test.for([
  [3, 'abc', true, 2],
  [4, 'abcd', false, 2],
  [5, 'abcd', false, 2],
] as const)('readBounded() reads no more than %d bytes of four', async ([bytesMax, text, isCut, given]) => {
  let chunks = 0;
  let isLeft = false;
  const body = async function* () {
    try {
      for (const chunk of ['ab', 'cd']) {
        chunks++;
        yield Buffer.from(chunk);
      }
    } finally {
      isLeft = true;
    }
  };
  const { bytes, ...rest } = await readBounded(body(), bytesMax, never);
  expect({ text: bytes.toString(), ...rest, chunks, isLeft }).toEqual({ text, isCut, chunks: given, isLeft: true });
});

test('readBounded() asks for nothing behind the bound', async () => {
  const body = async function* () {
    yield Buffer.from('ab');
    throw new RangeError('asked for more');
  };
  expect(await readBounded(body(), 1, never)).toEqual({ bytes: Buffer.from('a'), isCut: true });
});
