import type { LogRecord } from '../../src/model/index.ts';
import type { Life, WrittenLine } from './life-oracle.ts';
import { TruthMap } from './truth-map.ts';

/** The stamp of a line from a clock that was not set. */
const UNSET = /^(?:19\d\d|20[01]\d|2022)-/;

const STAMPED = /^\d{4}-\d\d-\d\d /;

/** Which lines a gap speaks of: places among all lines of the log. */
interface Stretch {
  readonly record: LogRecord;
  readonly places: ReadonlySet<number>;
}

/** What is wrong with a life; empty when delivered lines and gaps together cover exactly what the router wrote. */
export function judgeLife(life: Life): string[] {
  const faults: string[] = [];
  for (const component of life.truth.keys()) faults.push(...new LogJudge(life, component).judge());
  const seen = new Map<string, string>();
  for (const { uid, message } of life.records) {
    const known = seen.get(uid);
    if (known !== undefined) faults.push(`uid ${uid} came twice${known === message ? '' : ' with different content'}`);
    seen.set(uid, message);
  }
  faults.push(...judgeCounts(life), ...judgeLinks(life));
  return faults;
}

/** Judges what was made of one log. */
class LogJudge {
  readonly #life: Life;
  readonly #component: string;
  readonly #own: readonly LogRecord[];
  readonly #map: TruthMap;
  readonly #lines: readonly WrittenLine[];
  readonly #faults: string[] = [];
  readonly #delivered = new Set<number>();
  /** Place of the last line of a record, by its uid. */
  readonly #placeOf = new Map<string, number>();

  constructor(life: Life, component: string) {
    this.#life = life;
    this.#component = component;
    this.#own = life.records.filter((record) => record.component === component);
    this.#lines = life.truth.get(component) ?? [];
    this.#map = new TruthMap(life.router, component, life.timezone, this.#lines, this.#own);
  }

  judge(): readonly string[] {
    this.#placeRecords();
    this.#judgeOrder();
    const stretches = this.#own.filter(({ event }) => event === 'log.gap').map((record) => this.#measure(record));
    this.#judgeMissing(stretches);
    this.#judgeNamed(stretches);
    for (const { record, places } of stretches) this.#judgeGap(record, places);
    this.#judgeEnds();
    return this.#faults;
  }

