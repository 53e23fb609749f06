import { createHash } from 'node:crypto';
import type { LogRecord } from '../../../model/index.ts';

/** Router label used in the subject. */
const SITE_LABEL = 'site';
/** Token of routers without the label. */
const NO_SITE = 'none';
/** Token of a site whose name is that of {@link NO_SITE}. */
const SITE_NAMED_NONE = '%6Eone';
/** Token of an empty name. No other name has it: behind a "%" of theirs there are always two signs. */
const EMPTY = '%';
/** Names that are tokens as they are. */
const USUAL = /^[A-Za-z0-9_-]{1,128}$/;
/** Maximum length of a token. Servers accept a line of 4096 bytes, in which the subject may stand with its reply. Characters. */
const TOKEN_MAX = 200;
/** Length kept of a longer token, before {@link CUT_MARK} and the hash of the name. Characters. */
const TOKEN_KEPT = 128;
/** Marks a shortened token; no other token contains it. */
const CUT_MARK = '%~';

/**
 * Returns the subject of a record: `<prefix>.<site or none>.<router>.<component>`. Different names have different subjects:
 * everything except letters, digits, `_` and `-` is written as `%` and two hexadecimal digits for each byte in UTF-8.
 */
export function toNatsSubject(prefix: string, { router, component, labels = {} }: LogRecord): string {
  const site = labels[SITE_LABEL];
  return `${prefix}.${site ? toSiteToken(site) : NO_SITE}.${toSubjectToken(router)}.${toSubjectToken(component)}`;
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

function toSiteToken(site: string): string {
  return site === NO_SITE ? SITE_NAMED_NONE : toSubjectToken(site);
}

function toSubjectToken(name: string): string {
  if (USUAL.test(name)) return name;
  if (name === '') return EMPTY;
  const token = name.replaceAll(/[^A-Za-z0-9_-]/gu, toEscapes);
  if (token.length <= TOKEN_MAX) return token;
  // As UTF-16, which keeps apart what UTF-8 cannot write.
  const hash = createHash('sha256').update(Buffer.from(name, 'utf16le')).digest('base64url');
  return `${token.slice(0, TOKEN_KEPT)}${CUT_MARK}${hash}`;
}

function toEscapes(sign: string): string {
  // Half of a surrogate pair has no form in UTF-8.
  if (!sign.isWellFormed()) return `%u${sign.charCodeAt(0).toString(16)}`;
  return Array.from(Buffer.from(sign), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}
