import { isSelected } from '../base/index.ts';
import { LineMatcher, type LogRuleSettings, type RedactSettings } from '../logs/index.ts';
import type { FamilyDescription, LogRecord } from '../model/index.ts';
import type { SinkSettings } from '../sinks/index.ts';

interface SinkSelection {
  readonly isWanted: (router: string, component: string) => boolean;
  /** Absent: every record of a wanted log. */
  readonly isSelected: ((record: LogRecord) => boolean) | undefined;
}

type SelectionKeys = Pick<SinkSettings, 'routers' | 'components' | 'severities' | 'events'>;

/** Logs with a cached selection; a fleet has some tens of thousands. */
const REMEMBERED_MAX = 100_000;

/** Compiles the globs of a sink. A record without a severity counts as `none`, one that is not an event as `line`. */
export function createSelection({ routers, components, severities, events }: SelectionKeys): SinkSelection {
  const known = new Map<string, boolean>();
  const takesAll = [severities, events].every((globs) => globs.length === 1 && globs[0] === '*');
  return {
    isWanted(router, component) {
      const key = `${router}/${component}`;
      const answer = known.get(key) ?? (isSelected(router, routers) && isSelected(component, components));
      if (known.size >= REMEMBERED_MAX) known.clear();
      known.set(key, answer);
      return answer;
    },
    isSelected: takesAll
      ? undefined
      : ({ severity = 'none', event = 'line' }) => isSelected(severity, severities) && isSelected(event, events),
  };
}

/** Redaction and log rules of the configuration, compiled once for all routers. */
export class LineProcessing {
  static #latest: LineProcessing | undefined;

  /** By the name of the metric. */
  readonly families: ReadonlyMap<string, FamilyDescription>;
  readonly matcher: LineMatcher;

  /**
   * Returns the compiled rules. Those of the last call are cached, because compiling blocks for some ten milliseconds.
   */
  static of(rules: readonly LogRuleSettings[], redact: readonly RedactSettings[]): LineProcessing {
    if (LineProcessing.#latest?.matcher.text !== LineMatcher.render(rules, redact)) {
      LineProcessing.#latest = new LineProcessing(rules, redact);
    }
    return LineProcessing.#latest;
  }

  constructor(rules: readonly LogRuleSettings[], redact: readonly RedactSettings[]) {
    this.families = new Map(rules.map(({ name, help, type }) => [name, { name, help, type }]));
    this.matcher = new LineMatcher(rules, redact);
  }
}
