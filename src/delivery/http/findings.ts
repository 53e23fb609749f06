import type { PreflightFinding } from '../contracts.ts';
import { DeliveryError, type DeliveryFailure } from '../errors.ts';
import { toFailedFinding } from '../failed-finding.ts';

/** Failures before which nothing of the sink itself was met. */
const CONNECT_FAILURES: ReadonlySet<DeliveryFailure> = new Set(['unreachable', 'timeout', 'closed']);

/** What a preflight found out when a request failed: how far it got, and what stopped it. */
export function toFindings(error: unknown, step: string): readonly PreflightFinding[] {
  if (!(error instanceof DeliveryError)) return [toFailedFinding(step, error)];
  if (CONNECT_FAILURES.has(error.code) || (error.code === 'misconfigured' && error.answer === undefined)) {
    return [toFailedFinding('connect', error)];
  }
  const connected: PreflightFinding = { step: 'connect', verdict: 'ok', message: 'The sink can be reached' };
  return [connected, toFailedFinding(error.code === 'unauthorized' ? 'authorise' : step, error)];
}
