import { explainError } from '../base/index.ts';
import type { PreflightFinding } from './contracts.ts';

/** Converts the error of a check to a finding. */
export function toFailedFinding(step: string, cause: unknown): PreflightFinding {
  const { reason: message, hint } = explainError(cause);
  return { step, verdict: 'failed', message, hint };
}
