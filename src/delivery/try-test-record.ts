import type { DeliveryReport, PreflightFinding } from './contracts.ts';
import { toFindings } from './http/findings.ts';

const STEP = 'test record';

/**
 * Delivers a test record to check that the sink is reachable, accepts the credentials and accepts records. `place` is the
 * address without secrets. Throws only when aborted.
 */
export async function tryTestRecord(
  deliver: () => Promise<DeliveryReport>,
  place: string,
  signal: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  try {
    const report = await deliver();
    return [
      { step: 'connect', verdict: 'ok', message: `${place} can be reached` },
      { step: 'authorise', verdict: 'ok', message: 'Nothing stands against the credentials' },
      ...judgeReport(report),
    ];
  } catch (error) {
    signal.throwIfAborted();
    return toFindings(error, STEP);
  }
}

function judgeReport({ refused = [], refusedUnnamed, warning }: DeliveryReport): PreflightFinding[] {
  const refusal = refused[0] ?? refusedUnnamed;
  if (refusal) return [{ step: STEP, verdict: 'failed', message: `The test record was refused: ${refusal.reason}` }];
  const taken: PreflightFinding = { step: STEP, verdict: 'ok', message: 'The test record was taken' };
  return warning === undefined ? [taken] : [taken, { step: 'answer', verdict: 'warning', message: warning }];
}
