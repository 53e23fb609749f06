import type { RecordFlag, Severity } from '../model/index.ts';
import { type RecordFrame, renderHead, renderShared, renderText } from './entry.ts';
import { renderUid } from './identity.ts';
import { clampOffset, renderTimestamp } from './timestamp.ts';

/** What all lines of one second share. */
export interface LineMoment {
  readonly utcMs: number;
  readonly isFirstSecond: boolean;
  readonly flags: readonly RecordFlag[];
}

/** A line with a whole second as its time and nothing unusual about it. */
export interface UsualLine {
  readonly start: number;
  readonly tag: string;
  readonly severity: Severity | undefined;
  readonly message: string;
  /** Whether JSON would escape nothing in `message`. */
  readonly isPlain: boolean;
}

/** Low digits are looked up: those before them stay the same for many lines. */
const THOUSAND = 1000;
const DIGITS = Array.from({ length: THOUSAND }, (_, number) => String(number).padStart(3, '0'));
const BASE36_SQUARE = 36 * 36;
const DIGITS_36 = Array.from({ length: BASE36_SQUARE }, (_, number) => number.toString(36).padStart(2, '0'));
/** Tags are a few dozen, unless somebody makes them up. */
const TAGS_MAX = 1000;

/**
 * Renders usual lines of one file, nearly all there are: byte for byte what `renderEntry` gives, of a few long pieces of
 * which most are those of the line before. The fewer pieces, the faster the record is copied to where it goes.
 */
export class LineRenderer {
  readonly #observedMs: number;
  readonly #frame: RecordFrame;
  readonly #file: string;
  readonly #uidPrefix: string;
  readonly #flags: readonly RecordFlag[];
  readonly #tags = new Map<string, string>();
  #moment: LineMoment | undefined;
  #end = '';
  /** Of the last line: its offset in thousands, and what comes before the last three digits of time and offset. */
  #thousands = -1;
  #time = '';
  #timeThousands = -1;
  #offset = '';
  #uidSquares = -1;
  #uid = '';

  /** `flags`: those of every line. */
  constructor(options: {
    readonly observedMs: number;
    readonly frame: RecordFrame;
    readonly file: string;
    readonly uidPrefix: string;
    readonly flags: readonly RecordFlag[];
  }) {
    this.#observedMs = options.observedMs;
    this.#frame = options.frame;
    this.#file = options.file;
    this.#uidPrefix = options.uidPrefix;
    this.#flags = options.flags;
  }

  render({ start, tag, severity, message, isPlain }: UsualLine, moment: LineMoment): string {
    const clamped = clampOffset(start);
    const timeThousands = Math.floor(clamped / THOUSAND);
    if (moment !== this.#moment) {
      this.#moment = moment;
      this.#timeThousands = -1;
      this.#end = `${renderShared(this.#frame, [...this.#flags, ...moment.flags])}}`;
    }
    if (timeThousands !== this.#timeThousands) {
      this.#timeThousands = timeThousands;
      const timestamp = renderTimestamp(moment.utcMs, false, timeThousands * THOUSAND, moment.isFirstSecond);
      this.#time = `{"timestamp":"${timestamp.slice(0, -'000Z'.length)}`;
    }
    const thousands = Math.floor(start / THOUSAND);
    if (thousands !== this.#thousands) {
      this.#thousands = thousands;
      this.#offset = `","file":"${this.#file}","offset":${thousands > 0 ? thousands : ''}`;
    }
    const squares = Math.floor(start / BASE36_SQUARE);
    if (squares !== this.#uidSquares) {
      this.#uidSquares = squares;
      this.#uid = `","uid":"${renderUid(this.#uidPrefix, squares * BASE36_SQUARE).slice(0, -2)}`;
    }
    const text = isPlain ? message : renderText(message).slice(1, -1);
    const offset = thousands > 0 ? DIGITS[start - thousands * THOUSAND] : String(start);
    return (
      this.#time +
      DIGITS[clamped - timeThousands * THOUSAND] +
      this.#tagged(tag, severity) +
      text +
      this.#uid +
      DIGITS_36[start - squares * BASE36_SQUARE] +
      this.#offset +
      offset +
      this.#end
    );
  }

  /** From behind the digits of the time to the message. */
  #tagged(tag: string, severity: Severity | undefined): string {
    // A tag has no closing bracket.
    const key = severity === undefined ? tag : `${tag}]${severity}`;
    const known = this.#tags.get(key);
    if (known !== undefined) return known;
    if (this.#tags.size >= TAGS_MAX) this.#tags.clear();
    const ofSeverity = severity === undefined ? '' : `,"severity":"${severity}"`;
    const head = renderHead(this.#frame, this.#observedMs);
    const text = `Z",${head},"tag":${renderText(tag)}${ofSeverity},"message":"`;
    this.#tags.set(key, text);
    return text;
  }
}
