import { parser } from '@grafana/lezer-logql';
import type { LineLabels } from './catalogue.ts';

/** What is wrong with an expression: its syntax, and labels that a line of the sink `loki` has not in both layouts. */
export function checkLogQl(expr: string, known: LineLabels): readonly string[] {
  const faults: string[] = [];
  parser.parse(expr).iterate({
    enter({ type, node, from, to }) {
      if (type.isError) faults.push(`syntax, at ${from}: ${expr.slice(Math.max(0, from - 20), to + 20)}`);
      const name = expr.slice(from, to);
      if (type.name === 'Identifier') {
        const isOfStream = node.parent?.name === 'Matcher' && hasAncestor(node, 'Selector');
        if (isOfStream && !known.stream.has(name)) faults.push(`not every stream has the label ${name}`);
        if (!isOfStream && !known.line.has(name)) faults.push(`lines have no label ${name}`);
      }
      if (type.name === 'LineFormatExpr') {
        for (const [, field = ''] of name.matchAll(/\{\{\.(\w+)\}\}/g)) {
          if (!known.line.has(field)) faults.push(`lines have no label ${field}`);
        }
      }
    },
  });
  return faults;
}

function hasAncestor(node: { readonly parent: { readonly name: string } | null }, name: string): boolean {
  for (let at = node.parent; at; at = (at as { parent?: typeof at }).parent ?? null) if (at.name === name) return true;
  return false;
}
