import type { ConfigFault } from './fault.ts';
import { parseSource, type RootKind, YAML_DEPTH_MAX, YAML_VALUES_MAX } from './parse-source.ts';

/** Expected content of a text whose positions nobody needs. */
export interface DataRoot extends RootKind {
  /** The permitted formats. JSON takes a fraction of the time and memory of YAML. */
  readonly format: 'json' | 'json or yaml';
  /** Longest YAML. Default: that of a file. */
  readonly yamlCharsMax?: number;
}

/** The value of a text, or why it has none. */
export type ParsedData =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly fault: ConfigFault };

/**
 * Parses JSON, or YAML where it is allowed, without positions. Never throws. An item of a list that is nested too deeply, or
 * repeats a key in YAML, is `null`; of a key that JSON repeats, the last one counts. `file` is only for the fault.
 */
export function parseData(file: string, text: string, root: DataRoot): ParsedData {
  const refuse = (message: string): ParsedData => ({
    ok: false,
    fault: { file, line: 1, column: 1, keyPath: '', message },
  });
  if (text.trim() === '') return refuse(`It is empty; ${root.ifEmpty}`);
  // Before it is parsed: millions of brackets would end more than this thread.
  if (countMarks(text) > YAML_VALUES_MAX) return refuse(`It holds more than ${YAML_VALUES_MAX} values`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The reason that the parser gives would quote the text.
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
    if (root.kind === 'map') return refuse(`The values are nested more than ${YAML_DEPTH_MAX} deep`);
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

/** Counts the marks of a JSON text that begin a value: commas and opening brackets outside of strings. */
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

/** Counts the values of a part of a text, up to a limit, and how deep they lie. */
function measure(root: unknown, valuesMax: number): { readonly values: number; readonly depth: number } {
  let values = 0;
  let deepest = 0;
  const pending = [{ value: root, depth: 0 }];
  for (let next = pending.pop(); next && values <= valuesMax; next = pending.pop()) {
    values++;
    deepest = Math.max(deepest, next.depth);
    if (typeof next.value !== 'object' || next.value === null) continue;
    for (const value of Object.values(next.value)) pending.push({ value, depth: next.depth + 1 });
  }
  return { values, depth: deepest };
}

function isMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
