import { expect, test } from 'vitest';
import { findFault } from '../../src/agent/router-state/resource-states.ts';
import { RouterReadError } from '../../src/model/index.ts';
import { down } from './router-recorder-bench.ts';

const FACTS = { isLogin: false, isTls: true, isRepeated: false, sent: 100, received: 100 };

test.for([
  [{ code: 'dns' }, {}, 'dns'],
  [{ code: 'connect' }, { isLogin: true }, 'connect'],
  [{ code: 'tls' }, { isLogin: true }, 'tls'],
  [{ code: 'connect' }, { received: 0 }, 'connect'],
  [{ code: 'connect' }, { received: 0, isRepeated: true }, 'tls'],
  [{ code: 'connect' }, { sent: 0, received: 0, isRepeated: true }, 'connect'],
  [{ code: 'connect' }, { isRepeated: true }, 'connect'],
  [{ code: 'connect' }, { received: 0, isTls: false }, 'http'],
  [{ code: 'connect' }, { received: 0, isTls: false, isLogin: true }, 'auth'],
  [{ code: 'connect', isUnsent: true }, { received: 0, isTls: false, isLogin: true }, 'connect'],
  [{ code: 'connect' }, { sent: 0, received: 0, isTls: false, isLogin: true }, 'connect'],
  [{ code: 'auth' }, {}, 'auth'],
  [{ code: 'http' }, { isLogin: true }, 'auth'],
  [{ code: 'parse' }, { isLogin: true }, 'auth'],
  [{ code: 'auth', isAnswered: true }, {}, 'http'],
  [{ code: 'auth', isAnswered: true }, { isLogin: true }, 'auth'],
  [{ code: 'http' }, {}, 'http'],
  [{ code: 'parse' }, {}, 'parse'],
  [{ code: 'timeout' }, {}, 'http'],
  [{ code: 'timeout' }, { isLogin: true }, 'auth'],
  // Nothing could be sent: there was no connection.
  [{ code: 'timeout' }, { sent: 0, received: 0 }, 'connect'],
  [{ code: 'timeout' }, { isLogin: true, sent: 0, received: 0 }, 'connect'],
  // On a connection kept from the previous run, a request was not answered.
  [{ code: 'timeout' }, { received: 0 }, 'http'],
  [{ code: 'timeout' }, { received: 0, isRepeated: true }, 'tls'],
  [{ code: 'timeout' }, { received: 0, isRepeated: true, isTls: false }, 'http'],
  [undefined, {}, 'http'],
  ['text', {}, 'http'],
] as const)('findFault() of %j with %j is at the step %s', ([thrown, facts, step]) => {
  const error =
    typeof thrown === 'object'
      ? new RouterReadError(thrown.code, 'It failed', { disposition: 'retry', ...thrown })
      : thrown;
  expect(findFault({ ...down(), error }, { ...FACTS, ...facts })?.step).toBe(step);
});
