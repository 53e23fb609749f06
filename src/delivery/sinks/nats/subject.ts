import type { LogRecord } from '../../../model/index.ts';

/** Label of a router that becomes a part of the subject. */
const SITE_LABEL = 'site';
/** What stands there for routers without it. */
const NO_SITE = 'none';
/** Longest part of a subject, in characters. */
const TOKEN_MAX = 128;

/** Subject of a record: `<prefix>.<site or none>.<router>.<component>`. */
export function toNatsSubject(prefix: string, { router, component, labels = {} }: LogRecord): string {
  const tokens = [labels[SITE_LABEL] || NO_SITE, router, component];
  return [prefix, ...tokens.map(toSubjectToken)].join('.');
}

/** Whether a stream with this subject, wildcards included, takes every record below the prefix. */
export function isCovering(streamSubject: string, prefix: string): boolean {
  const wanted = [...prefix.split('.'), '*', '*', '*'];
  const offered = streamSubject.split('.');
  for (const [index, token] of offered.entries()) {
    if (token === '>') return index < wanted.length;
    if (token !== '*' && token !== wanted[index]) return false;
  }
  return offered.length === wanted.length;
}

/** Letters, digits, `_` and `-`: everything else, dots and wildcards before all, becomes `_`. */
function toSubjectToken(text: string): string {
  return text.slice(0, TOKEN_MAX).replaceAll(/[^A-Za-z0-9_-]/g, '_') || '_';
}
