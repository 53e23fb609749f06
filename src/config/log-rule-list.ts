import type { LogRuleSettings } from '../logs/index.ts';
import { checkLogRule, listLabels, ruleSchema, SHIPPED_RULES_WORD, type WrittenRules } from '../logs/index.ts';
import type { FamilyDescription } from '../model/index.ts';
import type { KeyPath } from '../settings/index.ts';
import { type ConfigFile, isWhole, renderPlace, toFamilyName } from '../settings/index.ts';
import type { PlacedFamily } from '../status/index.ts';

interface RuleSurroundings {
  readonly shipped: readonly LogRuleSettings[];
  readonly moduleFamilies: readonly PlacedFamily[];
  readonly agentFamilies: readonly FamilyDescription[];
}

interface ListedRule {
  readonly rule: LogRuleSettings;
  readonly path: KeyPath;
  readonly isShipped: boolean;
}

export class LogRuleList {
  readonly rules: readonly LogRuleSettings[];
  readonly #listed: readonly ListedRule[];
  readonly #file: ConfigFile;

  constructor(file: ConfigFile, written: WrittenRules | undefined, { shipped, ...others }: RuleSurroundings) {
    this.#file = file;
    const listed = (written ?? [SHIPPED_RULES_WORD]).flatMap((item, index): ListedRule[] => {
      const path = ['log_rules', index];
      if (typeof item === 'object') {
        checkLogRule(item, { file, path });
        // An incomplete rule already has its fault.
        return isWhole(ruleSchema, item) ? [{ rule: item, path, isShipped: false }] : [];
      }
      const isFirst = written === undefined || written.indexOf(item) === index;
      if (!isFirst) file.faults.add(path, `"${SHIPPED_RULES_WORD}" is listed twice`);
      return isFirst ? shipped.map((rule) => ({ rule, path, isShipped: true })) : [];
    });
    this.#listed = listed;
    this.rules = listed.map(({ rule }) => rule);
    this.#checkFamilies(others);
  }

  findLabelOwner(label: string, from: ConfigFile): string | undefined {
    const owner = this.#listed.find(({ rule }) => listLabels(rule).includes(label));
    return owner && this.#describe(owner, from);
  }

  /** A rejected rule does not reserve its name. */
  #checkFamilies({ moduleFamilies, agentFamilies }: Omit<RuleSurroundings, 'shipped'>): void {
    const ofAgent = new Map(agentFamilies.map((family) => [toFamilyName(family), family]));
    const ofModules = new Map(moduleFamilies.map((family) => [toFamilyName(family), family]));
    const first = new Map<string, ListedRule>();
    // Shipped rules take precedence, whatever their position.
    for (const listed of this.#listed.toSorted((a, b) => Number(b.isShipped) - Number(a.isShipped))) {
      const { rule, path } = listed;
      const key = toFamilyName(rule);
      const module = ofModules.get(key);
      const agent = ofAgent.get(key);
      const other = first.get(key);
      if (agent) {
        const as =
          agent.name === rule.name
            ? 'this metric'
            : `${agent.name}, which OpenMetrics cannot distinguish from this one`;
        this.#file.faults.add([...path, 'name'], `The agent itself exposes ${as}; choose another name`);
      } else if (module) this.#refuseModule(listed, module);
      else if (other) this.#refuseDifference(listed, other);
      else first.set(key, listed);
    }
  }

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
    const { rule, path } = listed;
    const name = this.#describe(other, this.#file);
    const refuse = (key: string, message: string) => this.#file.faults.add([...path, key], message);
    if (other.rule.name !== rule.name)
      refuse('name', `OpenMetrics cannot distinguish this name from ${name}; choose another one`);
    else if (other.rule.type !== rule.type) {
      refuse('type', `${name} has the type "${other.rule.type}"; a name has one type everywhere`);
    } else if (other.rule.help !== rule.help)
      refuse('help', `${name} has another help; a name has one help everywhere`);
    else this.#refuseLabels(listed, other);
  }

  #refuseLabels({ rule, path }: ListedRule, { rule: other, ...place }: ListedRule): void {
    const { faults } = this.#file;
    const [labels, wanted] = [listLabels(rule), listLabels(other)];
    // A missing label may be one that was invalid.
    if (faults.touches([...path, 'labels']) || faults.touches([...path, 'fixed_labels'])) return;
    if (labels.toSorted().join(' ') === wanted.toSorted().join(' ')) return;
    const name = this.#describe({ rule: other, ...place }, this.#file);
    const there = wanted.length === 0 ? 'no labels' : `the labels ${wanted.join(', ')}`;
    faults.add([...path, 'labels'], `${name} has ${there}; a name has the same labels everywhere`);
  }

  #describe({ rule, path, isShipped }: ListedRule, from: ConfigFile): string {
    if (isShipped) return `${rule.name} of the shipped log rules ("${SHIPPED_RULES_WORD}" in log_rules)`;
    return `${rule.name} of the log rule ${renderPlace({ file: this.#file, path }, from)}`;
  }
}
