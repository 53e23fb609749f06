import type { RouterSummary } from '../api/routers.ts';
import { toShown } from './html.ts';
import { renderStep } from './words.ts';

/** Errors are truncated to this length; the router's page shows them in full. */
const ERROR_CHARS_MAX = 240;

/** What the error codes of the system mean. */
const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection broken',
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'the name server does not answer',
};
const CODE = new RegExp(`\\b(?:${Object.keys(CODES).join('|')})\\b`);
/** The advice behind an error, and the request before it. */
const ADVICE = /[.?!] (?:Check|Raise|If) .*$/s;
const REQUEST = /^(?:(?:GET|HEAD|POST|PUT|DELETE) \S+|TCP to \S+ port \d+) /;

/** Why a router is not up, or not wholly: `TCP: GET /x could not connect: …`; empty when nothing fails. */
export function toReason(router: RouterSummary): string {
  return renderReason(router, (error) => toShown(error, ERROR_CHARS_MAX));
}

/** The cause alone, for a narrow column: `TCP: connection refused`; empty when nothing fails. */
export function toBriefReason(router: RouterSummary): string {
  return renderReason(router, (error) => toShown(toCause(error), ERROR_CHARS_MAX));
}

function renderReason({ failure, fault }: RouterSummary, render: (error: string) => string): string {
  const error = failure?.error ?? fault?.error;
  if (error === undefined) return '';
  return fault ? `${renderStep(fault)}: ${render(error)}` : render(error);
}

function toCause(error: string): string {
  const code = CODE.exec(error)?.[0];
  if (code !== undefined) return CODES[code] ?? code;
  return error
    .replace(ADVICE, '')
    .replace(REQUEST, '')
    .replace(/^The router refused to log in user/, 'refused user')
    .replace(/^The router's certificate is /, 'certificate ');
}
