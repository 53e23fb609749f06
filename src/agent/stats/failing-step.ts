import { SourceError } from '../../model/index.ts';
import type { PollStep } from '../../web/index.ts';

/** Facts about a failed poll, besides its error. */
export interface PollFacts {
  /** True if the error is that of a login. */
  readonly isLogin: boolean;
  /** True if the router is reached over TLS. */
  readonly isTls: boolean;
  /** True if the previous poll failed as well, so that no connection was kept. */
  readonly isRepeated: boolean;
  /** Bytes on the wire in this poll. */
  readonly sent: number;
  readonly received: number;
}

/** Returns the connection step at which a poll, or one resource of it, failed with `error`. */
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
