import { type Clock, explainError } from '../base/index.ts';
import type { LogRecord } from '../model/index.ts';
import {
  DeliveryError,
  type DeliveryFailure,
  type DeliveryReport,
  type Destination,
  type PreflightFinding,
} from './contracts.ts';
import { OutgoingRecord } from './outgoing-record.ts';

const TEST_ROUTER = 'router-exporter';
const TEST_COMPONENT = 'preflight';

/** Creates the test record of a preflight, marked as such and with a uid derived from the current time. */
export function createTestRecord(clock: Clock): OutgoingRecord {
  const now = clock.now();
  const observed = new Date(now).toISOString();
  const record: LogRecord = {
    timestamp: `${observed.slice(0, -1)}000000Z`,
    observed_timestamp: observed,
    router: TEST_ROUTER,
    component: TEST_COMPONENT,
    message: 'Test record of router-exporter: it can be deleted',
    uid: `preflight-${now.toString(36)}`,
    file: TEST_COMPONENT,
    offset: 0,
    labels: {},
  };
  return new OutgoingRecord(JSON.stringify(record));
}

const TEST_STEP = 'test record';

/** Collects the findings of checks; `toFailed` converts the error with which they end. Throws only when aborted. */
export async function collectFindings(
  checks: AsyncIterable<PreflightFinding>,
  toFailed: (error: unknown, found: readonly PreflightFinding[]) => readonly PreflightFinding[],
  signal?: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  const findings: PreflightFinding[] = [];
  try {
    for await (const finding of checks) findings.push(finding);
    return findings;
  } catch (error) {
    signal?.throwIfAborted();
    return [...findings, ...toFailed(error, findings)];
  }
}

/**
 * Delivers a test record to check that the sink is reachable and accepts credentials and records. `place`: the address
 * without secrets. Throws only when aborted.
 */
export async function tryTestRecord(
  deliver: Destination['deliver'],
  { clock, place }: { readonly clock: Clock; readonly place: string },
  signal: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  try {
    const report = await deliver([createTestRecord(clock)], signal);
    return [
      { step: 'connect', verdict: 'ok', message: `${place} can be reached` },
      { step: 'authorise', verdict: 'ok', message: 'The receiver accepts the credentials' },
      ...judgeReport(report),
    ];
  } catch (error) {
    signal.throwIfAborted();
    return toFindings(error, TEST_STEP);
  }
}

function judgeReport({ refused = [], refusedUnnamed, warning }: DeliveryReport): PreflightFinding[] {
  const refusal = refused[0] ?? refusedUnnamed;
  if (refusal)
    return [{ step: TEST_STEP, verdict: 'failed', message: `The test record was refused: ${refusal.reason}` }];
  const taken: PreflightFinding = { step: TEST_STEP, verdict: 'ok', message: 'The test record was accepted' };
  return warning === undefined ? [taken] : [taken, { step: 'answer', verdict: 'warning', message: warning }];
}

/** Failures before the sink itself was reached. */
const CONNECT_FAILURES: ReadonlySet<DeliveryFailure> = new Set(['unreachable', 'timeout', 'closed']);

/** Converts the error of a request to findings: the steps that succeeded and the one that failed. */
export function toFindings(error: unknown, step: string): readonly PreflightFinding[] {
  if (!(error instanceof DeliveryError)) return [toFailedFinding(step, error)];
  if (CONNECT_FAILURES.has(error.code) || (error.code === 'misconfigured' && error.answer === undefined)) {
    return [toFailedFinding('connect', error)];
  }
  const connected: PreflightFinding = { step: 'connect', verdict: 'ok', message: 'The sink can be reached' };
  return [connected, toFailedFinding(error.code === 'unauthorized' ? 'authorise' : step, error)];
}

/** Converts the error of a check to a finding. */
export function toFailedFinding(step: string, cause: unknown): PreflightFinding {
  const { reason: message, hint } = explainError(cause);
  return { step, verdict: 'failed', message, hint };
}
