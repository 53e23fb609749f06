import type { LogRecord } from '../../../model/index.ts';

/** Router label used in the subject. */
const SITE_LABEL = 'site';
/** Site of routers without the label. */
const NO_SITE = 'none';
/** Maximum length of a token of a subject. Characters. */
const TOKEN_MAX = 128;

/** Returns the subject of a record: `<prefix>.<site or none>.<router>.<component>`. */
export function toNatsSubject(prefix: string, { router, component, labels = {} }: LogRecord): string {
  const tokens = [labels[SITE_LABEL] || NO_SITE, router, component];
  return [prefix, ...tokens.map(toSubjectToken)].join('.');
}

/** True when a stream with this subject, which may contain wildcards, covers every subject below the prefix. */
export function isCovering(streamSubject: string, prefix: string): boolean {
  const wanted = [...prefix.split('.'), '*', '*', '*'];
  const offered = streamSubject.split('.');
  for (const [index, token] of offered.entries()) {
    if (token === '>') return index < wanted.length;
    if (token !== '*' && token !== wanted[index]) return false;
  }
  return offered.length === wanted.length;
}

/** Replaces everything except letters, digits, `_` and `-` with `_`, especially dots and wildcards. */
function toSubjectToken(text: string): string {
  return text.slice(0, TOKEN_MAX).replaceAll(/[^A-Za-z0-9_-]/g, '_') || '_';
}
