import type { RecordQuery } from './content.ts';

const LIMIT_MAX = 500;
/** Values of one filter, and characters of each value. */
const VALUES_MAX = 20;
const VALUE_CHARS_MAX = 200;
/** Characters of `before`. */
export const BEFORE_CHARS_MAX = 2 * VALUE_CHARS_MAX;
/** Records of a page. */
export const PAGE_RECORDS = 100;

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

/** Renders a query as {@link parseRecordQuery} reads it, without the `?`. */
export function renderRecordQuery({ router, components, severities, search, before, limit }: RecordQuery): string {
  const parameters = new URLSearchParams({ limit: String(limit) });
  if (search !== '') parameters.set('q', search);
  if (router !== undefined) parameters.set('router', router);
  for (const component of components) parameters.append('component', component);
  for (const severity of severities) parameters.append('severity', severity);
  if (before !== undefined) parameters.set('before', before);
  return parameters.toString();
}

function expandSeverity(value: string): readonly string[] {
  const index = (SEVERITIES as readonly string[]).indexOf(value.replace(/\+$/, ''));
  return value.endsWith('+') ? SEVERITIES.slice(0, index + 1) : SEVERITIES.slice(Math.max(0, index), index + 1);
}

function isShort(value: string): boolean {
  return value.length <= VALUE_CHARS_MAX;
}
