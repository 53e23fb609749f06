import { createMatcher, type LogLine, type RecordQuery, splitSearch } from '../../web/index.ts';

type Selection = Pick<RecordQuery, 'components' | 'severities' | 'search'>;

/** Text that stands in rendered records as it is, between quotation marks. */
const PLAIN = /^[!#-[\]-~]+$/;

/** Creates the test of a query; it ignores where a record stands. */
export function createRecordMatcher({ components, severities, search }: Selection): (line: LogLine) => boolean {
  const isMatch = createMatcher(search);
  return ({ router, component, severity, tag, message, gap }) =>
    (components.length === 0 || components.includes(component)) &&
    // Missing lines may have had any severity.
    (severities.length === 0 || gap !== null || severities.includes(severity ?? 'none')) &&
    isMatch([router, component, tag, message]);
}

/**
 * Creates a test of rendered records, one or many, that is several times as fast as reading them: false if
 * {@link createRecordMatcher} would accept none of them.
 */
export function createTextFilter({
  components,
  severities,
  search,
}: Selection): (text: string, router: string) => boolean {
  const words = splitSearch(search).filter((word) => PLAIN.test(word));
  const logs = components.every((name) => PLAIN.test(name)) ? components.map((name) => `"component":"${name}"`) : [];
  const grades = severities.includes('none') ? [] : severities.map((name) => `"severity":"${name}"`);
  const hasAny = (text: string, parts: readonly string[]) =>
    parts.length === 0 || parts.some((part) => text.includes(part));
  return (text, router) => {
    if (!hasAny(text, logs) || !(hasAny(text, grades) || text.includes('"log.gap'))) return false;
    if (words.length === 0) return true;
    const [records, name] = [text.toLowerCase(), router.toLowerCase()];
    return words.every((word) => records.includes(word) || name.includes(word));
  };
}
