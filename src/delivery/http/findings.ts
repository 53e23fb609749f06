import { renderErrorChain } from '../../base/index.ts';
import type { PreflightFinding } from '../contracts.ts';
import { DeliveryError, type DeliveryFailure } from '../errors.ts';

/** Failures before which nothing of the sink itself was met. */
const CONNECT_FAILURES: ReadonlySet<DeliveryFailure> = new Set(['unreachable', 'timeout', 'closed']);

/** What a preflight found out when a request failed: how far it got, and what stopped it. */
export function toFindings(error: unknown, step: string): readonly PreflightFinding[] {
  if (!(error instanceof DeliveryError)) return [{ step, verdict: 'failed', message: renderErrorChain(error) }];
  if (CONNECT_FAILURES.has(error.code) || (error.code === 'misdirected' && error.answer === undefined)) {
    return [toFailure(error, 'connect')];
  }
  const connected: PreflightFinding = { step: 'connect', verdict: 'ok', message: 'The sink can be reached' };
  return [connected, toFailure(error, error.code === 'unauthorized' ? 'authorise' : step)];
}

function toFailure(error: DeliveryError, step: string): PreflightFinding {
  // The hint has a place of its own.
  const cause = error.cause === undefined ? '' : `: ${renderErrorChain(error.cause)}`;
  return { step, verdict: 'failed', message: `${error.message}${cause}`, hint: error.hint };
}
