import { isSelected } from '../base/index.ts';
import { LineMatcher, type LogRuleSettings, type RedactSettings } from '../logs/index.ts';
import { type FamilyDescription, LOG_EVENTS, ROUTER_EVENTS, type ShippedRecord } from '../model/index.ts';
import type { SinkSettings } from '../sinks/index.ts';

interface SinkSelection {
  readonly isWanted: (router: string, component: string) => boolean;
  /** Absent: every record of a wanted log. */
  readonly isSelected: ((record: ShippedRecord) => boolean) | undefined;
}

type SelectionKeys = Pick<SinkSettings, 'routers' | 'components' | 'severities' | 'events'>;

/** Logs with a cached selection; a fleet has some tens of thousands. */
const REMEMBERED_MAX = 100_000;

/**
 * Compiles the globs of a sink. A record without a severity counts as `none`, one that is not an event as `line`. Events of
 * routers have no component, and only `events` selects them.
 */
export function createSelection({ routers, components, severities, events }: SelectionKeys): SinkSelection {
  const known = new Map<string, boolean>();
  const takes = (event: string) => isSelected(event, events);
  const takesRouterEvents = ROUTER_EVENTS.some(takes);
  // Then the log alone decides, and no record has to be parsed.
  const takesAll =
    severities.length === 1 &&
    severities[0] === '*' &&
    ['line', ...LOG_EVENTS].every(takes) &&
    ROUTER_EVENTS.every((event) => takes(event) === takesRouterEvents);
  return {
    isWanted(router, component) {
      const key = `${router}/${component}`;
      const isOfComponent = () => (component === '' ? takesRouterEvents : isSelected(component, components));
      const answer = known.get(key) ?? (isSelected(router, routers) && isOfComponent());
      if (known.size >= REMEMBERED_MAX) known.clear();
      known.set(key, answer);
      return answer;
    },
    isSelected: takesAll
      ? undefined
      : ({ severity = 'none', event = 'line' }) => isSelected(severity, severities) && takes(event),
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
