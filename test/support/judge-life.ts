import type { LogRecord } from '../../src/model/index.ts';
import type { Life, WrittenLine } from './life-oracle.ts';

/** What is wrong with a life; empty when delivered lines and gaps together cover exactly what the router wrote. */
export function judgeLife(life: Life): string[] {
  const faults: string[] = [];
  for (const [component, truth] of life.truth) {
    const own = life.records.filter((record) => record.component === component);
    faults.push(...judgeComponent(component, truth, own));
  }
  const uids = life.records.map(({ uid }) => uid);
  if (new Set(uids).size < uids.length) faults.push(`${uids.length - new Set(uids).size} uids came twice`);
  faults.push(...judgeCounts(life));
  return faults;
}

function judgeComponent(component: string, truth: readonly WrittenLine[], records: readonly LogRecord[]): string[] {
  const faults: string[] = [];
  const placeOfId = new Map(truth.map(({ id }, place) => [id, place]));
  /** Place of a delivered line among those that the router wrote, by the uid of its record. */
  const placeOf = new Map<string, number>();
  const delivered = new Set<number>();
  /** Place of the last line of a file that carries a number; notices and torn lines carry none. */
  const lastOf = new Map<string, number>();
  for (const record of records) {
    if (record.event && record.event !== 'log.repeat') continue;
    const file = record.uid.slice(0, record.uid.indexOf('-'));
    const last = lastOf.get(file);
    if (last !== undefined) placeOf.set(record.uid, last);
    for (const [, text] of record.message.matchAll(/<(\d+)>/g)) {
      const place = placeOfId.get(Number(text));
      if (place === undefined) faults.push(`${component}: line ${text} was never written`);
      else if (delivered.has(place)) faults.push(`${component}: line ${text} came twice`);
      else {
        delivered.add(place);
        placeOf.set(record.uid, place);
        lastOf.set(file, place);
      }
    }
  }
  const covered = new Set<number>();
  for (const { details = {}, event } of records) {
    if (event !== 'log.gap') continue;
    const from = details['from_uid'];
    // A gap reaches from its last line before to the next one that was delivered.
    let place = typeof from === 'string' ? (placeOf.get(from) ?? -1) : -1;
    for (place++; place < truth.length && delivered.has(place); place++);
    for (; place < truth.length && !delivered.has(place); place++) covered.add(place);
  }
  const missing = truth.flatMap((line, place) => (delivered.has(place) || covered.has(place) ? [] : [line]));
  if (missing.length > 0) {
    const list = missing
      .slice(0, 5)
      .map(({ id, generation, loss }) => `${id} (file ${generation}, ${loss ?? 'still there'})`);
    faults.push(`${component}: ${missing.length} lines are neither delivered nor in a gap: ${list.join(', ')}`);
  }
  const kept = truth.filter(({ loss }, place) => loss === undefined && !delivered.has(place));
  if (kept.length > 0) {
    const list = kept.slice(0, 5).map(({ id, generation }) => `${id} (file ${generation})`);
    faults.push(
      `${component}: ${kept.length} lines are still on the router and were not delivered: ${list.join(', ')}`,
    );
  }
  return faults;
}

/** Case 79: what is counted is what is recorded. */
function judgeCounts({ records, events }: Life): string[] {
  const pairs = [
    ['log.gap', 'log-gap-found'],
    ['log.reset', 'log-reset'],
    ['log.repeat', 'log-repeat-found'],
    ['log.clock_jump', 'log-clock-jumped'],
  ] as const;
  return pairs.flatMap(([event, type]) => {
    const recorded = records.filter((record) => record.event === event).length;
    const counted = events.filter((one) => one.type === type).length;
    // A process that dies behind a commit and before its report takes its counters with it.
    return recorded >= counted && recorded - counted <= 12
      ? []
      : [`${recorded} records ${event}, but ${counted} counted`];
  });
}
