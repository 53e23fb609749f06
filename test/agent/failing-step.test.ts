import { expect, test } from 'vitest';
import { findFault } from '../../src/agent/router-state/resource-states.ts';
import { SourceError } from '../../src/model/index.ts';
import { down } from './router-recorder-bench.ts';

const FACTS = { isLogin: false, isTls: true, isRepeated: false, sent: 100, received: 100 };

test.for([
  [{ code: 'dns' }, {}, 'dns'],
  [{ code: 'connect' }, { isLogin: true }, 'tcp'],
  [{ code: 'tls' }, { isLogin: true }, 'tls'],
  [{ code: 'connect' }, { received: 0 }, 'tcp'],
  [{ code: 'connect' }, { received: 0, isRepeated: true }, 'tls'],
  [{ code: 'connect' }, { sent: 0, received: 0, isRepeated: true }, 'tcp'],
  [{ code: 'connect' }, { isRepeated: true }, 'tcp'],
  [{ code: 'connect' }, { received: 0, isTls: false }, 'resource'],
  [{ code: 'connect' }, { received: 0, isTls: false, isLogin: true }, 'login'],
  [{ code: 'connect', isUnsent: true }, { received: 0, isTls: false, isLogin: true }, 'tcp'],
  [{ code: 'connect' }, { sent: 0, received: 0, isTls: false, isLogin: true }, 'tcp'],
  [{ code: 'auth' }, {}, 'login'],
  [{ code: 'http' }, { isLogin: true }, 'login'],
  [{ code: 'parse' }, { isLogin: true }, 'login'],
  [{ code: 'auth', isAnswered: true }, {}, 'resource'],
  [{ code: 'auth', isAnswered: true }, { isLogin: true }, 'login'],
  [{ code: 'http' }, {}, 'resource'],
  [{ code: 'parse' }, {}, 'parse'],
  [{ code: 'timeout' }, {}, 'resource'],
  [{ code: 'timeout' }, { isLogin: true }, 'login'],
  // Nothing could be sent: there was no connection.
  [{ code: 'timeout' }, { sent: 0, received: 0 }, 'tcp'],
  [{ code: 'timeout' }, { isLogin: true, sent: 0, received: 0 }, 'tcp'],
  // On a connection that was kept from the turn before, it was a request that was not answered.
  [{ code: 'timeout' }, { received: 0 }, 'resource'],
  [{ code: 'timeout' }, { received: 0, isRepeated: true }, 'tls'],
  [{ code: 'timeout' }, { received: 0, isRepeated: true, isTls: false }, 'resource'],
  [undefined, {}, 'resource'],
  ['text', {}, 'resource'],
] as const)('findFault() of %j with %j is at the step %s', ([thrown, facts, step]) => {
  const error =
    typeof thrown === 'object'
      ? new SourceError(thrown.code, 'It failed', { disposition: 'retry', ...thrown })
      : thrown;
  expect(findFault({ ...down(), error }, { ...FACTS, ...facts })?.step).toBe(step);
});
