import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { renderWasmHead, renderWasmModule, WASM_MODULES } from '../tools/wasm.ts';
import { sampled, sampleNote } from './support/sampled.ts';

test.each(WASM_MODULES)(
  `$target is what $source compiles to (npm run wasm)${sampleNote('compiled WebAssembly')}`,
  (one) => {
    const held = readFileSync(one.target, 'utf8');
    const head = renderWasmHead(one);
    expect(held.slice(0, head.length)).toBe(head);
    const compiled = sampled('compiled WebAssembly', renderWasmModule, () => held)(one);
    expect(held).toBe(compiled);
  },
);
