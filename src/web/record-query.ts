import type { RecordQuery } from './content.ts';

const LIMIT_MAX = 500;
/** Values of one filter, and characters of each value. */
const VALUES_MAX = 20;
const VALUE_CHARS_MAX = 200;
/** Characters of `before`. */
const BEFORE_CHARS_MAX = VALUE_CHARS_MAX;
/** Records of a page. */
const PAGE_RECORDS = 100;

/** Severities that lines may have, the most severe first; `none` stands for lines without one. */
export const SEVERITIES = [
  'emergency',
  'alert',
  'critical',
  'error',
  'warning',
  'notice',
  'info',
  'debug',
  'none',
] as const;

/** The query of a request. */
interface QueryContext {
  readonly req: { query(name: string): string | undefined; queries(name: string): string[] | undefined };
}

/**
 * Parses `router`, `component` and `severity` (the last two several times; `warning+` stands for warnings and what is worse),
 * `q`, `before` and `limit`. Invalid values are ignored.
 */
export function parseRecordQuery(context: QueryContext): RecordQuery {
  const list = (name: string) =>
    (context.req.queries(name) ?? []).slice(0, VALUES_MAX).filter((value) => value !== '' && isShort(value));
  const limit = Number(context.req.query('limit') ?? PAGE_RECORDS);
  const before = context.req.query('before');
  return {
    router: list('router')[0],
    components: list('component'),
    severities: [...new Set(list('severity').flatMap(expandSeverity))],
    search: (context.req.query('q') ?? '').trim().slice(0, VALUE_CHARS_MAX).toWellFormed(),
    before: before !== undefined && before.length <= BEFORE_CHARS_MAX ? before : undefined,
    limit: Number.isSafeInteger(limit) && limit > 0 ? Math.min(limit, LIMIT_MAX) : PAGE_RECORDS,
  };
}

/** Returns the query of the newest lines of the fleet. */
export function toFleetQuery(limit: number): RecordQuery {
  return { components: [], severities: [], search: '', limit };
}

/** True if a query wants certain lines, and not just the newest. */
export function isSelective({ components, severities, search, before }: RecordQuery): boolean {
  return components.length + severities.length > 0 || search !== '' || before !== undefined;
}

function expandSeverity(value: string): readonly string[] {
  const index = (SEVERITIES as readonly string[]).indexOf(value.replace(/\+$/, ''));
  return value.endsWith('+') ? SEVERITIES.slice(0, index + 1) : SEVERITIES.slice(Math.max(0, index), index + 1);
}

function isShort(value: string): boolean {
  return value.length <= VALUE_CHARS_MAX;
}