  #blame(text: string): void {
    this.#faults.push(`${this.#component}: ${text}`);
  }

  /** Finds each record's lines: by its uid, and by the numbers in its text. */
  #placeRecords(): void {
    const placeOfId = new Map(this.#lines.flatMap(({ ids }, place) => ids.map((id) => [id, place] as const)));
    const deliveredIds = new Set<number>();
    for (const record of this.#own) {
      if (record.event && record.event !== 'log.repeat') continue;
      const { uid, message, offset, details } = record;
      const file = this.#map.fileOf(uid);
      const isRecovered = uid.includes('-b');
      if (file === undefined) this.#blame(`${uid} is no file's: ${message.slice(0, 60)}`);
      else if (!isRecovered) {
        const from = this.#map.placeAt(file, offset);
        const end = details?.['end_offset'];
        const to = this.#map.placeAt(file, typeof end === 'number' ? end - 1 : offset);
        if (to !== undefined) {
          const first = this.#map.vagueFiles.has(file) ? to + 1 : (from ?? 0);
          for (let place = first; place <= to; place++) this.#delivered.add(place);
          this.#placeOf.set(uid, to);
        }
      }
      for (const [, text] of message.matchAll(/<(\d+)>/g)) {
        const id = Number(text);
        const place = placeOfId.get(id);
        if (place === undefined) this.#blame(`line ${id} was never written`);
        else {
          if (deliveredIds.has(id)) this.#blame(`line ${id} came twice`);
          deliveredIds.add(id);
          if (this.#lines[place]?.generation !== file) this.#blame(`line ${id} has the uid of another file`);
          if (isRecovered) this.#delivered.add(place);
          else if (!this.#isWithin(record, place)) this.#blame(`line ${id} has the uid of another line`);
          if (isRecovered) this.#placeOf.set(uid, place);
        }
      }
    }
    // A record of several lines, or one that holds half of another: what carries a number must be there by its number.
    for (const [place, { ids }] of this.#lines.entries()) {
      if (ids.some((id) => !deliveredIds.has(id))) this.#delivered.delete(place);
    }
  }

  #isWithin({ offset, details }: LogRecord, place: number): boolean {
    const line = this.#lines[place];
    const end = details?.['end_offset'];
    if (!line) return false;
    return typeof end === 'number'
      ? line.offset >= offset && line.offset < end
      : offset >= line.offset && offset < line.offset + line.bytes.length;
  }

  /** In a file always; over files too, unless the record says otherwise or the names of files lie because the clock was set. */
  #judgeOrder(): void {
    const lastOf = new Map<number, number>();
    let last = -1;
    for (const { uid, flags = [], event } of this.#own) {
      if (event && event !== 'log.repeat') continue;
      const place = this.#placeOf.get(uid);
      const file = this.#map.fileOf(uid);
      if (place === undefined || file === undefined) continue;
      if (place < (lastOf.get(file) ?? -1)) this.#blame(`${uid} comes behind a later line of its file`);
      lastOf.set(file, place);
      if (this.#life.isCalm && flags.includes('late')) this.#blame(`${uid} is late, and nothing has held it up`);
      if (this.#life.hasJumps || flags.includes('late') || flags.includes('backfill')) continue;
      if (place < last) this.#blame(`${uid} comes behind a later line, without a flag`);
      last = Math.max(last, place);
    }
  }

  /** What a gap speaks of: what is not delivered right behind its first edge, and in the file that it names. */
  #measure(record: LogRecord): Stretch {
    const { file, details = {} } = record;
    const places = new Set<number>();
    const from = details['from_uid'];
    const stamp = /\/log-(\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d)/.exec(file)?.[1];
    const named =
      stamp === undefined || details['reason'] === 'broken-link' ? [] : (this.#map.filesOfStamp.get(stamp) ?? []);
    for (const one of named) {
      const [start, end] = this.#map.files.get(one) ?? [0, 0];
      for (let place = start; place < end; place++) if (!this.#delivered.has(place)) places.add(place);
    }
    if (typeof details['start_bit'] === 'number') return { record, places };
    let start: number | undefined;
    if (typeof from === 'string') {
      const known = this.#placeOf.get(from);
      if (known === undefined) this.#blame(`a gap begins at ${from}, which is no record`);
      else start = known + 1;
    } else if (named.length === 0) start = 0;
    // The one before the break may be a file that was lost itself; of a name that came again nobody knows.
    const broken = details['reason'] === 'broken-link' ? (this.#map.filesOfStamp.get(stamp ?? '') ?? []) : [];
    if (broken.length === 1) start = Math.max(start ?? 0, ...broken.map((one) => this.#map.files.get(one)?.[1] ?? 0));
    if (start === undefined) return { record, places };
    // A file known by name is the far edge; else the next line that came.
    const ends = named.map((one) => this.#map.files.get(one)?.[1] ?? 0);
    const end = ends.length > 0 ? Math.max(...ends) : this.#lines.length;
    for (let place = start; place < end && !this.#delivered.has(place); place++) places.add(place);
    return { record, places };
  }

  #judgeMissing(stretches: readonly Stretch[]): void {
    const covered = new Set(stretches.flatMap(({ places }) => [...places]));
    const isMissing = (_line: WrittenLine, place: number) => !this.#delivered.has(place);
    const missing = this.#lines.filter(
      (line, place) =>
        isMissing(line, place) &&
        line.ids.length > 0 &&
        !covered.has(place) &&
        !this.#isUnknowable(line) &&
        !this.#isUnlinked(line),
    );
    if (missing.length > 0)
      this.#blame(`${missing.length} lines neither delivered nor in a gap: ${renderLines(missing)}`);
    const kept = this.#lines.filter(
      (line, place) =>
        isMissing(line, place) && line.ids.length > 0 && line.loss === undefined && !this.#hasSharedName(line),
    );
    if (kept.length > 0)
      this.#blame(`${kept.length} lines still on the router and not delivered: ${renderLines(kept)}`);
  }

  /**
   * A file of which not even the name was seen, and behind which the log went on where nothing says that files follow each
   * other: by what the router had shown until then, or because its clock was not set.
   */
  #isUnlinked({ generation }: WrittenLine): boolean {
    if (this.#life.isCalm) return false;
    const [start, end] = this.#map.files.get(generation) ?? [0, 0];
    for (let place = start; place < end; place++) if (this.#delivered.has(place)) return false;
    const isKnown = [...this.#map.filesOfStamp].some(
      ([stamp, files]) => files.includes(generation) && this.#life.knownFiles.has(`${this.#component}/log-${stamp}`),
    );
    if (isKnown) return false;
    for (let place = end; place < this.#lines.length; place++) {
      if (!this.#delivered.has(place)) continue;
      const line = this.#lines[place];
      const prefix = line && this.#map.prefixOf(line.generation);
      // A notice of repeated lines has no time.
      const isUnset = [place, end].some((from) =>
        UNSET.test(this.#lines.slice(from).find(({ text }) => STAMPED.test(text))?.text ?? ''),
      );
      return isUnset || this.#life.linked.get(prefix ?? '') === false;
    }
    return true;
  }

  /** A file of which nothing was seen, and whose name the router gave to another one too. */
  #isUnknowable(line: WrittenLine): boolean {
    const { generation, loss } = line;
    const [start, end] = this.#map.files.get(generation) ?? [0, 0];
    for (let place = start; place < end; place++) if (this.#delivered.has(place)) return false;
    return loss === 'overwritten' || this.#hasSharedName(line);
  }

  /** Of two files with one name, the second may stay where it is, uncompressed and hidden. */
  #hasSharedName({ generation }: WrittenLine): boolean {
    return [...this.#map.filesOfStamp.values()].some((files) => files.length > 1 && files.includes(generation));
  }

  /** A file that the agent knew by name and lost is lost for certain. */
  #judgeNamed(stretches: readonly Stretch[]): void {
    const certain = new Set(
      stretches.flatMap(({ record, places }) => (record.details?.['certainty'] === 'certain' ? [...places] : [])),
    );
    for (const name of this.#life.knownFiles) {
      const [component = '', stamp = ''] = name.split('/log-');
      const files = component === this.#component ? (this.#map.filesOfStamp.get(stamp) ?? []) : [];
      if (files.length !== 1) continue;
      const [start, end] = this.#map.files.get(files[0] ?? -1) ?? [0, 0];
      const missing = this.#lines
        .slice(start, end)
        .filter(
          (line, index) => line.ids.length > 0 && !this.#delivered.has(start + index) && !certain.has(start + index),
        );
      if (missing.length > 0) this.#blame(`${name} was listed, and ${renderLines(missing)} are in no certain gap`);
    }
  }

  /** Whether a gap speaks of a file that the router deleted before the agent saw its end: that is certain, whatever was in it. */
  #isLostFile({ file, details = {} }: LogRecord): boolean {
    if (details['reason'] !== 'expired') return false;
    const stamp = /\/log-(.{19})/.exec(file)?.[1];
    const from = details['from_uid'];
    const named = stamp === undefined ? [] : (this.#map.filesOfStamp.get(stamp) ?? []);
    const begun = typeof from === 'string' ? this.#map.fileOf(from) : undefined;
    return [...named, ...(begun === undefined ? [] : [begun])].some((one) => {
      const isDeleted = this.#lines[this.#map.files.get(one)?.[0] ?? -1]?.loss !== undefined;
      // What was read under a name that the router used again may have been the other file.
      const names = [...this.#map.filesOfStamp].flatMap(([other, files]) =>
        files.length === 1 && files[0] === one ? [other] : [],
      );
      return isDeleted && !names.some((name) => this.#life.readFiles.has(`${this.#component}/log-${name}`));
    });
  }

  /** A gap ends once at most, with a line that came, and that stands behind the one where it begins. */
  #judgeEnds(): void {
    const gaps = new Map(this.#own.flatMap((record) => (record.event === 'log.gap' ? [[record.uid, record]] : [])));
    const ended = new Set<unknown>();
    const judge = (gap: LogRecord, to: unknown) => {
      const about = `${String(gap.details?.['reason'])} ${gap.file} from ${String(gap.details?.['from_uid'])}`;
      if (ended.has(gap.uid)) this.#blame(`the gap ${about} ends twice`);
      ended.add(gap.uid);
      const end = typeof to === 'string' ? this.#placeOf.get(to) : undefined;
      if (end === undefined) this.#blame(`the gap ${about} ends with ${String(to)}, which is no line`);
      const from = gap.details?.['from_uid'];
      const start = typeof from === 'string' ? this.#placeOf.get(from) : undefined;
      // Where names of files lie because the clock was set, nobody knows what comes first.
      if (this.#life.hasJumps || start === undefined || end === undefined) return;
      if (end <= start) this.#blame(`the gap ${about} ends with ${String(to)}, which is before it`);
    };
    for (const gap of gaps.values()) if (gap.details?.['to_uid'] !== null) judge(gap, gap.details?.['to_uid']);
    for (const { event, details = {} } of this.#own) {
      if (event !== 'log.gap_end') continue;
      const gap = gaps.get(String(details['gap_uid']));
      if (gap) judge(gap, details['to_uid']);
      else this.#blame(`the end of ${String(details['gap_uid'])}, which is no gap`);
    }
  }

  #judgeGap(record: LogRecord, places: ReadonlySet<number>): void {
    const { details = {}, file } = record;
    const about = `${String(details['certainty'])} ${String(details['reason'])} ${file} from ${String(details['from_uid'])}`;
    // Where nothing went wrong, what is likely is so, too.
    const isClaim = details['certainty'] === 'certain' || (this.#life.isCalm && details['certainty'] === 'likely');
    if (isClaim && places.size === 0 && !this.#isLostFile(record))
      this.#blame(`nothing is missing in the gap ${about}`);
    const bytesMin = details['bytes_min'];
    const bytes = [...places].reduce((sum, place) => sum + (this.#lines[place]?.bytes.length ?? 0) + 1, 0);
    if (typeof bytesMin === 'number' && bytesMin > bytes)
      this.#blame(`${bytes} bytes are missing in the gap ${about}, not ${bytesMin}`);
  }
}

/** A device that rotates by a timer gives no reason to wait or to miss anything; a calm one of the usual kind is soon known. */
function judgeLinks({ isTimed, isCalm, waits, records, links }: Life): string[] {
  if (!isTimed)
    return isCalm && (!links?.holds || links.refuted.length > 0) ? ['the rule of links was not learnt'] : [];
  const gaps = records.filter(({ event }) => event === 'log.gap');
  const flagged = records.filter(({ flags = [] }) => flags.includes('late') || flags.includes('out_of_order'));
  return [
    ...(waits.length > 0
      ? [`${waits.length} lines were there before a look and not stored after it: ${waits[0]}`]
      : []),
    ...gaps.map(({ uid }) => `nothing is missing in the gap ${uid}`),
    ...flagged.map(({ uid }) => `${uid} has a flag of order, and nothing has held it up`),
  ];
}

function renderLines(lines: readonly WrittenLine[]): string {
  return lines
    .slice(0, 5)
    .map(({ ids, generation, loss }) => `${ids.join('+')} (file ${generation}, ${loss ?? 'still there'})`)
    .join(', ');
}

/** Case 79: what is counted is what is recorded. */
function judgeCounts({ records, events, unreported }: Life): string[] {
  const pairs = [
    ['log.gap', 'log-gap-found'],
    ['log.gap_end', 'log-gap-ended'],
    ['log.reset', 'log-reset'],
    ['log.repeat', 'log-repeat-found'],
    ['log.clock_jump', 'log-clock-jumped'],
  ] as const;
  return pairs.flatMap(([event, type]) => {
    const recorded = records.filter((record) => record.event === event).length;
    const counted = events.filter((one) => one.type === type).length;
    // A process that dies behind a commit and before its report takes the counts of that one commit with it.
    const died = unreported.get(event) ?? 0;
    return recorded === counted + died ? [] : [`${recorded} records ${event}, but ${counted} counted and ${died} died`];
  });
}
