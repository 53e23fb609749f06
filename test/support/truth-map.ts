import { createHash } from 'node:crypto';
import { Zone } from '../../src/logs/index.ts';
import { createUidPrefix } from '../../src/logs/position/identity.ts';
import type { LogRecord } from '../../src/model/index.ts';
import type { WrittenLine } from './life-oracle.ts';

const STAMPED = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) \[/;
/** Lines of which one is the first with a stamp. */
const HEAD_LINES_MAX = 4;

/** Where the records of one log come from: their lines among all that the router wrote, oldest first. */
export class TruthMap {
  readonly lines: readonly WrittenLine[];
  /** First place of each file, and the place behind its last. */
  readonly files = new Map<number, readonly [number, number]>();
  /** Files by the stamp in their name once rotated; several when the router used a name again. */
  readonly filesOfStamp = new Map<string, number[]>();
  /** Files of which only a beginning that others share was delivered: it may have been that of another one. */
  readonly vagueFiles = new Set<number>();
  /** Files by the part that the uids of their lines share. */
  readonly #fileOfPrefix = new Map<string, number>();

  constructor(
    router: string,
    component: string,
    timezone: string,
    lines: readonly WrittenLine[],
    own: readonly LogRecord[],
  ) {
    this.lines = lines;
    lines.forEach(({ generation }, place) => {
      this.files.set(generation, [this.files.get(generation)?.[0] ?? place, place + 1]);
    });
    this.#nameFiles(new Zone(timezone));
    this.#findPrefixes(router, component, own);
    this.#nameReadFiles(own);
  }

  /** The file of a record's line, by its uid. */
  fileOf(uid: string): number | undefined {
    return this.#fileOfPrefix.get(uid.slice(0, uid.indexOf('-')));
  }

  /** What the uids of a file's lines begin with. */
  prefixOf(file: number): string | undefined {
    for (const [prefix, one] of this.#fileOfPrefix) if (one === file) return prefix;
    return undefined;
  }

  /** The place of the line in which `offset` of a file lies. */
  placeAt(file: number, offset: number): number | undefined {
    const [start, end] = this.files.get(file) ?? [0, 0];
    for (let place = end - 1; place >= start; place--) if ((this.lines[place]?.offset ?? 0) <= offset) return place;
    return undefined;
  }

  /** A file is renamed in the second in which the next one gets its first line. */
  #nameFiles(zone: Zone): void {
    for (const [file] of this.files) {
      const [start, end] = this.files.get(file + 1) ?? [0, 0];
      for (const { text } of this.lines.slice(start, end)) {
        const match = STAMPED.exec(text);
        if (!match) continue;
        const wall = Date.parse(`${text.slice(0, 19).replace(' ', 'T')}Z`);
        const stamp = new Date(zone.toUtc(wall, undefined).utcMs).toISOString().slice(0, 19).replace('T', '-');
        this.filesOfStamp.set(stamp, [...(this.filesOfStamp.get(stamp) ?? []), file]);
        break;
      }
    }
  }

  /** What a crash leaves of the next file may begin later than that. */
  #nameReadFiles(own: readonly LogRecord[]): void {
    for (const { uid, file: name, event } of own) {
      const stamp = /\/log-(.{19})/.exec(name)?.[1];
      const file = event ? undefined : this.fileOf(uid);
      const files = this.filesOfStamp.get(stamp ?? '') ?? [];
      if (stamp !== undefined && file !== undefined && !files.includes(file)) {
        this.filesOfStamp.set(stamp, [...files, file]);
      }
    }
  }

  /** Which file is which by the rules of identity; files that begin alike by what their lines say. */
  #findPrefixes(router: string, component: string, own: readonly LogRecord[]): void {
    const filesOfKey = new Map<string, number[]>();
    for (const [file, [start, end]] of this.files) {
      const hash = createHash('sha256');
      // A torn line at the start is no line with a stamp; which one is the first is for the product to say.
      for (const { bytes } of this.lines.slice(start, Math.min(end, start + HEAD_LINES_MAX))) {
        const key = hash.update(bytes).update('\n').copy().digest('hex');
        filesOfKey.set(key, [...(filesOfKey.get(key) ?? []), file]);
      }
    }
    const candidates = new Map<string, readonly number[]>();
    for (const [key, files] of filesOfKey) {
      for (let gen = 0; gen <= files.length; gen++) {
        candidates.set(createUidPrefix(router, component, { key, gen }), files);
      }
    }
    const fits = new Map<string, Map<number, number>>();
    for (const { uid, offset, message, event } of own) {
      if (event && event !== 'log.repeat') continue;
      const prefix = uid.slice(0, uid.indexOf('-'));
      const counts = fits.get(prefix) ?? new Map<number, number>();
      fits.set(prefix, counts);
      for (const file of candidates.get(prefix) ?? []) {
        const place = this.placeAt(file, offset);
        const isFit = place !== undefined && this.lines[place]?.text.includes(message.split('\n', 1)[0] ?? '') === true;
        counts.set(file, (counts.get(file) ?? 0) + (isFit ? 1 : 0));
      }
    }
    const taken = new Set<number>();
    const vague: [string, readonly number[]][] = [];
    for (const [prefix, counts] of fits) {
      const most = Math.max(...counts.values());
      const best = [...counts].flatMap(([file, count]) => (count === most ? [file] : []));
      if (best.length > 1) vague.push([prefix, best]);
      else
        for (const file of best) {
          taken.add(file);
          this.#fileOfPrefix.set(prefix, file);
        }
    }
    // Of a file that begins like others nothing more was seen: the next one behind what was read before it.
    for (const [prefix, files] of vague) {
      const at = own.findIndex(({ uid }) => uid.startsWith(prefix));
      const before = own.slice(0, at).findLast(({ uid }) => this.fileOf(uid) !== undefined);
      const last = before ? (this.fileOf(before.uid) ?? -1) : -1;
      const free = files.filter((file) => !taken.has(file));
      const file = free.find((one) => one > last) ?? free[0];
      if (file === undefined) continue;
      taken.add(file);
      this.#fileOfPrefix.set(prefix, file);
      this.vagueFiles.add(file);
    }
  }
}
