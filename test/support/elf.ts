import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** Names of machines in the header of ELF files, as Debian calls them. */
const MACHINES: Readonly<Record<number, string>> = { 62: 'amd64', 183: 'arm64' };
/** Where the header names the machine, and its length up to there. */
const MACHINE_OFFSET = 18;
const HEAD_BYTES = 20;

/** Every file below `top`, relative to it. Links are not followed: in a root they would lead out of it. */
export function listFiles(top: string): readonly string[] {
  const command = ['.', '-xdev', '-type', 'f', '-printf', String.raw`%P\n`];
  const found = spawnSync('find', command, { cwd: top, encoding: 'utf8', maxBuffer: 2 ** 26 });
  return found.stdout.trim().split('\n');
}

/** Every compiled file below `top`, with its machine. */
export function listElf(top: string): readonly (readonly [path: string, machine: string])[] {
  return listFiles(top).flatMap((path) => {
    const head = Buffer.alloc(HEAD_BYTES);
    const handle = openSync(join(top, path), 'r');
    readSync(handle, head);
    closeSync(handle);
    if (head.toString('latin1', 0, 4) !== '\x7fELF') return [];
    return [[path, MACHINES[head.readUInt16LE(MACHINE_OFFSET)] ?? 'another machine'] as const];
  });
}
