import { createMatcher, type LogLine, type RecordQuery } from '../../web/index.ts';

type Selection = Pick<RecordQuery, 'components' | 'severities' | 'search'>;

/** Creates the test of a query; it ignores where a record stands. */
export function createRecordMatcher({ components, severities, search }: Selection): (line: LogLine) => boolean {
  const isMatch = createMatcher(search);
  return ({ router, component, severity, tag, message, gap }) =>
    (components.length === 0 || components.includes(component)) &&
    // Missing lines may have had any severity.
    (severities.length === 0 || gap !== null || severities.includes(severity ?? 'none')) &&
    isMatch([router, component, tag, message]);
}
