import type { ConfigFault } from './fault.ts';
import { measure, parseSource, type RootKind, TOO_DEEP, YAML_DEPTH_MAX, YAML_VALUES_MAX } from './parse-source.ts';

export interface DataRoot extends RootKind {
  /** JSON takes a fraction of the time and memory of YAML. */
  readonly format: 'json' | 'json or yaml';
  /** Longest YAML. Default: no limit of its own. */
  readonly yamlCharsMax?: number;
}

export type ParsedData =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly fault: ConfigFault };

/**
 * Parses JSON, or YAML if allowed. An item that is nested too deeply, or repeats a key in YAML, is `null`; in JSON the
 * last of repeated keys counts. `file` is only for the fault. Never throws.
 */
export function parseData(file: string, text: string, root: DataRoot): ParsedData {
  const refuse = (message: string): ParsedData => ({
    ok: false,
    fault: { file, line: 1, column: 1, keyPath: '', message },
  });
  if (text.trim() === '') return refuse(`It is empty; ${root.ifEmpty}`);
  // Checked before parsing: millions of brackets would exhaust the memory of the process, not only of this thread.
  if (countMarks(text) > YAML_VALUES_MAX) return refuse(`It holds more than ${YAML_VALUES_MAX} values`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message would quote the text.
    if (root.format === 'json') return refuse('It is not JSON');
    const { yamlCharsMax = text.length } = root;
    if (text.length > yamlCharsMax)
      return refuse(`It is YAML of more than ${yamlCharsMax} characters; write it as JSON`);
    return parseYaml(file, text, root);
  }
  if (root.kind === 'list' ? !Array.isArray(value) : !isMap(value)) return refuse(`Expected ${root.expected}`);
  const parts = Object.entries(value as object);
  let left = YAML_VALUES_MAX;
  for (const [key, part] of parts) {
    const measured = measure(part, left);
    left -= measured.values;
    if (left < 0) return refuse(`It holds more than ${YAML_VALUES_MAX} values`);
    if (measured.depth < YAML_DEPTH_MAX) continue;
    if (root.kind === 'map') return refuse(TOO_DEEP);
    Reflect.set(value as object, key, null);
  }
  return { ok: true, value };
}

function parseYaml(file: string, text: string, root: RootKind): ParsedData {
  const { content, faults } = parseSource(file, text, root);
  let value = content?.value;
  for (const fault of faults) {
    const item = /^\[(\d+)\]/.exec(fault.keyPath)?.[1];
    if (!Array.isArray(value) || item === undefined) return { ok: false, fault };
    value = value.with(Number(item), null);
  }
  return { ok: true, value };
}

/** Counts commas and opening brackets outside of strings; one of them precedes each value. */
function countMarks(text: string): number {
  let marks = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') isString = !isString;
    else if (isString) at += char === '\\' ? 1 : 0;
    else if (char === ',' || char === '[' || char === '{') marks++;
  }
  return marks;
}

function isMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
