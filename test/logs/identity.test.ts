import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createUidPrefix, PrefixHash, renderEventUid, renderUid } from '../../src/logs/position/identity.ts';

const FILE = { key: 'ab'.repeat(32), gen: 0 };

test('createUidPrefix() is the same wherever and whenever it is made: it is part of the contract', () => {
  expect(createUidPrefix('plant-7', 'network', FILE)).toBe(
    toReferencePrefix(['line', 'plant-7', 'network', FILE.key, '0']),
  );
  expect(renderUid(createUidPrefix('plant-7', 'network', FILE), 18_231)).toBe('jlcs53nw45cduak3-00000e2f');
});

test('createUidPrefix() differs with each part of what makes a file', () => {
  const prefixes = [
    createUidPrefix('plant-7', 'network', FILE),
    createUidPrefix('plant-8', 'network', FILE),
    createUidPrefix('plant-7', 'system', FILE),
    createUidPrefix('plant-7', 'network', { ...FILE, key: 'cd'.repeat(32) }),
    createUidPrefix('plant-7', 'network', { ...FILE, gen: 1 }),
    // The same characters, divided otherwise.
    createUidPrefix('plant-7n', 'etwork', FILE),
  ];
  expect(new Set(prefixes).size).toBe(prefixes.length);
});

test('createUidPrefix() is 16 characters of RFC 4648 base 32', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), fc.nat(9), (router, component, key, gen) => {
      const prefix = createUidPrefix(router, component, { key, gen });
      expect(prefix).toMatch(/^[a-z2-7]{16}$/);
      expect(prefix).toBe(toReferencePrefix(['line', router, component, key, String(gen)]));
    }),
  );
});

test('renderUid() gives offsets eight digits of base 36, so that uids of one file sort like its lines', () => {
  expect(renderUid('p', 0)).toBe('p-00000000');
  expect(renderUid('p', 35)).toBe('p-0000000z');
  expect(renderUid('p', 36 ** 8 - 1)).toBe('p-zzzzzzzz');
  const offset = fc.nat({ max: 36 ** 8 - 1 });
  fc.assert(
    fc.property(offset, offset, (a, b) => {
      expect(renderUid('p', a) < renderUid('p', b)).toBe(a < b);
    }),
  );
});

test('renderEventUid() differs from the uid of the line at the same place, and between events', () => {
  const prefix = createUidPrefix('plant-7', 'network', FILE);
  const uids = [
    renderUid(prefix, 100),
    renderEventUid('log.gap', 'plant-7', 'network', prefix, 100),
    renderEventUid('log.gap', 'plant-7', 'network', prefix, 101),
    renderEventUid('log.reset', 'plant-7', 'network', prefix, 100),
    renderEventUid('log.gap', 'plant-7', 'system', prefix, 100),
  ];
  expect(new Set(uids).size).toBe(uids.length);
  expect(renderEventUid('log.gap', 'plant-7', 'network', prefix, 100)).toBe(uids[1]);
});

/** The first 80 bits of the hash in base 32, computed with big numbers. */
function toReferencePrefix(parts: readonly string[]): string {
  const digest = createHash('sha256').update(parts.join('\0')).digest('hex');
  let bits = BigInt(`0x${digest.slice(0, 20)}`);
  let text = '';
  for (let index = 0; index < 16; index++) {
    text = 'abcdefghijklmnopqrstuvwxyz234567'[Number(bits & 31n)] + text;
    bits >>= 5n;
  }
  return text;
}

test('PrefixHash proves the same in the memory of a chain that has ended', () => {
  const bytes = Buffer.from('2025-10-26 00:59:58 [wan] connection check failed\n'.repeat(200));
  const prove = (part: Buffer) => {
    using chain = new PrefixHash();
    chain.update(part);
    return chain.prove();
  };
  const short = prove(bytes.subarray(0, 100));
  const whole = prove(bytes);
  expect(prove(bytes.subarray(0, 100))).toEqual(short);
  expect(prove(bytes)).toEqual(whole);
  // Ended twice, its memory is that of one chain all the same.
  const ended = new PrefixHash();
  ended[Symbol.dispose]();
  ended[Symbol.dispose]();
  const [one, other] = [new PrefixHash(), new PrefixHash()];
  one.update(bytes.subarray(0, 100));
  other.update(bytes);
  expect(one.prove()).toEqual(short);
  expect(other.prove()).toEqual(whole);
});
