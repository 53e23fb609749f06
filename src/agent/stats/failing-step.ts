import { SourceError } from '../../model/index.ts';
import type { PollStep } from '../../web/index.ts';

/** What is known of a turn that failed, beside its error. */
export interface PollFacts {
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

/** The step of the way at which a turn, or one resource of it, failed with `error`. */
export function findStep(error: unknown, { isLogin, isTls, isRepeated, sent, received }: PollFacts): PollStep {
  const failure = error instanceof SourceError ? error : undefined;
  // Something was sent on a connection that was new, and it was the greeting of TLS: the connection itself came about.
  const isGreetingUnanswered = isTls && isRepeated && sent > 0 && received === 0;
  const asked = isLogin ? 'login' : 'resource';
  switch (failure?.code) {
    case 'dns':
    case 'tls':
      return failure.code;
    case 'connect':
      return isGreetingUnanswered ? 'tls' : 'tcp';
    case 'timeout':
      // Silence may be that of an earlier step than the one that was waited for.
      if (sent === 0 && received === 0) return 'tcp';
      return isGreetingUnanswered ? 'tls' : asked;
    case 'auth':
      return !isLogin && failure.isAnswered ? 'resource' : 'login';
    case 'parse':
      return isLogin ? 'login' : 'parse';
    default:
      return asked;
  }
}
