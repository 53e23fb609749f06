import type { FamilyDescription } from '../../model/index.ts';
import type { LogRuleSettings } from '../config.ts';
import { type ConfigFile, renderPlace } from '../config-file.ts';
import type { KeyPath } from '../fault.ts';
import { type PlacedFamily, toFamilyName } from '../modules/check-families.ts';
import { findNameFault } from '../modules/check-metric.ts';
import { findNearest } from '../nearest.ts';
import { compileAt } from './compile-at.ts';
import { SHIPPED_RULES_WORD, type WrittenRule, type WrittenRules } from './log-rule-schema.ts';

/** What there is beside the rules that are written. */
export interface RuleSurroundings {
  readonly shipped: readonly LogRuleSettings[];
  readonly moduleFamilies: readonly PlacedFamily[];
  readonly agentFamilies: readonly FamilyDescription[];
}

/** A rule of the list; the place of a shipped one is the word that stands for it. */
interface ListedRule {
  readonly rule: LogRuleSettings;
  readonly path: KeyPath;
  readonly isShipped: boolean;
}

/** The log rules that apply, checked. */
export class LogRuleList {
  readonly rules: readonly LogRuleSettings[];
  readonly #listed: readonly ListedRule[];
  readonly #file: ConfigFile;

  /** Adds a fault to `file` for everything that is wrong with the rules. */
  constructor(file: ConfigFile, written: WrittenRules | undefined, { shipped, ...others }: RuleSurroundings) {
    this.#file = file;
    const listed = (written ?? [SHIPPED_RULES_WORD]).flatMap((item, index): ListedRule[] => {
      const path = ['log_rules', index];
      if (typeof item === 'object') {
        checkRule(item, file, path);
        return toRule(item).map((rule) => ({ rule, path, isShipped: false }));
      }
      const isFirst = written === undefined || written.indexOf(item) === index;
      if (!isFirst) file.faults.add(path, `"${SHIPPED_RULES_WORD}" stands in the list already`);
      return isFirst ? shipped.map((rule) => ({ rule, path, isShipped: true })) : [];
    });
    this.#listed = listed;
    this.rules = listed.map(({ rule }) => rule);
    this.#checkFamilies(others);
  }

  /** Says, for a message about the file `from`, which rule puts this label on its series. */
  findLabelOwner(label: string, from: ConfigFile): string | undefined {
    const owner = this.#listed.find(({ rule }) => rule.labels.includes(label));
    return owner && this.#describe(owner, from);
  }

  /** Refuses a rule whose metric is something else already. What is refused at one place does not spoil the next. */
  #checkFamilies({ moduleFamilies, agentFamilies }: Omit<RuleSurroundings, 'shipped'>): void {
    const ofAgent = new Map(agentFamilies.map((family) => [toFamilyName(family), family]));
    const ofModules = new Map(moduleFamilies.map((family) => [toFamilyName(family), family]));
    const first = new Map<string, ListedRule>();
    // The shipped ones were there before, wherever they stand.
    for (const listed of this.#listed.toSorted((a, b) => Number(b.isShipped) - Number(a.isShipped))) {
      const { rule, path, isShipped } = listed;
      const key = toFamilyName(rule);
      const module = ofModules.get(key);
      const agent = isShipped ? undefined : ofAgent.get(key);
      const other = first.get(key);
      if (agent) {
        const as =
          agent.name === rule.name ? 'this metric' : `${agent.name}, which OpenMetrics cannot tell from this one`;
        this.#file.faults.add([...path, 'name'], `The agent itself exposes ${as}; choose another name`);
      } else if (module) this.#refuseModule(listed, module);
      else if (other) this.#refuseDifference(listed, other);
      else first.set(key, listed);
    }
  }

  /** The name that can be changed is the one that a person has written, but for the name of a shipped module's metric. */
  #refuseModule(listed: ListedRule, { name, module, place }: PlacedFamily): void {
    if (!listed.isShipped) {
      const owner = `${name} of the module "${module}" ${renderPlace(place, this.#file)}`;
      this.#file.faults.add([...listed.path, 'name'], `There is ${owner} already; choose another name`);
      return;
    }
    const owner = this.#describe(listed, place.file);
    place.file.faults.add([...place.path, 'name'], `There is ${owner} already; choose another name`);
  }

  #refuseDifference(listed: ListedRule, other: ListedRule): void {
    const { rule, path, isShipped } = listed;
    // Shipped rules do not contradict each other, and nobody could change them here.
    if (isShipped) return;
    const name = this.#describe(other, this.#file);
    const refuse = (key: string, message: string) => this.#file.faults.add([...path, key], message);
    if (other.rule.name !== rule.name)
      refuse('name', `OpenMetrics cannot tell this name from ${name}; choose another one`);
    else if (other.rule.type !== rule.type) {
      refuse('type', `${name} has the type "${other.rule.type}"; a name has one type everywhere`);
    } else if (other.rule.help !== rule.help)
      refuse('help', `${name} has another help; a name has one help everywhere`);
    else if (this.#file.faults.touches([...path, 'labels'])) return;
    else if (rule.labels.toSorted().join(' ') !== other.rule.labels.toSorted().join(' ')) {
      const labels = other.rule.labels.length === 0 ? 'no labels' : `the labels ${other.rule.labels.join(', ')}`;
      refuse('labels', `${name} has ${labels}; a name has the same labels everywhere`);
    }
  }

  #describe({ rule, path, isShipped }: ListedRule, from: ConfigFile): string {
    if (isShipped) return `${rule.name} of the shipped log rules ("${SHIPPED_RULES_WORD}" in log_rules)`;
    return `${rule.name} of the log rule ${renderPlace({ file: this.#file, path }, from)}`;
  }
}

/** Checks what the schema cannot say about one rule. */
function checkRule(rule: WrittenRule, file: ConfigFile, path: KeyPath): void {
  const refuse = (keys: KeyPath, message: string, nearest?: string) =>
    file.faults.add([...path, ...keys], message, { nearest });
  const name = findNameFault(rule);
  if (name !== undefined) refuse(['name'], name);
  if (rule.type === 'gauge' && file.source.valueAt([...path, 'value']) === undefined) {
    refuse(['value'], 'Missing key; a log rule of type "gauge" needs it');
  }
  const labels = rule.labels ?? [];
  for (const [index, label] of labels.entries()) {
    if (labels.indexOf(label) !== index) refuse(['labels', index], `The label "${label}" stands in the list already`);
  }
  const pattern = compileAt(rule.pattern, { file, path: [...path, 'pattern'] });
  if (!pattern) return;
  const { groups } = pattern;
  const checkGroup = (group: string, keys: KeyPath) => {
    if (groups.includes(group)) return;
    const nearest = findNearest(group, groups);
    const there = groups.length === 0 ? 'it has no named ones, such as (?P<name>…)' : `it has: ${groups.join(', ')}`;
    const message = 'The pattern has no group of this name';
    refuse(keys, nearest === undefined ? `${message}; ${there}` : message, nearest);
  };
  for (const [index, label] of labels.entries()) checkGroup(label, ['labels', index]);
  if (rule.value !== undefined) checkGroup(rule.value, ['value']);
}

/** Applies the defaults. What lacks something that is required has its fault already and is left out. */
function toRule({ name, help, type, components = ['*'], pattern, labels = [], value }: WrittenRule): LogRuleSettings[] {
  if (name === undefined || help === undefined || type === undefined || pattern === undefined) return [];
  return [{ name, help, type, components, pattern, labels, value }];
}
