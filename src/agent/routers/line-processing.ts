import { LineMatcher, type LogRuleSettings, type RedactSettings } from '../../logs/index.ts';
import type { FamilyDescription } from '../../model/index.ts';

/** Redaction and log rules of the configuration, compiled once for all routers. */
export class LineProcessing {
  /** Families of the rules, by the name of their metric. */
  readonly families: ReadonlyMap<string, FamilyDescription>;
  readonly matcher: LineMatcher;

  constructor(rules: readonly LogRuleSettings[], redact: readonly RedactSettings[]) {
    this.families = new Map(rules.map(({ name, help, type }) => [name, { name, help, type }]));
    this.matcher = new LineMatcher(rules, redact);
  }
}
