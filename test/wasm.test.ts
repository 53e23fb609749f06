import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
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

/** The compilers that V8 uses while a script runs, one for each function of WebAssembly. */
function compilersOf(script: string): string[] {
  const flags = ['--trace-wasm-compilation-times', '--input-type=module'];
  const { stdout, status } = spawnSync(process.execPath, [...flags, '--eval', script], { encoding: 'utf8' });
  expect(status).toBe(0);
  return [...stdout.matchAll(/^Compiled function .* using (\w+)/gm)].map(([, compiler = '']) => compiler);
}

test.each(WASM_MODULES)('$target is optimized whole before its first call, and no module after it is', ({ target }) => {
  // As JavaScript: the compiler of Node.js that strips types is WebAssembly, too.
  const held = stripTypeScriptTypes(readFileSync(target, 'utf8'));
  const compilers = compilersOf(`${held}; instantiate();`);
  expect(compilers.length).toBeGreaterThan(0);
  expect(new Set(compilers)).toEqual(new Set(['TurboFan']));

  // Two functions that return a number, the first of which is called.
  const other = '0061736d010000000105016000017f0303020000070501016600000a0b02040041070b040041080b';
  const later = `${held}; instantiate();
    const other = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from('${other}', 'hex')));
    if (other.exports.f() !== 7) throw new RangeError('It gives no 7');`;
  expect(compilersOf(later)).toEqual([...compilers, 'Liftoff']);
});
