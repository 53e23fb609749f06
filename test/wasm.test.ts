import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { renderWasmModule, WASM_MODULES } from '../tools/wasm.ts';

test.each(WASM_MODULES)('$target is what $source compiles to (npm run wasm)', (one) => {
  expect(renderWasmModule(one)).toBe(readFileSync(one.target, 'utf8'));
});
