import type { KeyPath, Place } from '../../settings/index.ts';
import { compileAt, findNameFault, findNearest } from '../../settings/index.ts';
import type { LogRuleSettings, WrittenRule } from './log-rule-schema.ts';

/** The names of all labels of a rule's own, those from groups first. */
export function listLabels({ labels, fixed_labels }: LogRuleSettings): string[] {
  return [...labels, ...Object.keys(fixed_labels)];
}

/** Checks what the schema cannot say about one rule. */
export function checkLogRule(rule: WrittenRule, { file, path }: Place): void {
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
  for (const label of Object.keys(rule.fixed_labels ?? {})) {
    if (!labels.includes(label)) continue;
    const message = `The label "${label}" comes from a group already, which "labels" says`;
    file.faults.add([...path, 'fixed_labels', label], message, { aim: 'key' });
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
