import { compilePattern } from '../../base/index.ts';
import { type LogRule, type LogRuleSettings, LogRules, type RedactSettings } from '../../logs/index.ts';
import type { FamilyDescription } from '../../model/index.ts';
import { isSelected } from '../selection.ts';

/** Redaction and log rules of the configuration, compiled once for all routers. */
export class LineProcessing {
  /** Families of the rules, by the name of their metric. */
  readonly families: ReadonlyMap<string, FamilyDescription>;
  /** Redacts a text; `undefined` if nothing is to be redacted. */
  readonly redact: ((text: string) => string) | undefined;
  readonly #rules: readonly LogRule[];

  constructor(rules: readonly LogRuleSettings[], redact: readonly RedactSettings[]) {
    this.families = new Map(rules.map(({ name, help, type }) => [name, { name, help, type }]));
    this.#rules = rules.map(toRule);
    const removals = redact.map(({ pattern, replacement }) => ({ pattern: compilePattern(pattern), replacement }));
    this.redact =
      removals.length === 0
        ? undefined
        : (text) => removals.reduce((rest, { pattern, replacement }) => pattern.replaceAll(rest, replacement), text);
  }

  /** Creates the rules of one router, with its own bound on series. */
  createRules(): LogRules | undefined {
    return this.#rules.length === 0 ? undefined : new LogRules(this.#rules);
  }
}

function toRule({ name, type, components, pattern, labels, fixedLabels, value }: LogRuleSettings): LogRule {
  const compiled = compilePattern(pattern);
  return {
    metric: name,
    kind: type,
    isMeant: (component) => isSelected(component, components),
    match: (message) => {
      const groups = compiled.match(message);
      return groups && { ...groups, ...fixedLabels };
    },
    labels: [...labels, ...Object.keys(fixedLabels)],
    value,
  };
}
