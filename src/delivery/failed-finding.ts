import { explainError } from '../base/index.ts';
import type { PreflightFinding } from './contracts.ts';

/** The finding of a step that threw `cause`. */
export function toFailedFinding(step: string, cause: unknown): PreflightFinding {
  const { reason: message, hint } = explainError(cause);
  return { step, verdict: 'failed', message, hint };
}
