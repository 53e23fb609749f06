import type { PollStep } from '../web/index.ts';

/** What is known of a turn that failed, beside its error. */
export interface TurnFacts {
  /** Whether the error is the one that a login ended with. */
  readonly isLogin: boolean;
  /** Whether the address is one of TLS. */
  readonly isTls: boolean;
  /** Whether the turn before failed as well, so that no connection was kept from it. */
  readonly isRepeated: boolean;
  /** What went over the wire in this turn. Bytes. */
  readonly sent: number;
  readonly received: number;
}

const STEPS: Readonly<Record<string, PollStep>> = { dns: 'dns', connect: 'tcp', tls: 'tls' };

/** The step of the way at which a turn, or one resource of it, failed with `error`. */
export function findStep(error: unknown, { isLogin, isTls, isRepeated, sent, received }: TurnFacts): PollStep {
  const code = readProperty(error, 'code');
  const step = STEPS[String(code)];
  if (step) return step;
  if (isLogin || (code === 'auth' && readProperty(error, 'isAnswered') !== true)) {
    return code === 'timeout' ? findSilence('login') : 'login';
  }
  if (code === 'parse') return 'parse';
  return code === 'timeout' ? findSilence('resource') : 'resource';

  /** Silence may be that of an earlier step than the one that was waited for. */
  function findSilence(asked: PollStep): PollStep {
    if (received > 0) return asked;
    if (sent === 0) return 'tcp';
    return isTls && isRepeated ? 'tls' : asked;
  }
}

function readProperty(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
