import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import type { Catalogue } from './catalogue.ts';

/** What is wrong with an expression: its syntax, and metrics and labels that do not exist. Empty when nothing is. */
export function checkPromQl(expr: string, catalogue: Catalogue): readonly string[] {
  const tree = parser.parse(expr);
  const faults: string[] = [];
  const textOf = ({ from, to }: { from: number; to: number }) => expr.slice(from, to);
  /** Labels that series of the selectors below a node have between them. */
  const labelsBelow = (node: SyntaxNode): ReadonlySet<string> => {
    const labels = new Set<string>();
    for (const selector of findAll(node, 'VectorSelector')) {
      for (const name of namesOf(selector)) for (const label of catalogue.get(name) ?? []) labels.add(label);
    }
    // What label_replace makes is not known here; none is used.
    return labels;
  };
  const namesOf = (selector: SyntaxNode): readonly string[] => {
    const name = selector.getChild('Identifier');
    if (name) return [textOf(name)];
    const text = /__name__=~?"([^"]*)"/.exec(textOf(selector))?.[1] ?? '';
    return text.split('|');
  };
  const requireLabels = (list: SyntaxNode | null, places: readonly (SyntaxNode | null)[]) => {
    for (const name of list ? findAll(list, 'LabelName') : []) {
      for (const place of places) {
        if (place && !labelsBelow(place).has(textOf(name))) {
          faults.push(`no series in ${textOf(place)} has the label ${textOf(name)}`);
        }
      }
    }
  };

  tree.iterate({
    enter({ type, node, from, to }) {
      if (type.isError) faults.push(`syntax, at ${from}: ${expr.slice(Math.max(0, from - 20), to + 20)}`);
      if (type.name === 'VectorSelector') {
        for (const name of namesOf(node)) {
          const known = catalogue.get(name);
          if (!known) faults.push(`there is no metric ${name}`);
          for (const label of known ? findAll(node, 'LabelName') : []) {
            const text = textOf(label);
            if (text !== '__name__' && !known?.has(text)) faults.push(`${name} has no label ${text}`);
          }
        }
      }
      if (type.name === 'AggregateExpr')
        requireLabels(node.getChild('AggregateModifier'), [node.getChild('FunctionCallBody')]);
      if (type.name === 'BinaryExpr') {
        const clause = node.getChild('MatchingModifierClause');
        const [left, right] = [node.firstChild, node.lastChild];
        const [on, included] = clause?.getChildren('GroupingLabels') ?? [];
        requireLabels(on ?? null, [left, right]);
        requireLabels(included ?? null, [clause?.getChild('GroupRight') ? left : right]);
      }
    },
  });
  return faults;
}

/** Every node of this name from `top` down. */
function findAll(top: SyntaxNode, name: string): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  top.cursor().iterate(({ node }) => {
    if (node.name === name) found.push(node);
  });
  return found;
}
